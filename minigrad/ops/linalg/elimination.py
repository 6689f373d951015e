"""The LU decomposition A = P L U: Gaussian elimination with pivoting.

    PᵀA = L U       a wide A is [A₁ A₂] = L [U₁ U₂], a tall A is [A₁; A₂] = [L₁; L₂] U, with A₁ square

P exchanges the rows, and has no derivative. The input of the rule `Lu` is PᵀA.

Mirrors ``torch/csrc/autograd/FunctionsManual.cpp`` (``lu_backward``) and ``aten/src/ATen/native/BatchLinearAlgebra.cpp``.
"""

from collections import namedtuple

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, AutogradNotImplementedError, ShapeError
from minigrad.ops.base.arguments import flag, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Op, is_reduced, op
from minigrad.ops.index.indexing import gather
from minigrad.ops.index.masking import tril, triu
from minigrad.ops.linalg.inverses import solve_triangular
from minigrad.ops.linalg.matrix import matmul
from minigrad.ops.shape.cat_split import cat
from minigrad.ops.shape.views import expand, unsqueeze
from minigrad.ops.sort.searching import wrap_kernel_result

__all__ = []

linalg_lu_result = namedtuple("linalg_lu", ("P", "L", "U"))


@op("linalg_lu", "LinalgLu0")
class Lu(Op):
    """x = L U, L with ones on the diagonal; the rows of x are in the right order already"""

    inputs = 1
    outputs = ("L", "U")

    def forward(k, x):
        return k.lu(x, False)[:2]

    def vjp(g, needs, L, U):
        # dA₁ = L₁⁻ᴴ [tril(L₁ᴴ dL₁ - dU₂ U₂ᴴ, -1) + triu(dU₁ U₁ᴴ - L₂ᴴ dL₂)] U₁⁻ᴴ,   dA₂ = L⁻ᴴ dU₂ or dL₂ U⁻ᴴ
        n = min(L.shape[-2], U.shape[-1])
        (L1, L2), (U1, U2) = (L[..., :n, :], L[..., n:, :]), (U[..., :n], U[..., n:])
        gL = L.new_zeros(L.shape) if g[0] is None else g[0]
        gU = U.new_zeros(U.shape) if g[1] is None else g[1]
        below, above = matmul(L1.mH, gL[..., :n, :]), matmul(gU[..., :n], U1.mH)
        if U2.shape[-1]:
            below = below - matmul(gU[..., n:], U2.mH)
        if L2.shape[-2]:
            above = above - matmul(L2.mH, gL[..., n:, :])
        inner = solve_triangular(U1.mH, tril(below, -1) + triu(above), upper=False, left=False)
        first = solve_triangular(L1.mH, inner, upper=True, unitriangular=True)
        if U2.shape[-1]:
            return (cat((first, solve_triangular(L1.mH, gU[..., n:], upper=True, unitriangular=True)), -1),)
        if L2.shape[-2]:
            return (cat((first, solve_triangular(U1.mH, gL[..., n:, :], upper=False, left=False)), -2),)
        return (first,)

    def jvp(ts, L, U):
        # with N = L₁⁻¹ dA₁ U₁⁻¹:   dL₁ = L₁ tril(N, -1),   dU₁ = triu(N) U₁,
        # dU₂ = L⁻¹ dA₂ - tril(N, -1) U₂,   dL₂ = dA₂ U⁻¹ - L₂ triu(N)
        n, t = min(L.shape[-2], U.shape[-1]), ts[0]
        (L1, L2), (U1, U2) = (L[..., :n, :], L[..., n:, :]), (U[..., :n], U[..., n:])
        inner = solve_triangular(L1, t[..., :n, :n], upper=False, unitriangular=True)
        inner = solve_triangular(U1, inner, upper=True, left=False)
        below, above = tril(inner, -1), triu(inner)
        tL, tU = matmul(L1, below), matmul(above, U1)
        if U2.shape[-1]:
            tU = cat((tU, solve_triangular(L1, t[..., n:], upper=False, unitriangular=True) - matmul(below, U2)), -1)
        if L2.shape[-2]:
            tL = cat((tL, solve_triangular(U1, t[..., n:, :], upper=True, left=False) - matmul(L2, above)), -2)
        return tL, tU


# ---- public functions -------------------------------------------------------------------------------------


def linalg_lu(A, *, pivot=True, out=None):
    """(P, L, U) with A = P L U: P exchanges rows, L is lower triangular with ones on the diagonal, U upper triangular.

    Args:
        A (Tensor): of shape (..., m, n); floating point or complex. P is (..., m, m), L (..., m, k), U (..., k, n), k = min(m, n).
        pivot (bool): must be True.

    Mirrors ``torch.linalg.lu``.

    Raises:
        RuntimeError: `A` has fewer than two dimensions, or `pivot` is False.
        NotImplementedError: the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.lu(mg.tensor([[0., 1.], [2., 3.]]))
    linalg_lu(P=tensor([[0., 1.],
            [1., 0.]]), L=tensor([[1., 0.],
            [0., 1.]]), U=tensor([[2., 3.],
            [0., 1.]]))
    """
    if out is not None:
        return into(out, linalg_lu, A, pivot=pivot)
    if tensor_argument("linalg.lu", A, "A").ndim < 2:
        raise ShapeError("MG-E209", f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if not flag(pivot, "pivot", "linalg.lu"):
        raise ArgumentError("MG-E302", "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    if not A.dtype.differentiable or is_reduced(A.dtype):
        raise AutogradNotImplementedError("MG-E203", f'"lu_cpu" not implemented for \'{A.dtype.name}\'')
    m = A.shape[-2]
    rows = wrap_kernel_result(A, "lu_rows")                          # row i of PᵀA is row rows[i] of A
    P = A.detach().new_zeros((*A.shape[:-2], m, m)).scatter(-2, unsqueeze(rows, -2), 1)
    ordered = gather(A, -2, expand(unsqueeze(rows, -1), A.shape)) if A.numel() else A
    return linalg_lu_result(P, *call(Lu.op, (ordered,)))
