"""The legacy types of tensors: `FloatTensor` and its like.

    mg.LongTensor(2, 3)                 empty((2, 3), dtype=mg.int64)
    mg.LongTensor([1, 2])               tensor([1, 2], dtype=mg.int64)
    isinstance(x, mg.LongTensor)        x.dtype is mg.int64 and x.is_cpu
    x.type() == "torch.LongTensor"      the name of the type is PyTorch's: programs compare with it

Mirrors ``torch/csrc/tensor/python_tensor.cpp`` and ``torch/csrc/utils/tensor_new.cpp``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.metadata import Size
from minigrad._core.graph.tensor import TensorBase
from minigrad._warnings import warn_once
from minigrad.creation._filled import empty
from minigrad.creation._from_data import tensor
from minigrad.dtypes import (
    TENSOR_TYPES,  # pyright: ignore[reportAttributeAccessIssue]
    as_device,
    set_default_dtype,
)
from minigrad.errors import DeviceError, TensorTypeError
from minigrad.ops.base.arguments import in_words
from minigrad.ops.shape.formats import strided

if TYPE_CHECKING:
    from typing import Any

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
           "ShortTensor", "set_default_tensor_type"]


class TensorType(type):
    """The type of `FloatTensor` and its like. Every tensor of that dtype on that kind of device is an instance."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, TensorBase) and instance.dtype is cls.dtype and instance.is_cuda is cls.is_cuda   # pyright: ignore

    def __call__(cls, *data, device=None, **named):
        if named:
            data = (*data, legacy_argument(cls.__name__, named))
        return from_legacy_arguments(cls.dtype, data, device_of_type(cls, device))      # pyright: ignore

    def __repr__(cls):
        return f"<class 'minigrad.{'cuda.' * cls.is_cuda}{cls.__name__}'>"      # pyright: ignore


def tensor_type(name, cuda=False):
    """Make the class `name`, of tensors on the CPU or on a GPU."""
    kind = TENSOR_TYPES[name]
    text = f"""Tensors of {kind.name} under their legacy name. A call makes a tensor of a shape, or of given numbers.

    Mirrors ``torch.{'cuda.' * cuda}{name}``.

    Raises:
        TypeError: the arguments are neither sizes nor a sequence, or are a tensor of another dtype.

    >>> mg.{name}(2, 3).shape, mg.{name}([0, 1]).dtype
    (minigrad.Size([2, 3]), {kind})
    """
    return TensorType(name, (), {"__doc__": text, "__module__": __name__, "__slots__": (), "dtype": kind, "is_cuda": cuda,
                                 "layout": strided})


ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor = [
    tensor_type(name) for name in ("ByteTensor", "CharTensor", "ShortTensor", "IntTensor", "LongTensor")]
HalfTensor, FloatTensor, DoubleTensor, BoolTensor = [
    tensor_type(name) for name in ("HalfTensor", "FloatTensor", "DoubleTensor", "BoolTensor")]


@functools.cache
def cuda_type(name):
    """Return the class `name` of tensors on a GPU, such as ``mg.cuda.FloatTensor``; None if no type has this name."""
    return tensor_type(name, cuda=True) if name in __all__ and name.endswith("Tensor") else None


def device_of_type(cls, device=None):
    """Return the device on which the type `cls` makes tensors. Raises `TypeError` if that is a GPU and there is none."""
    if not cls.is_cuda or device is not None:
        return device
    try:
        return as_device("cuda")
    except DeviceError:
        raise TensorTypeError("MG-E202", f"type torch.cuda.{cls.__name__} not available: minigrad can use no GPU",
                              fix='minigrad.cuda.is_available() tells; "python -m minigrad.doctor" says why') from None


def set_default_tensor_type(t: Any, /) -> None:
    """Make the dtype of a legacy type the default dtype. Mirrors ``torch.set_default_tensor_type``, which is deprecated.

    Args:
        t (type or str): such as ``mg.DoubleTensor`` or ``"torch.DoubleTensor"``.

    Raises:
        TypeError: `t` is no type of floating point tensors on the CPU.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     mg.set_default_tensor_type("torch.DoubleTensor")
    >>> mg.zeros(2).dtype
    minigrad.float64
    >>> mg.set_default_dtype(mg.float32)
    """
    warn_once("minigrad.set_default_tensor_type() is deprecated, as in PyTorch: use minigrad.set_default_dtype(), and "
              "device= where you make tensors.", 2)
    found = t if isinstance(t, TensorType) else None
    if isinstance(t, str):
        package, _, name = t.partition(".")
        where, _, name = name.rpartition(".")
        if package in ("torch", "minigrad") and where in ("", "cuda"):
            found = cuda_type(name) if where else globals().get(name) if name in __all__ else None
        if found is None:
            raise TensorTypeError("MG-E302", f"invalid type: {t!r}", expected='"torch.FloatTensor" or its like')
    if found is None:
        raise TensorTypeError("MG-E201", "invalid type object: only floating-point types are supported as the default type",
                              expected='mg.FloatTensor, mg.DoubleTensor, mg.HalfTensor, or the name of one', found=in_words(t))
    if found.is_cuda:       # pyright: ignore
        device_of_type(found)
        raise TensorTypeError("MG-E202", "set_default_tensor_type(): minigrad makes new tensors on the CPU by default",
                              fix='device="cuda" where you make tensors')
    set_default_dtype(found.dtype)     # pyright: ignore


def legacy_argument(function, named):
    """Return the argument of a legacy type that was given by name: ``size=`` or ``data=``."""
    name = next((name for name in named if name not in ("size", "data")), None) or (len(named) > 1 and "size")
    if name:
        raise TensorTypeError("MG-E306", f"{function}() got an unexpected keyword argument {name!r}",
                              expected="sizes, size=, data= or device=")
    return Size(named["size"]) if "size" in named else named["data"]


def from_legacy_arguments(kind, data, device):
    """Make a tensor from the arguments of a legacy type: nothing, sizes, a sequence of numbers, or a tensor."""
    if not data:
        return empty(0, dtype=kind, device=device)
    first = data[0]
    if len(data) > 1 or isinstance(first, (int, np.integer, Size)):
        if isinstance(first, (bool, np.bool_)):
            raise TensorTypeError("MG-E306", f"new(): data must be a sequence (got {type(first).__name__})")
        return empty(*data, dtype=kind, device=device)
    if isinstance(first, TensorBase):
        if first.dtype is not kind:
            raise TensorTypeError("MG-E203", f"new(): expected a tensor of {kind.name}, got one of {first.dtype.name}",
                                  fix=f"x.to({kind})")
        return first.detach()
    if isinstance(first, str):
        raise TensorTypeError("MG-E306", "new(): invalid data type 'str'")
    if not hasattr(first, "__len__"):
        raise TensorTypeError("MG-E306", f"new(): data must be a sequence (got {type(first).__name__})")
    return tensor(first, dtype=kind, device=device)
