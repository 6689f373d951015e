"""Determinants, also of singular matrices, and their logarithms.

    det         dz = Σ C dx         C, the cofactors: det x · x⁻ᵀ if x is regular, but they exist for every x
    slogdet     d log |z| = Re tr x⁻¹ dx,    d sign = i sign Im tr x⁻¹ dx

At a singular x, the formula det x · x⁻ᵀ divides 0 by 0. So the cofactors are a separate op, which uses x = u s vᴴ there.
The derivatives of det x = det u det vᴴ Π s need no division:

    C     = det u det vᴴ · ū diag(Π_{k≠i} s_k) v̄ᴴ
    dC    = det u det vᴴ · ū M v̄ᴴ,      M[i, i] = Σ_{j≠i} P[i, j] t[j, j],      M[i, j] = -P[i, j] t[j, i]

with t = uᴴ dx v and P[i, j] = Π_{k≠i,j} s_k. So the first two derivatives are right at every matrix, of any rank and with equal
singular values. (In PyTorch 2.13, the gradient at an exactly singular matrix is 0, and the second derivative is nan where two
singular values are 0.)

Mirrors linalg_det_backward and slogdet_backward in ``torch/csrc/autograd/FunctionsManual.cpp``; the formula for the adjugate is
in Stewart, On the adjugate matrix (1998).
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad._core.record.apply import call
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import FLOAT64, Op, conj, op
from minigrad.ops.elementwise.functions import log
from minigrad.ops.elementwise.selection import where
from minigrad.ops.linalg.inverses import LinalgInvEx
from minigrad.ops.linalg.matrices import adjoint, check_square, column, diagonal_matrix, diagonal_of, row
from minigrad.ops.linalg.singular_values import LinalgSvd
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.scan.scans import products_of_others
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.views import transpose

if TYPE_CHECKING:
    from minigrad.types import SignAndLogarithm, Tensor

__all__ = ["det", "logdet", "slogdet"]


@op("linalg_det")
class LinalgDet(Op):
    """z = det A"""

    torch_names = {"z": "result"}

    def forward(k, A):
        return k.det(A)

    def vjp_A(g, A):                    # dA = g C̄
        return column(column(g)) * conj(call(LinalgCofactors.op, (A,)))

    def jvp_A(t, A):
        return total(call(LinalgCofactors.op, (A,)) * t, (-2, -1))


@op("linalg_cofactors")
class LinalgCofactors(Op):
    """z = ∂ det A / ∂A. Its derivative is symmetric: the vjp is the jvp, with conjugation."""

    torch_names = {"z": "result"}

    def forward(k, A):
        return k.cofactors(A)

    def vjp_A(g, A):
        return conj(change_of_cofactors(A, conj(g)))

    def jvp_A(t, A):
        return change_of_cofactors(A, t)


def change_of_cofactors(A, t):
    """The derivative of the cofactors of A in the direction t: det A (⟨w, t⟩ w - w tᵀ w) with w = A⁻ᵀ."""
    w = transpose(call(LinalgInvEx.op, (A,))[0], -2, -1)
    if well_conditioned(A._array, w._array):
        along = column(column(total(w * t, (-2, -1))))
        return column(column(call(LinalgDet.op, (A,)))) * (along * w - w @ transpose(t, -2, -1) @ w)
    u, s, v = call(LinalgSvd.op, (A, True, True))
    same = A.new_tensor(np.eye(A.shape[-1], dtype=bool), dtype=None)
    others = products_of_others(where(same, 1.0, row(cast(s, FLOAT64))), s.ndim)       # row i has 1 instead of s_i
    off = cast(where(same, 0.0, others), A.dtype)       # P
    turned = adjoint(u) @ t @ adjoint(v)
    moved = diagonal_matrix((off @ column(diagonal_of(turned))).squeeze(-1)) - off * transpose(turned, -2, -1)
    return column(column(call(LinalgDet.op, (u,)) * call(LinalgDet.op, (v,)))) * (conj(u) @ moved @ conj(v))


def well_conditioned(x, inverse):
    """Whether the formula with the inverse keeps half of the digits, for all matrices of a batch.

    Its error grows with the square of the condition number. For nan we return True: the result is nan in any case.
    """
    if not x.size or not np.isfinite(x).all():
        return True
    return bool((np.abs(x).sum(-2).max(-1) * np.abs(inverse).sum(-1).max(-1) < np.finfo(x.dtype).eps ** -0.25).all())


@op("linalg_slogdet")
class LinalgSlogdet(Op):
    """sign, logabsdet = det A / |det A|, log |det A|"""

    inputs = 1
    outputs = ("sign", "logabsdet")

    def forward(k, A):
        return k.slogdet(A)

    def vjp(g, needs, A, sign):         # dA = (g_log - i Im(ḡ_sign sign)) A⁻ᴴ
        of_sign, scale = g
        if of_sign is not None and A.dtype.is_complex:
            turned = (conj(of_sign) * sign).imag * -1j
            scale = turned if scale is None else scale + turned
        if scale is None:
            return (None,)
        return (column(column(scale)) * adjoint(call(LinalgInvEx.op, (A,))[0]),)

    def jvp(ts, A, sign):
        along = total(diagonal_of(call(LinalgInvEx.op, (A,))[0] @ ts[0]), -1)
        if not A.dtype.is_complex:
            return (sign.new_zeros(sign.shape), along)
        return (sign * (along.imag * 1j), along.real)


# ---- public functions -------------------------------------------------------------------------------------

linalg_slogdet_result = namedtuple("linalg_slogdet", ("sign", "logabsdet"))
slogdet_result: Any = namedtuple("slogdet", ("sign", "logabsdet"))


def linalg_det(A, *, out=None):
    """The determinant of a square matrix, or of each matrix of a batch. Mirrors ``torch.linalg.det``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex. The result is (...); for a 0 by 0 matrix it is 1.

    The first and second derivatives are right at singular matrices too.

    Raises:
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16.

    >>> A = mg.tensor([[1., 2.], [2., 4.]], requires_grad=True)
    >>> mg.linalg.det(A)
    tensor(0., grad_fn=<LinalgDetBackward0>)
    >>> mg.autograd.grad(mg.linalg.det(A), A)
    (tensor([[ 4., -2.],
            [-2.,  1.]]),)
    """
    if out is not None:
        return into(out, linalg_det, A)
    return call(LinalgDet.op, (check_square("linalg.det", A),))


def det(input: Tensor) -> Tensor:
    """The same as `linalg.det`. Mirrors ``torch.det``.

    >>> mg.det(mg.tensor([[1., 2.], [3., 5.]]))
    tensor(-1.)
    """
    return call(LinalgDet.op, (check_square("linalg.det", input),))


def linalg_slogdet(A):
    """The sign of the determinant and the logarithm of its absolute value, without overflow. Mirrors ``torch.linalg.slogdet``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.

    Returns:
        (sign, logabsdet): both (...). For complex matrices, the sign is a complex number of absolute value 1. For a singular
        matrix they are 0 and -inf, and the gradient is nan.

    Raises:
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.slogdet(mg.tensor([[0., 1.], [1., 0.]]))
    linalg_slogdet(sign=tensor(-1.), logabsdet=tensor(0.))
    """
    return linalg_slogdet_result(*call(LinalgSlogdet.op, (check_square("linalg.slogdet", A),)))


def slogdet(input: Tensor) -> SignAndLogarithm:
    """The same as `linalg.slogdet`. Mirrors ``torch.slogdet``.

    >>> mg.slogdet(mg.eye(2))
    slogdet(sign=tensor(1.), logabsdet=tensor(0.))
    """
    return slogdet_result(*call(LinalgSlogdet.op, (check_square("linalg.slogdet", input),)))


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of a square matrix, or of each matrix of a batch. Mirrors ``torch.logdet``.

    It is nan where the determinant is negative, and -inf where the determinant is 0.

    Raises:
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.logdet(mg.eye(2) * 2)
    tensor(1.3863)
    """
    sign, logarithm = call(LinalgSlogdet.op, (check_square("logdet", input),))
    if input.dtype.is_complex:
        return logarithm + log(sign)
    return where(sign == -1, float("nan"), logarithm)
