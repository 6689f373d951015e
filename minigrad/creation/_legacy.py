"""The legacy types of tensors: `FloatTensor` and its like.

    mg.LongTensor(2, 3)                 empty((2, 3), dtype=mg.int64)
    mg.LongTensor([1, 2])               tensor([1, 2], dtype=mg.int64)
    isinstance(x, mg.LongTensor)        x.dtype is mg.int64 and x.is_cpu

Mirrors ``torch/csrc/tensor/python_tensor.cpp`` and ``torch/csrc/utils/tensor_new.cpp``.
"""

from minigrad._core.graph.metadata import Size
from minigrad._core.graph.tensor import TensorBase
from minigrad.creation._filled import empty
from minigrad.creation._from_data import tensor
from minigrad.dtypes import TENSOR_TYPES  # pyright: ignore[reportAttributeAccessIssue]
from minigrad.errors import TensorTypeError
from minigrad.ops.shape.formats import strided

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
           "ShortTensor"]


class TensorType(type):
    """The type of `FloatTensor` and its like. Every tensor of that dtype on the CPU is an instance."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, TensorBase) and instance.dtype is cls.dtype and instance.is_cpu     # pyright: ignore

    def __call__(cls, *data, device=None):
        return from_legacy_arguments(cls.dtype, data, device)        # pyright: ignore


def tensor_type(name):
    """Make the class `name`."""
    kind = TENSOR_TYPES[name]
    text = f"""Tensors of {kind.name} under their legacy name. A call makes a tensor of a shape, or of given numbers.

    Mirrors ``torch.{name}``.

    Raises:
        TypeError: the arguments are neither sizes nor a sequence, or are a tensor of another dtype.

    >>> mg.{name}(2, 3).shape, mg.{name}([0, 1]).dtype
    (minigrad.Size([2, 3]), {kind})
    """
    return TensorType(name, (), {"__doc__": text, "__module__": __name__, "__slots__": (), "dtype": kind, "is_cuda": False,
                                 "layout": strided})


ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor = [
    tensor_type(name) for name in ("ByteTensor", "CharTensor", "ShortTensor", "IntTensor", "LongTensor")]
HalfTensor, FloatTensor, DoubleTensor, BoolTensor = [
    tensor_type(name) for name in ("HalfTensor", "FloatTensor", "DoubleTensor", "BoolTensor")]


def from_legacy_arguments(kind, data, device):
    """Make a tensor from the arguments of a legacy type: nothing, sizes, a sequence of numbers, or a tensor."""
    if not data:
        return empty(0, dtype=kind, device=device)
    first = data[0]
    if len(data) > 1 or type(first) is int or isinstance(first, Size):
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
