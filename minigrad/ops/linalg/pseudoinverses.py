"""The pseudoinverse, rank and condition number of a matrix, from its singular values.

    pinv    z = V S⁺ Uᴴ         S⁺: the inverses of the singular values that are not nearly 0
            dz = -z dA z + z zᴴ dAᴴ (1 - A z) + (1 - z A) dAᴴ zᴴ z          while the rank does not change

Mirrors ``aten/src/ATen/native/LinearAlgebra.cpp`` and pinv_backward in ``torch/csrc/autograd/FunctionsManual.cpp``. Golub and
Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems (1973), 4.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, DtypeError
from minigrad.ops.base.arguments import flag, real, tensor_error
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64, Op, op
from minigrad.ops.elementwise.comparison import gt
from minigrad.ops.elementwise.selection import abs as absolute
from minigrad.ops.elementwise.selection import maximum, where
from minigrad.ops.index.masking import masked_fill
from minigrad.ops.linalg.inverses import LinalgInvEx
from minigrad.ops.linalg.matrices import adjoint, check_floating, check_matrices, check_square, column
from minigrad.ops.linalg.norms import INF, matrix_norm
from minigrad.ops.linalg.singular_values import svdvals
from minigrad.ops.linalg.spectra import check_converged, eigvalsh
from minigrad.ops.reduce.extrema import amax
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.shape.cat_split import narrow
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["pinverse"]


@op("linalg_pinv")
class LinalgPinv(Op):
    """z = A⁺, from the singular values (or absolute eigenvalues) larger than atol and than rtol times the largest"""

    inputs = 1
    torch_names = {"A": "self", "z": "result"}

    def forward(k, A, atol, rtol, hermitian):
        if hermitian:
            values, V = k.eigh(A, True)
            sizes, U = k.abs(values), V
        else:
            U, values, Vh = k.svd(A, False)
            sizes, V = values, adjoint_array(k, Vh)
        if not A.size:
            return k.full((*A.shape[:-2], A.shape[-1], A.shape[-2]), 0, A.dtype)
        limit = k.maximum(k.mul(k.amax(sizes, (sizes.ndim - 1,), True), rtol), atol)
        inverse = k.cast(k.where(k.gt(sizes, limit), k.reciprocal(values), 0), A.dtype)
        return k.matmul(k.mul(V, k.unsqueeze(inverse, inverse.ndim - 1)), adjoint_array(k, U))

    def vjp_A(g, A, z):                 # the adjoint of the jvp has the same form, with gᴴ
        return adjoint(change_of_pseudoinverse(adjoint(g), A, z))

    def jvp_A(t, A, z):
        return change_of_pseudoinverse(t, A, z)


def adjoint_array(k, x):
    """xᴴ of an array."""
    return k.conj(k.permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)))


def change_of_pseudoinverse(t, A, z):
    """-z t z + z zᴴ tᴴ (1 - A z) + (1 - z A) tᴴ zᴴ z. We project tᴴ first, before z zᴴ makes it large.

    We project twice. If A has full rank, one projection should leave 0, but it leaves a rounding error of ε times the condition
    number of A, and z zᴴ magnifies it.
    """
    right = left = adjoint(t)
    if A.shape[-2] >= A.shape[-1]:      # in this order, no product is as large as (longer side of A) squared
        for _ in range(2):
            right, left = right - (right @ A) @ z, left - (z @ A) @ left
        return (z @ adjoint(z)) @ right + (left @ adjoint(z)) @ z - (z @ t) @ z
    for _ in range(2):
        right, left = right - right @ (A @ z), left - z @ (A @ left)
    return z @ (adjoint(z) @ right) + left @ (adjoint(z) @ z) - z @ (t @ z)


# ---- public functions -------------------------------------------------------------------------------------


def epsilon_of(x):
    """The precision of the dtype of x: the distance from 1 to the next number."""
    return float(np.finfo(x._array.dtype).eps)


def check_tolerances(function, atol, rtol):
    """Raise unless both are numbers, real tensors or None."""
    for name, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, TensorBase):
            if value.dtype.is_complex:
                raise DtypeError("MG-E203", f"torch.{function}: {name} tensor of complex type is not supported. Got "
                                 f"{value.dtype.name}")
        elif value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise tensor_error(function, value, name, 2)


def complete_tolerances(A, atol, rtol):
    """Return (atol, rtol) with their defaults, each a number or a tensor with a last dimension of size 1."""
    usual = epsilon_of(A) * max(A.shape[-2:])
    if rtol is None:
        if atol is None:
            rtol = usual
        else:
            rtol = where(atol > 0, 0.0, usual) if isinstance(atol, TensorBase) else 0.0 if atol > 0 else usual
    dtype = A.real.dtype if A.dtype.is_complex else A.dtype
    return [column(cast(x, dtype)) if isinstance(x, TensorBase) else x for x in (0.0 if atol is None else atol, rtol)]


def pinv(A, *, atol=None, rtol=None, hermitian=False, out=None):
    """The Moore-Penrose pseudoinverse of a matrix of any shape, or of each matrix of a batch. Mirrors ``torch.linalg.pinv``.

    Args:
        A (Tensor): of shape (..., m, n); floating point or complex. The result is (..., n, m).
        atol, rtol (number or Tensor): a singular value counts as 0 unless it is larger than both `atol` and `rtol` times the
            largest one. The defaults are 0 and max(m, n) times the precision of the dtype; `rtol` is 0 if `atol` is positive.
        hermitian (bool): A is Hermitian or symmetric. This is faster: only the lower triangle is read.

    The gradient is right while the rank does not change.

    Raises:
        LinAlgError: A has infinite numbers or nan. It is a RuntimeError.
        RuntimeError: A has fewer than two dimensions, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.pinv(mg.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    if out is not None:
        return into(out, pinv, A, atol=atol, rtol=rtol, hermitian=hermitian)
    check_tolerances("linalg.pinv", atol, rtol)
    if flag(hermitian, "hermitian", "linalg.pinv"):
        check_square("linalg.eigh", A)
    check_floating("linalg.pinv", check_matrices("linalg.pinv", A))
    atol, rtol = complete_tolerances(A, atol, rtol)
    return check_converged("linalg.eigh" if hermitian else "linalg.svd", LinalgPinv.op, A, atol, rtol, hermitian)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse: `linalg.pinv` with ``rtol=rcond``. Mirrors ``torch.pinverse``.

    >>> mg.pinverse(mg.tensor([[2.], [0.]]))
    tensor([[0.5000, 0.0000]])
    """
    return pinv(input, rtol=real(rcond, "rcond", "pinverse"))


@autocasts
def matrix_rank(A, *, atol=None, rtol=None, hermitian=False, out=None):
    """The rank: the number of singular values that are not nearly 0, int64, without gradient.

    Mirrors ``torch.linalg.matrix_rank``.

    Args:
        A (Tensor), atol, rtol (number or Tensor), hermitian (bool): as for `linalg.pinv`. The result is (...).

    Raises:
        LinAlgError: A has infinite numbers or nan. It is a RuntimeError.
        RuntimeError: A has fewer than two dimensions, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.matrix_rank(mg.tensor([[1., 2.], [2., 4.]]))
    tensor(1)
    """
    if out is not None:
        return into(out, matrix_rank, A, atol=atol, rtol=rtol, hermitian=hermitian)
    check_tolerances("linalg.matrix_rank", atol, rtol)
    A = check_floating("linalg.matrix_rank", check_matrices("torch.linalg.matrix_rank", A, "input")).detach()
    atol, rtol = [x.detach() if isinstance(x, TensorBase) else x for x in (atol, rtol)]
    atol, rtol = complete_tolerances(A, atol, rtol)
    sizes = absolute(eigvalsh(A)) if flag(hermitian, "hermitian", "linalg.matrix_rank") else svdvals(A)
    if not A.numel():
        return A.new_zeros(A.shape[:-2], dtype=INT64)
    limit = amax(sizes, -1, True) * rtol
    limit = maximum(limit, atol if isinstance(atol, TensorBase) else limit.new_tensor(atol, dtype=limit.dtype))
    return total(gt(sizes, limit), -1)


@autocasts
def cond(A, p=None, *, out=None):
    """The condition number: the p-norm of a matrix times the p-norm of its inverse; inf if it has no inverse.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex. For p = 2 and -2, of any shape (..., m, n).
        p (number or str, optional): as the `ord` of `linalg.matrix_norm`. The default is 2: the largest singular value divided
            by the smallest.

    Mirrors ``torch.linalg.cond``.

    Raises:
        LinAlgError: A has infinite numbers or nan, and the norm needs singular values. It is a RuntimeError.
        RuntimeError: the matrices are not square, the dtype is neither floating point nor complex, or is float16, or there is
            no such norm.

    >>> mg.linalg.cond(mg.tensor([[4., 0.], [0., 2.]]))
    tensor(2.)
    """
    if out is not None:
        return into(out, cond, A, p)
    check_matrices("linalg.cond", A)
    if p is not None and not isinstance(p, str):
        p = real(p, "p", "linalg.cond")
    if p not in (None, 2, -2, 1, -1, INF, -INF, "fro", "nuc"):
        raise ArgumentError("MG-E321", f"linalg.cond got an invalid norm type: {p}",
                            expected="2, -2, 1, -1, inf, -inf, 'fro' or 'nuc'")
    if isinstance(p, str):
        check_square(f"linalg.cond(ord={p})", A)
    if not A.numel():
        return absolute(A.new_zeros(A.shape[:-2]))
    if p in (None, 2, -2):
        S = svdvals(A)
        largest, smallest = narrow(S, -1, 0, 1), narrow(S, -1, S.shape[-1] - 1, 1)
        return (smallest / largest if p == -2 else largest / smallest).squeeze(-1)
    check_square(f"linalg.cond(ord={p})", A)
    if p == "nuc":
        S = svdvals(A)
        return total(S, -1) * total(1 / S, -1)
    inverse, info = call(LinalgInvEx.op, (A,))
    sizes = matrix_norm(A, p) * matrix_norm(inverse, p)
    singular = info > 0
    return masked_fill(sizes, singular, INF) if singular._array.any() else sizes
