"""More products of vectors, matrices and tensors, built on ``matrix.py``: outer, inner, kron, cross, tensordot, powers.

Mirrors ``aten/src/ATen/native/{LinearAlgebra,Linear,Cross}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, integer, integers, tensor_argument, wrong_type
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Linear, op
from minigrad.ops.linalg.inverses import inv
from minigrad.ops.linalg.matrix import dot, matmul, mm
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.shape.cat_split import check_count, narrow
from minigrad.ops.shape.clone_cast import cast, clone, contiguous
from minigrad.ops.shape.views import expand, permute, reshape, reshape_temporary, unsqueeze, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["chain_matmul", "cross", "ger", "inner", "kron", "matrix_power", "outer", "tensordot", "vander", "vdot"]


@op("linalg_cross", "LinalgCross0")
class Cross(Linear):
    """z = x × y along dim: z[0] = x[1] y[2] - x[2] y[1] and so on"""

    def forward(k, x, y, dim):
        x, y = k.transpose(x, 0, dim), k.transpose(y, 0, dim)
        x, y = k.cat([x, x], 0), k.cat([y, y], 0)
        z = k.sub(k.mul(three(k, x, 1), three(k, y, 2)), k.mul(three(k, x, 2), three(k, y, 1)))
        return k.copy(k.transpose(z, 0, dim)) if dim else z

    def vjp_x(g, y, dim):
        return call(Cross.op, (conj(y), g, dim))

    def vjp_y(g, x, dim):
        return call(Cross.op, (g, conj(x), dim))


def three(k, x, start):
    """Return the three elements of x from `start` on. If x has a vector twice, these are its elements 1 2 0, or 2 0 1."""
    return k.slice(x, 0, start, start + 3, 1)


# ---- public functions -------------------------------------------------------------------------------------


def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors: ``z[i, j] = input[i] vec2[j]``. Mirrors ``torch.outer``.

    Args:
        input, vec2 (Tensor): vectors (n) and (m). The dtypes are promoted; the result is (n, m).

    Raises:
        RuntimeError: an argument is not a vector.

    >>> mg.outer(mg.tensor([1., 2.]), mg.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if out is not None:
        return into(out, outer, input, vec2)
    tensor_argument("outer", input)
    tensor_argument("outer", vec2, "vec2", 2)
    for name, x in (("self", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise ShapeError("MG-E209", f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    return unsqueeze(input, 1) * vec2

ger = outer


def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products over the last dimension of both tensors. Mirrors ``torch.inner``.

    Args:
        input, other (Tensor): of shapes (..., n) and (..., n), and of one dtype. If one is 0-d, the result is their product.

    Returns:
        Tensor: the shape of `input` without n, then the shape of `other` without n.

    Raises:
        RuntimeError: the last dimensions or the dtypes differ.

    >>> mg.inner(mg.tensor([1., 2.]), mg.tensor([[3., 4.], [5., 6.]]))
    tensor([11., 17.])
    """
    if out is not None:
        return into(out, inner, input, other)
    tensor_argument("inner", input)
    tensor_argument("inner", other, "other", 2)
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise ShapeError("MG-E209", "inner() the last dimension must match on both input tensors but got shapes "
                         f"{list(input.shape)} and {list(other.shape)}")
    if input.ndim == other.ndim == 1:
        return dot(input, other)
    return tensordot(input, other, ([-1], [-1]))


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors, with the first one conjugated: Σ x̄ y. Mirrors ``torch.vdot``.

    Raises:
        RuntimeError: an argument is not a vector, or the sizes or dtypes differ.

    >>> mg.vdot(mg.tensor([1j]), mg.tensor([1j]))
    tensor(1.+0.j)
    """
    if out is not None:
        return into(out, vdot, input, other)
    return dot(conj(tensor_argument("vdot", input)), tensor_argument("vdot", other, "other", 2))


def vecdot(x, y, *, dim=-1, out=None):
    """The inner products of the vectors along a dimension, with `x` conjugated. Mirrors ``torch.linalg.vecdot``.

    Args:
        x, y (Tensor): floating point or complex, of one dtype. The shapes broadcast.
        dim (int): the dimension of the vectors; it is removed.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, or they are neither floating point nor complex.
        IndexError: there is no such dimension.

    >>> mg.linalg.vecdot(mg.tensor([[1., 2.], [3., 4.]]), mg.tensor([1., 1.]))
    tensor([3., 7.])
    """
    if out is not None:
        return into(out, vecdot, x, y, dim=dim)
    tensor_argument("linalg.vecdot", x, "x")
    tensor_argument("linalg.vecdot", y, "y", 2)
    if not x.dtype.differentiable:
        raise DtypeError("MG-E203", f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype.name}",
                         fix="x.float()")
    x, y = cast_operands("vecdot", x, y)
    if x.dtype is not y.dtype:
        raise DtypeError("MG-E203", "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
                         f"{x.dtype.name} and y of type {y.dtype.name} instead")
    return total(conj(x) * y, dim)


def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[int] | Sequence[Sequence[int]] = 2, out: Tensor | None = None) -> Tensor:
    """The products of `a` and `b`, summed over some dimensions of each. Mirrors ``torch.tensordot``.

    Args:
        a, b (Tensor): of one dtype.
        dims (int or pair of lists): an int n means the last n dimensions of `a` and the first n of `b`. A pair lists the
            dimensions of `a` and those of `b`, in matching order. A dimension of size 1 matches any size.

    Returns:
        Tensor: its dimensions are the other dimensions of `a`, then those of `b`.

    Raises:
        RuntimeError: the dimensions do not fit, or the dtypes differ.

    >>> mg.tensordot(mg.ones(2, 3, 4), mg.ones(4, 3), dims=([2, 1], [0, 1]))
    tensor([12., 12.])
    """
    if out is not None:
        return into(out, tensordot, a, b, dims)
    tensor_argument("tensordot", a, "a")
    tensor_argument("tensordot", b, "b", 2)
    if isinstance(dims, (tuple, list)):
        if len(dims) != 2:
            raise ShapeError("MG-E205", "tensordot(): argument 'dims' must be an int, or two lists of dimensions",
                             found=f"{len(dims)} items")
        first, second = [list(integers(d if isinstance(d, (tuple, list)) else (d,), "dims", "tensordot")) for d in dims]
    else:
        n = integer(dims, "dims", "tensordot")
        if n < 0:
            raise ShapeError("MG-E205", f"tensordot expects dims >= 0, but got dims={n}")
        if n > min(a.ndim, b.ndim):
            raise ShapeError("MG-E205", f"tensordot expects dims < ndim_a or ndim_b, but got {n}")
        first, second = list(range(a.ndim - n, a.ndim)), list(range(n))
    if len(first) != len(second):
        raise ShapeError("MG-E205", "both dimension lists should have same length", found=f"{first} and {second}")
    if (first or second) and 0 in (a.ndim, b.ndim):
        raise OutOfRangeError("MG-E301", "tensordot: a 0-d tensor has no dimension to sum over", found=f"{first} and {second}")
    first, second = [dimension(d, a.ndim) for d in first], [dimension(d, b.ndim) for d in second]
    for name, given in (("a", first), ("b", second)):
        if len(set(given)) < len(given):
            raise ShapeError("MG-E205", f"tensordot: a dimension of {name} appears multiple times in the list of dims",
                             found=str(given))
    for i, j in zip(first, second):
        if a.shape[i] == 1 != b.shape[j]:
            b = total(b, j, True)
        elif b.shape[j] == 1 != a.shape[i]:
            a = total(a, i, True)
        if a.shape[i] != b.shape[j]:
            raise ShapeError("MG-E204", f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and "
                             f"second has size {b.shape[j]} in dim {j}")
    own, others = [d for d in range(a.ndim) if d not in first], [d for d in range(b.ndim) if d not in second]
    left, right, middle = sizes_of(a, own), sizes_of(b, others), numel_of(sizes_of(a, first))
    a = reshape(permute(a, (*own, *first)), (numel_of(left), middle))
    b = reshape(permute(b, (*second, *others)), (middle, numel_of(right)))
    return view(mm(a, b), (*left, *right))


def sizes_of(x, dims):
    """The sizes of the dimensions `dims` of x."""
    return [x.shape[d] for d in dims]


def numel_of(shape):
    """The number of elements of a shape."""
    n = 1
    for m in shape:
        n *= m
    return n


def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of `input` is replaced by its product with `other`. Mirrors ``torch.kron``.

    Args:
        input, other (Tensor): of any shapes; missing dimensions count as 1. Each size of the result is the product of theirs.

    >>> mg.kron(mg.tensor([1, 2]), mg.tensor([3, 4]))
    tensor([3, 4, 6, 8])
    """
    if out is not None:
        return into(out, kron, input, other)
    tensor_argument("kron", input)
    tensor_argument("kron", other, "other", 2)
    n = max(input.ndim, other.ndim)
    one, two = [(1,) * (n - x.ndim) + tuple(x.shape) for x in (input, other)]
    wide = reshape(input, [m for s in one for m in (s, 1)]) * reshape(other, [m for s in two for m in (1, s)])
    return reshape_temporary(contiguous(wide), tuple([s * t for s, t in zip(one, two)]))


def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors with three elements. Mirrors ``torch.cross``.

    Args:
        input, other (Tensor): with the same number of dimensions. The other dimensions broadcast, and the dtypes are promoted.
        dim (int, optional): the dimension of the vectors, of size 3. By default, the first dimension of `input` of size 3.

    Raises:
        RuntimeError: the dimension has another size, or the shapes do not fit.
        IndexError: there is no such dimension.

    >>> mg.cross(mg.tensor([1., 0., 0.]), mg.tensor([0., 1., 0.]), dim=0)
    tensor([0., 0., 1.])
    """
    if out is not None:
        return into(out, cross, input, other, dim)
    tensor_argument("cross", input)
    tensor_argument("cross", other, "other", 2)
    if dim is None:
        found = [d for d, n in enumerate(input.shape) if n == 3]
        if not found:
            raise ShapeError("MG-E209", "no dimension of size 3 in input")
        dim = found[0]
    return linalg_cross(input, other, dim=dim)


def linalg_cross(input, other, *, dim=-1, out=None):
    """The cross product of vectors with three elements. Mirrors ``torch.linalg.cross``.

    Args:
        input, other (Tensor): with the same number of dimensions. The other dimensions broadcast, and the dtypes are promoted.
        dim (int): the dimension of the vectors, of size 3.

    Raises:
        RuntimeError: the dimension has another size, or the shapes do not fit.
        IndexError: there is no such dimension.

    >>> mg.linalg.cross(mg.tensor([1., 0., 0.]), mg.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    if out is not None:
        return into(out, linalg_cross, input, other, dim=dim)
    tensor_argument("linalg.cross", input)
    tensor_argument("linalg.cross", other, "other", 2)
    if input.ndim != other.ndim:
        raise ShapeError("MG-E205", "linalg.cross: inputs must have the same number of dimensions.")
    at = dimension(dim, input.ndim)
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", f"Dimension specified as {dim} but tensor has no dimensions")
    if input.shape[at] != 3 or other.shape[at] != 3:
        raise ShapeError("MG-E209", f"linalg.cross: inputs dimension {dim} must have length 3.",
                         found=f"{list(input.shape)} and {list(other.shape)}")
    shape = broadcast_shape([input._meta, other._meta])
    dtype = operands_dtype((input, other))
    return call(Cross.op, (expand(cast(input, dtype), shape), expand(cast(other, dtype), shape), at))


def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of a square matrix, or of each matrix of a batch. Mirrors ``torch.matrix_power``.

    Args:
        input (Tensor): of shape (..., m, m).
        n (int): a negative one gives the power of the inverse.

    Raises:
        LinAlgError: a matrix has no inverse, and `n` is negative. It is a RuntimeError.
        RuntimeError: the matrices are not square.

    >>> mg.matrix_power(mg.tensor([[1., 1.], [0., 1.]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    if out is not None:
        return into(out, matrix_power, input, n)
    tensor_argument("matrix_power", input)
    n = integer(n, "n", "matrix_power")
    if input.ndim < 2:
        raise ShapeError("MG-E209", "linalg.matrix_power: The input tensor A must have at least 2 dimensions.",
                         found=f"{input.ndim}-d")
    if input.shape[-1] != input.shape[-2]:
        raise ShapeError("MG-E209", "linalg.matrix_power: A must be batches of square matrices, but they are "
                         f"{input.shape[-2]} by {input.shape[-1]} matrices")
    given = input
    if n < 0:
        input, n = inv(input), -n
    if n == 0:      # the identity, with a history: the gradient of `input` is 0
        return clone(input).copy_(input.new_ones(input.shape[-1]).diag_embed())
    square = input
    z: Any = None
    while True:         # for each binary digit 1 of n, multiply by that square: n = 5 is A⁴ A
        if n & 1:
            z = square if z is None else matmul(z, square)
        n >>= 1
        if not n:
            return clone(z) if z is given else z
        square = matmul(square, square)


def multi_dot(tensors, *, out=None):
    """The product of several matrices, multiplied in the order that needs the fewest operations.

    Args:
        tensors (sequence of Tensor): two or more matrices. The first and the last may be vectors, a row and a column.

    Mirrors ``torch.linalg.multi_dot``.

    Raises:
        RuntimeError: there are fewer than two tensors, or the shapes do not fit.

    >>> mg.linalg.multi_dot([mg.ones(2, 3), mg.ones(3, 4), mg.ones(4)])
    tensor([12., 12.])
    """
    if out is not None:
        return into(out, multi_dot, tensors)
    if not isinstance(tensors, (tuple, list)):
        raise wrong_type("multi_dot", "tensors", "tuple of Tensors", tensors)
    found = [tensor_argument("multi_dot", x, "tensors", i + 1) for i, x in enumerate(tensors)]
    n = len(found)
    if n < 2:
        raise ShapeError("MG-E206", f"multi_dot(): expected at least 2 tensors but got {n}")
    for i, x in enumerate(found):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, n - 1)):
            raise ShapeError("MG-E209", f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
    shape = ([] if found[0].ndim == 1 else [found[0].shape[0]]) + ([] if found[-1].ndim == 1 else [found[-1].shape[-1]])
    if found[0].ndim == 1:
        found[0] = unsqueeze(found[0], 0)
    if found[-1].ndim == 1:
        found[-1] = unsqueeze(found[-1], 1)
    lengths = [found[0].shape[0], *[x.shape[1] for x in found]]
    for i in range(n - 1):
        if found[i].shape[1] != found[i + 1].shape[0]:
            raise ShapeError("MG-E209", f"multi_dot(): tensors {i} and {i + 1} with shapes {list(found[i].shape)} and "
                             f"{list(found[i + 1].shape)} cannot be multiplied")
    return view(multiply_chain(found, lengths, cheapest_split(lengths), 0, n - 1), shape)


def cheapest_split(lengths):
    """(i, j) -> where to split the product of the matrices i ... j, so that it takes the fewest operations."""
    n = len(lengths) - 1
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            ways = [(cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1], k) for k in range(i, j)]
            cost[i, j], cut[i, j] = min(ways)
    return cut


def multiply_chain(matrices, lengths, cut, i, j):
    """The product of the matrices i ... j. `cut` says where the chain is split."""
    if i == j:
        return matrices[i]
    k = cut[i, j]
    return mm(multiply_chain(matrices, lengths, cut, i, k), multiply_chain(matrices, lengths, cut, k + 1, j))


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """`linalg.multi_dot` with each matrix as an argument; a single matrix is returned. Mirrors ``torch.chain_matmul``.

    >>> mg.chain_matmul(mg.ones(1, 2), mg.ones(2, 3))
    tensor([[2., 2., 2.]])
    """
    for i, x in enumerate(matrices):
        tensor_argument("chain_matmul", x, "matrices", i + 1)
    if len(matrices) != 1:
        return multi_dot(matrices, out=out)
    return matrices[0] if out is None else into(out, chain_matmul, *matrices)


def vander(x: Tensor, N: int | None = None, *, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: row i has the powers of x[i], x[i]^(N-1), ..., x[i], 1. Mirrors ``torch.vander``.

    Args:
        x (Tensor): a vector.
        N (int, optional): how many powers; by default the size of `x`.
        increasing (bool): begin with 1.

    Raises:
        RuntimeError: `x` is not a vector, or `N` is negative.

    >>> mg.vander(mg.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if tensor_argument("vander", x, "x").ndim != 1:
        raise ShapeError("MG-E205", "x must be a one-dimensional tensor.", found=f"{x.ndim}-d")
    n = x.shape[0] if N is None else integer(N, "N", "vander")
    if n < 0:
        raise ArgumentError("MG-E302", "N must be non-negative.")
    check_count("vander", n, "powers")
    up = range(n) if flag(increasing, "increasing", "vander") else range(n - 1, -1, -1)
    powers = x.new_tensor(list(up), dtype=None if n else x.dtype)
    return unsqueeze(x, 1) ** powers if n else narrow(unsqueeze(x, 1), 1, 0, 0)
