"""Saving and loading, in the safetensors format.

A file holds tensors under names, and no code: unlike a pickle it is safe to load from anybody, and other
libraries read it. What is no tensor (the options of an optimiser, the nesting of dicts) goes as JSON into the
file's metadata.

Mirrors ``torch.save`` and ``torch.load`` in name and use, not in format.
"""

import json
import os

from minigrad.creation import from_numpy
from minigrad.errors import MinigradError
from minigrad.tensor import Tensor

__all__ = ["load", "save"]

STRUCTURE = "minigrad"      # the metadata key under which the nesting is kept


class SaveError(MinigradError, TypeError):
    """Something cannot be saved, or a file not be read."""


def save(obj, f):
    """Save a state dict, or any nesting of dicts, lists and tuples of tensors, numbers, strings and None.

    Tensors on a GPU are saved as those of the CPU.

    Args:
        obj: what to save. A flat dict of tensors is readable by any library that reads safetensors.
        f (str or path): the file. It appears complete or not at all.

    Raises:
        TypeError: something in `obj` cannot be saved.
        ImportError: the package safetensors is missing (``pip install minigrad[save]``).

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> mg.save({"w": mg.tensor([1., 2.])}, path)
    >>> mg.load(path)
    {'w': tensor([1., 2.])}
    """
    numpy_format = _safetensors()
    arrays = {}
    structure = _taken_apart(obj, "", arrays)
    from safetensors import SafetensorError
    try:
        data = numpy_format.save(arrays, {STRUCTURE: json.dumps(structure)})
    except SafetensorError as error:        # complex128
        raise SaveError("MG-E403", f"safetensors cannot hold this: {error}") from None
    temporary = f"{os.fspath(f)}.part"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, f)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def load(f):
    """What `save` wrote; of a safetensors file from elsewhere, a dict from name to tensor.

    Args:
        f (str or path): the file.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: it is no safetensors file.
        ImportError: the package safetensors is missing (``pip install minigrad[save]``).

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> mg.save([mg.tensor(1.), 5], path)
    >>> mg.load(path)
    [tensor(1.), 5]
    """
    numpy_format = _safetensors()
    from safetensors import SafetensorError, safe_open
    with open(f, "rb") as file:
        data = file.read()
    try:
        arrays = numpy_format.load(data)
        with safe_open(f, framework="numpy") as opened:
            metadata = opened.metadata() or {}
    except SafetensorError as error:
        raise SaveError("MG-E403", f"{f} is no safetensors file: {error}") from None
    tensors = {name: from_numpy(array.copy()) for name, array in arrays.items()}
    if STRUCTURE not in metadata:
        return tensors
    return _put_together(json.loads(metadata[STRUCTURE]), tensors)


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
    items = [_put_together(value, tensors) for value in content]
    return tuple(items) if kind == "tuple" else items
