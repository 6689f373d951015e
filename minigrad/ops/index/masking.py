"""Masks: masked_fill, masked_scatter, masked_select, dropout, and the triangles of matrices.

    x.masked_fill(mask, v)          z = v where mask is True, else x
    x.masked_scatter(mask, y)       z = the next element of y where mask is True, else x
    x.masked_select(mask)           z = the elements of x where mask is True

Mirrors ``aten/src/ATen/native/{TensorAdvancedIndexing,TriangularOps}.cpp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.arguments import NUMBERS, check_number_in, convert_number, integer, tensor_argument, tensor_error
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import BOOL, Elementwise, Linear, Op, op, variant
from minigrad.ops.elementwise.selection import where
from minigrad.ops.index.indexing import IndexPutMask, linear_together
from minigrad.ops.shape.cat_split import cat
from minigrad.ops.shape.formats import row_major
from minigrad.ops.shape.views import expand, reshape, reshape_array

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["masked_fill", "masked_scatter", "masked_select", "tril", "triu"]


@op("masked_fill")
class MaskedFill(Elementwise):
    """z = a number where mask is True, else x"""

    inputs = 1

    def forward(k, x, mask, value):
        return row_major(k, k.where(mask, k.full((), value, x.dtype), x))

    def vjp_x(g, mask):
        return where(mask, 0.0, g)


@op("native_dropout")
class NativeDropout(Op):
    """(z, kept): z = x / (1 - p) where x is kept, else 0"""

    inputs = 1
    outputs = ("z", "kept")
    torch_names = {"kept": "result1"}

    def forward(k, x, generator, p):
        return k.dropout(generator, x, p)

    def vjp(g, needs, kept, p):
        return (None if g[0] is None else call(NativeDropoutBackward.op, (g[0], kept, p)),)

    def jvp(ts, kept, p):
        return call(NativeDropoutBackward.op, (ts[0], kept, p)), None


@op("native_dropout_backward")
class NativeDropoutBackward(Linear):
    """z = x / (1 - p) where kept is True, else 0"""

    inputs = 1
    torch_names = {"x": "grad_output", "kept": "mask"}

    def forward(k, x, kept, p):
        return k.dropout_backward(x, kept, p)

    def vjp_x(g, kept, p):
        return call(NativeDropoutBackward.op, (g, kept, p))


MaskedFillTensor = variant(IndexPutMask, "masked_fill_tensor", "MaskedFill1", "z = y, a 0-d tensor, where mask is True, else x",
                           torch_names={"x": "self", "y": "value"}, hidden=(), write=None)


@op("masked_scatter")
class MaskedScatter(Linear):
    """z = the next element of y where mask is True, else x"""

    inputs = 2
    torch_names = {"x": "self", "y": "source"}

    def forward(k, x, y, mask):
        return k.masked_scatter(x, mask, y)

    def vjp_x(g, mask):
        return where(mask, 0.0, g)

    def vjp_y(g, y_shape, mask):
        used = masked_select(g, mask)
        size = 1
        for n in y_shape:
            size *= n
        return reshape(cat([used, g.new_zeros(size - used.numel())]), y_shape)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


@op("masked_select")
class MaskedSelect(Linear):
    """z = the elements of x where mask is True, as a vector"""

    inputs = 1

    def forward(k, x, mask):
        if x.shape != mask.shape:
            shape = np.broadcast_shapes(tuple(x.shape), tuple(mask.shape))
            x, mask = k.expand(x, shape), k.expand(mask, shape)
        places = k.nonzero(reshape_array(k, mask, (mask.size,)))
        return k.index_select(reshape_array(k, x, (x.size,)), 0, k.select(places, 1, 0))

    def vjp_x(g, x, mask):
        shape = broadcast_shape([x._meta, mask._meta])
        return call(MaskedScatter.op, (g.new_zeros(shape), g, expand(mask, shape)))


@op("tril")
class Tril(Linear):
    """z = x with 0 above a diagonal"""

    def forward(k, x, diagonal):
        return row_major(k, k.tril(x, diagonal))

    def vjp_x(g, diagonal):
        return call(Tril.op, (g, diagonal))


@op("triu")
class Triu(Linear):
    """z = x with 0 below a diagonal"""

    def forward(k, x, diagonal):
        return row_major(k, k.triu(x, diagonal))

    def vjp_x(g, diagonal):
        return call(Triu.op, (g, diagonal))


# ---- public functions -------------------------------------------------------------------------------------


def check_mask(function, mask, position=2):
    """Return `mask`; raise unless it is a bool tensor."""
    tensor_argument(function, mask, "mask", position)
    if mask.dtype is not BOOL:
        raise DtypeError("MG-E203", f"{function} only supports boolean masks, but got mask with dtype {mask.dtype.name}",
                         fix="compare: mask != 0")
    return mask


@in_place_too
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number):
    """`input` with `value` where `mask` is True. Mirrors ``torch.masked_fill``.

    Args:
        input (Tensor): of any dtype.
        mask (Tensor): bool. The shapes broadcast together.
        value (number or Tensor): is converted to the dtype of `input`. A tensor must be 0-d.

    Where `mask` is True, the gradient of `input` is 0. There the gradient goes to `value`, if it is a tensor.

    Raises:
        RuntimeError: `mask` is not bool, `value` has dimensions, or the shapes cannot be broadcast together.

    >>> mg.tensor([1., 2., 3.]).masked_fill(mg.tensor([True, False, True]), 0)
    tensor([0., 2., 0.])
    """
    check_mask("masked_fill", mask)
    if not isinstance(value, TensorBase):
        if not isinstance(value, NUMBERS):
            raise tensor_error("masked_fill", value, "value", 3)
        value = convert_number(value, input.dtype)
        return MaskedFill.op, (input, mask, value)
    if value.ndim:
        raise ShapeError("MG-E204", "masked_fill only supports a 0-dimensional value tensor, but got tensor with "
                         f"{value.ndim} dimension(s).")
    check_number_in(value, input.dtype)
    return MaskedFillTensor.op, (input, value, mask)


@in_place_too
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor):
    """`input` with the elements of `source`, in their order, where `mask` is True. Mirrors ``torch.masked_scatter``.

    Args:
        input (Tensor): of any dtype.
        mask (Tensor): bool. Its shape and that of `input` broadcast together.
        source (Tensor): of the dtype of `input`, with at least as many elements as `mask` is True for.

    Raises:
        RuntimeError: `mask` is not bool, the dtypes differ, or `source` has too few elements.

    >>> mg.tensor([1., 2., 3.]).masked_scatter(mg.tensor([True, False, True]), mg.tensor([7., 8.]))
    tensor([7., 2., 8.])
    """
    check_mask("masked_scatter", mask)
    tensor_argument("masked_scatter", source, "source", 3)
    if source.dtype is not input.dtype:
        raise DtypeError("MG-E203", "masked_scatter: expected self and source to have same dtypes but got "
                         f"{input.dtype.name} and {source.dtype.name}")
    shape = broadcast_shape([input._meta, mask._meta])
    few = source.numel() < math.prod(shape)
    if few and not mask.is_meta and source.numel() < expand(mask, shape).sum().item():
        raise ShapeError("MG-E204", "masked_scatter: expected source to have an element for each True in the mask",
                         found=f"{source.numel()}")
    return MaskedScatter.op, (input, source, mask)


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` where `mask` is True, as a vector. Mirrors ``torch.masked_select``.

    Args:
        input (Tensor): of any dtype.
        mask (Tensor): bool. The shapes broadcast together, which ``input[mask]`` does not do.

    Raises:
        RuntimeError: `mask` is not bool, or the shapes cannot be broadcast together.

    >>> mg.masked_select(mg.tensor([1., 2., 3.]), mg.tensor([True, False, True]))
    tensor([1., 3.])
    """
    if out is not None:
        return into(out, masked_select, input, mask)
    tensor_argument("masked_select", input)
    check_mask("masked_select", mask)
    broadcast_shape([input._meta, mask._meta])
    return call(MaskedSelect.op, (input, mask))


@in_place_too
def tril(input: Tensor, diagonal: int = 0):
    """The lower triangle of a matrix, or of each matrix of a batch: 0 above a diagonal. Mirrors ``torch.tril``.

    Args:
        input (Tensor): of shape (..., rows, columns).
        diagonal (int): 0 for the main diagonal, 1 for the next one above it, -1 for the next one below it.

    Raises:
        RuntimeError: `input` has fewer than two dimensions.

    >>> mg.ones(2, 2).tril()
    tensor([[1., 0.],
            [1., 1.]])
    """
    return Tril.op, triangle_arguments("tril", input, diagonal)


@in_place_too
def triu(input: Tensor, diagonal: int = 0):
    """The upper triangle of a matrix, or of each matrix of a batch: 0 below a diagonal. Mirrors ``torch.triu``.

    Args:
        input (Tensor): of shape (..., rows, columns).
        diagonal (int): 0 for the main diagonal, 1 for the next one above it, -1 for the next one below it.

    Raises:
        RuntimeError: `input` has fewer than two dimensions.

    >>> mg.ones(2, 2).triu(1)
    tensor([[0., 1.],
            [0., 0.]])
    """
    return Triu.op, triangle_arguments("triu", input, diagonal)


def triangle_arguments(function, x, diagonal):
    """Check and return the arguments of `Tril` and `Triu`."""
    if x.ndim < 2:
        raise ShapeError("MG-E205", f"{function}: input tensor must have at least 2 dimensions", found=f"{x.ndim}")
    most = x.shape[-1] + x.shape[-2]        # the diagonals end there
    return x, max(-most, min(most, integer(diagonal, "diagonal", function)))
