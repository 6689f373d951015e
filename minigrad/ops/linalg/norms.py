"""Norms of vectors and matrices, and distances between vectors.

    vector_norm     z = (Σ |x|^p)^(1/p)         p = 2 by default; p = inf: the largest |x|; p = 0: the number of nonzero elements
                    dx = g sgn(x) (|x| / z)^(p - 1)

Where a norm is 0, its gradient is 0: a subgradient.

Mirrors ``aten/src/ATen/native/LinearAlgebra.cpp``, ``Distance.cpp`` and linalg_vector_norm_backward in FunctionsManual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.graph.thread_state import current
from minigrad._core.record.apply import call
from minigrad._core.record.promotion import as_dtype
from minigrad.errors import ArgumentError, DtypeError, ScalarError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, number, tensor_argument
from minigrad.ops.base.inplace_pairs import IN_PLACE
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32, round_to, to_wide
from minigrad.ops.base.rule import Op, conj, op
from minigrad.ops.elementwise.selection import abs as absolute
from minigrad.ops.elementwise.selection import promote_tensors, real_part, sgn, where
from minigrad.ops.linalg.matrices import check_floating, check_matrices
from minigrad.ops.linalg.singular_values import svdvals
from minigrad.ops.reduce.extrema import amax, amin, count_ties
from minigrad.ops.reduce.reduction import SumDim, dimensions_or_all, expand_reduced, keep_dims
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.shape.cat_split import cat, narrow
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.formats import row_major
from minigrad.ops.shape.views import expand, inverse_permutation, permute, unsqueeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DType, Tensor

__all__ = ["cdist", "dist", "norm", "renorm"]

INF = float("inf")
DOUBLE = np.dtype("float64")
DIFFERENCES = 1 << 17       # numbers that cdist computes together
TINY = 1e-7     # renorm adds it to a norm before dividing by it


@op("linalg_vector_norm", "LinalgVectorNorm0")
class VectorNorm(Op):
    """z = (Σ |x|^ord)^(1/ord) over dims"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "dims": "dim"}

    def forward(k, x, ord, dims, keepdim):
        wide = to_wide(k, x)
        size = wide if ord == 2 and wide.dtype.kind == "f" else k.abs(wide)     # squares need no abs
        return round_to(k, length(k, size, ord, dims, keepdim), x)

    @in_float32
    def vjp_x(g, x, z, ord, dims, keepdim):
        return expand_reduced(g, x.shape, dims, keepdim) * norm_gradient(x, z, ord, dims, keepdim)

    @in_float32
    def jvp_x(t, x, z, ord, dims, keepdim):
        moved = t * conj(norm_gradient(x, z, ord, dims, keepdim))
        return call(SumDim.op, (moved.real if moved.dtype.is_complex else moved, dims, keepdim))


def length(k, size, ord, dims, keepdim):
    """(Σ size^ord)^(1/ord)"""
    if ord == 0:
        return k.sum(k.cast(k.ne(size, 0), size.dtype), dims, keepdim)
    if ord == 1:
        return k.sum(size, dims, keepdim)
    if ord == 2:
        return k.sqrt(k.sum(k.mul(size, size), dims, keepdim))
    if ord == INF or ord == -INF:
        return (k.amax if ord > 0 else k.amin)(size, dims, keepdim)
    total = k.sum(k.pow(size, ord), dims, keepdim)
    return k.cast(k.pow(k.cast(total, DOUBLE), 1 / ord), size.dtype)       # 1/3 in float32 is off by 1e-8, times log(total)


def norm_gradient(x, z, ord, dims, keepdim):
    """The gradient of the norm z with respect to x."""
    if ord == 0:
        return x.new_zeros(x.shape)
    if ord == 1:
        return sgn(x)
    z = keep_dims(z, x.shape, dims, keepdim)
    if ord == INF or ord == -INF:
        hits = absolute(x) == z
        return sgn(x) * where(hits, 1 / count_ties(hits, z.dtype, dims), 0.0)
    length = where(z == 0, 1.0, z)
    if ord == 2:
        return x / length
    return sgn(x) * (where(x == 0, 1.0, absolute(x)) / length) ** (ord - 1)


@op("dist")
class Dist(Op):
    """z = (Σ |x - y|^p)^(1/p), and x - y, which is saved for the backward"""

    hidden = ("apart",)
    inputs = 2
    outputs = ("z", "apart")
    torch_names = {"x": "self", "y": "other", "z": "result"}

    def forward(k, x, y, p):
        d = k.sub(to_wide(k, x), to_wide(k, y))
        return round_to(k, length(k, k.abs(d), p, tuple(range(d.ndim)), False), x), d

    def vjp(g, needs, x, y, z, apart, p):
        dx: Any = None if g[0] is None else g[0] * norm_gradient(apart, z, p, tuple(range(apart.ndim)), False)
        if g[1] is not None:
            dx = g[1] if dx is None else dx + g[1]
        dx = cast(dx, x.dtype)
        return dx if needs[0] else None, -dx if needs[1] else None

    def jvp(ts, x, y, z, apart, p):
        t = expand(difference(*ts), apart.shape)
        return cast(norm_tangent(t, apart, z, p, tuple(range(apart.ndim))), z.dtype), cast(t, apart.dtype)


@op("cdist")
class Cdist(Op):
    """z[i, j] = (Σ |x[i] - y[j]|^p)^(1/p), for rows"""

    inputs = 2
    torch_names = {"x": "x1", "y": "x2", "z": "result"}

    def forward(k, x, y, p):
        wide, other = to_wide(k, x), to_wide(k, y)
        if p == 2:
            return round_to(k, k.distances(wide, other), x)
        d = k.sub(k.unsqueeze(wide, x.ndim - 1), k.unsqueeze(other, y.ndim - 2))
        return round_to(k, length(k, k.abs(d), p, (d.ndim - 1,), False), x)

    @in_float32
    def vjp(g, needs, x, y, z, p):
        state = current()
        if p == 2 and not state.grad_enabled and not state.forward:
            dx = call(CdistBackward.op, (g, z, x, y)) if needs[0] else None
            return dx, call(CdistBackward.op, (g.mT, z.mT, y, x)) if needs[1] else None
        apart = unsqueeze(x, -2) - unsqueeze(y, -3)
        dims = (apart.ndim - 1,)
        each = expand_reduced(g, apart.shape, dims, False) * norm_gradient(apart, z, p, dims, False)
        return total(each, -2) if needs[0] else None, -total(each, -3) if needs[1] else None

    @in_float32
    def jvp(ts, x, y, z, p):
        tx, ty = ts
        t = difference(None if tx is None else unsqueeze(tx, -2), None if ty is None else unsqueeze(ty, -3))
        apart = unsqueeze(x, -2) - unsqueeze(y, -3)
        return norm_tangent(expand(t, apart.shape), apart, z, p, (apart.ndim - 1,))


@op("cdist_backward")
class CdistBackward(Op):
    """dx[i] = Σ g[i, j] (x[i] - y[j]) / z[i, j] over j"""

    inputs = 4
    differentiable = False      # what needs derivatives of it computes it by ops

    def forward(k, g, z, x, y):
        return k.distances_backward(g, z, x, y)


def difference(x, y) -> Any:
    """x - y; None counts as 0."""
    return x if y is None else -y if x is None else x - y


def norm_tangent(t, x, z, p, dims):
    """The tangent of the norm z of x, given the tangent t of x."""
    moved = t * conj(norm_gradient(x, z, p, dims, False))
    return total(moved.real if moved.dtype.is_complex else moved, dims)


@op("renorm")
class Renorm(Op):
    """z = x m / (|x| + 1e-7) in those slices whose p-norm |x| is above m"""

    inputs = 1
    torch_names = {"x": "self", "m": "maxnorm"}

    def forward(k, x, p, dim, m):
        wide = to_wide(k, x)
        size = length(k, k.abs(wide), p, others(x, dim), True)
        z = k.where(k.gt(size, m), k.mul(wide, k.div(k.full((), m, size.dtype), k.add(size, TINY))), wide)
        return row_major(k, round_to(k, z, x))

    @in_float32
    def vjp_x(g, x, p, dim, m):         # dx = s (g - r d), s = m / (|x| + 1e-7), r the share of g along x, d the gradient of |x|
        size = vector_norm(x, p, others(x, dim), True)
        r = total(real_part(g * conj(x)), others(x, dim), True) / (size + TINY)
        return where(size > m, m / (size + TINY) * (g - r * norm_gradient(x, size, p, others(x, dim), True)), g)

    @in_float32
    def jvp_x(t, x, p, dim, m):         # s (t - r x), r the change of |x| over |x|
        size = vector_norm(x, p, others(x, dim), True)
        r = total(real_part(t * conj(norm_gradient(x, size, p, others(x, dim), True))), others(x, dim), True) / (size + TINY)
        return where(size > m, m / (size + TINY) * (t - r * x), t)


def others(x, dim):
    """All dimensions of x except `dim`."""
    return tuple([d for d in range(x.ndim) if d != dim])


def power_of(value, name, function):
    """Return `value`, a real number or 0-d tensor, as a float."""
    value = number(value, name, function)
    if isinstance(value, (complex, np.complexfloating)):
        raise ShapeError("MG-E206", f"{function}: Expected a non-complex scalar as {name}")
    return float(value)


# ---- public functions -------------------------------------------------------------------------------------


def vector_norm(x, ord: float = 2, dim=None, keepdim=False, *, dtype=None, out=None):
    """(Σ \\|x\\|^ord)^(1/ord) over all elements, or along dimensions. Mirrors ``torch.linalg.vector_norm``.

    Args:
        x (Tensor): floating point or complex.
        ord (number): also inf and -inf (the largest and the smallest absolute value), and 0 (the number of nonzero elements).
        dim (int or tuple, optional): the dimensions to reduce; all of them by default.
        keepdim (bool): keep the reduced dimensions, with size 1.
        dtype (optional): `x` is converted to it first.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex, or `ord` is inf or negative and a reduced dimension empty.
        IndexError: there is no such dimension.

    >>> mg.linalg.vector_norm(mg.tensor([3., 4.]))
    tensor(5.)
    """
    if out is not None:
        return into(out, vector_norm, x, ord, dim, keepdim, dtype=dtype)
    tensor_argument("linalg.vector_norm", x, "x")
    power = power_of(ord, "ord", "linalg.vector_norm")
    flag(keepdim, "keepdim", "linalg.vector_norm")
    if not x.dtype.differentiable:
        raise DtypeError("MG-E203", f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.name}",
                         fix="x.float()")
    if dtype is not None:
        if not as_dtype(dtype).differentiable:
            raise DtypeError("MG-E203", "linalg.vector_norm: dtype should be floating point or complex, but got "
                             f"{as_dtype(dtype).name}")
        if as_dtype(dtype).is_complex != x.dtype.is_complex:
            raise DtypeError("MG-E203", f"linalg.vector_norm: dtype should be {'complex' if x.dtype.is_complex else 'real'} for "
                             f"{'complex' if x.dtype.is_complex else 'real'} inputs, but got {as_dtype(dtype).name}")
        x = x.to(as_dtype(dtype))
    dims = dimensions_or_all(dim, x.ndim)
    if (power < 0 or power == INF) and any([x.shape[d] == 0 for d in dims]):
        raise ScalarError("MG-E208", f"linalg.vector_norm cannot compute the {power} norm on an empty tensor because the operation "
                          "does not have an identity")
    return call(VectorNorm.op, (x, power, dims, keepdim))


def matrix_norm(A, ord: float | str = "fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """A norm of a matrix, or of each matrix of a batch. The norm depends on `ord`:

        "fro"       the square root of the sum of squares
        1, -1       the largest, the smallest sum of absolute values of a column
        inf, -inf   the largest, the smallest sum of absolute values of a row
        2, -2       the largest, the smallest singular value
        "nuc"       the sum of the singular values

    Args:
        A (Tensor): of at least two dimensions; floating point or complex.
        ord (number or str): as above.
        dim (tuple): the two dimensions of the matrices.
        keepdim (bool): keep these dimensions, with size 1.
        dtype (optional): `A` is converted to it first.

    Mirrors ``torch.linalg.matrix_norm``.

    Raises:
        RuntimeError: `A` has fewer than two dimensions, the dtype is neither floating point nor complex, or there is no such norm.
        IndexError: there is no such dimension.

    >>> mg.linalg.matrix_norm(mg.tensor([[1., -2.], [3., 4.]]), 1)
    tensor(6.)
    >>> mg.linalg.matrix_norm(mg.tensor([[0., 3.], [2., 0.]]), "nuc")
    tensor(5.)
    """
    if out is not None:
        return into(out, matrix_norm, A, ord, dim, keepdim, dtype=dtype)
    tensor_argument("linalg.matrix_norm", A, "A")
    if not isinstance(ord, str):
        ord = power_of(ord, "ord", "linalg.matrix_norm")
    check_matrices("linalg.matrix_norm", A)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise ShapeError("MG-E205", "linalg.matrix_norm: dim must be a 2-tuple.", found=type(dim).__name__)
    at, over = dimension(dim[0], A.ndim), dimension(dim[1], A.ndim)
    if at == over:
        raise ShapeError("MG-E205", f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (at, over), keepdim, dtype=dtype)
    if ord not in (1, -1, INF, -INF, 2, -2, "nuc"):
        raise ArgumentError("MG-E321", f"linalg.matrix_norm: Order {ord} not supported.",
                            expected="'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    if ord in (2, -2, "nuc"):
        return spectral_norm(A, ord, at, over, keepdim, dtype)
    along, over = (at, over) if ord in (1, -1) else (over, at)
    sums = vector_norm(A, 1, along, True, dtype=dtype)
    nothing = ord > 0 and sums.shape[over] == 0        # the largest of no sums is 0
    z = total(sums, over, True) if nothing else (amax if ord > 0 else amin)(sums, over, True)
    return z if keepdim else z.squeeze((along, over))


def spectral_norm(A, ord, at, over, keepdim, dtype):
    """A norm of the singular values (`ord` is 2, -2 or "nuc") of the matrices in the dimensions `at` and `over`."""
    check_floating("linalg.matrix_norm", A)
    if dtype is not None:
        if A.dtype.is_complex and not as_dtype(dtype).is_complex:
            raise DtypeError("MG-E203", f"linalg.matrix_norm: dtype should be complex for complex inputs, but got "
                             f"{as_dtype(dtype).name}")
        A = A.to(as_dtype(dtype))
    order = (*[d for d in range(A.ndim) if d not in (at, over)], at, over)
    S = svdvals(permute(A, order))
    if ord == "nuc":
        z = total(S, -1)
    else:
        z = amin(S, -1) if ord < 0 else amax(S, -1) if S.shape[-1] else total(S, -1)        # 0 of no numbers
    return permute(unsqueeze(unsqueeze(z, -1), -1), inverse_permutation(order)) if keepdim else z


def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    """`linalg.vector_norm`, or `linalg.matrix_norm` for an `ord` and two dimensions. Mirrors ``torch.linalg.norm``.

    Args:
        A (Tensor): floating point or complex.
        ord (number or str, optional): the order. Without one, the result is the 2-norm of all elements.
        dim (int or tuple, optional): the dimensions to reduce; all of them by default. Two dimensions are those of matrices.
        keepdim (bool): keep the reduced dimensions, with size 1.
        dtype (optional): `A` is converted to it first.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex, there is no such norm, or `A` is neither a vector nor a
            matrix where `ord` is given without `dim`.
        IndexError: there is no such dimension.

    >>> mg.linalg.norm(mg.tensor([[1., -2.], [3., 4.]]), float("inf"))
    tensor(7.)
    """
    if out is not None:
        return into(out, linalg_norm, A, ord, dim, keepdim, dtype=dtype)
    tensor_argument("linalg.norm", A, "A")
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if A.ndim not in (1, 2):
            raise ShapeError("MG-E205", "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                             f"{A.ndim}D.")
        dim = tuple(range(A.ndim))
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) == 2 or isinstance(ord, str):
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    return vector_norm(A, ord, dims, keepdim, dtype=dtype)


def norm(input: Tensor, p: float | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
         out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
    """The p-norm of all elements, or along dimensions, as if they were one vector. Mirrors ``torch.norm``.

    Args:
        input (Tensor): floating point or complex.
        p (number, "fro" or "nuc"): the order; ``"fro"`` is 2, ``"nuc"`` the sum of the singular values of matrices.
        dim (int or tuple, optional): the dimensions to reduce; all of them by default.
        keepdim (bool): keep the reduced dimensions, with size 1.
        dtype (optional): `input` is converted to it first.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex, or there is no such norm.
        IndexError: there is no such dimension.

    >>> mg.norm(mg.tensor([3., 4.]))
    tensor(5.)
    """
    if out is not None:
        return into(out, norm, input, p, dim, keepdim, dtype=dtype)
    tensor_argument("norm", input)
    if isinstance(p, str) and p != "fro":
        dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        return matrix_norm(input, p, tuple(dims), keepdim, dtype=dtype)
    return vector_norm(input, 2 if p is None or isinstance(p, str) else p, dim, keepdim, dtype=dtype)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of ``input - other``, over all elements. Mirrors ``torch.dist``.

    Args:
        input, other (Tensor): floating point or complex. The shapes broadcast, and the dtypes are promoted.
        p (number): the order, as the `ord` of `linalg.vector_norm`.

    Raises:
        RuntimeError: both are integers, or the shapes cannot be broadcast together.

    >>> mg.dist(mg.tensor([1., 2.]), mg.tensor([4., 6.]))
    tensor(5.)
    """
    tensor_argument("dist", input)
    tensor_argument("dist", other, "other", 2)
    if input.dtype is not other.dtype:
        input, other = promote_tensors("dist", input, input, other)
    shape = broadcast_shape([input._meta, other._meta])
    power = power_of(p, "ord", "linalg.vector_norm")
    if not input.dtype.differentiable or ((power < 0 or power == INF) and 0 in shape):
        return vector_norm(input - other, power)        # raises
    return call(Dist.op, (input, other, power))[0]


def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None) -> Tensor:
    """`input`, with each slice along `dim` scaled down if its p-norm is larger than `maxnorm`. Mirrors ``torch.renorm``.

    Args:
        input (Tensor): of at least two dimensions; floating point or complex.
        p (number): the order of the norm.
        dim (int): the dimension that counts the slices.
        maxnorm (number): the largest norm that a slice keeps.

    Raises:
        RuntimeError: `input` has fewer than two dimensions or holds integers, `p` is not positive, or `maxnorm` is negative.
        IndexError: there is no such dimension.

    >>> mg.renorm(mg.tensor([[3., 4.], [0., 1.]]), 2, 0, 1.)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    if out is not None:
        return into(out, renorm, input, p, dim, maxnorm)
    tensor_argument("renorm", input)
    if not power_of(p, "p", "renorm") > 0:
        raise ArgumentError("MG-E302", "renorm: non-positive-norm not supported", found=f"p = {p}")
    if not input.dtype.differentiable:
        raise DtypeError("MG-E203", f"renorm: Expected a floating point or complex tensor as input. Got {input.dtype.name}",
                         fix="x.float()")
    if power_of(maxnorm, "maxnorm", "renorm") < 0:
        raise ArgumentError("MG-E302", f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise ShapeError("MG-E205", f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    return call(Renorm.op, (input, float(p), dimension(dim, input.ndim), float(maxnorm)))


def renorm_(self, p: float, dim: int, maxnorm: float) -> Tensor:
    """`minigrad.renorm` in place. Mirrors ``torch.Tensor.renorm_``.

    >>> mg.tensor([[3., 4.], [0., 1.]]).renorm_(2, 0, 1.)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    return self.copy_(renorm(self.clone(), p, dim, maxnorm))     # clone: the formula needs the old values


IN_PLACE["renorm_"] = renorm_


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norms of the differences between each row of `x1` and each row of `x2`. Mirrors ``torch.cdist``.

    Args:
        x1, x2 (Tensor): of shapes (..., n, d) and (..., m, d); floating point. Batches broadcast; the result is (..., n, m).
        p (number): the order of the norm, not negative.
        compute_mode (optional): PyTorch's choice of algorithm; ignored here.

    Raises:
        RuntimeError: the shapes do not fit, the dtype is not floating point, or `p` is negative.

    >>> mg.cdist(mg.tensor([[0., 0.]]), mg.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    for i, x in enumerate((x1, x2)):
        tensor_argument("cdist", x, f"x{i + 1}", i + 1)
        if not x.dtype.is_floating_point:
            raise DtypeError("MG-E203", f"cdist only supports floating-point dtypes, X{i + 1} got: {x.dtype.name}")
        if x.ndim < 2:
            raise ShapeError("MG-E205", f"cdist only supports at least 2D tensors, X{i + 1} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise ShapeError("MG-E204", f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    power = power_of(p, "p", "cdist")
    if power < 0:
        raise ArgumentError("MG-E302", "cdist only supports non-negative p values", found=str(p))
    if x1.dtype is not x2.dtype:
        x1, x2 = promote_tensors("cdist", x1, x1, x2)
    if not x1.shape[-1]:
        return total(unsqueeze(x1, -2) - unsqueeze(x2, -3), -1)
    if x1.ndim > 2 or x2.ndim > 2:
        broadcast_shape([unsqueeze(x, at).detach()._meta for x, at in ((x1, -2), (x2, -3))])
    if power == 2 or (current().grad_enabled and (x1.requires_grad or x2.requires_grad)):
        return call(Cdist.op, (x1, x2, power))
    return distances_in_parts(x1, x2, power)


def distances_in_parts(x, y, power):
    """cdist without a backward: the differences of some rows of x, which stay in the cache."""
    rows = x.shape[-2]
    of_a_row = max(x.numel() // max(rows, 1) * y.shape[-2], y.numel())
    some = max(DIFFERENCES // max(of_a_row, 1), 1)
    if some >= rows:
        return call(Cdist.op, (x, y, power))
    return cat([call(Cdist.op, (narrow(x, -2, i, min(some, rows - i)), y, power)) for i in range(0, rows, some)], -2)
