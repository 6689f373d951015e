"""Pickle any object as PyTorch does, so that ``torch.load`` reads it. The numbers of tensors stay outside of the pickle.

    tensor      ->  _rebuild_tensor_v2(storage 0, offset, size, stride, requires_grad, OrderedDict())
    storage 0   ->  ("storage", torch.FloatStorage, "0", "cpu", number of elements)       a persistent id
    mg.float32  ->  torch.float32

The pickle names functions and classes of PyTorch that need not be installed, so a `Global` is only a name.

Mirrors ``_save`` of ``torch/serialization.py``.
"""

import functools
import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np

from minigrad._core.graph.metadata import Device, DType, Size
from minigrad._core.graph.tensor import address
from minigrad.nn.parameter import Parameter
from minigrad.tensor import Tensor

__all__ = ["STORAGES", "dump"]

# dtype -> PyTorch's class of its storages
STORAGES = {"float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage", "int64": "LongStorage",
            "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage",
            "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage",
            "bfloat16": "BFloat16Storage"}


class Global:
    """The name of a function or class in a pickle."""

    def __init__(self, module, name):
        self.text = f"{module}\n{name}\n".encode()

    def __call__(self, *args):
        raise TypeError("only a name")


name_of = functools.cache(Global)       # one object for each name: the pickler refers back to it


class Reference:
    """A storage in a pickle: its persistent id."""

    def __init__(self, *parts):
        self.parts = parts


_Pickler: Any = getattr(pickle, "_Pickler")     # noqa: B009 (the pickler in Python, whose table of types can be extended)


class Pickler(_Pickler):
    """A pickler that writes tensors, dtypes, sizes and devices under PyTorch's names."""

    dispatch = dict(_Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, 2)
        self.memories = []      # the storages, as arrays of bytes
        self._keys = {}         # (address, length, dtype, device) -> number of the storage

    def persistent_id(self, obj):
        return obj.parts if isinstance(obj, Reference) else None

    def reducer_override(self, obj):
        if isinstance(obj, Parameter):
            return name_of("torch._utils", "_rebuild_parameter"), (obj.detach(), obj.requires_grad, OrderedDict())
        if isinstance(obj, Tensor):
            return name_of("torch._utils", "_rebuild_tensor_v2"), (*self._describe(obj), obj.requires_grad, OrderedDict())
        if isinstance(obj, Size):
            return name_of("torch", "Size"), (tuple(obj),)
        if isinstance(obj, Device):
            return name_of("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def _describe(self, tensor):
        """Return (storage, offset, size, stride) of a tensor, in elements. Tensors on one memory get the same storage."""
        host = tensor.detach().cpu()
        array = host._array
        memory = host._meta.backend.kernels.storage(array).reshape(-1).view(np.uint8)
        item = array.itemsize
        offset = address(array) - address(memory)
        if not array.size or offset % item or memory.nbytes % item or any(stride % item for stride in array.strides):
            array = np.array(array, order="C")      # a memory of its own
            memory, offset = array.reshape(-1).view(np.uint8), 0
        key = (address(memory), memory.nbytes, tensor.dtype.name, str(tensor.device))
        if key not in self._keys:
            self._keys[key] = len(self.memories)
            self.memories.append(memory)        # it also keeps the memory alive, so that no other one gets its address
        storage = Reference("storage", name_of("torch", STORAGES[tensor.dtype.name]), str(self._keys[key]), str(tensor.device),
                            memory.nbytes // item)
        return storage, offset // item, tuple(array.shape), tuple(stride // item for stride in array.strides)

    def _save_name(self, obj):
        self.write(pickle.GLOBAL + obj.text)
        self.memoize(obj)

    def _save_dtype(self, obj):
        self.write(pickle.GLOBAL + f"torch\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[Global] = _save_name
    dispatch[DType] = _save_dtype


def dump(obj):
    """Return the pickle of `obj`, and the list of its storages as arrays of bytes."""
    file = io.BytesIO()
    pickler = Pickler(file)
    pickler.dump(obj)
    return file.getvalue(), pickler.memories
