"""Views: the same memory with another shape. view, reshape, expand, transpose, permute, squeeze, unsqueeze.

A view shares its storage and version counter with its base. So both see a write to either, and so does every node
that saved one of them. The gradient of such a view is a view too, or the engine sums it (expand).

Mirrors ``aten/src/ATen/native/TensorShape.cpp`` and derivatives.yaml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.capi import is_c_contiguous, try_call1
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import call, call_computed
from cython.cimports.minigrad.ops.base.arguments import dimension, tensor_argument

from minigrad._core.surface.variable import as_class
from minigrad.errors import ShapeError
from minigrad.ops.base.arguments import LARGE, dimensions, integers
from minigrad.ops.base.rule import Linear, View, op, variant
from minigrad.ops.shape.clone_cast import Clone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["expand", "permute", "reshape", "squeeze", "t", "transpose", "unsqueeze", "view"]

ndarray = cython.declare(object, np.ndarray)


@op("view", "View0")
class ViewOp(View):
    """z = x in another shape"""

    kernel = "view"

    def forward(k, x, shape):
        z = k.view(x, shape)
        if z is None:
            raise ShapeError(
                "MG-E207", "view size is not compatible with input tensor's size and stride (at least one dimension "
                "spans across two contiguous subspaces). Use .reshape(...) instead.",
                found=f"shape {list(x.shape)}, asked for {list(shape)}", fix="x.reshape(...) copies where it must")
        return z

    def vjp_x(g, x_shape):
        return reshape_to(g, x_shape)


@op("_unsafe_view", "UnsafeView0")
class UnsafeView(Linear):
    """`view` of a temporary tensor that the user cannot see: the result is not registered as a view"""

    kernel = "view"
    params = ("x", "shape")

    def vjp_x(g, x_shape):
        return reshape_to(g, x_shape)


@op("alias")
class Alias(View):
    """z = x, as a view"""

    def forward(k, x):
        return k.view(x, x.shape) if k.contiguous(x) else k.permute(x, tuple(range(x.ndim)))

    def vjp_x(g):
        return g


@op("transpose")
class Transpose(View):
    """z = x with two dimensions swapped"""

    kernel = "transpose"
    params = ("x", "dim0", "dim1")

    def vjp_x(g, dim0, dim1):
        return call(TRANSPOSE, (g, dim0, dim1))


@op("t")
class T(View):
    """z = the matrix x transposed"""

    kernel = "t"
    params = ("x",)

    def vjp_x(g):
        return call(T_OP, (g,))


@op("permute")
class Permute(View):
    """z = x with its dimensions reordered"""

    kernel = "permute"
    params = ("x", "dims")

    def vjp_x(g, dims):
        return call(PERMUTE, (g, inverse_permutation(dims)))


@op("expand")
class Expand(View):
    """z = x with dimensions of size 1 repeated"""

    kernel = "expand"
    params = ("x", "size")

    def vjp_x(g):           # the engine sums g down to the shape of x, as for any broadcasting
        return g


@op("unsqueeze")
class Unsqueeze(View):
    """z = x with a new dimension of size 1"""

    kernel = "unsqueeze"
    params = ("x", "dim")

    def vjp_x(g, dim):
        return squeeze(g, dim)


@op("squeeze", "Squeeze0")
class Squeeze(View):
    """z = x without its dimensions of size 1"""

    def forward(k, x, dims):
        for dim in reversed(dims):
            x = k.select(x, dim, 0)
        return x

    def vjp_x(g, x_shape):
        return reshape_to(g, x_shape)


SqueezeDim = variant(Squeeze, "squeeze_dim", "Squeeze1", "z = x without one dimension, if it has size 1")
SqueezeDims = variant(Squeeze, "squeeze_dims", "Squeeze2", "z = x without the dimensions dims that have size 1")
SqueezeDimOfResult = variant(
    Squeeze, "squeeze_dim_of_result", "Squeeze4",
    "`SqueezeDim` of a temporary tensor that the user cannot see: PyTorch squeezes it in place, with another node", view=False)


# The ops that small programs call most, as C globals: no attribute look-up.
CLONE = cython.declare(object, Clone.op)
EXPAND = cython.declare(object, Expand.op)
TRANSPOSE = cython.declare(object, Transpose.op)
PERMUTE = cython.declare(object, Permute.op)
T_OP = cython.declare(object, T.op)
UNSAFE_VIEW = cython.declare(object, UnsafeView.op)
VIEW_OP = cython.declare(object, ViewOp.op)


@cython.ccall
@cython.annotation_typing(True)
def as_shape(sizes, function="view"):
    """Return sizes as a tuple of ints. They come as ``(2, 3)``, ``((2, 3),)`` or a `Size`."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    n: cython.Py_ssize_t
    try:
        for size in sizes:
            if type(size) is not int or (not cython.compiled and not -LARGE <= size < LARGE):
                return integers(tuple(sizes), "size", function)
            n = size        # in compiled code, a number that is too large raises here  # noqa: F841
    except OverflowError:
        return integers(tuple(sizes), "size", function)
    return tuple(sizes)


@cython.ccall
@cython.annotation_typing(True)
def infer_size(shape: tuple, numel: cython.longlong) -> tuple:
    """Return `shape` with its -1 replaced by the size that gives `numel` elements; raise if there is none."""
    known: cython.longlong = 1
    extent: cython.double = 1
    unknown: cython.int = 0
    size: cython.longlong
    for size in shape:
        if size >= 0:
            known *= size
            extent *= size
        elif size == -1:
            unknown += 1
        else:
            raise ShapeError("MG-E206", f"invalid shape dimension {size}")
    if extent > numel and extent >= LARGE:      # the product of C integers has overflowed
        raise ShapeError("MG-E206", f"shape '{list(shape)}' is invalid for input of size {numel}")
    if unknown > 1:
        raise ShapeError("MG-E206", "only one dimension can be inferred", found=f"shape {list(shape)}")
    if unknown:
        if known == 0 and numel == 0:
            raise ShapeError("MG-E206", f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                             "unspecified dimension size -1 can be any value and is ambiguous")
        if known == 0 or numel % known:
            raise ShapeError("MG-E206", f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple([numel // known if size == -1 else size for size in shape])
    if known != numel:
        raise ShapeError("MG-E206", f"shape '{list(shape)}' is invalid for input of size {numel}",
                         fix=f"the sizes must multiply to {numel}")
    return shape


def inverse_permutation(dims):
    """The permutation that undoes `dims`."""
    order = [0] * len(dims)
    for i, d in enumerate(dims):
        order[d] = i
    return tuple(order)

# ---- public functions -------------------------------------------------------------------------------------


def view(input: Tensor, *shape: int | Sequence[int], size: Sequence[int] | None = None) -> Tensor:
    """The same memory with another shape.

    Args:
        input (Tensor): of any shape and dtype.
        shape (ints, or one tuple, or ``size=``): their product is the number of elements; one may be -1 and is inferred.

    Raises:
        RuntimeError: the number of elements differs, or the strides allow no such view (use `reshape`).

    Mirrors ``torch.Tensor.view``.

    >>> mg.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    tensor_argument("view", input)
    return call(VIEW_OP, (input, infer_size(as_shape(shape if size is None else (size,)),
                                            cython.cast(TensorBase, input)._meta.numel)))


def reshape(input: Tensor, *sizes: int | Sequence[int], shape: Sequence[int] | None = None) -> Tensor:
    """`input` with another shape: a view where the strides allow one, else a copy.

    Args:
        input (Tensor): of any shape and dtype.
        sizes (ints, or one tuple, or ``shape=``): their product is the number of elements; one may be -1 and is inferred.

    Raises:
        RuntimeError: the number of elements differs.

    Mirrors ``torch.reshape``.

    >>> mg.arange(6).reshape(3, 2)
    tensor([[0, 1],
            [2, 3],
            [4, 5]])
    """
    tensor_argument("reshape", input)
    return reshape_to(input, infer_size(as_shape(sizes if shape is None else (shape,), "reshape"),
                                    cython.cast(TensorBase, input)._meta.numel))


@cython.cfunc
@cython.annotation_typing(True)
def reshape_to(x: TensorBase, shape: tuple):
    """`reshape` to a shape with the right number of elements and no -1."""
    if type(x._array) is ndarray and is_c_contiguous(x._array):
        return call(VIEW_OP, (x, shape))
    array = x._meta.backend.view(x._array, shape)
    if array is not None:
        return call_computed(VIEW_OP, (x, shape), array)
    copy = call_computed(CLONE, (x, False), try_call1(x._meta.backend.copy, x._array))
    return call(UNSAFE_VIEW, (copy, shape))


def reshape_array(k, x, shape):
    """Return the array x in another shape: a view of it, or of a copy if x is not row-major."""
    return k.view(x if k.contiguous(x) else k.copy(x), shape)


def reshape_temporary(x, shape):
    """`x`, which the user cannot see and which is row-major, in another shape: the result is no view, as if an op had made it."""
    return call(UNSAFE_VIEW, (x, shape))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """`input` with the dimensions `dim0` and `dim1` swapped; a view. Mirrors ``torch.transpose``.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.arange(6).view(2, 3).transpose(0, 1).shape
    minigrad.Size([3, 2])
    """
    tensor_argument("transpose", input)
    ndim = cython.declare(cython.int, cython.cast(TensorBase, input)._meta.ndim)
    return call(TRANSPOSE, (input, dimension(dim0, ndim), dimension(dim1, ndim)))


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector or 0-d tensor stays as it is. The result is a view. Mirrors ``torch.t``.

    Raises:
        RuntimeError: `input` has more than two dimensions.

    >>> mg.tensor([[1., 2.]]).t()
    tensor([[1.],
            [2.]])
    """
    tensor_argument("t", input)
    if cython.cast(TensorBase, input)._meta.ndim > 2:
        check_matrix("t", input)
    return call(T_OP, (input,))


def check_matrix(function, x):
    """Raise if `x` has more dimensions than a matrix."""
    if x.ndim > 2:
        raise ShapeError("MG-E206", f"{function}() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")


def permute(input: Tensor, *order: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """`input` with its dimensions in another order; a view. Mirrors ``torch.permute``.

    Args:
        input (Tensor): of any shape and dtype.
        order (ints, or one tuple, or ``dims=``): for each dimension of the result, the dimension of the input.

    Raises:
        RuntimeError: not every dimension is named exactly once.
        IndexError: there is no such dimension.

    >>> mg.zeros(2, 3, 5).permute(2, 0, 1).shape
    minigrad.Size([5, 2, 3])
    """
    tensor_argument("permute", input)
    order = as_shape(order if dims is None else (dims,), "permute")
    if len(order) != input.ndim:
        raise ShapeError("MG-E205", "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                         f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to "
                         f"len(dims) = {len(order)}")
    seen = []
    for d in order:
        seen.append(dimension(d, input.ndim))
        if seen.count(seen[-1]) > 1:
            break
    order = tuple(seen)
    if len(set(order)) != len(order):
        raise ShapeError("MG-E205", "permute(): duplicate dims are not allowed.", found=f"dims {list(order)}")
    return call(PERMUTE, (input, order))


def expand(input: Tensor, *sizes: int | Sequence[int], size: Sequence[int] | None = None) -> Tensor:
    """`input` with dimensions of size 1 repeated: a view, which takes no memory.

    Args:
        input (Tensor): of any shape and dtype.
        sizes (ints, or one tuple, or ``size=``): the new shape; -1 keeps a size. New dimensions appear at the front.

    Several elements of the result share one place in memory, so a write to one changes all of them. Mirrors
    ``torch.Tensor.expand``.

    Raises:
        RuntimeError: a dimension of a size other than 1 would change, or there are fewer sizes than dimensions.

    >>> mg.tensor([[1.], [2.]]).expand(2, 3)
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    """
    tensor_argument("expand", input)
    shape = as_shape(sizes if size is None else (size,), "expand")
    old = cython.declare(tuple, cython.cast(TensorBase, input)._meta.shape)
    lead = cython.declare(cython.Py_ssize_t, len(shape) - len(old))
    i = cython.declare(cython.Py_ssize_t)
    n = cython.declare(cython.Py_ssize_t)
    if lead < 0:
        raise ShapeError("MG-E206", f"expand(input, sizes={list(shape)}): the number of sizes provided ({len(shape)}) must be "
                         f"greater or equal to the number of dimensions in the tensor ({len(old)})")
    kept = cython.declare(cython.bint, False)
    for i in range(len(shape)):
        n = shape[i]
        if n == -1:
            if i < lead:
                raise ShapeError("MG-E206", f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                 f"dimension {i}")
            kept = True
        elif n < 0:
            raise ShapeError("MG-E206", f"expand: invalid size {n}")
        elif i >= lead and n != cython.cast(cython.Py_ssize_t, old[i - lead]) != 1:
            raise ShapeError(
                "MG-E204", f"The expanded size of the tensor ({n}) must match the existing size ({old[i - lead]}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(shape)}.  Tensor sizes: {list(old)}")
    if kept:
        shape = tuple([size if size != -1 else old[i - lead] for i, size in enumerate(shape)])
    return call(EXPAND, (input, shape))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """`input` with a new dimension of size 1 at `dim`; a view. Mirrors ``torch.unsqueeze``.

    Raises:
        IndexError: `dim` is outside [-ndim - 1, ndim].

    >>> mg.tensor([1., 2.]).unsqueeze(1).shape
    minigrad.Size([2, 1])
    """
    tensor_argument("unsqueeze", input)
    return call(Unsqueeze.op, (input, dimension(dim, input.ndim + 1)))


def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """`input` without its dimensions of size 1; a view. Mirrors ``torch.squeeze``.

    Args:
        input (Tensor): of any shape and dtype.
        dim (int or tuple, optional): remove only these dimensions, where they have size 1.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.zeros(1, 3, 1).squeeze().shape
    minigrad.Size([3])
    """
    tensor_argument("squeeze", input)
    shape = input._meta.shape
    dims = tuple([d for d in dimensions(dim, input.ndim) if shape[d] == 1])
    rule = Squeeze if dim is None else SqueezeDims if isinstance(dim, (tuple, list)) else SqueezeDim
    return call(rule.op, (input, dims))


def alias(input):
    """Return a view of `input` with the same shape."""
    return call(Alias.op, (input,))


def alias_as(input, cls):
    """Return a view of `input` with the same shape, of class `cls`."""
    return as_class(alias(input), cls)
