"""Small questions to a tensor that PyTorch has as functions, and attributes that older programs read.

Mirrors ``torch/csrc/autograd/python_variable.cpp``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.shape.formats import strided

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["METHODS", "get_device", "is_inference"]


def get_device(input: Tensor) -> int:
    """Return the number of the GPU on which `input` is, -1 for the CPU. Mirrors ``torch.get_device``.

    >>> mg.zeros(2).get_device()
    -1
    """
    number = tensor_argument("get_device", input).device.index
    return -1 if number is None or input.is_cpu else number


def is_inference(input: Tensor) -> bool:
    """Whether `input` was made in inference mode. Mirrors ``torch.is_inference``.

    >>> mg.is_inference(mg.zeros(2))
    False
    """
    return tensor_argument("is_inference", input).is_inference()


def is_set_to(self, tensor: Tensor) -> bool:
    """Whether `tensor` shows the same memory with the same shape, strides and offset. Mirrors ``torch.Tensor.is_set_to``.

    >>> x = mg.zeros(2, 3)
    >>> x.is_set_to(x.detach()), x.is_set_to(x[0])
    (True, False)
    """
    tensor_argument("is_set_to", tensor, "tensor", 1)
    return (self.shape == tensor.shape and self.stride() == tensor.stride() and self.device is tensor.device
            and self.untyped_storage() == tensor.untyped_storage() and self.storage_offset() == tensor.storage_offset())


def layout_of(self):
    """The memory layout: ``mg.strided``. Mirrors ``torch.Tensor.layout``."""
    return strided


def volatile(self):
    """False, with a warning: `no_grad` has replaced it. Mirrors ``torch.Tensor.volatile``."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def set_volatile(self, value):
    warnings.warn("volatile was removed and now has no effect. Use `with minigrad.no_grad():` instead.", UserWarning, stacklevel=2)


def grad_of(self):
    """`grad` under the name that programs of several processes assign to. Mirrors ``torch.Tensor._grad``."""
    return self.grad


def set_grad(self, value):
    self.grad = value


METHODS = {"_grad": property(grad_of, set_grad), "get_device": get_device, "is_set_to": is_set_to, "layout": property(layout_of),
           "volatile": property(volatile, set_volatile)}
