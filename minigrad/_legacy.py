"""The names by which older programs know tensors: `FloatTensor` and its like, ``x.new(2, 3)``, ``x.volatile``; and small questions.

    mg.LongTensor(2, 3)         empty((2, 3), dtype=mg.int64)
    mg.LongTensor([1, 2])       tensor([1, 2], dtype=mg.int64)
    isinstance(x, mg.LongTensor)        x.dtype is mg.int64 and x.is_cpu

Mirrors ``torch/csrc/tensor/python_tensor.cpp`` and ``torch/csrc/utils/tensor_new.cpp``.
"""

import warnings

from minigrad._core.graph.metadata import Size
from minigrad.creation import empty, empty_strided, tensor
from minigrad.dtypes import TENSOR_TYPES  # pyright: ignore[reportAttributeAccessIssue]
from minigrad.errors import TensorTypeError
from minigrad.ops.base.rule import tensor_argument
from minigrad.ops.shape.formats import strided
from minigrad.tensor import Tensor, install_methods

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
           "ShortTensor", "get_device", "is_inference"]


class TensorType(type):
    """The type of `FloatTensor` and its like, of which every tensor of that dtype on the CPU is an instance."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.is_cpu     # pyright: ignore

    def __call__(cls, *data, device=None):
        return of_old_arguments(cls.dtype, data, device)        # pyright: ignore


def tensor_type(name):
    """The class `name`."""
    kind = TENSOR_TYPES[name]
    text = f"""Tensors of {kind.name} by their old name: makes one of that shape, or with these numbers. Mirrors ``torch.{name}``.

    Raises:
        TypeError: what is given is neither sizes nor a sequence, or is a tensor of another dtype.

    >>> mg.{name}(2, 3).shape, mg.{name}([0, 1]).dtype
    (minigrad.Size([2, 3]), {kind})
    """
    return TensorType(name, (), {"__doc__": text, "__module__": __name__, "__slots__": (), "dtype": kind, "is_cuda": False,
                                 "layout": strided})


ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor = [
    tensor_type(name) for name in ("ByteTensor", "CharTensor", "ShortTensor", "IntTensor", "LongTensor")]
HalfTensor, FloatTensor, DoubleTensor, BoolTensor = [
    tensor_type(name) for name in ("HalfTensor", "FloatTensor", "DoubleTensor", "BoolTensor")]


def of_old_arguments(kind, data, device):
    """A tensor of a dtype, of what its old type is called with: nothing, sizes, a sequence of numbers, or a tensor."""
    if not data:
        return empty(0, dtype=kind, device=device)
    first = data[0]
    if len(data) > 1 or type(first) is int or isinstance(first, Size):
        return empty(*data, dtype=kind, device=device)
    if isinstance(first, Tensor):
        if first.dtype is not kind:
            raise TensorTypeError("MG-E203", f"new(): expected a tensor of {kind.name}, got one of {first.dtype.name}",
                                  fix=f"x.to({kind})")
        return first.detach()
    if isinstance(first, str):
        raise TensorTypeError("MG-E306", "new(): invalid data type 'str'")
    if not hasattr(first, "__len__"):
        raise TensorTypeError("MG-E306", f"new(): data must be a sequence (got {type(first).__name__})")
    return tensor(first, dtype=kind, device=device)


def new(self, *data, device=None):
    """A tensor of this one's dtype, of sizes or of a sequence of numbers; empty without them. Mirrors ``torch.Tensor.new``.

    Raises:
        TypeError: what is given is neither, or is a tensor of another dtype.

    >>> mg.tensor([1]).new([1.5, 2]), mg.zeros(1).new(2, 3).shape
    (tensor([1, 2]), minigrad.Size([2, 3]))
    """
    return of_old_arguments(self.dtype, data, self.device if device is None else device)


def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False):
    """Elements not yet set, with strides, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_empty_strided``.

    >>> mg.tensor([1]).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype,
                         device=self.device if device is None else device, requires_grad=requires_grad)


def get_device(input):
    """The number of the GPU that `input` lies on, -1 for the CPU. Mirrors ``torch.get_device``.

    >>> mg.zeros(2).get_device()
    -1
    """
    number = tensor_argument("get_device", input).device.index
    return -1 if number is None or input.is_cpu else number


def is_inference(input):
    """Whether `input` was made in inference mode. Mirrors ``torch.is_inference``.

    >>> mg.is_inference(mg.zeros(2))
    False
    """
    return tensor_argument("is_inference", input).is_inference()


def is_set_to(self, tensor):
    """Whether `tensor` is the same part of the same memory: shape, strides and offset too. Mirrors ``torch.Tensor.is_set_to``.

    >>> x = mg.zeros(2, 3)
    >>> x.is_set_to(x.detach()), x.is_set_to(x[0])
    (True, False)
    """
    tensor_argument("is_set_to", tensor, "tensor", 1)
    return (self.shape == tensor.shape and self.stride() == tensor.stride() and self.device is tensor.device
            and self.untyped_storage() == tensor.untyped_storage() and self.storage_offset() == tensor.storage_offset())


def layout_of(self):
    """How it lies in memory: ``mg.strided``. Mirrors ``torch.Tensor.layout``."""
    return strided


def volatile(self):
    """False: what it once did, `no_grad` does. It warns. Mirrors ``torch.Tensor.volatile``."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def set_volatile(self, value):
    warnings.warn("volatile was removed and now has no effect. Use `with minigrad.no_grad():` instead.", UserWarning, stacklevel=2)


install_methods({"get_device": get_device, "is_set_to": is_set_to, "layout": property(layout_of), "new": new,
                 "new_empty_strided": new_empty_strided, "volatile": property(volatile, set_volatile)})
