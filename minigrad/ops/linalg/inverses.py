"""Inverses of matrices, and systems of linear equations.

    inv                 z = A⁻¹             dz = -z dA z
    solve               A z = B             dz = A⁻¹ (dB - dA z)        z A = B if not left
    solve_triangular    the same for one triangle of A; the other half is never read

A gradient of a system is a system with the adjoint of A: dB = A⁻ᴴ g, dA = -dB zᴴ.

LAPACK notices that a matrix has no inverse while it computes the inverse. inv_ex and solve_ex report it in `info`; inv and solve
raise.

Mirrors ``aten/src/ATen/native/BatchLinearAlgebra.cpp`` and linalg_inv_ex, linalg_solve_backward, linalg_solve_triangular_backward
in ``torch/csrc/autograd/FunctionsManual.cpp``; Giles, An extended collection of matrix derivative results (2008), 2.2.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.record.apply import call
from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.arguments import flag, tensor_argument
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Op, conj, op
from minigrad.ops.linalg.matrices import (
    adjoint,
    check_floating,
    check_matrices,
    check_square,
    column,
    raise_first_failure,
    row,
    triangle_of,
)

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["inverse"]


@op("linalg_inv_ex")
class LinalgInvEx(Op):
    """z = A⁻¹"""

    inputs = 1
    outputs = ("z", "info")
    torch_names = {"z": "inverse"}

    def forward(k, A):
        return k.inv(A)

    def vjp(g, needs, z):               # dA = -zᴴ g zᴴ
        adjoint_z = adjoint(z)
        return (-(adjoint_z @ (g[0] @ adjoint_z)),)

    def jvp(ts, z):
        return (-(z @ ts[0] @ z), None)


@op("linalg_solve_ex")
class LinalgSolveEx(Op):
    """A z = B, or z A = B. With `vector`, B and z are vectors, or batches of vectors"""

    inputs = 2
    outputs = ("z", "info")
    torch_names = {"z": "result"}

    def forward(k, A, B, left, vector):
        if left:
            z, info = k.solve(A, k.unsqueeze(B, B.ndim) if vector else B)
            return (k.copy(k.select(z, z.ndim - 1, 0)) if vector else z), info
        z, info = k.solve(transpose_matrices(k, A), transpose_matrices(k, B))
        return k.copy(transpose_matrices(k, z)), info

    def vjp(g, needs, A, z, left, vector):
        of_B = call(LinalgSolveEx.op, (adjoint(A), g[0], left, vector))[0]
        if not needs[0]:
            return None, of_B
        if vector:
            return -(column(of_B) * row(conj(z))), of_B if needs[1] else None
        return -(of_B @ adjoint(z) if left else adjoint(z) @ of_B), of_B if needs[1] else None

    def jvp(ts, A, B, z, left, vector):
        change, moved = ts[1], ts[0]
        if moved is not None:
            moved = (moved @ column(z)).squeeze(-1) if vector else moved @ z if left else z @ moved
            change = -moved if change is None else change - moved
        return call(LinalgSolveEx.op, (A, change, left, vector))[0], None


@op("linalg_solve_triangular")
class LinalgSolveTriangular(Op):
    """A z = B, or z A = B, for a triangle of A; `unitriangular`: its diagonal counts as 1"""

    inputs = 2
    torch_names = {"A": "self", "z": "result"}

    def forward(k, A, B, upper, left, unitriangular):
        if left:
            return k.solve_triangular(A, B, upper, unitriangular)
        x = k.solve_triangular(transpose_matrices(k, A), transpose_matrices(k, B), not upper, unitriangular)
        return k.copy(transpose_matrices(k, x))

    def vjp(g, needs, A, z, upper, left, unitriangular):
        of_B = call(LinalgSolveTriangular.op, (adjoint(A), g, not upper, left, unitriangular))
        if not needs[0]:
            return None, of_B
        of_A = -(of_B @ adjoint(z) if left else adjoint(z) @ of_B)
        return triangle_of(of_A, upper, not unitriangular), of_B if needs[1] else None

    def jvp(ts, A, z, upper, left, unitriangular):
        change, moved = ts[1], ts[0]
        if moved is not None:
            moved = triangle_of(moved, upper, not unitriangular)
            moved = moved @ z if left else z @ moved
            change = -moved if change is None else change - moved
        return call(LinalgSolveTriangular.op, (A, change, upper, left, unitriangular))


def transpose_matrices(k, x):
    """Return the array x with its matrices transposed."""
    return k.permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


# ---- public functions -------------------------------------------------------------------------------------

inv_ex_result = namedtuple("linalg_inv_ex", ("inverse", "info"))
solve_ex_result = namedtuple("linalg_solve_ex", ("result", "info"))


def check_inverted(function, info):
    """Raise unless `info` is 0 for all matrices: they have an inverse."""
    raise_first_failure(
        function, info, "MG-E340", "The diagonal element {} is zero, the inversion could not be completed because the input matrix "
        "is singular.", "linalg.pinv() gives a pseudoinverse; linalg.inv_ex() does not raise, and reports it in info")


@autocasts
def inv(A, *, out=None):
    """The inverse of a square matrix, or of each matrix of a batch. Mirrors ``torch.linalg.inv``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.

    If you multiply by the inverse, `linalg.solve` is faster and more accurate.

    Raises:
        LinAlgError: a matrix is singular. It is a RuntimeError.
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.inv(mg.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if out is not None:
        return into(out, inv, A)
    z, info = call(LinalgInvEx.op, (check_square("linalg.inv", A),))
    check_inverted("linalg.inv", info)
    return z


@autocasts
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `linalg.inv`. Mirrors ``torch.inverse``.

    >>> mg.inverse(mg.tensor([[0., 2.], [1., 0.]]))
    tensor([[0.0000, 1.0000],
            [0.5000, 0.0000]])
    """
    return inv(input, out=out)


@autocasts
def inv_ex(A, *, check_errors=False):
    """The inverse, and `info` instead of an error. Mirrors ``torch.linalg.inv_ex``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.
        check_errors (bool): raise, as `linalg.inv` does.

    Returns:
        (inverse, info): `info` is int32, and 0 for each matrix that has an inverse. For the others, `inverse` is nan.

    Raises:
        LinAlgError: a matrix is singular, and `check_errors` is set.
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.inv_ex(mg.ones(2, 2)).info
    tensor(2, dtype=minigrad.int32)
    """
    z, info = call(LinalgInvEx.op, (check_square("linalg.inv_ex", A),))
    if flag(check_errors, "check_errors", "linalg.inv_ex"):
        check_inverted("linalg.inv_ex", info)
    return inv_ex_result(z, info)


def check_solved(function, info):
    """Raise unless `info` is 0 for all systems: they have a solution."""
    raise_first_failure(function, info, "MG-E340", "The solver failed because the input matrix is singular.",
                        "linalg.lstsq() finds the solution that fits best")


def check_system(function, A, B, left):
    """Return whether `B` is a batch of vectors; raise `RuntimeError` if the shapes or dtypes of A and B do not fit."""
    check_square(function, A)
    tensor_argument(function, B, "B", 2)
    flag(left, "left", function)
    check_one_dtype(function, A, B)
    vector = B.ndim == 1 or (B.ndim and B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    if vector and not left:
        raise ShapeError("MG-E209", f"{function}: Incompatible shapes of A and B for the equation XA = B "
                         f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-1]}x1)", fix="B.unsqueeze(-2) is a row")
    if not vector:
        check_matrices(function, B, "B", 2)
    check_sizes(function, A, column(B) if vector else B, left)
    return bool(vector)


def check_sizes(function, A, B, left):
    """Raise unless the sizes of A and B fit together."""
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise ShapeError("MG-E209", f"{function}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
                         f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")
    check_batches(function, A, B)


def check_one_dtype(function, A, B):
    """Raise unless A and B have the same dtype: linear algebra does not promote."""
    if A.dtype is not B.dtype:
        raise DtypeError("MG-E203", f"{function}: Expected A and B to have the same dtype, but found A of type {A.dtype.name} and "
                         f"B of type {B.dtype.name} instead", fix="convert one of them: B.to(A.dtype)")


def check_batches(function, A, B):
    """Raise unless the batches of A and B can be broadcast together."""
    try:
        np.broadcast_shapes(tuple(A.shape[:-2]), tuple(B.shape[:-2]))
    except ValueError:
        raise ShapeError("MG-E204", f"{function}: The batch dimensions of A and B cannot be broadcast together: "
                         "The size of tensor a must match the size of tensor b at non-singleton dimensions",
                         found=f"shapes {list(A.shape)} and {list(B.shape)}") from None


@autocasts
def solve(A, B, *, left=True, out=None):
    """Solve A X = B for X, with a square A, or with each matrix of a batch. Mirrors ``torch.linalg.solve``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.
        B (Tensor): of shape (..., n, k), or vectors: (n), or (..., n) with the batch of A. Batches broadcast.
        left (bool): False solves X A = B, with B of shape (..., k, n).

    Raises:
        LinAlgError: a matrix is singular. It is a RuntimeError.
        RuntimeError: the shapes do not fit, or the dtypes differ, are neither floating point nor complex, or are float16.

    >>> mg.linalg.solve(mg.tensor([[2., 0.], [1., 1.]]), mg.tensor([4., 5.]))
    tensor([2., 3.])
    """
    if out is not None:
        return into(out, solve, A, B, left=left)
    vector = check_system("linalg.solve", A, B, left)
    z, info = call(LinalgSolveEx.op, (A, B, left, vector))
    check_solved("torch.linalg.solve", info)
    return z


@autocasts
def solve_ex(A, B, *, left=True, check_errors=False):
    """The solution, and `info` instead of an error. Mirrors ``torch.linalg.solve_ex``.

    Args:
        A (Tensor), B (Tensor), left (bool): as for `linalg.solve`.
        check_errors (bool): raise, as `linalg.solve` does.

    Returns:
        (result, info): `info` is int32, and 0 for each regular matrix. For the others, `result` is nan.

    Raises:
        LinAlgError: a matrix is singular, and `check_errors` is set.
        RuntimeError: the shapes do not fit, or the dtypes differ, are neither floating point nor complex, or are float16.

    >>> mg.linalg.solve_ex(mg.eye(2), mg.tensor([4., 5.]))
    linalg_solve_ex(result=tensor([4., 5.]), info=tensor(0, dtype=minigrad.int32))
    """
    vector = check_system("linalg.solve_ex", A, B, left)
    z, info = call(LinalgSolveEx.op, (A, B, left, vector))
    if flag(check_errors, "check_errors", "linalg.solve_ex"):
        check_solved("torch.linalg.solve_ex", info)
    return solve_ex_result(z, info)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """Solve A X = B for X by substitution, where A is a triangle. Mirrors ``torch.linalg.solve_triangular``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex. Only one triangle is read.
        B (Tensor): of shape (..., n, k). Batches broadcast.
        upper (bool): read the upper triangle, else the lower one.
        left (bool): False solves X A = B, with B of shape (..., k, n).
        unitriangular (bool): use 1 for the diagonal, and do not read it.

    If the diagonal has a 0, the result has inf and nan.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ, are neither floating point nor complex, or are float16.

    >>> mg.linalg.solve_triangular(mg.tensor([[2., 0.], [1., 1.]]), mg.tensor([[4.], [5.]]), upper=False)
    tensor([[2.],
            [3.]])
    """
    if out is not None:
        return into(out, solve_triangular, A, B, upper=upper, left=left, unitriangular=unitriangular)
    function = "linalg.solve_triangular"
    check_square(function, A)
    check_floating(function, check_matrices(function, B, "B", 2))
    for name, value in (("upper", upper), ("left", left), ("unitriangular", unitriangular)):
        flag(value, name, function)
    check_one_dtype(function, A, B)
    check_sizes(function, A, B, left)
    return call(LinalgSolveTriangular.op, (A, B, upper, left, unitriangular))
