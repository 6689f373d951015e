"""Saving and loading, in the safetensors format.

A file holds named tensors and no code. Unlike a pickle it is safe to load from any source, and other libraries can read it.
The rest (the options of an optimiser, the nesting of dicts) is JSON in the metadata of the file.

Mirrors the names and the use of ``torch.save`` and ``torch.load``, but not their format.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from typing import TYPE_CHECKING

import numpy as np

from minigrad.creation import from_numpy
from minigrad.errors import MinigradError
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

__all__ = ["load", "save"]

STRUCTURE = "minigrad"      # the metadata key of the nesting
RESERVED = "__metadata__"   # the format's name for its metadata: no tensor may have it

# The format's dtypes that minigrad has; little-endian, as the format is.
DTYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
          "C64": "<c8"}


class SaveError(MinigradError, TypeError):
    """An object cannot be saved, or a file cannot be read."""


def save(obj: Any, f: str | PathLike[str]) -> None:
    """Save a state dict, or any nesting of dicts, lists and tuples of tensors, numbers, strings and None.

    Tensors on a GPU are saved as tensors on the CPU.

    Args:
        obj: what to save. A flat dict of tensors is readable by any library that reads safetensors. The format reserves the name
            ``__metadata__``.
        f (str or path): the file. The file appears complete or not at all.

    Raises:
        TypeError: something in `obj` cannot be saved, or `f` is not a file name.
        OSError: the file cannot be written.
        ImportError: the package safetensors is missing (``pip install minigrad-autograd[save]``).

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
        structure = json.dumps(_flatten(obj, "", arrays))
        data = numpy_format.save(arrays, {STRUCTURE: structure})
    except RecursionError:
        raise SaveError("MG-E403", "save(): the object is nested too deeply, or contains itself") from None
    except UnicodeEncodeError as error:
        raise SaveError("MG-E403", f"save(): a name is not valid text: {error}") from None
    except SafetensorError as error:        # complex128
        raise SaveError("MG-E403", f"safetensors cannot hold this: {error}") from None
    _write(path, data)


def _write(path, data):
    """Write a file that appears complete or not at all: first under a temporary name in the same folder, then renamed.

    The temporary name is random, so no other process can write to it or put a link there.
    """
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:      # a device or a pipe, which must not be replaced by a file
            file.write(data)
        return
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}")
    # O_EXCL: fail if the name exists, even as a link
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.remove(temporary)
        raise


def load(f: str | PathLike[str]) -> Any:
    """Load an object that `save` wrote, or a dict (name -> tensor) from any safetensors file. bfloat16 becomes float32.

    Args:
        f (str or path): the file.

    Raises:
        OSError: the file does not exist (``FileNotFoundError``) or cannot be read.
        TypeError: the file is not in the safetensors format, is damaged, or has a dtype that minigrad does not support.
        ImportError: the package safetensors is missing (``pip install minigrad-autograd[save]``).

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
        raise SaveError("MG-E403", f"{path} is not a safetensors file: {error}") from None
    if STRUCTURE not in metadata:
        return tensors
    try:
        return _unflatten(json.loads(metadata[STRUCTURE]), tensors)
    except (RecursionError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SaveError("MG-E403", f"{path}: the nesting that minigrad stored in this file is damaged: {type(error).__name__}: "
                        f"{error}") from None


def _path(f, function):
    """Return the file name `f` as a str; raise `SaveError` if it is not one."""
    try:
        path = os.fsdecode(f)
    except TypeError:
        raise SaveError("MG-E403", f"{function}(): argument 'f' must be the name of a file, not {type(f).__name__}") from None
    if "\0" in path:
        raise SaveError("MG-E403", f"{function}(): argument 'f' contains a null character, which a file name must not")
    return path


def _tensor(name, dtype, shape, data):
    """Make one tensor of a file. NumPy has no bfloat16, so it becomes float32, which has all of its numbers."""
    if dtype == "BF16":
        array = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype == "BOOL":
        array = np.frombuffer(data, np.uint8) != 0      # other bytes than 0 and 1 would be invalid bools
    elif dtype in DTYPES:
        array = np.frombuffer(data, DTYPES[dtype]).astype(np.dtype(DTYPES[dtype]).newbyteorder("="))
    else:
        raise SaveError("MG-E403", f"tensor {name!r} has the dtype {dtype}, which minigrad does not support",
                        expected=f"BF16, {', '.join(DTYPES)}", fix="convert it with the library that wrote the file")
    return from_numpy(array.reshape(shape))


def _safetensors():
    try:
        from safetensors import numpy as numpy_format
    except ImportError:
        raise ImportError("saving and loading need the package safetensors: pip install minigrad-autograd[save]") from None
    return numpy_format


def _flatten(obj, path, arrays):
    """Return the nesting of `obj` as JSON, and put its tensors into `arrays`, named by their paths."""
    if isinstance(obj, Tensor):
        name = path or "tensor"
        if name == RESERVED:
            raise SaveError("MG-E403", f"cannot save a tensor under the name {RESERVED!r}, which the format reserves",
                            fix="another name")
        while name in arrays:       # {"a.b": x, "a": {"b": y}} has two tensors of one name
            name += "'"
        arrays[name] = obj.detach().cpu().contiguous().numpy()
        return {"tensor": name}
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return {"value": obj}
    if isinstance(obj, dict):
        for key in obj:
            if not isinstance(key, (str, int)):
                raise SaveError("MG-E403", f"cannot save a dict with a key of type {type(key).__name__}")
        return {"dict": [[key, _flatten(value, f"{path}.{key}" if path else str(key), arrays)] for key, value in obj.items()]}
    if isinstance(obj, (list, tuple)):
        kind = "tuple" if isinstance(obj, tuple) else "list"
        return {kind: [_flatten(value, f"{path}.{i}" if path else str(i), arrays) for i, value in enumerate(obj)]}
    raise SaveError("MG-E403", f"cannot save a {type(obj).__name__} (at {path or 'the top'})",
                    expected="tensors, numbers, strings, None, and dicts, lists and tuples of them",
                    fix="save model.state_dict(), not the model")


def _unflatten(structure, tensors):
    """The reverse of `_flatten`."""
    (kind, content), = structure.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "value":
        return content
    if kind == "dict":
        return {key: _unflatten(value, tensors) for key, value in content}
    if kind not in ("list", "tuple"):
        raise ValueError(f"unknown kind {kind!r}")
    items = [_unflatten(value, tensors) for value in content]
    return tuple(items) if kind == "tuple" else items
