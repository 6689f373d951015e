"""Decompositions of matrices, by NumPy's LAPACK. All take batches: (..., n, n).

    inv, solve, cholesky    (result, info): info is 0; or k, if the k-th pivot is 0 or the k-th leading minor is not positive. Then
                            the result is nan. (It is LAPACK's `info`, which numpy.linalg turns into an exception.)
    svd                     nan for a matrix with an infinite element; a ValueError if an element is nan
    qr, eigh                nan for a matrix that is not finite
    eig                     a ValueError if a matrix is not finite

The common case is one call for the whole batch. Only if it fails we look for the matrices that made it fail.
"""

import functools
import math

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet

__all__ = ["cholesky", "cofactors", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lu", "lu_rows", "matrix_exp",
           "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals"]

BLOCK = 64      # rows of a triangular system that LAPACK solves together; the rest are matrix products


@quiet
def det(x):
    return np.asarray(np.linalg.det(x))


def slogdet(x):
    sign, logarithm = np.linalg.slogdet(x)
    return np.asarray(sign), np.asarray(logarithm)


@quiet
def lu(x, pivot):
    """Eliminate column by column: subtract, from the block below and right of a pivot, the product of its column and its row."""
    a = np.array(x)
    m, n = a.shape[-2:]
    rows = np.broadcast_to(np.arange(m), a.shape[:-1]).copy()
    for k in range(min(m, n)):
        if pivot:
            best = k + np.argmax(magnitude(a[..., k:, k]), -1)[..., None]
            for table in (rows[..., None], a):
                first, other = table[..., k, :].copy(), np.take_along_axis(table, best[..., None], -2)
                np.put_along_axis(table, best[..., None], first[..., None, :], -2)
                table[..., k, :] = other[..., 0, :]
        column = a[..., k + 1:, k]
        top = a[..., k, k, None]
        column[...] = np.where((top == 0) & (column == 0), 0, column / top)
        a[..., k + 1:, k + 1:] -= column[..., None] * a[..., None, k, k + 1:]
    small = min(m, n)
    lower = np.tril(a[..., :, :small], -1)
    lower[..., range(small), range(small)] = 1
    return lower, np.triu(a[..., :small, :]), rows


def magnitude(x):
    """|Re x| + |Im x|, by which LAPACK chooses the largest pivot. nan counts as 0."""
    return np.nan_to_num(np.abs(x.real) + np.abs(x.imag), nan=0.0)


def lu_rows(x):
    return lu(x, True)[2]


def inv(x):
    try:
        return np.linalg.inv(x), np.zeros(x.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return apply_one_by_one(np.linalg.inv, zero_pivot, x)


def solve(x, y):
    try:
        return np.linalg.solve(x, y), np.zeros(np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), np.int32)
    except np.linalg.LinAlgError:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, y)]
        return apply_one_by_one(np.linalg.solve, zero_pivot, x, y)


def cholesky(x, upper):
    if upper:       # reads the upper triangle
        z, info = cholesky(np.conj(np.swapaxes(x, -1, -2)), False)
        return np.ascontiguousarray(np.conj(np.swapaxes(z, -1, -2))), info
    try:
        return lower_triangle(x), np.zeros(x.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return apply_one_by_one(lower_triangle, bad_minor, x)


def lower_triangle(x):
    """The Cholesky factor. Raises also for nan, which not every LAPACK notices."""
    z = np.linalg.cholesky(x)
    if not (np.real(np.diagonal(z, 0, -2, -1)) > 0).all():
        raise np.linalg.LinAlgError
    return z


def apply_one_by_one(function, diagnose, *operands):
    """(results, info) of `function` for each matrix of a batch. Where it fails, the result is nan, and info is from `diagnose`."""
    batch = operands[0].shape[:-2]
    z = np.full(operands[-1].shape, np.nan, operands[-1].dtype)
    info = np.zeros(batch, np.int32)
    for at in np.ndindex(batch):
        try:
            z[at] = function(*[a[at] for a in operands])
        except np.linalg.LinAlgError:
            info[at] = diagnose(operands[0][at])
    return z, info


@quiet
def zero_pivot(a):
    """The number of the first pivot of the LU factorisation that is 0, counted from 1."""
    a = a.copy()
    n = a.shape[0]
    for j in range(n):
        at = j + np.argmax(np.abs(a[j:, j]))
        if a[at, j] == 0:
            return j + 1
        a[[j, at]] = a[[at, j]]
        a[j + 1:, j + 1:] -= np.outer(a[j + 1:, j] / a[j, j], a[j, j + 1:])
    return n        # LAPACK rounded differently


@quiet
def bad_minor(a):
    """The order of the first leading minor that is not positive."""
    a = a.copy()
    n = a.shape[0]
    for j in range(n):
        pivot = a[j, j].real
        if not pivot > 0:
            return j + 1
        a[j + 1:, j + 1:] -= np.outer(a[j + 1:, j], np.conj(a[j + 1:, j])) / pivot
    return n


@quiet
def solve_triangular(x, y, upper, unit):
    n = x.shape[-1]
    x = np.triu(x) if upper else np.tril(x)
    if unit:
        x[..., range(n), range(n)] = 1
    z = np.array(np.broadcast_to(y, (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *y.shape[-2:])))
    if not upper:       # reversing rows and columns makes it an upper triangle
        x, rows = x[..., ::-1, ::-1], z[..., ::-1, :]
    else:
        rows = z
    for stop in range(n, 0, -BLOCK):
        part = slice(max(stop - BLOCK, 0), stop)
        rows[..., part, :] -= x[..., part, stop:] @ rows[..., stop:, :]
        rows[..., part, :] = back_substitution(x[..., part, part], rows[..., part, :])
    return z


def back_substitution(x, y):
    """The solution of x z = y for an upper triangle x. LU has nothing to eliminate there, and so `np.linalg.solve` substitutes."""
    if np.isfinite(x).all() and np.isfinite(y).all() and np.diagonal(x, 0, -2, -1).all():
        return np.linalg.solve(x, y)
    z = y.copy()        # dividing by 0 gives inf and nan, as in BLAS; infinities reach only the rows that depend on them
    for i in range(x.shape[-1] - 1, -1, -1):
        z[..., i, :] -= (x[..., i:i + 1, i + 1:] @ z[..., i + 1:, :])[..., 0, :]
        z[..., i, :] /= x[..., i, i, None]
    return z


@quiet
def cofactors(x):
    n = x.shape[-1]
    a = x.astype(np.result_type(x, np.float64))     # in float32 the determinant overflows, and large matrices lose digits
    inverse, _ = inv(a)
    z = np.ascontiguousarray(det(a)[..., None, None] * np.swapaxes(inverse, -1, -2))
    if n:
        size = np.abs(a).sum(-2).max(-1) * np.abs(inverse).sum(-2).max(-1)
        at = ~(size < np.finfo(a.dtype).eps ** -0.5) & np.isfinite(a).all((-2, -1))
        if at.any():        # half of the digits are lost, or there is no inverse: use singular values
            u, s, v = np.linalg.svd(a[at])
            others = np.where(np.eye(n, dtype=bool), s.dtype.type(1), s[..., None, :]).prod(-1)
            scale = (np.linalg.det(u) * np.linalg.det(v))[..., None, None]
            z[at] = scale * (np.conj(u) * others[..., None, :] @ np.conj(v))
    return z.astype(x.dtype)


REACH = 0.75        # the norm up to which 17 terms of the Taylor series of exp are enough: 0.75^17 / 17! = 2e-17


@quiet
def matrix_exp(x):
    """(e^(x / 2^k))^(2^k), by the Taylor series. Padé's quotient of polynomials would lose digits for a nilpotent x."""
    if x.shape[-1] == 1:
        return np.exp(x)
    finite = np.isfinite(x).all((-2, -1))[..., None, None]
    a = np.where(finite, x, 0).astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    norm = np.abs(a).sum(-2).max(-1, initial=0)
    halvings = np.ceil(np.log2(np.maximum(norm / REACH, 1))).astype(int)[..., None, None]
    a = a / 2.0 ** halvings
    powers = [np.eye(x.shape[-1]), a, a @ a]
    powers.append(powers[2] @ a)
    fourth = powers[2] @ powers[2]
    z = powers[0] / math.factorial(16)
    for first in (12, 8, 4, 0):                 # four terms at a time, from the last to the first
        z = functools.reduce(np.add, [powers[j] / math.factorial(first + j) for j in range(4)]) + fourth @ z
    for i in range(halvings.max(initial=0)):
        z = np.where(i < halvings, z @ z, z)
    return np.where(finite, z, np.nan).astype(x.dtype)


def qr(x, mode):
    if mode == "r":
        return apply_to_finite(lambda a: (np.linalg.qr(a, "r"),), x)[0]
    return apply_to_finite(lambda a: np.linalg.qr(a, mode), x)


def svd(x, full):
    if 0 in x.shape[-2:]:      # NumPy loops over the other axis, which may be very long
        *batch, m, n = x.shape
        u, vh = [np.zeros((*batch, *shape), x.dtype) + (np.eye(*shape, dtype=x.dtype) if full else 0) for shape in
                 (((m, m), (n, n)) if full else ((m, 0), (0, n)))]
        return u, np.zeros((*batch, min(m, n)), x.real.dtype), vh
    return apply_to_finite(lambda a: np.linalg.svd(a, full_matrices=full), refuse_nan(x))


def svdvals(x):
    if 0 in x.shape[-2:]:
        return np.zeros((*x.shape[:-2], min(x.shape[-2:])), x.real.dtype)
    return apply_to_finite(lambda a: (np.linalg.svd(a, compute_uv=False),), refuse_nan(x))[0]


def eigh(x, lower):
    return apply_to_finite(lambda a: np.linalg.eigh(a, "L" if lower else "U"), np.tril(x) if lower else np.triu(x))


def eigvalsh(x, lower):
    return apply_to_finite(lambda a: (np.linalg.eigvalsh(a, "L" if lower else "U"),), np.tril(x) if lower else np.triu(x))[0]


def refuse_nan(x):
    """Return `x`; raise as LAPACK does if an element is nan."""
    if np.isnan(x).any():
        raise np.linalg.LinAlgError("SVD did not converge")
    return x


def apply_to_finite(function, x):
    """The tuple of arrays `function(x)`, with nan for each matrix of `x` that is not finite.

    Such matrices never reach LAPACK, which may loop for ever or print to the terminal.
    """
    finite = np.isfinite(x).all((-2, -1))
    if finite.all():
        return tuple(function(x))
    made = function(np.where(finite[..., None, None], x, 0))
    return tuple([np.where(finite.reshape(finite.shape + (1,) * (z.ndim - finite.ndim)), z, z.dtype.type(np.nan)) for z in made])


def eig(x):
    w, v = np.linalg.eig(x)
    return as_complex(w), as_complex(v)


def eigvals(x):
    return as_complex(np.linalg.eigvals(x))


def as_complex(x):
    """Convert to complex: NumPy returns real numbers if all imaginary parts are 0."""
    return x if x.dtype.kind == "c" else x.astype(np.complex64 if x.dtype == np.float32 else np.complex128)
