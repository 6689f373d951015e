"""Files in the format safetensors: named tensors and no code. Other libraries can read them.

The rest (the options of an optimizer, the nesting of dicts) is JSON in the metadata of the file.

The format: https://github.com/huggingface/safetensors. Its package reads and writes the bytes.
"""

from __future__ import annotations

import json

import numpy as np

from minigrad._core.graph.metadata import named_dtype
from minigrad._serialization.errors import SaveError
from minigrad.creation import from_numpy
from minigrad.tensor import Tensor

__all__ = ["import_package", "read", "write"]

STRUCTURE = "minigrad"      # the metadata key of the nesting
RESERVED = "__metadata__"   # the format's name for its metadata: no tensor may have it

# The format's dtypes that minigrad has; little-endian, as the format is.
DTYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
          "C64": "<c8"}


def write(obj):
    """Return the bytes of a file with `obj`: a nesting of dicts, lists and tuples of tensors, numbers, strings and None.

    Raises:
        SaveError: something in `obj` cannot be saved in this format.
        ImportError: the package safetensors is missing.
    """
    numpy_format = import_package()
    arrays = {}
    from safetensors import SafetensorError
    try:
        structure = json.dumps(_flatten(obj, "", arrays))
        return numpy_format.save(arrays, {STRUCTURE: structure})
    except RecursionError:
        raise SaveError("MG-E403", "save(): the object is nested too deeply, or contains itself") from None
    except UnicodeEncodeError as error:
        raise SaveError("MG-E403", f"save(): a name is not valid text: {error}") from None
    except SafetensorError as error:        # complex128
        raise SaveError("MG-E403", f"safetensors cannot hold this: {error}") from None


def read(data, path):
    """Read the bytes of a file. `path` is its name, for errors.

    Raises:
        SaveError: the bytes are damaged, or have a dtype that minigrad does not support.
        ImportError: the package safetensors is missing.
    """
    import_package()
    from safetensors import SafetensorError, deserialize
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


def _tensor(name, dtype, shape, data):
    """Make one tensor of a file."""
    if dtype == "BF16":
        array = np.frombuffer(data, "<u2").astype(np.uint16).view(named_dtype("bfloat16").numpy)
    elif dtype == "BOOL":
        array = np.frombuffer(data, np.uint8) != 0      # other bytes than 0 and 1 would be invalid bools
    elif dtype in DTYPES:
        array = np.frombuffer(data, DTYPES[dtype]).astype(np.dtype(DTYPES[dtype]).newbyteorder("="))
    else:
        raise SaveError("MG-E403", f"tensor {name!r} has the dtype {dtype}, which minigrad does not support",
                        expected=f"BF16, {', '.join(DTYPES)}", fix="convert it with the library that wrote the file")
    return from_numpy(array.reshape(shape))


def import_package():
    """Return the module of the package safetensors for arrays. Raises `ImportError` if the package is missing."""
    try:
        from safetensors import numpy as numpy_format
    except ImportError:
        raise ImportError("saving and loading a .safetensors file needs the package safetensors: "
                          "pip install minigrad-autograd[save]") from None
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
        arrays[name] = obj.detach().cpu().contiguous()._array
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
