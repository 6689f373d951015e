"""Systems of equations between tensors. The first dimensions of A are the rows of a matrix, the others its columns.

Mirrors ``aten/src/ATen/native/LinearAlgebra.cpp`` (linalg_tensorsolve, linalg_tensorinv).
"""

from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.base.arguments import dimension, integer, integers, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.linalg.contractions import numel_of
from minigrad.ops.linalg.inverses import inv, solve
from minigrad.ops.shape.reshaping import movedim
from minigrad.ops.shape.views import reshape

__all__ = []


def tensorinv(A, ind=2, *, out=None):
    """The inverse of the map X -> ``tensordot(A, X, X.ndim)``, as a tensor. Mirrors ``torch.linalg.tensorinv``.

    Args:
        A (Tensor): the product of its first `ind` sizes equals the product of the others.
        ind (int): how many dimensions of A are those of the result of ``tensordot``; positive.

    Returns:
        Tensor: with the last dimensions of A first, then its first `ind` dimensions.

    Raises:
        LinAlgError: there is no inverse. It is a RuntimeError.
        RuntimeError: the sizes do not fit.

    >>> mg.linalg.tensorinv(mg.eye(6).reshape(2, 3, 6), ind=2).shape
    minigrad.Size([6, 2, 3])
    """
    if out is not None:
        return into(out, tensorinv, A, ind)
    tensor_argument("linalg.tensorinv", A, "A")
    n = integer(ind, "ind", "linalg.tensorinv")
    if n <= 0:
        raise ArgumentError("MG-E302", f"Expected a strictly positive integer for 'ind', but got {ind}")
    if n > A.ndim:
        raise ArgumentError("MG-E302", f"linalg.tensorinv: 'ind' is {ind}, and A has {A.ndim} dimensions")
    first, last = tuple(A.shape[:n]), tuple(A.shape[n:])
    check_one_size("ind", last, first)
    return reshape(inv(reshape(A, (numel_of(first), numel_of(last)))), (*last, *first))


def tensorsolve(A, B, dims=None, *, out=None):
    """Solve ``tensordot(A, X, X.ndim) == B`` for X. Mirrors ``torch.linalg.tensorsolve``.

    Args:
        A (Tensor): its dimensions are those of B, then those of X; B and X have the same number of elements.
        B (Tensor): of the same dtype.
        dims (tuple of int, optional): dimensions of A that we move to the end first.

    Raises:
        LinAlgError: there is no solution, or more than one. It is a RuntimeError.
        RuntimeError: the sizes do not fit.
        IndexError: there is no such dimension.

    >>> mg.linalg.tensorsolve(mg.eye(4).reshape(2, 2, 4), mg.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    if out is not None:
        return into(out, tensorsolve, A, B, dims)
    tensor_argument("linalg.tensorsolve", A, "A")
    tensor_argument("linalg.tensorsolve", B, "B", 2)
    if dims is not None:
        moved = [dimension(d, A.ndim) for d in integers(dims, "dims", "linalg.tensorsolve")]
        A = movedim(A, moved, list(range(A.ndim - len(moved), A.ndim)))
    first, last = tuple(A.shape[:B.ndim]), tuple(A.shape[B.ndim:])
    check_one_size("other.ndim", last, first)
    return reshape(solve(reshape(A, (numel_of(first), numel_of(last))), reshape(B, (-1,))), last)


def check_one_size(name, last, first):
    """Raise unless the two halves of a shape make a square matrix."""
    if numel_of(last) != numel_of(first):
        raise ShapeError("MG-E209", f"Expected self to satisfy the requirement prod(self.shape[{name}:]) == "
                         f"prod(self.shape[:{name}]), but got {numel_of(last)} != {numel_of(first)}")
