"""Tensors of a given shape, filled with one value or not filled at all.

Mirrors ``aten/src/ATen/native/TensorFactories.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.record.promotion import default_dtype
from minigrad.creation._from_data import new_leaf
from minigrad.creation._options import fills_out, takes_storage_options
from minigrad.dtypes import as_device, as_dtype, bool_, int64
from minigrad.errors import ShapeError, TensorTypeError
from minigrad.ops.base.arguments import WRITTEN_AS, convert_number, flag, integers, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DeviceLike, DType, Number, Tensor

__all__ = ["empty", "empty_like", "empty_strided", "full", "full_like", "ones", "ones_like", "scalar_tensor", "zeros", "zeros_like"]


def sizes_argument(size, function):
    """Return the shape from the sizes of a creation function, which are given one by one or as a tuple."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    shape = integers(size, "size", function)
    for n in shape:
        if n < 0:
            raise ShapeError("MG-E206", f"{function}: Dimension size must be non-negative.", found=f"size {list(shape)}")
    return shape


def fill_leaf(function, shape, value, dtype, device, requires_grad):
    """Make a tensor of the given shape with `value`, which `dtype` can hold, in every element."""
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    try:
        return new_leaf(as_device(device).backend.kernels.full(shape, value, kind.numpy), device, requires_grad)
    except (ValueError, MemoryError, OverflowError) as error:
        raise translate_kernel_error(function, error) from None


@fills_out
def zeros(*size: int | Sequence[int], dtype: DType | None = None, device: DeviceLike | None = None,
          requires_grad: bool = False) -> Tensor:
    """A tensor of zeros. Mirrors ``torch.zeros``.

    Args:
        size (ints, or one tuple): the shape.
        dtype (optional): the default dtype (float32) if not given.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return fill_leaf("zeros", sizes_argument(size, "zeros"), 0, dtype, device, requires_grad)


@fills_out
def ones(*size: int | Sequence[int], dtype: DType | None = None, device: DeviceLike | None = None,
         requires_grad: bool = False) -> Tensor:
    """A tensor of ones. Mirrors ``torch.ones``.

    Args:
        size (ints, or one tuple): the shape.
        dtype (optional): the default dtype (float32) if not given.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.ones(2)
    tensor([1., 1.])
    """
    return fill_leaf("ones", sizes_argument(size, "ones"), 1, dtype, device, requires_grad)


@fills_out
def empty(*size: int | Sequence[int], dtype: DType | None = None, device: DeviceLike | None = None,
          requires_grad: bool = False) -> Tensor:
    """An uninitialised tensor. Mirrors ``torch.empty``.

    >>> mg.empty(2, 3).shape
    minigrad.Size([2, 3])
    """
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    return new_leaf(as_device(device).backend.kernels.empty(sizes_argument(size, "empty"), kind.numpy), device, requires_grad)


@fills_out
def full(size: int | Sequence[int], fill_value: Number, *, dtype: DType | None = None, device: DeviceLike | None = None,
         requires_grad: bool = False) -> Tensor:
    """A tensor of one value. Mirrors ``torch.full``.

    Args:
        size (tuple): the shape.
        fill_value (number): decides the dtype if none is given.

    >>> mg.full((2,), 7)
    tensor([7, 7])
    """
    if not isinstance(size, (tuple, list)):
        raise TensorTypeError("MG-E206", f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    fill_value = number(fill_value, "fill_value", "full")
    shape = sizes_argument((size,), "full")
    if dtype is None:
        kind = bool_ if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else default_dtype().to_complex() \
            if isinstance(fill_value, complex) else default_dtype()
    else:
        kind = as_dtype(dtype)
    value = convert_number(fill_value, WRITTEN_AS.get(kind, kind))
    return fill_leaf("full", shape, value, kind, device, requires_grad)


def like_arguments(input, dtype, device):
    """The size, dtype and device of `input`, where they are not given."""
    if not isinstance(input, TensorBase):
        raise TensorTypeError("MG-E201", f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input.dtype if dtype is None else dtype, input.device if device is None else device


@takes_storage_options
def zeros_like(input: Tensor, *, dtype: DType | None = None, device: DeviceLike | None = None,
               requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and dtype of `input`. Mirrors ``torch.zeros_like``.

    >>> mg.zeros_like(mg.tensor([1, 2]))
    tensor([0, 0])
    """
    dtype, device = like_arguments(input, dtype, device)
    return fill_leaf("zeros_like", tuple(input.shape), 0, dtype, device, requires_grad)


@takes_storage_options
def ones_like(input: Tensor, *, dtype: DType | None = None, device: DeviceLike | None = None,
              requires_grad: bool = False) -> Tensor:
    """Ones in the shape and dtype of `input`. Mirrors ``torch.ones_like``.

    >>> mg.ones_like(mg.tensor([1., 2.]))
    tensor([1., 1.])
    """
    dtype, device = like_arguments(input, dtype, device)
    return fill_leaf("ones_like", tuple(input.shape), 1, dtype, device, requires_grad)


@takes_storage_options
def full_like(input: Tensor, fill_value: Number, *, dtype: DType | None = None, device: DeviceLike | None = None,
              requires_grad: bool = False) -> Tensor:
    """One value in the shape and dtype of `input`. Mirrors ``torch.full_like``.

    >>> mg.full_like(mg.tensor([1., 2.]), 3)
    tensor([3., 3.])
    """
    dtype, device = like_arguments(input, dtype, device)
    value = convert_number(number(fill_value, "fill_value", "full_like"), as_dtype(dtype))
    return fill_leaf("full_like", tuple(input.shape), value, dtype, device, requires_grad)


@takes_storage_options
def empty_like(input: Tensor, *, dtype: DType | None = None, device: DeviceLike | None = None,
               requires_grad: bool = False) -> Tensor:
    """Elements that have not been set, in the shape and dtype of `input`. Mirrors ``torch.empty_like``.

    >>> mg.empty_like(mg.zeros(2, 3)).shape
    minigrad.Size([2, 3])
    """
    dtype, device = like_arguments(input, dtype, device)
    return empty(tuple(input.shape), dtype=dtype, device=device, requires_grad=requires_grad)


@takes_storage_options
def empty_strided(size: int | Sequence[int], stride: Sequence[int], *, dtype: DType | None = None, device: DeviceLike | None = None,
                  requires_grad: bool = False) -> Tensor:
    """Elements that have not been set, in a shape and with strides. Mirrors ``torch.empty_strided``.

    Args:
        size, stride (tuple of int): for each dimension; several elements may lie in one place.

    Raises:
        RuntimeError: a size or stride is negative, or there is not one stride for each size.

    >>> mg.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    size, stride = integers(size, "size", "empty_strided"), integers(stride, "stride", "empty_strided")
    if len(size) != len(stride):
        raise ShapeError("MG-E206", f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    if min(size, default=0) < 0:
        raise ShapeError("MG-E206", f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if min(stride, default=0) < 0:
        raise ShapeError("MG-E206", f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    span = 0 if 0 in size else 1 + sum([(n - 1) * step for n, step in zip(size, stride)])
    if span >= 1 << 63:
        raise ShapeError("MG-E206", f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    flag(requires_grad, "requires_grad", "empty_strided")
    from minigrad.ops.shape.strided import as_strided  # late: see ops/late.py
    whole = as_strided(empty((span,), dtype=dtype, device=device), size, stride)
    return new_leaf(whole._array, device, requires_grad)        # pyright: ignore[reportAttributeAccessIssue]


@takes_storage_options
def scalar_tensor(s: Number, *, dtype: DType | None = None, device: DeviceLike | None = None,
                  requires_grad: bool = False) -> Tensor:
    """A 0-d tensor, float32 unless told otherwise. Mirrors ``torch.scalar_tensor``.

    >>> mg.scalar_tensor(2)
    tensor(2.)
    """
    return full((), s, dtype=default_dtype() if dtype is None else dtype, device=device, requires_grad=requires_grad)
