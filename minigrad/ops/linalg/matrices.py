"""Helpers of the decompositions: the adjoint, parts of a matrix, checks of arguments, errors.

    adjoint     xᴴ          skew          x - xᴴ
    lower_half  the lower triangle l with half of the (real) diagonal, so that a Hermitian x is l + lᴴ

All of them take batches, (..., m, n). They call ops, so formulas written with them can be differentiated again.

Mirrors ``aten/src/ATen/native/LinearAlgebraUtils.h``.
"""

from minigrad._core.record.apply import call
from minigrad.errors import DtypeError, LinAlgError, ShapeError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.rule import conj, is_reduced
from minigrad.ops.elementwise.selection import real_part
from minigrad.ops.index.masking import Tril, Triu
from minigrad.ops.shape.diagonals import DiagEmbed
from minigrad.ops.shape.strided import Diagonal
from minigrad.ops.shape.views import transpose


def adjoint(x):
    """xᴴ"""
    return conj(transpose(x, -2, -1))


def skew(x):
    """x - xᴴ"""
    return x - adjoint(x)


def diagonal_of(x):
    """The vector x[i, i]."""
    return call(Diagonal.op, (x, 0, x.ndim - 2, x.ndim - 1))


def diagonal_matrix(x):
    """The matrix with the vector x on its diagonal."""
    return call(DiagEmbed.op, (x, 0, x.ndim - 1, x.ndim))


def row(x):
    """A vector as a matrix with one row."""
    return x.unsqueeze(-2)


def column(x):
    """A vector as a matrix with one column."""
    return x.unsqueeze(-1)


def strict_lower(x):
    """The part of x below the diagonal."""
    return call(Tril.op, (x, -1))


def strict_upper(x):
    """The part of x above the diagonal."""
    return call(Triu.op, (x, 1))


def triangle_of(x, upper, diagonal=True):
    """One triangle of x, with the diagonal or without."""
    if upper:
        return call(Triu.op, (x, 0 if diagonal else 1))
    return call(Tril.op, (x, 0 if diagonal else -1))


def lower_half(x):
    """The lower triangle with half of the diagonal, which is real."""
    return strict_lower(x) + diagonal_matrix(real_part(diagonal_of(x)) / 2)


# ---- arguments and errors -----------------------------------------------------------------------------------


def check_matrices(function, x, name="A", position=1):
    """Return `x`; raise unless it is a tensor of at least two dimensions."""
    tensor_argument(function, x, name, position)
    if x.ndim < 2:
        raise ShapeError("MG-E205", f"{function}: The input tensor {name} must have at least 2 dimensions.", found=f"{x.ndim}-d")
    return x


def check_floating(function, x):
    """Return `x`; raise unless its dtype is float32, float64, complex64 or complex128, the dtypes of LAPACK."""
    if not x.dtype.differentiable:
        raise DtypeError("MG-E203", f"{function}: Expected a floating point or complex tensor as input. Got {x.dtype.name}",
                         fix="x.float()")
    if is_reduced(x.dtype):
        raise DtypeError("MG-E203", f"{function}: Low precision dtypes not supported. Got {x.dtype.name}", fix="x.float()")
    return x


def check_square(function, x, name="A", position=1):
    """Return `x`; raise unless it is a batch of square matrices of a dtype of LAPACK."""
    check_matrices(function, x, name, position)
    shape = x._meta.shape
    if shape[-1] != shape[-2]:
        raise ShapeError("MG-E209", f"{function}: {name} must be batches of square matrices, but they are {shape[-2]} by "
                         f"{shape[-1]} matrices")
    return check_floating(function, x)


def raise_first_failure(function, info, code, message, fix):
    """Raise if `info`, an integer for each matrix of a batch, is not 0 everywhere. `message` formats the first other number."""
    numbers = info._array
    if info.is_meta or not (numbers.any() if numbers.ndim else numbers.item()):     # `any` of one number takes 1 us
        return
    where = numbers.ravel().nonzero()[0][0]
    element = f"(Batch element {where}): " if info.ndim else ""
    raise LinAlgError(code, f"{function}: {element}{message.format(numbers.ravel()[where])}", found=f"a matrix of a batch of shape "
                      f"{list(info.shape)}" if info.ndim else None, fix=fix)
