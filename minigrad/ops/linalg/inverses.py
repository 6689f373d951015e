"""Inverses of matrices, and systems of linear equations.

    inv                 z = A⁻¹             dz = -z dA z
    solve               A z = B             dz = A⁻¹ (dB - dA z)        z A = B if not left
    solve_triangular    the same for a triangle of A, of which the other half is never looked at

A gradient of a system is a system with the adjoint of A: dB = A⁻ᴴ g, dA = -dB zᴴ.

LAPACK finds out that a matrix has no inverse while it computes one. inv_ex and solve_ex tell that in `info`, inv and solve raise.

Mirrors ``aten/src/ATen/native/BatchLinearAlgebra.cpp`` and linalg_inv_ex, linalg_solve_backward, linalg_solve_triangular_backward
in ``torch/csrc/autograd/FunctionsManual.cpp``; Giles, An extended collection of matrix derivative results (2008), 2.2.
"""

from collections import namedtuple

import numpy as np
from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad.errors import ShapeError
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Op, flag, op, tensor_argument
from minigrad.ops.linalg.matrices import adjoint, column, first_failure, floating, matrices, row, square, triangle_of

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
    """A z = B, or z A = B. `vector`: B and z have one dimension less"""

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
    """The array x, its matrices transposed."""
    return k.permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


# ---- public functions -------------------------------------------------------------------------------------

inv_ex_result = namedtuple("linalg_inv_ex", ("inverse", "info"))
solve_ex_result = namedtuple("linalg_solve_ex", ("result", "info"))


def check_inverted(function, info):
    """Raise unless all matrices have been inverted."""
    first_failure(function, info, "MG-E340", "The diagonal element {} is zero, the inversion could not be completed because the "
                  "input matrix is singular.", "linalg.pinv() gives a pseudoinverse, linalg.inv_ex() goes on and tells in info")


def inv(A, *, out=None):
    """The inverse of a square matrix, or of each of a batch. Mirrors ``torch.linalg.inv``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.

    To multiply by it, `linalg.solve` is faster and more accurate.

    Raises:
        LinAlgError: a matrix is singular. It is a RuntimeError.
        RuntimeError: the matrices are not square, or the dtype is another.

    >>> mg.linalg.inv(mg.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if out is not None:
        return into(out, inv, A)
    z, info = call(LinalgInvEx.op, (square("linalg.inv", A),))
    check_inverted("linalg.inv", info)
    return z


def inverse(input, *, out=None):
    """The same as `linalg.inv`. Mirrors ``torch.inverse``.

    >>> mg.inverse(mg.tensor([[0., 2.], [1., 0.]]))
    tensor([[0.0000, 1.0000],
            [0.5000, 0.0000]])
    """
    return inv(input, out=out)


def inv_ex(A, *, check_errors=False):
    """The inverse, and 0 for each matrix that has one; where `info` is another number it has none, and the result is nan.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.
        check_errors (bool): raise as `linalg.inv` does.

    Returns the pair (inverse, info), `info` of int32. Mirrors ``torch.linalg.inv_ex``.

    Raises:
        LinAlgError: a matrix is singular, and `check_errors` is set.
        RuntimeError: the matrices are not square, or the dtype is another.

    >>> mg.linalg.inv_ex(mg.ones(2, 2)).info
    tensor(2, dtype=minigrad.int32)
    """
    z, info = call(LinalgInvEx.op, (square("linalg.inv_ex", A),))
    if flag(check_errors, "check_errors", "linalg.inv_ex"):
        check_inverted("linalg.inv_ex", info)
    return inv_ex_result(z, info)


def check_solved(function, info):
    """Raise unless all systems have been solved."""
    first_failure(function, info, "MG-E340", "The solver failed because the input matrix is singular.",
                  "linalg.lstsq() finds the solution that fits best")


def check_system(function, A, B, left):
    """Whether `B` is a batch of vectors. Raises `RuntimeError` unless the two make a system of equations."""
    square(function, A)
    tensor_argument(function, B, "B", 2)
    flag(left, "left", function)
    check_one_dtype(function, A, B)
    vector = B.ndim == 1 or (B.ndim and B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    if vector and not left:
        raise ShapeError("MG-E209", f"{function}: Incompatible shapes of A and B for the equation XA = B "
                         f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-1]}x1)", fix="B.unsqueeze(-2) is a row")
    if not vector:
        matrices(function, B, "B", 2)
    check_sizes(function, A, column(B) if vector else B, left)
    return bool(vector)


def check_sizes(function, A, B, left):
    """Raise unless the sizes of A and B go together."""
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise ShapeError("MG-E209", f"{function}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
                         f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")
    check_batches(function, A, B)


def check_one_dtype(function, A, B):
    """Raise unless A and B have the same dtype: here nothing is promoted."""
    if A.dtype is not B.dtype:
        raise ShapeError("MG-E203", f"{function}: Expected A and B to have the same dtype, but found A of type {A.dtype.name} and "
                         f"B of type {B.dtype.name} instead", fix="convert one of them: B.to(A.dtype)")


def check_batches(function, A, B):
    """Raise unless the batches of A and B can be broadcast together."""
    try:
        np.broadcast_shapes(tuple(A.shape[:-2]), tuple(B.shape[:-2]))
    except ValueError:
        raise ShapeError("MG-E204", f"{function}: The batch dimensions of A and B cannot be broadcast together: "
                         "The size of tensor a must match the size of tensor b at non-singleton dimensions",
                         found=f"shapes {list(A.shape)} and {list(B.shape)}") from None


def solve(A, B, *, left=True, out=None):
    """The X with A X = B, for a square A, or for each of a batch. Mirrors ``torch.linalg.solve``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.
        B (Tensor): of shape (..., n, k), or vectors: (n), or (..., n) with the batch of A. Batches broadcast.
        left (bool): False: X A = B, with B of shape (..., k, n).

    Raises:
        LinAlgError: a matrix is singular. It is a RuntimeError.
        RuntimeError: the shapes do not fit, or the dtypes differ or are none of these.

    >>> mg.linalg.solve(mg.tensor([[2., 0.], [1., 1.]]), mg.tensor([4., 5.]))
    tensor([2., 3.])
    """
    if out is not None:
        return into(out, solve, A, B, left=left)
    vector = check_system("linalg.solve", A, B, left)
    z, info = call(LinalgSolveEx.op, (A, B, left, vector))
    check_solved("torch.linalg.solve", info)
    return z


def solve_ex(A, B, *, left=True, check_errors=False):
    """The solution, and 0 for each matrix that is regular; where `info` is another number the result is nan.

    Args: as for `linalg.solve`.
        check_errors (bool): raise as that does.

    Returns the pair (result, info), `info` of int32. Mirrors ``torch.linalg.solve_ex``.

    Raises:
        LinAlgError: a matrix is singular, and `check_errors` is set.
        RuntimeError: the shapes do not fit, or the dtypes differ or are none of these.

    >>> mg.linalg.solve_ex(mg.eye(2), mg.tensor([4., 5.]))
    linalg_solve_ex(result=tensor([4., 5.]), info=tensor(0, dtype=minigrad.int32))
    """
    vector = check_system("linalg.solve_ex", A, B, left)
    z, info = call(LinalgSolveEx.op, (A, B, left, vector))
    if flag(check_errors, "check_errors", "linalg.solve_ex"):
        check_solved("torch.linalg.solve_ex", info)
    return solve_ex_result(z, info)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """The X with A X = B, where A is a triangle: by substitution. Mirrors ``torch.linalg.solve_triangular``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex. Only one triangle is read.
        B (Tensor): of shape (..., n, k). Batches broadcast.
        upper (bool): which triangle.
        left (bool): False: X A = B, with B of shape (..., k, n).
        unitriangular (bool): take the diagonal for 1, whatever it is.

    With a 0 on the diagonal the result has inf and nan.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ or are none of these.

    >>> mg.linalg.solve_triangular(mg.tensor([[2., 0.], [1., 1.]]), mg.tensor([[4.], [5.]]), upper=False)
    tensor([[2.],
            [3.]])
    """
    if out is not None:
        return into(out, solve_triangular, A, B, upper=upper, left=left, unitriangular=unitriangular)
    function = "linalg.solve_triangular"
    square(function, A)
    floating(function, matrices(function, B, "B", 2))
    for name, value in (("upper", upper), ("left", left), ("unitriangular", unitriangular)):
        flag(value, name, function)
    check_one_dtype(function, A, B)
    check_sizes(function, A, B, left)
    return call(LinalgSolveTriangular.op, (A, B, upper, left, unitriangular))
