"""The LU decomposition in LAPACK's form: L and U in one matrix, and the exchanges of rows as pivots.

    LU, pivots = mg.lu(A)               row i was exchanged with row pivots[i] - 1, for i = 0, 1, ...
    P, L, U = mg.lu_unpack(LU, pivots)  A = P L U
    mg.lu_solve(b, LU, pivots)          x with A x = b

Mirrors ``torch/functional.py`` (``lu``) and ``aten/src/ATen/native/BatchLinearAlgebra.cpp``.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

import numpy as np

# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false
# (the results of ops have no types inside the package)
from minigrad.creation import eye, from_numpy, zeros
from minigrad.errors import DtypeError, LinAlgError, ShapeError
from minigrad.linalg import lu as linalg_lu
from minigrad.linalg import solve_triangular
from minigrad.ops import matmul, tril, triu
from minigrad.ops.base.arguments import flag, tensor_argument, wrong_type
from minigrad.ops.base.out import into

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["lu", "lu_solve", "lu_unpack"]

LUFactor = namedtuple("linalg_lu_factor", "LU pivots")
LUFactorEx = namedtuple("linalg_lu_factor_ex", "LU pivots info")


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: None = None) -> tuple[Tensor, ...]:
    """The LU decomposition of a matrix or of a batch, as the pair (LU, pivots). Mirrors ``torch.lu``.

    Args:
        A (Tensor): (..., m, n), floating point or complex.
        pivot (bool): must be True.
        get_infos (bool): also return for each matrix whether it is singular: 0, or the number of the first zero on the diagonal.

    Returns:
        tuple: LU, of the shape of `A`: U above and on the diagonal, L below it. Pivots, int32, (..., min(m, n)), counted from 1.

    Raises:
        RuntimeError: `A` has fewer than two dimensions, or `pivot` is False.

    >>> mg.lu(mg.tensor([[0., 1.], [2., 3.]]))
    (tensor([[2., 3.],
            [0., 1.]]), tensor([2, 2], dtype=minigrad.int32))
    """
    get_infos = flag(get_infos, "get_infos", "lu")
    if out is not None:
        raise wrong_type("lu", "out", "None", out)
    P, L, U = linalg_lu(A, pivot=pivot)
    m, n = A.shape[-2:]
    if m > n:
        U = pad_rows(U, m - n)
    elif n > m:
        L = pad_columns(L, n - m)
    packed = tril(L, -1) + U
    rows = P.detach().argmax(-2).cpu().numpy() if P.numel() else np.zeros((*A.shape[:-2], m), np.int64)
    pivots = np.empty((*A.shape[:-2], min(m, n)), np.int32)
    for at in np.ndindex(*A.shape[:-2]):
        pivots[at] = pivots_of(rows[at], min(m, n))
    found = packed, from_numpy(pivots).to(A.device)
    if not flag(get_infos, "get_infos", "lu"):
        return found
    zero = U.detach().diagonal(dim1=-2, dim2=-1) == 0
    return *found, (zero.any(-1) * (zero.int().argmax(-1) + 1)).int()


def pivots_of(rows, count):
    """The exchanges that bring the rows into the order `rows`."""
    order, pivots = list(range(len(rows))), []
    for i in range(count):
        j = order.index(rows[i], i)
        order[i], order[j] = order[j], order[i]
        pivots.append(j + 1)
    return pivots


def pad_rows(x, n):
    """x with n rows of zeros below."""
    from minigrad.nn.functional import pad
    return pad(x, (0, 0, 0, n))


def pad_columns(x, n):
    """x with n columns of zeros on the right."""
    from minigrad.nn.functional import pad
    return pad(x, (0, n))


def permutation(pivots, m):
    """The matrix P of the exchanges `pivots`, as a NumPy array of indices: row i of PᵀA is row order[i] of A."""
    exchanges = pivots.cpu().numpy()
    orders = np.broadcast_to(np.arange(m), (*exchanges.shape[:-1], m)).copy()
    for at in np.ndindex(*exchanges.shape[:-1]):
        for i, j in enumerate(exchanges[at]):
            orders[at][[i, j - 1]] = orders[at][[j - 1, i]]
    return orders


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True,
              unpack_pivots: bool = True, *, out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """(P, L, U) of the two results of `lu`. Mirrors ``torch.lu_unpack``.

    Args:
        LU_data (Tensor): (..., m, n).
        LU_pivots (Tensor): int32, (..., min(m, n)).
        unpack_data (bool): False returns empty L and U.
        unpack_pivots (bool): False returns an empty P.

    Raises:
        RuntimeError: the pivots are not int32.

    >>> A = mg.tensor([[0., 1.], [2., 3.]])
    >>> P, L, U = mg.lu_unpack(*mg.lu(A))
    >>> mg.equal(P @ L @ U, A)
    True
    """
    if out is not None:
        return into(out, lu_unpack, LU_data, LU_pivots, unpack_data, unpack_pivots)
    tensor_argument("lu_unpack", LU_data, "LU_data", 1)
    if tensor_argument("lu_unpack", LU_pivots, "LU_pivots", 2).dtype.name != "int32":
        raise DtypeError("MG-E203", "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype",
                         found=LU_pivots.dtype.name, fix="the pivots that minigrad.lu returns")
    if LU_data.ndim < 2:
        raise ShapeError("MG-E205", "torch.lu_unpack: expected LU_data to have at least 2 dimensions", found=f"{LU_data.ndim}")
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    like = {"dtype": LU_data.dtype, "device": LU_data.device}
    P = L = U = zeros(0, **like)
    if flag(unpack_data, "unpack_data", "lu_unpack"):
        L = tril(LU_data[..., :k], -1) + eye(m, k, **like)
        U = triu(LU_data[..., :k, :])
    if flag(unpack_pivots, "unpack_pivots", "lu_unpack"):
        orders = permutation(LU_pivots, m)
        P = from_numpy(np.swapaxes(np.eye(m, dtype=LU_data.dtype.numpy)[orders], -1, -2).copy()).to(LU_data.device)
    return P, L, U


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The x with A x = b, for A in the form that `lu` returns. Mirrors ``torch.lu_solve``.

    Args:
        b (Tensor): (..., m, k).
        LU_data, LU_pivots (Tensor): the results of `lu` for a square A.

    >>> A, b = mg.tensor([[0., 1.], [2., 3.]]), mg.tensor([[1.], [5.]])
    >>> mg.lu_solve(b, *mg.lu(A))
    tensor([[1.],
            [1.]])
    """
    if out is not None:
        return into(out, lu_solve, b, LU_data, LU_pivots)
    P, L, U = lu_unpack(LU_data, LU_pivots)
    inner = solve_triangular(L, matmul(P.mT, tensor_argument("lu_solve", b, "b", 1)), upper=False, unitriangular=True)
    return solve_triangular(U, inner, upper=True)


# ---- the same under the names of torch.linalg, which imports this file late -----------------------


def lu_factor(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """The named pair (LU, pivots) of `minigrad.lu`. Mirrors ``torch.linalg.lu_factor``.

    Raises:
        RuntimeError: `A` has fewer than two dimensions, or `pivot` is False.

    >>> mg.linalg.lu_factor(mg.tensor([[0., 1.], [2., 3.]])).pivots
    tensor([2, 2], dtype=minigrad.int32)
    """
    return into(out, lu_factor, A, pivot=pivot) if out is not None else LUFactor(*lu(A, pivot))


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False,
                 out: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The named triple (LU, pivots, info); info counts the first zero on the diagonal, 0 if there is none.

    Mirrors ``torch.linalg.lu_factor_ex``.

    Raises:
        RuntimeError: `check_errors` is set and a matrix is singular.

    >>> mg.linalg.lu_factor_ex(mg.zeros(2, 2)).info
    tensor(1, dtype=minigrad.int32)
    """
    if out is not None:
        return into(out, lu_factor_ex, A, pivot=pivot, check_errors=check_errors)
    found = LUFactorEx(*lu(A, pivot, True))
    if flag(check_errors, "check_errors", "lu_factor_ex") and bool((found.info != 0).any()):
        raise LinAlgError("MG-E340", "linalg.lu_factor_ex: a matrix is singular: U has a zero on its diagonal")
    return found


def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False,
                    out: Tensor | None = None) -> Tensor:
    """The X with A X = B, from the results of `lu_factor` for A. Mirrors ``torch.linalg.lu_solve``.

    Args:
        LU, pivots (Tensor): of a square A.
        B (Tensor): (..., n, k); (..., k, n) if not `left`.
        left (bool): if False, solve X A = B.
        adjoint (bool): A is replaced by its conjugate transpose.

    >>> A, B = mg.tensor([[0., 1.], [2., 3.]]), mg.tensor([[1.], [5.]])
    >>> mg.linalg.lu_solve(*mg.linalg.lu_factor(A), B)
    tensor([[1.],
            [1.]])
    """
    if out is not None:
        return into(out, linalg_lu_solve, LU, pivots, B, left=left, adjoint=adjoint)
    if not flag(left, "left", "lu_solve"):
        return linalg_lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    if not flag(adjoint, "adjoint", "lu_solve"):
        return lu_solve(B, LU, pivots)
    P, L, U = lu_unpack(LU, pivots)     # Aᴴ = Uᴴ Lᴴ Pᵀ
    inner = solve_triangular(L.mH, solve_triangular(U.mH, B, upper=False), upper=True, unitriangular=True)
    return matmul(P, inner)
