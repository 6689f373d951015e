"""Estimates from samples: the gradient of a function, and the largest singular values of a matrix.

Mirrors ``torch/functional.py``, ``torch/_lowrank.py`` and ``aten/src/ATen/native/ReduceOps.cpp`` (``gradient``).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# (the results of ops have no types inside the package)
from minigrad._arguments import listed
from minigrad.errors import ArgumentError, DtypeError, ShapeError, TensorValueError
from minigrad.linalg import qr, solve_triangular, svd
from minigrad.ops import cat, matmul
from minigrad.ops.base.arguments import dimension, flag, integer, real, tensor_argument
from minigrad.ops.base.keywords import accept_names
from minigrad.ops.base.out import into
from minigrad.random import randn
from minigrad.tensor import Tensor as _Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["gradient", "pca_lowrank", "svd_lowrank", "triangular_solve"]


@accept_names
def gradient(input: Tensor, *, spacing: float | Sequence[float] | Sequence[Tensor] = 1,
             dim: int | Sequence[int] | None = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Estimate the derivatives of a function from its values on a grid, along each dimension.

    Inside, with the neighbours at x - a and x + b: (a² f(x+b) - b² f(x-a) + (b² - a²) f(x)) / (a b (a + b)).

    Args:
        input (Tensor): the values.
        spacing (number, or sequence of numbers or tensors): the distance of the points, one for all dimensions or one for each; or
            a tensor of the coordinates for each dimension.
        dim (int or sequence of int, optional): the dimensions; all by default.
        edge_order (int): 1 or 2, the order of the estimate at the first and the last point.

    Returns:
        tuple of Tensor: a derivative for each dimension, of the shape of `input`.

    Mirrors ``torch.gradient``.

    Raises:
        RuntimeError: a dimension has fewer than edge_order + 1 points, or `spacing` does not have one entry for each dimension.

    >>> mg.gradient(mg.tensor([1., 4., 9., 16.]))
    (tensor([3., 4., 6., 7.]),)
    """
    tensor_argument("gradient", input)
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else listed(dim, "dim", "gradient")
    dims = [dimension(d, input.ndim) for d in dims]
    steps = [spacing] * len(dims) if isinstance(spacing, (int, float)) else listed(spacing, "spacing", "gradient")
    if len(steps) != len(dims):
        raise ArgumentError("MG-E302", "torch.gradient expected spacing to be unspecified, a scalar or a list with one entry for "
                            f"each dimension: {len(dims)} entries", found=f"{len(steps)}")
    if integer(edge_order, "edge_order", "gradient") not in (1, 2):
        raise ArgumentError("MG-E302", "torch.gradient only supports edge_order=1 and edge_order=2.")
    return tuple([slope(input, step, d, edge_order) for step, d in zip(steps, dims)])


def slope(f, step, dim, edge_order):
    """The estimate of df/dx along one dimension; `step` is a distance, or the coordinates of the points."""
    n = f.shape[dim]
    if n < edge_order + 1:
        raise ArgumentError("MG-E302", "torch.gradient expected each dimension size to be at least edge_order+1")
    if f.dtype.name == "bool":
        raise DtypeError("MG-E203", "gradient() subtracts, which bool tensors do not support", fix="input.float()")
    f = f if f.dtype.is_floating_point or f.dtype.is_complex else f.float()

    def part(start, stop):
        start = start + n if start < 0 else start
        return f.narrow(dim, start, (n + stop if stop <= 0 else stop) - start)
    if not isinstance(step, _Tensor):
        h = real(step, "spacing", "gradient")
        inside = (part(2, 0) - part(0, -2)) / (2 * h)
        if edge_order == 1:
            return cat([(part(1, 2) - part(0, 1)) / h, inside, (part(-1, 0) - part(-2, -1)) / h], dim)
        first = (-3 * part(0, 1) + 4 * part(1, 2) - part(2, 3)) / (2 * h)
        last = (3 * part(-1, 0) - 4 * part(-2, -1) + part(-3, -2)) / (2 * h)
        return cat([first, inside, last], dim)
    if step.ndim != 1 or len(step) != n:
        raise ArgumentError("MG-E302", "torch.gradient expected each tensor of spacing to have a coordinate for each point",
                            expected=f"{n}", found=f"{tuple(step.shape)}")
    h = step.diff().reshape([-1 if d == dim else 1 for d in range(f.ndim)])
    a, b = h.narrow(dim, 0, n - 2), h.narrow(dim, 1, n - 2)
    inside = (a * a * part(2, 0) - b * b * part(0, -2) + (b * b - a * a) * part(1, -1)) / (a * b * (a + b))
    h0, h1 = h.narrow(dim, 0, 1), h.narrow(dim, n - 2, 1)
    if edge_order == 1:
        return cat([(part(1, 2) - part(0, 1)) / h0, inside, (part(-1, 0) - part(-2, -1)) / h1], dim)
    a0, b0, a1, b1 = h0, h.narrow(dim, 1, 1), h.narrow(dim, n - 3, 1), h1
    first = (-(2 * a0 + b0) / (a0 * (a0 + b0)) * part(0, 1) + (a0 + b0) / (a0 * b0) * part(1, 2)
             - a0 / (b0 * (a0 + b0)) * part(2, 3))
    last = (b1 / (a1 * (a1 + b1)) * part(-3, -2) - (a1 + b1) / (a1 * b1) * part(-2, -1)
            + (2 * b1 + a1) / (b1 * (a1 + b1)) * part(-1, 0))
    return cat([first, inside, last], dim)


def approximate_basis(A, q, niter, M):
    """q orthonormal columns that nearly span the columns of A - M (Halko, Martinsson & Tropp, 2009, algorithm 4.4)."""
    def times(matrix, correction, x):
        return matmul(matrix, x) if M is None else matmul(matrix, x) - matmul(correction, x)
    Q = qr(times(A, M, randn(A.shape[-1], q, dtype=A.dtype, device=A.device))).Q
    for _ in range(min(niter, 1000)):       # the basis has long stopped to change by then
        Q = qr(times(A.mH, None if M is None else M.mH, Q)).Q
        Q = qr(times(A, M, Q)).Q
    return Q


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Estimate the q largest singular values of a matrix, with random numbers: A is about U diag(S) Vᴴ.

    Args:
        A (Tensor): (..., m, n).
        q (int): how many; a little more than the rank that you expect.
        niter (int): power iterations; more of them are more precise.
        M (Tensor, optional): of the shape of `A`; the values are those of A - M.

    Returns:
        tuple: U (..., m, q), S (..., q), V (..., n, q).

    Mirrors ``torch.svd_lowrank``.

    >>> mg.svd_lowrank(mg.diag(mg.tensor([3., 2., 0.])), q=2)[1].round(decimals=3)
    tensor([3., 2.])
    """
    tensor_argument("svd_lowrank", A, "A", 1)
    q = 6 if q is None else integer(q, "q", "svd_lowrank")
    if A.ndim < 2:
        raise ShapeError("MG-E206", "svd_lowrank() expects a matrix, or a batch of matrices", found=f"shape {list(A.shape)}")
    M = None if M is None else tensor_argument("svd_lowrank", M, "M", 4).expand(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = approximate_basis(A, q, 2 if niter is None else integer(niter, "niter", "svd_lowrank"), M)
    B = matmul(Q.mH, A) if M is None else matmul(Q.mH, A) - matmul(Q.mH, M)
    U, S, Vh = svd(B, full_matrices=False)
    U, V = matmul(Q, U), Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Estimate the q first principal components: `svd_lowrank` of A with its columns centred.

    Args:
        A (Tensor): (..., m, n): m samples of n features.
        q (int, optional): how many components; by default min(6, m, n).
        center (bool): subtract the mean of each column first.
        niter (int): see `svd_lowrank`.

    Returns:
        tuple: U (..., m, q), S (..., q), V (..., n, q). The columns of V are the components.

    Mirrors ``torch.pca_lowrank``.

    >>> U, S, V = mg.pca_lowrank(mg.tensor([[1., 1.], [2., 2.], [3., 3.]]), q=1)
    >>> S.round(decimals=3)
    tensor([2.])
    """
    tensor_argument("pca_lowrank", A, "A", 1)
    q = min(6, *A.shape[-2:]) if q is None else integer(q, "q", "pca_lowrank")
    if A.ndim < 2 or not 0 <= q <= min(A.shape[-2:]):
        raise TensorValueError("MG-E302", f"q(={q}) must be non-negative integer and not greater than min(m, n)",
                               found=f"{tuple(A.shape)}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if flag(center, "center", "pca_lowrank") else A, q, niter)


def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False, *, out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """The pair (x, A) with A x = b. Deprecated: use `linalg.solve_triangular`. Mirrors ``torch.triangular_solve``.

    Args:
        b (Tensor): (..., m, k).
        A (Tensor): (..., m, m), triangular.
        upper, transpose, unitriangular (bool): A is upper triangular; solve with its transpose; its diagonal counts as 1.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     mg.triangular_solve(mg.tensor([[2.], [4.]]), mg.tensor([[1., 0.], [0., 2.]]))[0]
    tensor([[2.],
            [2.]])
    """
    if out is not None:
        return into(out, triangular_solve, b, A, upper, transpose, unitriangular)
    warnings.warn("torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular", UserWarning, stacklevel=2)
    tensor_argument("triangular_solve", b, "b", 1)
    if flag(transpose, "transpose", "triangular_solve"):
        return solve_triangular(A.mT, b, upper=not upper, unitriangular=unitriangular), A
    return solve_triangular(A, b, upper=upper, unitriangular=unitriangular), A
