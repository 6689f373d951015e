"""Least squares: the best solution of a system of linear equations that has no solution, or many.

It is the X with the smallest |A X - B|. If there are many, it is the smallest of them.

    z = A⁺ B        dz = dA⁺ B + A⁺ dB

Mirrors ``aten/src/ATen/native/BatchLinearAlgebra.cpp`` (linalg_lstsq) and linalg_lstsq_backward in
``torch/csrc/autograd/FunctionsManual.cpp``. Golub and Pereyra (1973), as in pseudoinverses.py.
"""

from collections import namedtuple
from typing import Any

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, DtypeError, LinAlgError, ShapeError
from minigrad.ops.base.arguments import real, tensor_argument, wrong_type
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.rule import INT64, Op, add_tangents, conj, op
from minigrad.ops.elementwise.selection import real_part
from minigrad.ops.linalg.inverses import check_batches
from minigrad.ops.linalg.matrices import adjoint, check_floating, column, row
from minigrad.ops.linalg.pseudoinverses import LinalgPinv, adjoint_array, change_of_pseudoinverse, epsilon_of
from minigrad.ops.linalg.spectra import check_converged
from minigrad.ops.reduce.reduction import sum as total

__all__ = []


@op("linalg_lstsq")
class LinalgLstsq(Op):
    """z = A⁺ B; the sums of squares of A z - B; the rank; the singular values. `driver` says which of the last three exist"""

    inputs = 2
    outputs = ("z", "residuals", "rank", "singular_values")
    torch_names = {"A": "self", "B": "b", "z": "solution"}

    def forward(k, A, B, rcond, driver, vector):
        m, n = A.shape[-2:]
        if vector:
            B = k.unsqueeze(B, B.ndim)
        U, S, Vh = k.svd(A, False)
        last = (S.ndim - 1,)
        keep = k.gt(S, k.mul(k.amax(S, last, True), rcond)) if S.size else k.gt(S, 0)
        rank = k.sum(k.cast(keep, INT64.numpy), last, False)
        inverse = k.cast(k.where(keep, k.reciprocal(S), 0), A.dtype)
        z = k.matmul(adjoint_array(k, Vh), k.mul(k.unsqueeze(inverse, S.ndim), k.matmul(adjoint_array(k, U), B)))
        nothing = k.full((0,), 0, S.dtype)
        residuals = nothing
        if driver != "gelsy" and m > n and (rank == n).all():
            size = k.abs(k.sub(k.matmul(A, z), B))
            residuals = k.sum(k.mul(size, size), (size.ndim - 2,), False)
        if vector:
            z = k.copy(k.select(z, z.ndim - 1, 0))
        return z, residuals, rank, k.copy(nothing) if driver in ("gelsy", "gels") else S

    def vjp(g, needs, A, B, z, rcond, vector):      # dB = A⁺ᴴ g, dA: that of A⁺ given g Bᴴ; and 2 (A z - B) times that of residuals
        of_z, of_residuals = g[:2]
        B, z, of_z = as_columns(vector, B, z, of_z)
        of_A = of_B = None
        if of_z is not None:
            inverse = call(LinalgPinv.op, (A, 0.0, rcond, False))
            of_B = adjoint(inverse) @ of_z
            of_A = adjoint(change_of_pseudoinverse(B @ adjoint(of_z), A, inverse)) if needs[0] else None
        if of_residuals is not None and of_residuals.numel():
            error = 2 * (A @ z - B) * row(of_residuals)
            of_B = -error if of_B is None else of_B - error
            of_A = error @ adjoint(z) if of_A is None else of_A + error @ adjoint(z)
        return of_A, of_B.squeeze(-1) if vector and of_B is not None else of_B

    def jvp(ts, A, B, z, residuals, rcond, vector):
        B, z, of_B = as_columns(vector, B, z, ts[1])
        inverse = call(LinalgPinv.op, (A, 0.0, rcond, False))
        moved = add_tangents([None if ts[0] is None else change_of_pseudoinverse(ts[0], A, inverse) @ B,
                              None if of_B is None else inverse @ of_B])
        grown = None
        if residuals.numel():
            along = add_tangents([None if ts[0] is None else ts[0] @ z, None if of_B is None else -of_B])
            grown = real_part(total(2 * conj(A @ z - B) * along, -2))
        return moved.squeeze(-1) if vector else moved, grown, None, None


def as_columns(vector, *xs) -> Any:
    """Return the tensors, as matrices of one column if `vector`."""
    return [column(x) if vector and x is not None else x for x in xs]


# ---- public functions -------------------------------------------------------------------------------------

lstsq_result = namedtuple("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))


@autocasts
def lstsq(A, B, rcond=None, *, driver=None):
    """The X with the smallest |A X - B|, for each column; if there are many, the smallest X. Mirrors ``torch.linalg.lstsq``.

    Args:
        A (Tensor): of shape (..., m, n); floating point or complex.
        B (Tensor): of shape (..., m, k), or vectors, (..., m).
        rcond (float, optional): singular values of A not larger than `rcond` times the largest count as 0. By default the
            precision of the dtype times max(m, n).
        driver (str, optional): what to compute besides the solution. ``"gelsy"``, the default: the rank. ``"gelsd"`` and
            ``"gelss"``: the rank, the singular values of A and the residuals. ``"gels"``: the residuals; A must have full
            rank. (In PyTorch, the driver is the algorithm too. Ours is always a singular value decomposition.)

    Returns:
        (solution, residuals, rank, singular_values): those that the driver does not compute are empty. The residuals are the
        squares of |A X - B|, and are empty unless m > n and the rank is n. Solution and residuals have gradients, which are
        right while the rank does not change.

    Raises:
        LinAlgError: A does not have full rank, for ``"gels"``; or A has infinite numbers or nan. It is a RuntimeError.
        RuntimeError: the shapes do not fit, there is no such driver, or the dtypes differ, are neither floating point nor
            complex, or are float16.

    >>> mg.linalg.lstsq(mg.tensor([[2.], [0.]]), mg.tensor([[4.], [3.]])).solution
    tensor([[2.]])
    """
    function = "torch.linalg.lstsq"
    tensor_argument(function, A, "input")
    tensor_argument(function, B, "b", 2)
    if A.ndim < 2:
        raise ShapeError("MG-E205", f"{function}: input must have at least 2 dimensions.", found=f"{A.ndim}-d")
    check_floating(function, A)
    if A.dtype is not B.dtype:
        raise DtypeError("MG-E203", f"{function}: Expected input and other to have the same dtype, but got input's dtype "
                         f"{A.dtype.name} and other's dtype {B.dtype.name}")
    if B.ndim == 0 or A.ndim - B.ndim not in (0, 1):
        raise ShapeError("MG-E205", f"{function}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                         "other.dim()) <= 1", found=f"{A.ndim}-d and {B.ndim}-d")
    vector = B.ndim == A.ndim - 1
    if A.shape[-2] != B.shape[-1 if vector else -2]:
        raise ShapeError("MG-E209", f"{function}: input.size(-2) should match other.size({-1 if vector else -2})",
                         found=f"shapes {list(A.shape)} and {list(B.shape)}")
    check_batches(function, A, column(B) if vector else B)
    if driver is not None and not isinstance(driver, str):
        raise wrong_type(function, "driver", "str", driver)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ArgumentError("MG-E321", f"{function}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)",
                            found=repr(driver))
    rcond = epsilon_of(A) * max(A.shape[-2:]) if rcond is None else real(rcond, "rcond", function)
    z, residuals, rank, S = check_converged("linalg.svd", LinalgLstsq.op, A, B, float(rcond), driver or "gelsy", vector)
    if driver == "gels":
        if (rank._array < min(A.shape[-2:])).any():
            raise LinAlgError("MG-E340", f"{function}: The least squares solution could not be computed because the input "
                              "matrix does not have full rank", fix="another driver finds the smallest of the best solutions")
        rank = rank.new_zeros(0)
    return lstsq_result(z, residuals, rank, S)
