"""Eigenvalues and eigenvectors; and helpers that singular values use too.

    eigh    A = V L Vᴴ, A Hermitian         eig     A = V L V⁻¹

In the basis of the eigenvectors, dA is dP = V⁻¹ dA V. Its diagonal changes the values. The rest turns the vectors, the faster
the closer two values are:

    dL = diag dP        dV = V (dP / E)         E[i, j] = l_j - l_i off the diagonal

Where two values are equal, the vectors have no derivative: their gradient is inf or nan. The gradient of the values is finite.

Note [Phases]
    A complex eigenvector of norm 1 stays one if it is multiplied by a phase, e to the i φ. If the loss changes with the phase, it
    has no derivative, and the backward raises. The test: the gradient along the phase, Im diag Vᴴ g_V, must be 0; for singular
    vectors, Im diag (Uᴴ g_U + Vᴴ g_V). A real vector has only a sign, which cannot change continuously.

Mirrors linalg_eig_backward and linalg_eig_jvp in ``torch/csrc/autograd/FunctionsManual.cpp``. Giles, An extended collection of
matrix derivative results (2008), 3.1. Read next: ``singular_values.py``.
"""

from collections import namedtuple

import numpy as np

from minigrad._core.graph.thread_state import current
from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, AutogradError, LinAlgError, TensorTypeError
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Op, conj, op
from minigrad.ops.elementwise.selection import real_part
from minigrad.ops.linalg.inverses import solve
from minigrad.ops.linalg.matrices import adjoint, check_square, column, diagonal_matrix, diagonal_of, row, skew

__all__ = []


def gaps(values):
    """E[i, j] = v_j - v_i, with 1 on the diagonal: we divide 0 by it there."""
    return row(values) - column(values) + diagonal_matrix(values.new_ones(values.shape))


def without_diagonal(x):
    """Return x with zeros on its diagonal."""
    return x - diagonal_matrix(diagonal_of(x))


def check_phase(function, imaginary, what):
    """Raise if the gradient is not 0 along the phases. See Note [Phases]."""
    if (np.abs(imaginary._array) > 0.01).any():
        raise AutogradError("MG-E343", f"{function}: The {what} in the complex case are specified up to multiplication by "
                            "e^{i phi}. The specified loss function depends on this phase term, making it ill-defined.",
                            fix="make the loss a function of abs() of the vectors, or of products in which the phases cancel")


def vectors_needed(A):
    """Whether a derivative may be computed later: the derivative of the values needs the vectors."""
    state = current()
    return not state.fast_path or (state.grad_enabled and A.requires_grad)


def check_converged(function, op, A, *args):
    """Run the decomposition `op` on A; raise `LinAlgError` if it fails."""
    try:
        return call(op, (A, *args))
    except ValueError:
        infinite = ~np.isfinite(A._array).all((-2, -1))
        if not infinite.any():
            raise LinAlgError("MG-E344", f"{function}: The algorithm failed to converge because the input matrix is "
                              "ill-conditioned or has too many repeated values.") from None
        element = f"(Batch element {infinite.ravel().nonzero()[0][0]}): " if infinite.ndim else ""
        raise LinAlgError("MG-E344", f"{function}: {element}The algorithm failed to converge because the input matrix contained "
                          "non-finite values.", fix="look for what made them: x.isfinite().all()") from None


@op("linalg_eigh")
class LinalgEigh(Op):
    """A V = V L, for a Hermitian A, of which one triangle is read. Without `compute_v`, V is empty"""

    inputs = 1
    outputs = ("eigenvalues", "eigenvectors")

    def forward(k, A, lower, compute_v):
        return k.eigh(A, lower) if compute_v else (k.eigvalsh(A, lower), k.full((0,), 0, A.dtype))

    def vjp(g, needs, eigenvalues, eigenvectors):       # dA = V (g_L + skew(Vᴴ g_V) / 2E) Vᴴ
        of_L, of_V = g
        V = eigenvectors
        if of_V is None:
            return ((V * row(of_L)) @ adjoint(V),)
        inner = adjoint(V) @ of_V
        if V.dtype.is_complex:
            check_phase("linalg_eigh_backward", diagonal_of(inner).imag, "eigenvectors")
        inner = without_diagonal(skew(inner)) / (2 * gaps(eigenvalues))
        if of_L is not None:
            inner = inner + diagonal_matrix(of_L)
        return (V @ inner @ adjoint(V),)

    def jvp(ts, eigenvalues, eigenvectors):
        V = eigenvectors
        P = adjoint(V) @ ts[0] @ V
        return real_part(diagonal_of(P)), V @ (without_diagonal(P) / gaps(eigenvalues))


@op("linalg_eig")
class LinalgEig(Op):
    """A V = V L; the columns of V have length 1. Without `compute_v`, V is empty. `real`: A is real, and so is its gradient"""

    hidden = ("real",)
    inputs = 1
    outputs = ("eigenvalues", "eigenvectors")

    def forward(k, A, compute_v, real):
        if compute_v:
            return k.eig(A)
        values = k.eigvals(A)
        return values, k.full((0,), 0, values.dtype)

    def vjp(g, needs, eigenvalues, eigenvectors, real):
        # dA = V⁻ᴴ (g_L + (Vᴴ g_V - Vᴴ V Re diag Vᴴ g_V) / Ē) Vᴴ: V keeps its length
        of_L, of_V = g
        V = eigenvectors
        if of_V is None:
            inner = column(of_L) * adjoint(V)
        else:
            along = adjoint(V) @ of_V
            check_phase("linalg_eig_backward", diagonal_of(along).imag, "eigenvectors")
            along = along - (adjoint(V) @ V) * row(real_part(diagonal_of(along)))
            inner = without_diagonal(along) / conj(gaps(eigenvalues))
            if of_L is not None:
                inner = inner + diagonal_matrix(of_L)
            inner = inner @ adjoint(V)
        z = solve(adjoint(V), inner)
        return (z.real if real else z,)

    def jvp(ts, eigenvalues, eigenvectors):
        V = eigenvectors
        t = ts[0] if ts[0].dtype.is_complex else ts[0].to(V.dtype)
        P = solve(V, t @ V)
        moved = V @ (without_diagonal(P) / gaps(eigenvalues))
        return diagonal_of(P), moved - V * row(real_part(diagonal_of(adjoint(V) @ moved)))


# ---- public functions -------------------------------------------------------------------------------------

eigh_result = namedtuple("linalg_eigh", ("eigenvalues", "eigenvectors"))
eig_result = namedtuple("linalg_eig", ("eigenvalues", "eigenvectors"))


def lower_of(UPLO):
    """Return whether `UPLO` is "L", the lower triangle; raise unless it is "L" or "U"."""
    if not isinstance(UPLO, str):
        raise TensorTypeError("MG-E206", f"linalg.eigh(): argument 'UPLO' must be str, not {type(UPLO).__name__}")
    if UPLO.upper() not in ("L", "U"):
        raise ArgumentError("MG-E321", f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "L"


@autocasts
def eigh(A, UPLO="L"):
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix, or of each matrix of a batch.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.
        UPLO (str): the triangle to read: ``"L"``, the lower one, or ``"U"``.

    Returns:
        (eigenvalues, eigenvectors): (..., n), real and ascending; and (..., n, n), with orthonormal vectors as columns, which
        are determined up to a sign or phase.

    The gradient of the vectors exists if no two eigenvalues are equal, for a loss that does not depend on phases. The gradient of
    A is Hermitian. Mirrors ``torch.linalg.eigh``.

    Raises:
        RuntimeError: the matrices are not square, the dtype is neither floating point nor complex, or is float16, or `UPLO` is
            neither "L" nor "U". In the backward: the loss depends on phases.

    >>> mg.linalg.eigh(mg.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    lower = lower_of(UPLO)
    check_square("linalg.eigh", A)
    return eigh_result(*check_converged("linalg.eigh", LinalgEigh.op, A, lower, True))


@autocasts
def eigvalsh(A, UPLO="L", *, out=None):
    """The eigenvalues of a symmetric or Hermitian matrix, ascending. Mirrors ``torch.linalg.eigvalsh``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex. The result is real and (..., n).
        UPLO (str): the triangle to read: ``"L"``, the lower one, or ``"U"``.

    Their gradient exists even if some of them are equal.

    Raises:
        RuntimeError: the matrices are not square, the dtype is neither floating point nor complex, or is float16, or `UPLO` is
            neither "L" nor "U".

    >>> mg.linalg.eigvalsh(mg.tensor([[0., 1.], [1., 0.]]))
    tensor([-1.,  1.])
    """
    if out is not None:
        return into(out, eigvalsh, A, UPLO)
    lower = lower_of(UPLO)
    check_square("linalg.eigh", A)
    return check_converged("linalg.eigh", LinalgEigh.op, A, lower, vectors_needed(A))[0]


@autocasts
def eig(A):
    """Eigenvalues and eigenvectors of any square matrix, or of each matrix of a batch. Mirrors ``torch.linalg.eig``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.

    Returns:
        (eigenvalues, eigenvectors): (..., n), in no order; and (..., n, n), with vectors of length 1 as columns, which are
        determined up to a phase. Both are complex, even if A is real.

    The gradient of the vectors exists if no two eigenvalues are equal, for a loss that does not depend on phases.

    Raises:
        LinAlgError: A has infinite numbers or nan. It is a RuntimeError.
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16. In the
            backward: the loss depends on phases.

    >>> mg.linalg.eig(mg.tensor([[0., 1.], [-1., 0.]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    return eig_result(*check_converged("linalg.eig", LinalgEig.op, check_square("linalg.eig", A), True, not A.dtype.is_complex))


@autocasts
def eigvals(A, *, out=None):
    """The eigenvalues of any square matrix, in no order; always complex. Mirrors ``torch.linalg.eigvals``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex. The result is (..., n).

    Raises:
        LinAlgError: A has infinite numbers or nan. It is a RuntimeError.
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.eigvals(mg.tensor([[0., 1.], [-1., 0.]]))
    tensor([0.+1.j, 0.-1.j])
    """
    if out is not None:
        return into(out, eigvals, A)
    return check_converged("linalg.eigvals", LinalgEig.op, check_square("linalg.eigvals", A), vectors_needed(A),
                           not A.dtype.is_complex)[0]
