"""Taking tensors apart and joining them. select, narrow, split and unbind return views; cat and stack return new tensors.

Mirrors ``aten/src/ATen/native/TensorShape.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.minigrad._core.graph.metadata import Meta
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.arguments import dimension, tensor_argument

from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import ArgumentError, OutOfMemoryError, OutOfRangeError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import integer
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Linear, Op, View, op
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.views import as_shape, reshape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["cat", "chunk", "concat", "concatenate", "narrow", "select", "split", "stack", "unbind"]


@op("select")
class Select(View):
    """z = x[..., index, ...]"""

    kernel = "select"
    params = ("x", "dim", "index")

    def vjp_x(g, x_shape, dim, index):
        return call(SelectBackward.op, (g, x_shape, dim, index))


@op("select_backward")
class SelectBackward(Linear):
    """z = zeros, with x at one index"""

    inputs = 1

    def forward(k, x, shape, dim, index):
        return k.into_slice(k.unsqueeze(x, dim), shape, dim, index, index + 1, 1)

    def vjp_x(g, dim, index):
        return call(SELECT, (g, dim, index))


@op("slice")
class Slice(View):
    """z = x[..., start:stop:step, ...]"""

    kernel = "slice"
    params = ("x", "dim", "start", "stop", "step")
    torch_names = {"x": "self", "stop": "end"}

    def vjp_x(g, x_shape, dim, start, stop, step):
        return call(SLICE_BACKWARD, (g, x_shape, dim, start, stop, step))


@op("slice_backward")
class SliceBackward(Linear):
    """z = zeros, with x in a slice"""

    inputs = 1
    kernel = "into_slice"
    params = ("x", "shape", "dim", "start", "stop", "step")

    def vjp_x(g, dim, start, stop, step):
        return call(SLICE, (g, dim, start, stop, step))


class Splitting(View):
    """Base of the views with several results."""

    inputs = 1


@op("split", "Split0")
class Split(Splitting):
    """z = x in pieces of one size along dim"""

    torch_names = {"x": "self", "size": "split_size"}

    def forward(k, x, size, dim):
        cut, length = k.slice, x.shape[dim]
        return tuple([cut(x, dim, at, min(at + size, length), 1) for at in range(0, length, size)] or [cut(x, dim, 0, 0, 1)])

    def vjp(g, needs, x_shape, size, dim):
        length = x_shape[dim]
        return (join_gradients(g, x_shape, [min(size, length - at) for at in range(0, length, size)] or [0], dim),)


@op("split_with_sizes", "SplitWithSizes0")
class SplitWithSizes(Splitting):
    """z = x in pieces of given sizes along dim"""

    torch_names = {"x": "self", "sizes": "split_sizes"}

    def forward(k, x, sizes, dim):
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return tuple([k.slice(x, dim, at, at + size, 1) for at, size in zip(starts, sizes)])

    def vjp(g, needs, x_shape, sizes, dim):
        return (join_gradients(g, x_shape, sizes, dim),)


def join_gradients(grads, shape, sizes, dim):
    """Join the gradients of the pieces into the gradient of the whole. An undefined gradient (None) counts as zeros."""
    defined = [g for g in grads if g is not None]
    if len(defined) == len(grads):
        return cat(defined, dim)
    return cat([defined[0].new_zeros((*shape[:dim], size, *shape[dim + 1:])) if g is None else g
                for g, size in zip(grads, sizes)], dim)


@op("unbind")
class Unbind(Splitting):
    """z = the slices of x along dim"""

    hidden = ("x_shape",)

    def forward(k, x, dim):
        return tuple([k.select(x, dim, i) for i in range(x.shape[dim])])

    def vjp(g, needs, x_shape, dim):
        shape = (*x_shape[:dim], *x_shape[dim + 1:])
        like = next(h for h in g if h is not None)
        return (stack([like.new_zeros(shape) if h is None else h for h in g], dim),)


@op("cat")
class Cat(Op):
    """z = the tensors one after the other along dim"""

    hidden = ("xs_shape",)
    variadic = True
    kernel = "cat"
    params = ("xs", "dim")

    def vjp(g, needs, xs_shape, dim):
        i = cython.declare(cython.Py_ssize_t)
        start = cython.declare(cython.Py_ssize_t, 0)
        size = cython.declare(cython.Py_ssize_t)
        at = cython.declare(cython.Py_ssize_t, dim)
        grads = [None] * len(needs)
        for i in range(len(needs)):
            size = xs_shape[i][at]
            if needs[i]:
                grads[i] = call(SLICE, (g, dim, start, start + size, 1))
            start += size
        return grads

    def jvp(ts, xs, dim):
        return call(CAT, (tuple([x.new_zeros(x.shape) if tangent is None else tangent
                                 for x, tangent in zip(xs, ts)]), dim))


@op("stack")
class Stack(Op):
    """z = the tensors along a new dimension"""

    variadic = True
    kernel = "stack"
    params = ("xs", "dim")

    def vjp(g, needs, dim):
        return [call(SELECT, (g, dim, i)) if needed else None for i, needed in enumerate(needs)]

    def jvp(ts, xs, dim):
        return call(Stack.op, (tuple([x.new_zeros(x.shape) if tangent is None else tangent
                                      for x, tangent in zip(xs, ts)]), dim))

# The ops that small programs call most, as C globals: no attribute look-up.
CAT = cython.declare(object, Cat.op)
SELECT = cython.declare(object, Select.op)
SLICE = cython.declare(object, Slice.op)
SLICE_BACKWARD = cython.declare(object, SliceBackward.op)

# ---- public functions -------------------------------------------------------------------------------------

MOST_PIECES = 1 << 24       # we refuse to cut a tensor into more pieces: each is a tensor, and so many would fill the memory


def check_count(function, number, what="pieces"):
    """Raise if `number` is more than `MOST_PIECES`, before a loop tries to make so many tensors."""
    if number > MOST_PIECES:
        raise OutOfMemoryError("MG-E311", f"{function}(): can't allocate memory", expected=f"at most {MOST_PIECES} {what}",
                               found=str(number))


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice of `input` at `index` along `dim`, without that dimension; a view. Mirrors ``torch.select``.

    Args:
        input (Tensor): of at least one dimension.
        dim (int): the dimension that is removed.
        index (int): the position along `dim`; a negative one counts from the end.

    Raises:
        IndexError: there is no such dimension or index.

    >>> mg.arange(6).view(2, 3).select(1, 0)
    tensor([0, 3])
    """
    tensor_argument("select", input)
    dim, index = integer(dim, "dim", "select"), integer(index, "index", "select")
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", "select() cannot be applied to a 0-dim tensor.")
    at = dimension(dim, input.ndim)
    size = input._meta.shape[at]
    if not -size <= index < size:
        raise OutOfRangeError("MG-E301", f"select(): index {index} out of range for tensor of size "
                              f"{list(input._meta.shape)} at dimension {at}")
    return call(SELECT, (input, at, index % size))


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`input` restricted to [start, start + length) along `dim`; a view. Mirrors ``torch.narrow``.

    Args:
        input (Tensor): of at least one dimension.
        dim (int): the dimension; it gets the size `length`.
        start (int): the first index; a negative one counts from the end.
        length (int): how many indices.

    Raises:
        IndexError: there is no such dimension, or `start` is outside it.
        RuntimeError: `input` is 0-d, `start + length` is more than the size, or `length` is negative.

    >>> mg.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    tensor_argument("narrow", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "narrow() cannot be applied to a 0-dim tensor.")
    at = dimension(dim, input.ndim)
    size = input._meta.shape[at]
    start, length = integer(start, "start", "narrow"), integer(length, "length", "narrow")
    if length < 0:
        raise ShapeError("MG-E206", "narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise OutOfRangeError("MG-E301", f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if start + length > size:
        raise ShapeError("MG-E206", f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return call(SLICE, (input, at, start, start + length, 1))


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces along `dim`; they are views.

    Args:
        tensor (Tensor): of at least one dimension.
        split_size_or_sections (int or list of ints): the size of every piece (the last may be smaller), or
            a list of the sizes of all pieces.
        dim (int, optional): the dimension to split.

    Returns:
        tuple of Tensor: the pieces.

    Raises:
        RuntimeError: a size is negative, the sizes do not add up to the size of `dim`, or the tensor is 0-d.
        IndexError: there is no such dimension.

    Mirrors ``torch.split``.

    >>> [piece.tolist() for piece in mg.arange(5).split(2)]
    [[0, 1], [2, 3], [4]]
    """
    tensor_argument("split", tensor, "tensor")
    if tensor.ndim == 0:
        raise ShapeError("MG-E205", "split expects at least a 1-dimensional tensor")
    at = dimension(dim, tensor.ndim)
    length = tensor._meta.shape[at]
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes = as_shape((split_size_or_sections,), "split")
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise ShapeError("MG-E206", f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
                             f"dimension {at}), but got split_sizes={list(sizes)}")
        return call(SplitWithSizes.op, (tensor, sizes, at))
    size = integer(split_size_or_sections, "split_size", "split")
    if size < 0:
        raise ShapeError("MG-E206", f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and length:
        raise ShapeError("MG-E206", f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    check_count("split", length // max(size, 1))
    return call(Split.op, (tensor, max(size, 1), at))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` into at most `chunks` pieces of equal size along `dim`; the last may be smaller. They are views.

    Mirrors ``torch.chunk``.

    Args:
        input (Tensor): of at least one dimension.
        chunks (int): how many pieces; there are fewer if the size does not suffice (5 in 4 chunks gives 2, 2, 1).
        dim (int, optional): the dimension to split.

    Returns:
        tuple of Tensor: the pieces.

    Raises:
        RuntimeError: `chunks` is not positive.
        IndexError: there is no such dimension.

    >>> [piece.tolist() for piece in mg.arange(5).chunk(2)]
    [[0, 1, 2], [3, 4]]
    """
    tensor_argument("chunk", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "chunk expects at least a 1-dimensional tensor")
    if integer(chunks, "chunks", "chunk") <= 0:
        raise ShapeError("MG-E206", f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    at = dimension(dim, input.ndim)
    length = input._meta.shape[at]
    if length == 0:
        check_count("chunk", chunks)
        return split(input, [0] * chunks, at)
    return split(input, -(-length // chunks), at)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices of `input` along `dim`, without that dimension; a tuple of views. Mirrors ``torch.unbind``.

    Raises:
        IndexError: there is no such dimension.

    >>> [row.tolist() for row in mg.arange(4).view(2, 2).unbind()]
    [[0, 1], [2, 3]]
    """
    tensor_argument("unbind", input)
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", "Dimension specified as 0 but tensor has no dimensions")
    at = dimension(dim, input.ndim)
    check_count("unbind", input._meta.shape[at])
    return call(Unbind.op, (input, at)) if input._meta.shape[at] else ()


@cython.ccall
@cython.annotation_typing(True)
def as_tensor_tuple(function, tensors) -> tuple:
    """Return `tensors` as a tuple; raise unless it is a non-empty sequence of tensors."""
    if type(tensors) is not list and type(tensors) is not tuple and (
            isinstance(tensors, TensorBase) or not hasattr(tensors, "__iter__")):
        raise TensorTypeError("MG-E201", f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                              f"{type(tensors).__name__}")
    found: tuple = tuple(tensors)
    if not found:
        raise ArgumentError("MG-E302", f"{function} expects a non-empty TensorList")
    i: cython.Py_ssize_t
    for i in range(len(found)):
        if not isinstance(found[i], TensorBase):
            raise TensorTypeError("MG-E201", f"expected Tensor as element {i} in argument 0, but got {type(found[i]).__name__}")
    return found


@cython.ccall
@cython.annotation_typing(True)
def promote_all(function, tensors) -> tuple:
    """Return `tensors` as a tuple, all cast to their promoted dtype. Raises like `as_tensor_tuple`."""
    found: tuple = as_tensor_tuple(function, tensors)
    i: cython.Py_ssize_t
    mixed: cython.bint = False
    for i in range(1, len(found)):
        mixed |= cython.cast(TensorBase, found[i])._meta.dtype is not cython.cast(TensorBase, found[0])._meta.dtype
    if mixed:
        dtype = operands_dtype(found)
        found = tuple([cast(x, dtype) for x in found])
    return found


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along an existing dimension.

    Args:
        tensors (sequence of Tensor): of the same shape except along `dim`; a 1-d tensor of size 0 fits any shape. The dtypes
            are promoted.
        dim (int, optional): the dimension along which they are joined.

    Raises:
        ValueError: there are no tensors.
        RuntimeError: the shapes do not fit.
        IndexError: there is no such dimension.

    Mirrors ``torch.cat``.

    >>> mg.cat([mg.tensor([1., 2.]), mg.tensor([3.])])
    tensor([1., 2., 3.])
    """
    if out is not None:
        return into(out, cat, tensors, dim)
    sized = type(tensors) is list or type(tensors) is tuple or (hasattr(tensors, "__len__") and not isinstance(tensors, TensorBase))
    if sized and len(tensors) == 0:
        raise TensorValueError("MG-E302", "cat(): expected a non-empty list of Tensors")
    found = cython.declare(tuple, promote_all("cat", tensors))
    i = cython.declare(cython.Py_ssize_t)
    x = cython.declare(TensorBase)
    x = found[0]
    first = cython.declare(Meta, x._meta)
    fits_all = cython.declare(cython.bint, False)
    for i in range(len(found)):
        x = found[i]
        if x._meta.ndim == 0:
            raise ShapeError("MG-E205", f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        fits_all |= x._meta.ndim == 1 and x._meta.numel == 0
    if fits_all:
        others = [y._meta for y in found if not is_empty_vector(y)]
        first = others[0] if others else first
    at = cython.declare(cython.int, dimension(dim, first.ndim))
    if fits_all and first.ndim > 1:     # we reshape an empty vector, instead of dropping it, so that its history is not lost
        shape = tuple([0 if d == at else n for d, n in enumerate(first.shape)])
        found = tuple([reshape(y, shape) if is_empty_vector(y) else y for y in found])
    for i in range(len(found)):
        x = found[i]
        if x._meta is not first:
            check_sizes(first.shape, x._meta.shape, at, i)
    return call(CAT, (found, at))


def is_empty_vector(x):
    """Whether x is 1-d and of size 0."""
    return x.ndim == 1 and x.numel() == 0


def check_sizes(first, shape, at, i):
    """Raise unless tensor `i`, of this shape, can be joined to the first one along `at`."""
    if len(shape) != len(first):
        raise ShapeError("MG-E204", f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
    for d in range(len(first)):
        if d != at and shape[d] != first[d]:
            raise ShapeError("MG-E204", f"Sizes of tensors must match except in dimension {at}. Expected size {first[d]} but "
                             f"got size {shape[d]} for tensor number {i} in the list.")

concat = concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along a new dimension. Mirrors ``torch.stack``.

    Args:
        tensors (sequence of Tensor): of the same shape. The dtypes are promoted.
        dim (int, optional): the position of the new dimension, which has one index for each tensor.

    Raises:
        RuntimeError: there are no tensors, or their shapes differ.
        IndexError: `dim` is outside [-ndim - 1, ndim].

    >>> mg.stack([mg.tensor([1., 2.]), mg.tensor([3., 4.])], dim=1)
    tensor([[1., 3.],
            [2., 4.]])
    """
    if out is not None:
        return into(out, stack, tensors, dim)
    found = promote_all("stack", tensors)
    for i, x in enumerate(found):
        if x._meta.shape != found[0]._meta.shape:
            raise ShapeError("MG-E204", f"stack expects each tensor to be equal size, but got {list(found[0]._meta.shape)} at "
                             f"entry 0 and {list(x._meta.shape)} at entry {i}")
    return call(Stack.op, (found, dimension(dim, found[0].ndim + 1)))
