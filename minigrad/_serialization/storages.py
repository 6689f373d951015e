"""The storages of a file as arrays, and the tensors on them. All sizes are checked: a file may say anything.

Mirrors ``torch/_utils.py`` and ``location_tag`` of ``torch/serialization.py``.
"""

import numpy as np

from minigrad._core.graph.metadata import Device, named_dtype
from minigrad._core.surface.variable import new_tensor
from minigrad._serialization.errors import SaveError
from minigrad._serialization.pickler import STORAGES
from minigrad.dtypes import as_device, device
from minigrad.errors import AutogradError, MinigradError
from minigrad.nn.parameter import Parameter
from minigrad.storage import UntypedStorage
from minigrad.tensor import Tensor

__all__ = ["STORAGE_TYPES", "Locations", "Storage", "StorageType", "rebuild_parameter", "rebuild_tensor", "rebuild_tensor_v3"]


class StorageType:
    """The class of a storage in a pickle. `dtype` is the name of its dtype, None for bytes."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype
        self.itemsize = 1 if dtype is None else 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


STORAGE_TYPES = {name: StorageType(name, dtype) for dtype, name in STORAGES.items()}
STORAGE_TYPES["UntypedStorage"] = StorageType("UntypedStorage", None)


class Storage:
    """A storage of a file: its numbers, and the device on which its tensors should be."""

    def __init__(self, kind, data, where, swap=False):
        """`data`: a writable array of bytes. `swap`: the file has the other byte order."""
        self.device = where
        self.dtype = kind.dtype
        self.load(kind, data, swap)

    def load(self, kind, data, swap):
        """Make an array of the bytes."""
        if kind.dtype == "bool":
            self.array = data != 0      # other bytes than 0 and 1 would be invalid bools
        else:
            self.array = data if kind.dtype is None else data.view(named_dtype(kind.dtype).numpy)
            if swap:
                self.array.byteswap(inplace=True)


class Locations:
    """Says on which device a storage should be, by `map_location` of `minigrad.load`.

    None: where it was; a device or its name: there; a dict from name to name; a function of the storage and the name.
    """

    def __init__(self, map_location):
        self.map = map_location
        if isinstance(map_location, (str, Device)):
            self.fixed = as_device(map_location)
        elif map_location is None or isinstance(map_location, dict) or callable(map_location):
            self.fixed = None
        else:
            raise SaveError("MG-E403", "load(): argument 'map_location' must be a device, its name, a dict, a function or None, "
                            f"not {type(map_location).__name__}")

    def find(self, location, data):
        """Return the device for a storage that was on `location`, with the bytes `data`."""
        if self.fixed is not None:
            return self.fixed
        if isinstance(self.map, dict):
            location = self.map.get(location, location)
        elif self.map is not None:
            found = self.map(UntypedStorage(new_tensor(Tensor, data)), location)
            if found is not None:
                return found.device
        if isinstance(location, Device):
            return as_device(location)
        try:
            return as_device(location)
        except MinigradError:
            if not isinstance(location, str) or device(location).type == "cpu":
                raise
            raise AutogradError("MG-E403", f"Attempting to deserialize object on a {location} device, and minigrad cannot compute "
                                "there.", fix='minigrad.load(f, map_location="cpu")') from None


def check(condition, what):
    """Raise `ValueError` with the message `what` unless `condition` is true."""
    if not condition:
        raise ValueError(what)


def rebuild_tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None, dtype=None):
    """Make a tensor on a storage. Tensors on one storage share its memory."""
    check(isinstance(storage, Storage), "a tensor without a storage")
    check(isinstance(size, tuple) and isinstance(stride, tuple) and len(size) == len(stride), "sizes and strides do not fit")
    check(all(type(n) is int and n >= 0 for n in (offset, *size, *stride)), "sizes and strides are not numbers")
    array = storage.array
    if dtype is not None:
        array = array[:array.size // dtype.itemsize * dtype.itemsize].view(dtype.numpy)
    if all(size):
        last = offset + sum((n - 1) * step for n, step in zip(size, stride))
        check(last < array.size, f"a tensor of shape {list(size)} goes beyond the end of its storage")
    else:
        offset, stride = 0, (0,) * len(size)
    view = np.ndarray(size, array.dtype, array, offset * array.itemsize, tuple(step * array.itemsize for step in stride)) \
        if array.size else np.empty(size, array.dtype)
    out = new_tensor(Tensor, view)
    if storage.device.type != "cpu":
        out = out.to(storage.device)
    return out.requires_grad_() if requires_grad and out.dtype.differentiable else out


def rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    """Make a tensor of `dtype` on a storage of bytes."""
    check(isinstance(dtype, type(named_dtype("float32"))), "a dtype that minigrad does not support")
    return rebuild_tensor(storage, offset, size, stride, requires_grad, hooks, None, dtype)


def rebuild_parameter(data, requires_grad, hooks=None):
    """Make a parameter."""
    check(isinstance(data, Tensor), "a parameter without a tensor")
    return Parameter(data, bool(requires_grad) and data.dtype.differentiable)
