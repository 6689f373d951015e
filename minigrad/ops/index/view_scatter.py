"""Writing to a view out of place: ``x.select_scatter(y, dim, i)`` is a copy of x with y in the slice ``x.select(dim, i)``.

These functions call other ops and have no rules of their own.

Mirrors ``aten/src/ATen/native/TensorShape.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.base.arguments import dimension, integer, tensor_argument
from minigrad.ops.base.rule import BOOL, INT64
from minigrad.ops.elementwise.selection import where
from minigrad.ops.index.scattering import index_copy
from minigrad.ops.shape.cat_split import select
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.strided import DiagonalBackward, diagonal
from minigrad.ops.shape.views import unsqueeze

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["diagonal_scatter", "select_scatter", "slice_scatter"]


def check_part(function, x, view, src):
    """Convert `src` to the dtype of x; raise unless it has the shape of `view`, the part of x that it replaces."""
    if tensor_argument(function, src, "src", 2).shape != view.shape:
        raise ShapeError("MG-E204", "expected src to have a size equal to the slice of self. src size = "
                         f"{list(src.shape)}, slice size = {list(view.shape)}, in {function}()")
    return cast(src, x.dtype)


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `src` in the slice at `index` along `dim`. Mirrors ``torch.select_scatter``.

    Args:
        input (Tensor): of any dtype.
        src (Tensor): of the shape of ``input.select(dim, index)``; it is converted to the dtype of `input`.
        dim (int): the dimension of the slice.
        index (int): which slice; negative numbers count from the end.

    Raises:
        RuntimeError: `src` does not have the shape of the slice.
        IndexError: there is no such dimension or index.

    >>> mg.select_scatter(mg.zeros(2, 2), mg.tensor([1., 2.]), 0, 1)
    tensor([[0., 0.],
            [1., 2.]])
    """
    part = select(tensor_argument("select_scatter", input), dim, index)
    at = dimension(dim, input.ndim)
    place = input.new_tensor([index % input.shape[at]], dtype=INT64)
    return index_copy(input, at, place, unsqueeze(check_part("select_scatter", input, part, src), at))


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:
    """A copy of `input` with `src` in ``input[..., start:end:step, ...]``. Mirrors ``torch.slice_scatter``.

    Args:
        input (Tensor): of any dtype.
        src (Tensor): of the shape of the slice; it is converted to the dtype of `input`.
        dim (int): the dimension that is sliced.
        start, end (int, optional): the bounds, as in a Python slice.
        step (int): positive.

    Raises:
        RuntimeError: `src` does not have the shape of the slice, or `step` is not positive.
        IndexError: there is no such dimension.

    >>> mg.slice_scatter(mg.zeros(4), mg.tensor([1., 2.]), start=1, end=4, step=2)
    tensor([0., 1., 0., 2.])
    """
    at = dimension(dim, tensor_argument("slice_scatter", input).ndim)
    if integer(step, "step", "slice_scatter") <= 0:
        raise ArgumentError("MG-E303", f"slice step must be positive, got {step}")
    part = input[(slice(None),) * at + (slice(start, end, step),)]
    places = list(range(input.shape[at])[slice(start, end, step)])
    return index_copy(input, at, input.new_tensor(places, dtype=INT64), check_part("slice_scatter", input, part, src))


def diagonal_scatter(input: Tensor, src: Tensor | Number, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `src` on a diagonal. Mirrors ``torch.diagonal_scatter``.

    Args:
        input (Tensor): at least 2-d.
        src (Tensor): of the shape of ``input.diagonal(offset, dim1, dim2)``; it is converted to the dtype of `input`.
        offset (int): 0 for the main diagonal, 1 for the next one above it.
        dim1, dim2 (int): the dimensions of the matrices.

    Raises:
        RuntimeError: `src` does not have the shape of the diagonal.
        IndexError: there is no such dimension.

    >>> mg.diagonal_scatter(mg.zeros(2, 2), mg.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    part = diagonal(tensor_argument("diagonal_scatter", input), offset, dim1, dim2)
    at = (tuple(input.shape), offset, dimension(dim1, input.ndim), dimension(dim2, input.ndim))
    there = call(DiagonalBackward.op, (part.new_ones(part.shape, dtype=BOOL), *at))
    return where(there, call(DiagonalBackward.op, (check_part("diagonal_scatter", input, part, src), *at)), input)
