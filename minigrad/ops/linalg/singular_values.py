"""The singular value decomposition: A = U S Vᴴ.

In the basis of the singular vectors, dA is dP = Uᴴ dA V. Its diagonal changes the values, and the rest turns the vectors:

    dS = Re diag dP
    dU = U ((dP S + S dPᴴ) / E) + (1 - U Uᴴ) dA V S⁻¹           E[i, j] = s_j² - s_i² off the diagonal
    dV = V ((S dP + dPᴴ S) / E) + (1 - V Vᴴ) dAᴴ U S⁻¹

The phases of complex vectors are not determined: see Note [Phases] in spectra.py.

Mirrors svd_backward and linalg_svd_jvp in ``torch/csrc/autograd/FunctionsManual.cpp``. Townsend, Differentiating the singular value
decomposition (2016); Wan and Zhang, Automatic differentiation for complex valued SVD (2019).
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from minigrad.errors import ArgumentError
from minigrad.ops.base.arguments import flag, in_words
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Op, op
from minigrad.ops.elementwise.selection import real_part
from minigrad.ops.linalg.matrices import adjoint, check_floating, check_matrices, column, diagonal_matrix, diagonal_of, row, skew
from minigrad.ops.linalg.spectra import check_converged, check_phase, gaps, vectors_needed, without_diagonal
from minigrad.ops.shape.cat_split import cat

if TYPE_CHECKING:
    from minigrad.types import SVD, Tensor

__all__ = ["svd"]


@op("linalg_svd")
class LinalgSvd(Op):
    """A = U S Vh. Without `compute_uv`, U and Vh are empty"""

    inputs = 1
    outputs = ("U", "S", "Vh")

    def forward(k, A, full_matrices, compute_uv):
        if compute_uv:
            return k.svd(A, full_matrices)
        return k.full((0,), 0, A.dtype), k.svdvals(A), k.full((0,), 0, A.dtype)

    def vjp(g, needs, U, S, Vh):
        of_U, of_S, of_Vh = g
        if of_U is None and of_Vh is None:
            return ((U[..., :S.shape[-1]] * row(of_S)) @ Vh[..., :S.shape[-1], :],)
        return (gradient_of_svd(of_U, of_S, of_Vh, U, S, Vh),)

    def jvp(ts, U, S, Vh):
        return tangent_of_svd(ts[0], U, S, Vh)


def reduce_factors(U, S, Vh) -> Any:
    """Return the first k columns of U and the first k rows of Vh, where k is the size of S. A does not determine the others."""
    k = S.shape[-1]
    return U if U is None or U.shape[-1] == k else U[..., :k], Vh if Vh is None or Vh.shape[-2] == k else Vh[..., :k, :]


def gradient_of_svd(of_U, of_S, of_Vh, U, S, Vh):
    """U [(skew(Uᴴ g_U) / E) S + S (skew(Vᴴ g_V) / E) + g_S] Vᴴ + (1 - U Uᴴ) g_U S⁻¹ Vᴴ + U S⁻¹ g_Vᴴ (1 - V Vᴴ)"""
    U, Vh = reduce_factors(U, S, Vh)
    of_U, of_Vh = reduce_factors(of_U, S, of_Vh)
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    E = gaps(S * S)
    inner_U = None if of_U is None else adjoint(U) @ of_U
    inner_V = None if of_Vh is None else Vh @ adjoint(of_Vh)
    inner = None
    if of_U is not None:
        inner = (skew(inner_U) / E) * row(S)
    if of_Vh is not None:
        turning = column(S) * (skew(inner_V) / E)
        inner = turning if inner is None else inner + turning
    if U.dtype.is_complex:
        phases = [None if x is None else diagonal_of(x).imag for x in (inner_U, inner_V)]
        a, b = [S.new_zeros(S.shape) if x is None else x for x in phases]
        check_phase("svd_backward", a + b, "singular vectors")
        inner = without_diagonal(inner) + diagonal_matrix((a - b) / (2 * S) * 1j)
    if of_S is not None:
        inner = inner + diagonal_matrix(of_S)
    left = U @ inner
    if of_U is not None and m > k:
        scaled = of_U / row(S)
        left = left + scaled - U @ (adjoint(U) @ scaled)
    z = left @ Vh
    if of_Vh is not None and n > k:
        scaled = of_Vh / column(S)
        z = z + U @ (scaled - (scaled @ adjoint(Vh)) @ Vh)
    return z


def tangent_of_svd(t, U, S, Vh):
    """Return (dU, dS, dVh), with zeros for the columns of U and rows of Vh beyond the k-th."""
    full_U, full_Vh = U, Vh
    U, Vh = reduce_factors(U, S, Vh)
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    onto = adjoint(U) @ t                               # Uᴴ dA
    P = onto @ adjoint(Vh)
    change = diagonal_of(P)
    P = without_diagonal(P)
    E = gaps(S * S)
    turn_U = (P * row(S) + column(S) * adjoint(P)) / E
    turn_V = (column(S) * P + adjoint(P) * row(S)) / E
    if P.dtype.is_complex:
        phase = diagonal_matrix(change.imag / (2 * S) * 1j)
        turn_U, turn_V = turn_U + phase, turn_V - phase
    of_U, of_Vh = U @ turn_U, adjoint(turn_V) @ Vh
    if m > k:
        scaled = (t @ adjoint(Vh)) / row(S)
        of_U = of_U + scaled - U @ (adjoint(U) @ scaled)
    if n > k:
        scaled = onto / column(S)
        of_Vh = of_Vh + scaled - (scaled @ adjoint(Vh)) @ Vh
    if full_U.shape[-1] > k:
        of_U = cat([of_U, of_U.new_zeros((*of_U.shape[:-1], full_U.shape[-1] - k))], -1)
    if full_Vh.shape[-2] > k:
        of_Vh = cat([of_Vh, of_Vh.new_zeros((*of_Vh.shape[:-2], full_Vh.shape[-2] - k, n))], -2)
    return of_U, real_part(change), of_Vh


# ---- public functions -------------------------------------------------------------------------------------

linalg_svd_result = namedtuple("linalg_svd", ("U", "S", "Vh"))
svd_result: Any = namedtuple("svd", ("U", "S", "V"))


@autocasts
def linalg_svd(A, full_matrices=True, *, driver=None):
    """The singular value decomposition A = U diag(S) Vh. Mirrors ``torch.linalg.svd``.

    Args:
        A (Tensor): of shape (..., m, n); floating point or complex.
        full_matrices (bool): U is (..., m, m) and Vh (..., n, n); False: (..., m, k) and (..., k, n), with k = min(m, n).
        driver: must be None; PyTorch uses it on CUDA only.

    Returns:
        (U, S, Vh): S is real and (..., k), descending. The columns of U and the rows of Vh are orthonormal, and determined up
        to a sign or phase.

    The gradient of the vectors exists if no two singular values are equal (and none is 0 unless A is square), for a loss that
    does not depend on phases. The vectors beyond the k-th have no gradient.

    Raises:
        LinAlgError: A has infinite numbers or nan. It is a RuntimeError.
        RuntimeError: A has fewer than two dimensions, or the dtype is neither floating point nor complex, or is float16. In the
            backward: the loss depends on phases.

    >>> U, S, Vh = mg.linalg.svd(mg.tensor([[0., 2.], [1., 0.]]))
    >>> S
    tensor([2., 1.])
    >>> U @ S.diag() @ Vh
    tensor([[0., 2.],
            [1., 0.]])
    """
    check_floating("linalg.svd", check_matrices("linalg.svd", A))
    refuse_driver("linalg.svd", driver)
    full = flag(full_matrices, "full_matrices", "linalg.svd")
    return linalg_svd_result(*check_converged("linalg.svd", LinalgSvd.op, A, full, True))


def refuse_driver(function, driver):
    """Raise if `driver` is given."""
    if driver is not None:
        raise ArgumentError("MG-E321", f"torch.{function}: keyword argument `driver=` is only supported on CUDA inputs with "
                            "cuSOLVER backend.", found=in_words(driver))


@autocasts
def svdvals(A, *, driver=None, out=None):
    """The singular values of a matrix, or of each matrix of a batch, descending. Mirrors ``torch.linalg.svdvals``.

    Args:
        A (Tensor): of shape (..., m, n); floating point or complex. The result is real and (..., min(m, n)).
        driver: must be None; PyTorch uses it on CUDA only.

    Their gradient exists even if some of them are equal.

    Raises:
        LinAlgError: A has infinite numbers or nan. It is a RuntimeError.
        RuntimeError: A has fewer than two dimensions, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.svdvals(mg.tensor([[0., 2.], [1., 0.]]))
    tensor([2., 1.])
    """
    if out is not None:
        return into(out, svdvals, A, driver=driver)
    check_floating("linalg.svd", check_matrices("linalg.svd", A))
    refuse_driver("linalg.svdvals", driver)
    return check_converged("linalg.svd", LinalgSvd.op, A, False, vectors_needed(A))[1]


@autocasts
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVD:
    """The singular value decomposition input = U diag(S) Vᴴ: `linalg.svd`, but with V instead of Vᴴ. Mirrors ``torch.svd``.

    Args:
        input (Tensor): of shape (..., m, n); floating point or complex.
        some (bool): True is ``full_matrices=False``.
        compute_uv (bool): if False, U and V are zeros.

    Returns:
        (U, S, V): as for `linalg.svd`.

    >>> mg.svd(mg.tensor([[0., 2.], [1., 0.]]), compute_uv=False).S
    tensor([2., 1.])
    """
    if not flag(compute_uv, "compute_uv", "svd"):
        S = svdvals(input)
        m, n = input.shape[-2:]
        U, V = [input.new_zeros((*input.shape[:-2], size, size)) for size in (m, n)]
        return svd_result(U, S, V)
    U, S, Vh = linalg_svd(input, not flag(some, "some", "svd"))
    return svd_result(U, S, adjoint(Vh))
