"""Python functions on the elements of a tensor, and questions that older programs ask: `apply_`, `map_`, `share_memory_`.

Mirrors ``torch/csrc/utils/tensor_apply.cpp`` and ``torch/_tensor.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minigrad._arguments import callable_argument
from minigrad._warnings import warn_once
from minigrad.errors import AutogradError, TensorTypeError
from minigrad.ops.base.arguments import tensor_argument

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["METHODS"]


def call_for_each(function, self, callable, *others):
    """Overwrite each element with the result of `callable` for it and the elements of `others` in the same place."""
    callable_argument(callable, "callable", function)
    if self.requires_grad:
        raise AutogradError("MG-E115", f"Can't call {function}() on Variable that requires grad. Use var.detach().{function}() "
                            "instead.",
                            fix=f"x.detach().{function}(...): what Python computes has no derivative")
    for other in others:
        if tensor_argument(function, other, "other").dtype is not self.dtype:
            raise TensorTypeError("MG-E203", f"{function}: expected {self.type()} for 'other' (got {other.type()})",
                                  fix="other.type_as(x)")
    if self.device.type != "cpu":
        raise TensorTypeError("MG-E202", f"{function}() is only implemented on CPU tensors", fix="x.cpu()")
    arrays = [other.expand(self.shape)._array.reshape(-1).tolist() for other in others]
    numbers = [callable(*elements) for elements in zip(self._array.reshape(-1).tolist(), *arrays)]
    with np.errstate(all="ignore"):
        made = np.array(numbers, dtype=None if numbers else self.dtype.numpy).astype(self.dtype.numpy).reshape(tuple(self.shape))
    return self.copy_(self._of_array(made))


def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
    """Overwrite each element x with ``callable(x)``, which gets and returns a Python number. Mirrors ``torch.Tensor.apply_``.

    It is slow: a loop in Python. Ops compute the same for all elements in C.

    Raises:
        RuntimeError: this tensor requires a gradient.
        TypeError: `callable` cannot be called.

    >>> mg.tensor([1., 2.]).apply_(lambda x: x * 10)
    tensor([10., 20.])
    """
    return call_for_each("apply_", self, callable)


def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Overwrite each element x with ``callable(x, y)``, y the element of `tensor` in its place. Mirrors ``torch.Tensor.map_``.

    Args:
        tensor (Tensor): of the same dtype; its shape broadcasts to the shape of this tensor.
        callable: a function of two Python numbers.

    Raises:
        RuntimeError: this tensor requires a gradient, or the shapes do not fit.
        TypeError: the dtypes differ.

    >>> mg.tensor([1., 2.]).map_(mg.tensor([3., 1.]), max)
    tensor([3., 2.])
    """
    return call_for_each("map_", self, callable, tensor)


def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Overwrite each element with ``callable(element, element of x, element of y)``. Mirrors ``torch.Tensor.map2_``.

    >>> mg.tensor([1.]).map2_(mg.tensor([2.]), mg.tensor([3.]), lambda a, b, c: a + b * c)
    tensor([7.])
    """
    return call_for_each("map2_", self, callable, x, y)


def share_memory_(self) -> Tensor:
    """Return this tensor. A warning says once that minigrad has no shared memory. Mirrors ``torch.Tensor.share_memory_``.

    Processes do not see each other's writes. Threads share all tensors anyway.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     mg.zeros(2).share_memory_()
    tensor([0., 0.])
    """
    warn_once("share_memory_() does nothing in minigrad: a tensor stays in the memory of its process, and another process gets "
              "a copy.", 2)
    return self


def is_shared(self) -> bool:
    """False: minigrad has no memory that processes share. Mirrors ``torch.Tensor.is_shared``.

    >>> mg.zeros(2).is_shared()
    False
    """
    return self is None


def is_conj(self) -> bool:
    """False: a conjugate is computed immediately here. Mirrors ``torch.Tensor.is_conj``.

    >>> mg.zeros(2).is_conj()
    False
    """
    return self is None


def is_neg(self) -> bool:
    """False: a negative is computed immediately here. Mirrors ``torch.Tensor.is_neg``.

    >>> mg.zeros(2).is_neg()
    False
    """
    return self is None


def to_dense(self) -> Tensor:
    """Return this tensor: all tensors are dense. Mirrors ``torch.Tensor.to_dense``.

    >>> mg.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self


def narrow_copy(self, dim: int, start: int, length: int) -> Tensor:
    """A copy of `narrow`. Mirrors ``torch.Tensor.narrow_copy``.

    >>> mg.arange(4).narrow_copy(0, 1, 2)
    tensor([1, 2])
    """
    return self.narrow(dim, start, length).clone()


def never(self):
    """False: minigrad has no tensors of this kind."""
    return False


KINDS = ("is_mkldnn", "is_mps", "is_nested", "is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu")
METHODS = {"apply_": apply_, "map_": map_, "map2_": map2_, "share_memory_": share_memory_, "is_shared": is_shared,
           "is_conj": is_conj, "is_neg": is_neg, "to_dense": to_dense, "narrow_copy": narrow_copy,
           **dict.fromkeys(KINDS, property(never))}
