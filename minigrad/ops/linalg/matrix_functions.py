"""The exponential of a matrix, e^A = 1 + A + A²/2 + ...

Its derivative in the direction t is d, the upper right block of a larger exponential. Products of such block matrices follow
the product rule, and so do their sums:

        exp [A t] = [e^A   d]       d = ∫ e^{A(1-s)} t e^{As} ds
            [0 A]   [0   e^A]

Mirrors linalg_matrix_exp_differential in ``torch/csrc/autograd/FunctionsManual.cpp``. Mathias, A chain rule for matrix functions
and applications (1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.ops.base.rule import Op, op
from minigrad.ops.linalg.matrices import adjoint, check_square
from minigrad.ops.shape.cat_split import cat

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["matrix_exp"]


@op("linalg_matrix_exp")
class LinalgMatrixExp(Op):
    """z = e^A"""

    inputs = 1
    torch_names = {"A": "self"}

    def forward(k, A):
        return k.matrix_exp(A)

    def vjp_A(g, A):                    # the adjoint of the map t -> d is the same map for Aᴴ
        return change_of_exponential(adjoint(A), g)

    def jvp_A(t, A):
        return change_of_exponential(A, t)


def change_of_exponential(A, t):
    """d, the upper right block of the exponential of [[A, t], [0, A]]"""
    n = A.shape[-1]
    blocks = cat([cat([A, t], -1), cat([A.new_zeros(A.shape), A], -1)], -2)
    return call(LinalgMatrixExp.op, (blocks,))[..., :n, n:]


# ---- public functions -------------------------------------------------------------------------------------


def linalg_matrix_exp(A):
    """The exponential of a square matrix, 1 + A + A²/2 + A³/6 + ... Mirrors ``torch.linalg.matrix_exp``.

    Args:
        A (Tensor): of shape (..., n, n); floating point or complex.

    Raises:
        RuntimeError: the matrices are not square, or the dtype is neither floating point nor complex, or is float16.

    >>> mg.linalg.matrix_exp(mg.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return call(LinalgMatrixExp.op, (check_square("linalg.matrix_exp", A),))


def matrix_exp(input: Tensor) -> Tensor:
    """The same as `linalg.matrix_exp`. Mirrors ``torch.matrix_exp``.

    >>> mg.matrix_exp(mg.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return linalg_matrix_exp(input)
