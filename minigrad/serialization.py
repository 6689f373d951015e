"""Saving and loading, in the safetensors format.

A file holds tensors under names, and no code: unlike a pickle it is safe to load from anybody, and other
libraries read it. What is no tensor (the options of an optimiser, the nesting of dicts) goes as JSON into the
file's metadata.

Mirrors ``torch.save`` and ``torch.load`` in name and use, not in format.
"""

import json
import os
import secrets
import stat

import numpy as np

from minigrad.creation import from_numpy
from minigrad.errors import MinigradError
from minigrad.tensor import Tensor

__all__ = ["load", "save"]

STRUCTURE = "minigrad"      # the metadata key under which the nesting is kept
RESERVED = "__metadata__"   # the format's own name for the metadata, which no tensor may have

# The format's dtypes that minigrad has; little-endian, as the format is.
DTYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
          "C64": "<c8"}


class SaveError(MinigradError, TypeError):
    """Something cannot be saved, or a file not be read."""


def save(obj, f):
    """Save a state dict, or any nesting of dicts, lists and tuples of tensors, numbers, strings and None.

    Tensors on a GPU are saved as those of the CPU.

    Args:
        obj: what to save. A flat dict of tensors is readable by any library that reads safetensors. No tensor may have the name
            ``__metadata__``, which is the format's own.
        f (str or path): the file. It appears complete or not at all.

    Raises:
        TypeError: something in `obj` cannot be saved, or `f` is no name of a file.
        OSError: the file cannot be written.
        ImportError: the package safetensors is missing (``pip install minigrad[save]``).

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> mg.save({"w": mg.tensor([1., 2.])}, path)
    >>> mg.load(path)
    {'w': tensor([1., 2.])}
    """
    numpy_format = _safetensors()
    path = _path(f, "save")
    arrays = {}
    from safetensors import SafetensorError
    try:
        structure = json.dumps(_taken_apart(obj, "", arrays))
        data = numpy_format.save(arrays, {STRUCTURE: structure})
    except RecursionError:
        raise SaveError("MG-E403", "save(): the object is nested too deeply, or contains itself") from None
    except UnicodeEncodeError as error:
        raise SaveError("MG-E403", f"save(): a name that is no text: {error}") from None
    except SafetensorError as error:        # complex128
        raise SaveError("MG-E403", f"safetensors cannot hold this: {error}") from None
    _write(path, data)


def _write(path, data):
    """Write a file that appears complete or not at all: under another name in the same folder first.

    Nobody can know that name before, and a link that waits there is not followed. Two processes have two names.
    """
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:      # a device or a pipe, in whose place no file may come
            file.write(data)
        return
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}")
    # O_EXCL: not where anything is already, be it a link
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.remove(temporary)
        raise


def load(f):
    """What `save` wrote; of a safetensors file from elsewhere, a dict from name to tensor. bfloat16 becomes float32.

    Args:
        f (str or path): the file.

    Raises:
        OSError: there is no such file (``FileNotFoundError``), or it cannot be read.
        TypeError: it is no safetensors file, or a damaged one, or it holds a dtype that minigrad has not.
        ImportError: the package safetensors is missing (``pip install minigrad[save]``).

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> mg.save([mg.tensor(1.), 5], path)
    >>> mg.load(path)
    [tensor(1.), 5]
    """
    _safetensors()
    from safetensors import SafetensorError, deserialize
    path = _path(f, "load")
    with open(path, "rb") as file:
        data = file.read()
    try:
        entries = deserialize(data)
        metadata = json.loads(data[8:8 + int.from_bytes(data[:8], "little")]).get(RESERVED) or {}
        tensors = {name: _tensor(name, **entry) for name, entry in entries}
    except (SafetensorError, RecursionError, ValueError) as error:
        raise SaveError("MG-E403", f"{path} is no safetensors file: {error}") from None
    if STRUCTURE not in metadata:
        return tensors
    try:
        return _put_together(json.loads(metadata[STRUCTURE]), tensors)
    except (RecursionError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SaveError("MG-E403", f"{path}: the nesting that minigrad noted in this file is damaged: {type(error).__name__}: "
                        f"{error}") from None


def _path(f, function):
    """The name of a file as a str. Raises `SaveError` for what is none."""
    try:
        path = os.fsdecode(f)
    except TypeError:
        raise SaveError("MG-E403", f"{function}(): argument 'f' must be the name of a file, not {type(f).__name__}") from None
    if "\0" in path:
        raise SaveError("MG-E403", f"{function}(): argument 'f' has a null character in it, which no name of a file may have")
    return path


def _tensor(name, dtype, shape, data):
    """One tensor of a file. bfloat16, which NumPy has not, becomes float32: each of its numbers is one of those."""
    if dtype == "BF16":
        array = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype == "BOOL":
        array = np.frombuffer(data, np.uint8) != 0      # a bool that is neither 0 nor 1 would be neither True nor False
    elif dtype in DTYPES:
        array = np.frombuffer(data, DTYPES[dtype]).astype(np.dtype(DTYPES[dtype]).newbyteorder("="))
    else:
        raise SaveError("MG-E403", f"tensor {name!r} has the dtype {dtype}, which minigrad has not",
                        expected=f"BF16, {', '.join(DTYPES)}", fix="convert it with the library that wrote the file")
    return from_numpy(array.reshape(shape))


def _safetensors():
    try:
        from safetensors import numpy as numpy_format
    except ImportError:
        raise ImportError("saving and loading need the package safetensors: pip install minigrad[save]") from None
    return numpy_format


def _taken_apart(obj, path, arrays):
    """The nesting of `obj` in JSON, its tensors going into `arrays` under their paths."""
    if isinstance(obj, Tensor):
        name = path or "tensor"
        if name == RESERVED:
            raise SaveError("MG-E403", f"cannot save a tensor under the name {RESERVED!r}, which the format keeps for itself",
                            fix="another name")
        while name in arrays:       # {"a.b": x, "a": {"b": y}} would be one
            name += "'"
        arrays[name] = obj.detach().cpu().contiguous().numpy()
        return {"tensor": name}
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return {"value": obj}
    if isinstance(obj, dict):
        for key in obj:
            if not isinstance(key, (str, int)):
                raise SaveError("MG-E403", f"cannot save a dict with a key of type {type(key).__name__}")
        return {"dict": [[key, _taken_apart(value, f"{path}.{key}" if path else str(key), arrays)] for key, value in obj.items()]}
    if isinstance(obj, (list, tuple)):
        kind = "tuple" if isinstance(obj, tuple) else "list"
        return {kind: [_taken_apart(value, f"{path}.{i}" if path else str(i), arrays) for i, value in enumerate(obj)]}
    raise SaveError("MG-E403", f"cannot save a {type(obj).__name__} (at {path or 'the top'})",
                    expected="tensors, numbers, strings, None, and dicts, lists and tuples of them",
                    fix="save model.state_dict(), not the model")


def _put_together(structure, tensors):
    """The reverse of `_taken_apart`."""
    (kind, content), = structure.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "value":
        return content
    if kind == "dict":
        return {key: _put_together(value, tensors) for key, value in content}
    if kind not in ("list", "tuple"):
        raise ValueError(f"{kind!r} is no kind of thing")
    items = [_put_together(value, tensors) for value in content]
    return tuple(items) if kind == "tuple" else items
