"""Views by strides: as_strided, which can show the memory of a tensor with any shape and strides; diagonal and unfold.

    x  = [0 1 2 3 4 5]
    as_strided(x, (2, 2), (3, 1), 1)    z[i, j] = x[1 + 3 i + j]        [[1 2], [4 5]]

A view gets its new history after a write by `as_strided` (``_core/mutation/views.py``): one op replaces the chain of views
that led to it. This file gives the core the functions for that (`upcalls`).

Mirrors ``as_strided_backward`` in torch/csrc/autograd/FunctionsManual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cython.cimports.minigrad._core.record.apply import call

from minigrad._core.graph.tensor import memory_of
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.forward_ad import tangent_of
from minigrad.errors import ShapeError
from minigrad.ops.base.arguments import dimension, integer, integers, tensor_argument
from minigrad.ops.base.rule import Linear, Op, View, op
from minigrad.ops.elementwise.selection import zeros_like
from minigrad.ops.index import indexing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["as_strided", "diagonal", "unfold"]


@op("as_strided")
class AsStrided(View):
    """z = a part of x, described by shape, strides and offset in x's memory"""

    hidden = ("base_strides", "x_shape")
    torch_names = {"x": "self", "shape": "size", "strides": "stride", "offset": "storage_offset"}
    inputs = 1
    kernel = "as_strided"
    params = ("x", "base_strides", "shape", "strides", "offset")

    def vjp_x(g, x_shape, base_strides, shape, strides, offset):
        return call(AsStridedAdd.op, (g, x_shape, base_strides, shape, strides, offset))


@op("as_strided_add")
class AsStridedAdd(Linear):
    """z = zeros with x added in a part of it: the adjoint of as_strided"""

    inputs = 1
    kernel = "as_strided_add"
    params = ("x", "base_shape", "base_strides", "shape", "strides", "offset")

    def vjp_x(g, base_strides, shape, strides, offset):
        return part(g, base_strides, shape, strides, offset)


@op("as_strided_copy")
class AsStridedCopy(Linear):
    """`as_strided` of a gradient, as a copy: the result is not a view"""

    inputs = 1

    def forward(k, x, base_strides, shape, strides, offset):
        return k.copy(k.as_strided(x, base_strides, shape, strides, offset))

    def vjp_x(g, x_shape, base_strides, shape, strides, offset):
        return call(AsStridedAdd.op, (g, x_shape, base_strides, shape, strides, offset))


@op("as_strided_scatter")
class AsStridedScatter(Op):
    """z = x with y in a part of it"""

    torch_names = {"x": "self", "y": "src"}

    def forward(k, x, y, base_strides, shape, strides, offset):
        return k.as_strided_scatter(x, y, base_strides, shape, strides, offset)

    def vjp_x(g, base_strides, shape, strides, offset):
        return call(AsStridedScatter.op, (g, g.new_zeros(shape), base_strides, shape, strides, offset))

    def vjp_y(g, base_strides, shape, strides, offset):
        return part(g, base_strides, shape, strides, offset)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return indexing.linear_together(cls, args, tangents)


@op("diagonal")
class Diagonal(View):
    """z = the diagonal of x along two dimensions, as the last one"""

    inputs = 1
    kernel = "diagonal"
    params = ("x", "offset", "dim1", "dim2")

    def vjp_x(g, x_shape, offset, dim1, dim2):
        return call(DiagonalBackward.op, (g, x_shape, offset, dim1, dim2))


@op("diagonal_backward")
class DiagonalBackward(Linear):
    """z = zeros, with x on a diagonal: the adjoint of diagonal"""

    inputs = 1

    def forward(k, x, shape, offset, dim1, dim2):
        z = k.full(shape, 0, x.dtype)
        k.copy_(k.diagonal(z, offset, dim1, dim2), x)
        return z

    def vjp_x(g, offset, dim1, dim2):
        return call(Diagonal.op, (g, offset, dim1, dim2))


@op("unfold")
class Unfold(View):
    """z = windows of x along one dimension, overlapping if size > step; the elements of a window are the last dimension"""

    inputs = 1
    torch_names = {"x": "self", "dim": "dimension"}

    def forward(k, x, dim, size, step):
        strides = tuple([s // x.itemsize for s in x.strides])
        return k.as_strided(x, strides, *windows(x.shape, strides, dim, size, step), 0)

    def vjp_x(g, x_shape, dim, size, step):
        strides = [1] * len(x_shape)
        for d in range(len(x_shape) - 2, -1, -1):
            strides[d] = strides[d + 1] * max(x_shape[d + 1], 1)
        return call(AsStridedAdd.op, (g, x_shape, tuple(strides), *windows(x_shape, strides, dim, size, step), 0))


def windows(shape, strides, dim, size, step):
    """Return the shape and strides of `Unfold`'s result. A 0-d tensor is one window."""
    if not shape:
        return (size,), (1,)
    count = (shape[dim] - size) // step + 1
    return ((*shape[:dim], count, *shape[dim + 1:], size),
            (*strides[:dim], strides[dim] * step, *strides[dim + 1:], strides[dim]))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements x[i, i + offset] of dimensions `dim1` and `dim2`, as the last dimension; a view. Mirrors ``torch.diagonal``.

    Args:
        input (Tensor): of at least two dimensions.
        offset (int): the diagonal: 0 is the main diagonal, positive ones are above it.
        dim1, dim2 (int): the dimensions of the matrices; they are removed.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dimension.
        IndexError: there is no such dimension.

    >>> mg.arange(6).view(2, 3).diagonal(1)
    tensor([1, 5])
    """
    tensor_argument("diagonal", input)
    a, b = dimension(dim1, input.ndim), dimension(dim2, input.ndim)
    if a == b:
        raise ShapeError("MG-E205", f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return call(Diagonal.op, (input, integer(offset, "offset", "diagonal"), a, b))


def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """`minigrad.diagonal`, by default of the last two dimensions. Mirrors ``torch.linalg.diagonal``.

    Args:
        A (Tensor): of at least two dimensions.
        offset (int): the diagonal: 0 is the main diagonal, positive ones are above it.
        dim1, dim2 (int): the dimensions of the matrices; they are removed.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dimension.
        IndexError: there is no such dimension.

    >>> mg.linalg.diagonal(mg.ones(2, 3, 3)).shape
    minigrad.Size([2, 3])
    """
    return diagonal(A, offset, dim1, dim2)


def part(x, base_strides, shape, strides, offset):
    """Return a copy of the part of `x` with this shape, these strides and this offset."""
    return call(AsStridedCopy.op, (x, base_strides, shape, strides, offset))


upcalls.as_strided = part
upcalls.as_strided_scatter = lambda x, y, *geometry: call(AsStridedScatter.op, (x, y, *geometry))
upcalls.as_strided_op = AsStrided.op
upcalls.view_strided = lambda x, *geometry: call(AsStrided.op, (x, *geometry))
upcalls.zeros_like = zeros_like


# ---- public functions -------------------------------------------------------------------------------------


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the memory of `input`: element ``[i, j]`` is at the place ``storage_offset + i stride[0] + j stride[1]``.

    Args:
        input (Tensor): of any shape and dtype.
        size, stride (tuple of int): for each dimension of the result; strides are not negative.
        storage_offset (int, optional): the place of the first element in the storage; by default, the offset of `input`.

    Several elements of the view may share one place. Mirrors ``torch.as_strided``.

    Raises:
        RuntimeError: the view would reach beyond the storage, or, if `input` requires a gradient, beyond `input`.

    >>> mg.as_strided(mg.arange(6), (2, 2), (3, 1), 1)
    tensor([[1, 2],
            [4, 5]])
    """
    tensor_argument("as_strided", input)
    source, geometry = geometry_in(input, size, stride, storage_offset)
    return call(AsStrided.op, (source, *geometry))


def geometry_in(x, size, stride, storage_offset):
    """Return the arguments of `AsStrided`, (x or its base, (strides, size, stride, offset)); raise if it leaves the memory."""
    size, stride = integers(size, "size", "as_strided"), integers(stride, "stride", "as_strided")
    offset = x.storage_offset() if storage_offset is None else integer(storage_offset, "storage_offset", "as_strided")
    if len(size) != len(stride):
        raise ShapeError("MG-E206", "mismatch in length of strides and shape", found=f"{list(stride)} and {list(size)}")
    if min(stride, default=0) < 0:
        raise ShapeError("MG-E206", "as_strided: Negative strides are not supported at the moment, got strides: "
                         f"{list(stride)}")
    if min(size, default=0) < 0 or offset < 0:
        raise ShapeError("MG-E206", "as_strided: sizes and the offset may not be negative", found=f"{list(size)}, {offset}")
    if 0 in size and offset < FAR:
        return x, (x.stride(), size, stride, offset - x.storage_offset())     # an empty view reads nothing
    last = sum([(n - 1) * s for n, s in zip(size, stride)]) if 0 not in size else -1
    for source_of in (itself, base_of, memory_beyond):
        source = source_of(x)
        if source is None:
            continue
        strides = source.stride()
        start = offset - source.storage_offset()
        reach = sum([(n - 1) * s for n, s in zip(source.shape, strides)]) if source.numel() else -1
        overlaps = x.requires_grad and any([s == 0 and n > 1 for n, s in zip(source.shape, strides)])
        if start >= 0 and start + last <= reach and not overlaps:
            return source, (strides, size, stride, start)
    raise ShapeError(
        "MG-E206", f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} are out of bounds for the "
        f"memory of {'a tensor that requires grad and' if x.requires_grad else 'a tensor that'} has shape {list(x.shape)}, strides "
        f"{list(x.stride())} and storage offset {x.storage_offset()}")


FAR = 1 << 58       # in elements: an address of 16 bytes each still fits


def itself(x):
    return x


def base_of(x):
    """The base of the view `x`; None if `x` is not a view, or requires a gradient: its history leads to `x`, not to the base."""
    return None if x.requires_grad else x._base


def memory_beyond(x):
    """The whole memory of `x`, which may be larger than `x` and its base; None if `x` has a history or tangent to lose."""
    return None if x.requires_grad or tangent_of(x) is not None else memory_of(x)


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size` elements along a dimension, `step` apart; a view. Mirrors ``torch.Tensor.unfold``.

    Args:
        input (Tensor): of any shape and dtype.
        dimension (int): the dimension; in the result it counts the windows.
        size (int): the elements of a window, which are a new last dimension.
        step (int): the distance between the starts of two windows.

    Where windows overlap, their gradients add up.

    Raises:
        RuntimeError: `size` is larger than the dimension, or negative; or `step` is not positive.
        IndexError: there is no such dimension.

    >>> mg.arange(5).unfold(0, 3, 1)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """
    tensor_argument("unfold", input)
    at = counted(dimension, input.ndim)
    size, step = integer(size, "size", "unfold"), integer(step, "step", "unfold")
    longest = input.shape[at] if input.ndim else 1
    if size < 0:
        raise ShapeError("MG-E206", f"size is {size} but must be >= 0")
    if size > longest:
        raise ShapeError("MG-E206", f"maximum size for tensor at dimension {at} is {longest} but size is {size}")
    if step <= 0:
        raise ShapeError("MG-E206", f"step is {step} but must be > 0")
    return call(Unfold.op, (input, at, size, step))


counted = dimension
