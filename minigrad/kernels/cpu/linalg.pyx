# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Decompositions of real matrices, by NumPy's loops over LAPACK; and triangular systems, by substitution. All in float64, also for
float32 arrays: as in `numpy.linalg`, a result is rounded once.

The functions of `numpy.linalg` check their arguments, and set how errors are reported. For a matrix of 8 x 8, that takes two to
four times as long as LAPACK. So we call the loops below them, in NumPy's module `_umath_linalg`. They fill the results with nan
for each matrix without a decomposition. If there is a nan, if a matrix is not finite, or if another version of NumPy has no such
loop, the twin in numpy_ref decides.

For matrices up to `TINY` x `TINY`, often in large batches, a call of LAPACK takes longer than the arithmetic: `eliminate` does it.
"""

from libc.math cimport fabs, isfinite

import numpy as np

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef object LOOPS = getattr(np.linalg, "_umath_linalg", None)
cdef object CHOLESKY = getattr(LOOPS, "cholesky_lo", None)
cdef object DET = getattr(LOOPS, "det", None)
cdef object INV = getattr(LOOPS, "inv", None)
cdef object SOLVE = getattr(LOOPS, "solve", None)
cdef object EIGH_LOWER = getattr(LOOPS, "eigh_lo", None)
cdef object EIGH_UPPER = getattr(LOOPS, "eigh_up", None)
cdef object EIGENVALUES_LOWER = getattr(LOOPS, "eigvalsh_lo", None)
cdef object EIGENVALUES_UPPER = getattr(LOOPS, "eigvalsh_up", None)
cdef object SVD = getattr(LOOPS, "svd", None)           # the values alone
cdef object SVD_FULL = getattr(LOOPS, "svd_f", None)
cdef object SVD_REDUCED = getattr(LOOPS, "svd_s", None)
cdef object QR_RAW = getattr(LOOPS, "qr_r_raw", None)
cdef object QR_REDUCED = getattr(LOOPS, "qr_reduced", None)

cdef object SILENCE = numpy_ref.precision.SILENCE
cdef int TINY = 4           # rows of the largest matrix that `eliminate` solves
cdef int BLOCK = 64         # rows that are substituted together; the rest of a triangular system is matrix products


cdef object in_silence(function, x, y=None):
    """The result of a function, without warnings."""
    return SILENCE.copy().run(function, x) if y is None else SILENCE.copy().run(function, x, y)


# ---- arrays -----------------------------------------------------------------------------------------------


cdef bint matrices(object x) noexcept:
    """Whether x is a batch of matrices of float32 or float64, with elements."""
    return is_real(x) and has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED) and ndim(<ndarray>x) >= 2 and size(<ndarray>x) > 0


cdef bint square(object x) noexcept:
    """Whether x is a batch of square matrices, as above."""
    return matrices(x) and dims(<ndarray>x)[ndim(<ndarray>x) - 1] == dims(<ndarray>x)[ndim(<ndarray>x) - 2]


cdef bint system(object x, object y) noexcept:
    """Whether x is a batch of square matrices, and y has the right sides for them, in the same dtype."""
    return (square(x) and matrices(y) and typenum(<ndarray>x) == typenum(<ndarray>y) and ndim(<ndarray>x) == ndim(<ndarray>y)
            and same_dims(dims(<ndarray>x), dims(<ndarray>y), ndim(<ndarray>x) - 1))


cdef ndarray widen(object x):
    """A copy of x in float64, row by row."""
    cdef ndarray z = <ndarray>empty(ndim(<ndarray>x), dims(<ndarray>x), NPY_FLOAT64, 0)
    copy_into(z, <ndarray>x)
    return z


cdef object narrow(object z, object x):
    """The float64 array z in the dtype of x."""
    cdef ndarray a = <ndarray?>z, rounded
    cdef npy_intp i
    if typenum(<ndarray>x) == NPY_FLOAT64:
        return z
    rounded = <ndarray>empty(ndim(a), dims(a), NPY_FLOAT32, 0)
    for i in range(size(a)):
        (<float *>data(rounded))[i] = <float>(<double *>data(a))[i]
    return rounded


cdef bint without_nan(object z) noexcept:
    """Whether a loop filled the array z with numbers."""
    cdef npy_intp i
    if easy(z) != 1:
        return False
    for i in range(size(<ndarray>z)):
        if (<double *>data(<ndarray>z))[i] != (<double *>data(<ndarray>z))[i]:
            return False
    return True


cdef bint finite(ndarray x, bint lower, bint upper) noexcept:
    """Whether the numbers are finite on the diagonals of the float64 matrices x, and below them (`lower`), and above them."""
    cdef npy_intp m = dims(x)[ndim(x) - 2], n = dims(x)[ndim(x) - 1], i, j
    cdef double *row = <double *>data(x)
    for i in range(size(x) // n):
        for j in range(0 if lower else i % m, n if upper else i % m + 1):
            if not isfinite(row[j]):
                return False
        row += n
    return True


cdef object no_failure(object x):
    """`info` for the batch of matrices x, of which none failed."""
    return zeros(ndim(<ndarray>x) - 2, dims(<ndarray>x), cnp.NPY_INT32, 0)


# ---- inverses and systems ---------------------------------------------------------------------------------


cdef inline void subtract_row(double *x, const double *y, double scale, npy_intp n) noexcept nogil:
    """x -= scale y, for n numbers."""
    cdef npy_intp i
    for i in range(n):
        x[i] -= scale * y[i]


cdef inline void swap_rows(double *x, double *y, npy_intp n) noexcept nogil:
    cdef npy_intp i
    for i in range(n):
        x[i], y[i] = y[i], x[i]


cdef double eliminate(double *a, double *b, npy_intp n, npy_intp k) noexcept nogil:
    """Solve a z = b for n x n and n x k numbers, by elimination with the largest pivot of each column; b becomes z, a is lost.

    Return the determinant of a; 0 if LAPACK should decide: if a pivot is 0 or nan, or if the determinant might overflow.
    """
    cdef npy_intp column, row, best
    cdef double result = 1
    for column in range(n):
        best = column
        for row in range(column + 1, n):
            if fabs(a[row * n + column]) > fabs(a[best * n + column]):
                best = row
        if best != column:
            swap_rows(a + best * n, a + column * n, n)
            swap_rows(b + best * k, b + column * k, k)
            result = -result
        result *= a[column * n + column]
        if not 1e-290 < fabs(result) < 1e290:
            return 0
        for row in range(column + 1, n):
            a[row * n + column] /= a[column * n + column]
            subtract_row(a + row * n + column + 1, a + column * n + column + 1, a[row * n + column], n - column - 1)
            subtract_row(b + row * k, b + column * k, a[row * n + column], k)
    if k:
        for row in range(n - 1, -1, -1):
            for column in range(row + 1, n):
                subtract_row(b + row * k, b + column * k, a[row * n + column], k)
            for column in range(k):
                b[row * k + column] /= a[row * n + row]
    return result


cdef bint eliminate_each(ndarray a, double *b, npy_intp k, double *dets) noexcept:
    """`eliminate` for each matrix of the batch a. False if LAPACK should decide, or if the matrices are not small."""
    cdef npy_intp n = dims(a)[ndim(a) - 1], i
    cdef double result
    if n > TINY:
        return False
    for i in range(size(a) // (n * n)):
        result = eliminate(<double *>data(a) + i * n * n, b, n, k)
        if result == 0:
            return False
        if dets != NULL:
            dets[i] = result
        b += n * k
    return True


def det(x):
    cdef ndarray z
    cdef double nothing
    if not square(x) or DET is None:
        return numpy_ref.det(x)
    z = <ndarray>empty(ndim(<ndarray>x) - 2, dims(<ndarray>x), NPY_FLOAT64, 0)
    if eliminate_each(widen(x), &nothing, 0, <double *>data(z)):
        return narrow(z, x)
    return narrow(np.asarray(in_silence(DET, widen(x))), x)


cdef object identities(object x):
    """An identity matrix in float64 for each matrix of the batch x."""
    cdef ndarray z = <ndarray>zeros(ndim(<ndarray>x), dims(<ndarray>x), NPY_FLOAT64, 0)
    cdef npy_intp n = dims(z)[ndim(z) - 1], i
    for i in range(size(z) // n):
        (<double *>data(z))[i * n + i % n] = 1
    return z


cdef object solved(object x, object y):
    """z with x z = y in float64, or None; y may be None, for the inverses of x."""
    cdef ndarray z
    if dims(<ndarray>x)[ndim(<ndarray>x) - 1] <= TINY:
        z = <ndarray>(identities(x) if y is None else widen(y))
        if eliminate_each(widen(x), <double *>data(z), dims(z)[ndim(z) - 1], NULL) and without_nan(z):
            return z
    loop = INV if y is None else SOLVE
    if loop is None:
        return None
    found = in_silence(loop, widen(x), None if y is None else widen(y))
    return found if without_nan(found) else None


def inv(x):
    z = solved(x, None) if square(x) else None
    return numpy_ref.inv(x) if z is None else (narrow(z, x), no_failure(x))


def solve(x, y):
    z = solved(x, y) if system(x, y) else None
    return numpy_ref.solve(x, y) if z is None else (narrow(z, x), no_failure(x))


def cofactors(x):
    """Up to 3 x 3, each is a product or a difference of two; there is no division."""
    cdef npy_intp n, i, j, k, l, batch
    cdef ndarray a, z
    cdef double *p
    cdef double *to
    if not square(x) or dims(<ndarray>x)[ndim(<ndarray>x) - 1] > 3:
        return numpy_ref.cofactors(x)
    a = widen(x)
    if not finite(a, True, True):
        return numpy_ref.cofactors(x)
    n, z = dims(a)[ndim(a) - 1], widen(x)
    for batch in range(size(a) // (n * n)):
        p, to = <double *>data(a) + batch * n * n, <double *>data(z) + batch * n * n
        for i in range(n):
            for j in range(n):
                k, l = (i + 1) % n, (j + 1) % n
                if n == 3:          # the other rows and columns in cyclic order, so that no sign changes
                    to[i * 3 + j] = p[k * 3 + l] * p[(i + 2) % 3 * 3 + (j + 2) % 3] - p[k * 3 + (j + 2) % 3] * p[(i + 2) % 3 * 3 + l]
                else:
                    to[i * n + j] = 1 if n == 1 else p[k * 2 + l] if i == j else -p[k * 2 + l]
    return narrow(z, x)


cdef void substitute(ndarray x, ndarray z, bint upper, bint unit) noexcept:
    """Solve x z = z for one triangle. The numbers of a row are side by side, in both float64 arrays."""
    cdef npy_intp n = dims(z)[0], k = dims(z)[1], step, i, j, c
    cdef double *to
    cdef double *other
    cdef double *row
    for step in range(n):
        i = n - 1 - step if upper else step
        row, to = <double *>(data(x) + i * strides(x)[0]), <double *>(data(z) + i * strides(z)[0])
        for j in range(i + 1 if upper else 0, n if upper else i):
            other = <double *>(data(z) + j * strides(z)[0])
            for c in range(k):
                to[c] -= row[j] * other[c]
        if not unit:
            for c in range(k):
                to[c] /= row[i]


cdef void subtract(ndarray x, ndarray y) noexcept:
    """x -= y for matrices of one shape, without gaps."""
    cdef npy_intp i
    cdef double *to = <double *>data(x)
    cdef double *other = <double *>data(y)
    for i in range(size(x)):
        to[i] -= other[i]


cdef object substitute_blocks(object x, object z, bint upper, bint unit):
    """The same for many rows: what the rows before contribute to a block of them is a matrix product."""
    cdef npy_intp n = dims(<ndarray>z)[0], done, end
    if n <= BLOCK:
        substitute(<ndarray?>x, <ndarray?>z, upper, unit)
        return None
    for done in range(0, n, BLOCK):
        end = min(done + BLOCK, n)
        part, before = (slice(n - end, n - done), slice(n - done, n)) if upper else (slice(done, end), slice(0, done))
        block = z[part]
        if done:
            subtract(<ndarray?>block, <ndarray?>in_silence(np.matmul, x[part, before], z[before]))
        substitute(<ndarray?>x[part, part], <ndarray?>block, upper, unit)
    return None


def solve_triangular(x, y, upper, unit):
    if not system(x, y):
        return numpy_ref.solve_triangular(x, y, upper, unit)
    triangles, z = widen(x), widen(y)
    if ndim(<ndarray>x) == 2:
        substitute_blocks(triangles, z, upper, unit)
    else:
        for at in np.ndindex(x.shape[:ndim(<ndarray>x) - 2]):
            substitute_blocks(triangles[at], z[at], upper, unit)
    return narrow(z, x)


# ---- decompositions ---------------------------------------------------------------------------------------


cdef bint ends_positive(object z) noexcept:
    """Whether the last element of each matrix is positive. If a number of a Cholesky factor is nan, that element is nan."""
    cdef npy_intp n, i
    if easy(z) != 1:
        return False
    n = dims(<ndarray>z)[ndim(<ndarray>z) - 1]
    for i in range(n * n - 1, size(<ndarray>z), n * n):
        if not (<double *>data(<ndarray>z))[i] > 0:
            return False
    return True


def cholesky(x, upper):
    if not upper and square(x) and CHOLESKY is not None:
        z = in_silence(CHOLESKY, widen(x))
        if ends_positive(z):
            return narrow(z, x), no_failure(x)
    return numpy_ref.cholesky(x, upper)


cdef object decompose(object loop, object x, bint lower, bint upper):
    """loop(x) in float64; None if there is no such loop, or if these triangles of the matrices x are not finite."""
    cdef ndarray a
    if loop is None:
        return None
    a = widen(x)
    return in_silence(loop, a) if finite(a, lower, upper) else None


def eigh(x, lower):
    found = decompose(EIGH_LOWER if lower else EIGH_UPPER, x, lower, not lower) if square(x) else None
    if found is not None and without_nan(found[0]):
        w, v = found
        return narrow(w, x), narrow(v, x)
    return numpy_ref.eigh(x, lower)


def eigvalsh(x, lower):
    w = decompose(EIGENVALUES_LOWER if lower else EIGENVALUES_UPPER, x, lower, not lower) if square(x) else None
    return numpy_ref.eigvalsh(x, lower) if w is None or not without_nan(w) else narrow(w, x)


def svd(x, full):
    found = decompose(SVD_FULL if full else SVD_REDUCED, x, True, True) if matrices(x) else None
    if found is not None and without_nan(found[1]):
        u, s, v = found
        return narrow(u, x), narrow(s, x), narrow(v, x)
    return numpy_ref.svd(x, full)


def svdvals(x):
    s = decompose(SVD, x, True, True) if matrices(x) else None
    return numpy_ref.svdvals(x) if s is None or not without_nan(s) else narrow(s, x)


def qr(x, mode):
    cdef ndarray a, r
    cdef npy_intp m, n, k, i, j
    cdef npy_intp shape[MOST_DIMS]
    if mode == "complete" or not matrices(x) or QR_RAW is None or QR_REDUCED is None:
        return numpy_ref.qr(x, mode)
    a = widen(x)
    if not finite(a, True, True):
        return numpy_ref.qr(x, mode)
    for i in range(ndim(a)):
        shape[i] = dims(a)[i]
    m, n = shape[ndim(a) - 2], shape[ndim(a) - 1]
    k = shape[ndim(a) - 2] = min(m, n)
    factors = in_silence(QR_RAW, a)         # changes a: R is above the diagonal, and what makes Q is below it
    r = <ndarray>zeros(ndim(a), shape, NPY_FLOAT64, 0)
    for i in range(size(r) // n):
        for j in range(i % k, n):
            (<double *>data(r))[i * n + j] = (<double *>data(a))[(i // k * m + i % k) * n + j]
    return narrow(r, x) if mode == "r" else (narrow(in_silence(QR_REDUCED, a, factors), x), narrow(r, x))
