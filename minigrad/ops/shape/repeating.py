"""Reordering and repeating elements: flip, roll, rot90, repeat, repeat_interleave.

    x           [0 1 2]
    flip        [2 1 0]         roll by 1           [2 0 1]
    repeat 2    [0 1 2 0 1 2]   repeat_interleave   [0 0 1 1 2 2]

All of them copy: our tensors have no negative strides, and a repeated element gets its own place in memory each time.

Mirrors ``aten/src/ATen/native/TensorTransformations.cpp`` and Repeat.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cython.cimports.minigrad._core.record.apply import call

from minigrad._core.graph.tensor import TensorBase
from minigrad.errors import DtypeError, OutOfRangeError, ShapeError, TensorTypeError
from minigrad.ops.base.arguments import dimension, dimensions, integer, tensor_argument
from minigrad.ops.base.rule import INT64, Linear, op
from minigrad.ops.index.indexing import index_select, scatter_add
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.scan.scans import cumsum
from minigrad.ops.shape.cat_split import narrow
from minigrad.ops.shape.clone_cast import cast, clone
from minigrad.ops.shape.formats import contiguous_format, order_like
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import as_shape, expand, reshape_array, unsqueeze, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["flip", "fliplr", "flipud", "repeat", "repeat_interleave", "roll", "rot90", "tile"]


@op("flip")
class Flip(Linear):
    """z[i] = x[n - 1 - i] along dims"""

    def forward(k, x, dims):
        z = k.flip(x, dims)
        return z if k.contiguous(x) else order_like(k, z, x)

    def vjp_x(g, dims):
        return call(Flip.op, (g, dims))


@op("roll")
class Roll(Linear):
    """z[i] = x[(i - shift) mod n] along dims; without dims, of x as one row"""

    def forward(k, x, shifts, dims):
        if dims or not shifts:
            return roll_array(k, x, shifts, dims)
        return k.view(roll_array(k, reshape_array(k, x, (x.size,)), shifts, (0,)), x.shape)

    def vjp_x(g, shifts, dims):
        return call(Roll.op, (g, tuple([-shift for shift in shifts]), dims))


def roll_array(k, x, shifts, dims):
    """Return a copy of the array x, rolled along `dims`."""
    z = x
    for shift, dim in zip(shifts, dims):
        n = x.shape[dim]
        if n:
            at = -shift % n
            z = k.cat([k.slice(z, dim, at, n, 1), k.slice(z, dim, 0, at, 1)], dim)
    return k.copy(x) if z is x else z


@op("rot90")
class Rot90(Linear):
    """z = x, rotated by a number of quarter turns from the first of two dims towards the second"""

    torch_names = {"x": "self", "turns": "k"}

    def forward(k, x, turns, dims):
        way = turns % 4
        if way == 0:
            return k.copy(x)
        if way == 2:
            return k.flip(x, dims)
        turned = k.transpose(x, *dims)
        if k.contiguous(turned):
            return k.flip(turned, (dims[way == 3],))
        return k.transpose(k.flip(x, (dims[way == 1],)), *dims)     # by columns, as PyTorch's result

    def vjp_x(g, turns, dims):
        return call(Rot90.op, (g, -turns, dims))


@op("repeat")
class Repeat(Linear):
    """z = x, repeated a number of times along each dimension"""

    def forward(k, x, repeats):
        shape = (1,) * (len(repeats) - x.ndim) + tuple(x.shape)
        apart, wide, whole = [], [], []
        for times, n in zip(repeats, shape):
            apart += [1, n]
            wide += [times, n]
            whole.append(times * n)
        z = k.copy(k.expand(reshape_array(k, x, tuple(apart)), tuple(wide)))
        return k.view(z, tuple(whole))

    def vjp_x(g, x_shape, repeats):
        lead = len(repeats) - len(x_shape)
        apart, copies = [], []
        for i, times in enumerate(repeats):
            if times != 1:      # the sum over fewer dimensions takes less time
                copies.append(len(apart))
                apart.append(times)
            if i >= lead:
                apart.append(x_shape[i - lead])
        g = g.reshape(tuple(apart))
        return total(g, tuple(copies)) if copies else g


# ---- public functions -------------------------------------------------------------------------------------


def flip(input: Tensor, *order: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """`input` with the order along some dimensions reversed; a copy. Mirrors ``torch.flip``.

    Args:
        input (Tensor): of any shape and dtype.
        order (ints, or one tuple, or ``dims=``): the dimensions to reverse.

    Raises:
        RuntimeError: a dimension is named twice.
        IndexError: there is no such dimension.

    >>> mg.flip(mg.tensor([[1, 2], [3, 4]]), (0,))
    tensor([[3, 4],
            [1, 2]])
    """
    tensor_argument("flip", input)
    chosen = as_shape(order if dims is None else (dims,), "flip")
    return call(Flip.op, (input, dimensions(chosen, input.ndim)))


def fliplr(input: Tensor) -> Tensor:
    """`input` with its columns in reverse order. Mirrors ``torch.fliplr``.

    Raises:
        RuntimeError: `input` has fewer than two dimensions.

    >>> mg.fliplr(mg.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if tensor_argument("fliplr", input).ndim < 2:
        raise ShapeError("MG-E205", "fliplr(): Input must be >= 2-d.", found=f"{input.ndim}-d")
    return call(Flip.op, (input, (1,)))


def flipud(input: Tensor) -> Tensor:
    """`input` with its rows in reverse order. Mirrors ``torch.flipud``.

    Raises:
        RuntimeError: `input` is 0-d.

    >>> mg.flipud(mg.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if tensor_argument("flipud", input).ndim < 1:
        raise ShapeError("MG-E205", "flipud(): Input must be >= 1-d.", found="0-d")
    return call(Flip.op, (input, (0,)))


def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
    """`input` shifted along dimensions. Elements that leave at the end come back at the front. Mirrors ``torch.roll``.

    Args:
        input (Tensor): of any shape and dtype.
        shifts (int or tuple): how many places to shift, for each of `dims`.
        dims (int or tuple, optional): without it, the flattened tensor is rolled, and gets its shape back.

    Raises:
        RuntimeError: the numbers of shifts and of dimensions differ.
        IndexError: there is no such dimension.

    >>> mg.roll(mg.tensor([1, 2, 3, 4]), 1)
    tensor([4, 1, 2, 3])
    """
    tensor_argument("roll", input)
    ways = tuple([integer(s, "shifts", "roll") for s in (shifts if isinstance(shifts, (tuple, list)) else (shifts,))])
    along = () if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    if not ways:
        raise ShapeError("MG-E205", "roll(): `shifts` required")
    if not along and len(ways) == 1:
        return call(Roll.op, (input, ways, ()))
    if len(ways) != len(along):
        raise ShapeError("MG-E205", f"shifts and dimensions must align. shifts: {len(ways)}, dims:{len(along)}")
    if not input.numel():       # PyTorch does not check the dimensions of an empty tensor
        return call(Roll.op, (input, (), ()))
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", "Dimension specified as 0 but tensor has no dimensions")
    return call(Roll.op, (input, ways, tuple([dimension(d, input.ndim) for d in along])))


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """`input` rotated by 90 degrees, `k` times, in the plane of two dimensions. Mirrors ``torch.rot90``.

    Args:
        input (Tensor): of at least two dimensions.
        k (int): how many quarter turns, from the first dimension towards the second; negative ones turn back.
        dims (tuple): the two dimensions.

    Raises:
        RuntimeError: `dims` are not two different dimensions.
        IndexError: there is no such dimension.

    >>> mg.rot90(mg.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    tensor_argument("rot90", input)
    turns = integer(k, "k", "rot90")
    if not isinstance(dims, (tuple, list)):
        raise TensorTypeError("MG-E206", f"rot90(): argument 'dims' must be tuple of ints, not {type(dims).__name__}")
    if len(dims) != 2:
        raise ShapeError("MG-E205", f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise ShapeError("MG-E205", f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = dimension(dims[0], input.ndim), dimension(dims[1], input.ndim)
    if a == b:
        raise ShapeError("MG-E205", f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return call(Rot90.op, (input, turns, (a, b)))


def repeat(input: Tensor, *repeats: int | Sequence[int]) -> Tensor:
    """Copies of `input`, `repeats` times along each dimension. Mirrors ``torch.Tensor.repeat``.

    Args:
        input (Tensor): of any shape and dtype.
        repeats (ints, or one tuple): a number for each dimension. Further numbers make new dimensions at the front.

    Raises:
        RuntimeError: there are fewer numbers than dimensions, or a number is negative.

    >>> mg.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    tensor_argument("repeat", input)
    times = as_shape(repeats, "repeat")
    if len(times) < input.ndim:
        raise ShapeError("MG-E205", "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
                         found=f"{len(times)} and {input.ndim}")
    lead = len(times) - input.ndim
    for i, n in enumerate(times):
        if n < 0 and (i < lead or input.shape[i - lead]):
            raise ShapeError("MG-E206", f"repeat(): Trying to create tensor with negative dimension: {list(times)}")
    return call(Repeat.op, (input, tuple([max(n, 0) for n in times])))


def tile(input: Tensor, *dims: int | Sequence[int]) -> Tensor:
    """Like `repeat`, but missing numbers count as 1. Mirrors ``torch.tile``.

    Args:
        input (Tensor): of any shape and dtype.
        dims (ints, or one tuple): how often to repeat along the last dimensions.

    Raises:
        RuntimeError: a number is negative.

    >>> mg.tile(mg.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    times = as_shape(dims, "tile")
    return repeat(input, (1,) * (tensor_argument("tile", input).ndim - len(times)) + tuple(times))


def repeat_interleave(input: Tensor, repeats: Tensor | int | None = None, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """`input` with each element, or each slice along `dim`, repeated. Mirrors ``torch.repeat_interleave``.

    Args:
        input (Tensor): of any shape and dtype. ``repeat_interleave(repeats)`` with one argument returns the indices.
        repeats (int or Tensor): how often to repeat. A tensor is int32 or int64, and has a number for each element or slice.
        dim (int, optional): by default the flattened tensor is repeated.
        output_size (int, optional): the size that `dim` will have. If it is wrong, we raise.

    Raises:
        RuntimeError: `repeats` is negative or has another size than `dim`, or `output_size` is wrong.
        IndexError: there is no such dimension.

    >>> mg.repeat_interleave(mg.tensor([1, 2, 3]), mg.tensor([1, 0, 2]))
    tensor([1, 3, 3])
    """
    tensor_argument("repeat_interleave", input)
    if output_size is not None:
        output_size = integer(output_size, "output_size", "repeat_interleave")
    if repeats is None:
        if dim is not None:
            raise TensorTypeError("MG-E206", "repeat_interleave(): argument 'repeats' must be int or Tensor, not NoneType")
        if input.ndim != 1:
            raise ShapeError("MG-E205", "repeat_interleave only accept 1D vector as repeat", found=f"{input.ndim}-d")
        return cast(interleave_index(input, output_size), input.dtype)
    x = flatten(input) if dim is None else input
    if x.ndim == 0:
        raise OutOfRangeError("MG-E301", f"Dimension specified as {dim} but tensor has no dimensions")
    at = dimension(0 if dim is None else dim, x.ndim)
    n = x.shape[at]
    if not isinstance(repeats, TensorBase):
        times = integer(repeats, "repeats", "repeat_interleave")
        if times < 0:
            raise ShapeError("MG-E206", "Repeats must be non-negative")
        if output_size is not None and output_size != times * n:
            raise ShapeError("MG-E206", f"repeat_interleave: Invalid output_size, expected {times * n} but got {output_size}")
        wide = expand(unsqueeze(x, at + 1), (*x.shape[:at + 1], times, *x.shape[at + 1:]))
        return view(clone(wide, memory_format=contiguous_format), (*x.shape[:at], n * times, *x.shape[at + 1:]))
    if repeats.ndim > 1:
        raise ShapeError("MG-E205", "repeats must be 0-dim or 1-dim tensor", found=f"{repeats.ndim}-d")
    if repeats.numel() == 1:
        repeats = expand(view(repeats, (1,)), (n,))
    if repeats.shape[0] != n:
        raise ShapeError("MG-E204", f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                         f"{repeats.shape[0]} and input.size({at}) = {n}")
    return index_select(x, at, interleave_index(repeats, output_size))


def interleave_index(repeats, output_size):
    """The indices 0, 1, 2 ..., each repeated: at each place of the result, we count the runs that ended before it."""
    if repeats.dtype.name not in ("int64", "int32"):
        raise DtypeError("MG-E203", "repeats has to be Long or Int tensor", found=repeats.dtype.name)
    if repeats.numel() and repeats.min().item() < 0:
        raise ShapeError("MG-E206", "repeats can not be negative")
    ends = cumsum(repeats.detach(), 0)
    length = ends[-1].item() if ends.numel() else 0
    if output_size is not None and ends.numel() and output_size != length:
        raise ShapeError("MG-E206", f"allocated size does not match required size: {output_size} and {length}")
    counts = scatter_add(ends.new_zeros(length + 1, dtype=INT64), 0, ends, ends.new_ones(ends.shape, dtype=INT64))
    return cumsum(narrow(counts, 0, 0, length), 0)
