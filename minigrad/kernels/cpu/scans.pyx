# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Running sums and products along a dimension, for contiguous arrays. The running value of a float32 array is a float64."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh_any, give_back, in_rows
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef enum:
    ROWS = 8            # that are scanned in turn

ctypedef fused number:
    float
    double
    cnp.int64_t


cdef inline number joined(number before, number x, bint product) noexcept nogil:
    return before * x if product else before + x


cdef void scan_columns(const number *x, number *z, double *running, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width,
                       bint product) noexcept nogil:
    """Scan `width` columns together; their rows are `step` elements apart. For floats `running` has the last row of the result."""
    cdef Py_ssize_t r, i
    for i in range(width):
        z[i] = x[i] if product else 0 + x[i]        # a sum begins with 0, and so is never -0
        if number is float:
            running[i] = z[i]
    for r in range(1, n):
        x += step
        z += step
        for i in range(width):
            if number is float:
                running[i] = joined(running[i], <double>x[i], product)
                z[i] = <float>running[i]
            else:
                z[i] = joined(z[i - step], x[i], product)


cdef void scan_rows(const number *x, number *z, double *running, Py_ssize_t rows, Py_ssize_t n, bint product,
                    bint reverse) noexcept nogil:
    """Scan rows, a few in turn: the next addition of one row waits for the last one, but not for those of other rows."""
    cdef Py_ssize_t r, k, at, count, first = 0, step = -1 if reverse else 1
    cdef double value
    while first < rows:
        count = min(ROWS, rows - first)
        if count == 1 and number is not cnp.int64_t:        # the running value of a single row stays in a register
            value = 1 if product else 0
            at = first * n + (n - 1 if reverse else 0)
            for r in range(n):
                value = joined(value, <double>x[at], product)
                z[at] = <number>value
                at += step
            return
        for k in range(count):
            running[k] = 1 if product else 0
        for r in range(n):
            at = first * n + (n - 1 - r if reverse else r)
            for k in range(count):
                if number is cnp.int64_t:           # has digits that a double has not
                    z[at] = x[at] if r == 0 else joined(z[at - step], x[at], product)
                else:
                    running[k] = joined(running[k], <double>x[at], product)
                    z[at] = <number>running[k]
                at += n
        first += count


cdef void scan_all(const number *x, number *z, double *running, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, bint product,
                   bint reverse) noexcept nogil:
    """Scan x[o, r, i] over r; SMALL columns at a time, for which `running` has room."""
    cdef Py_ssize_t o, first, at
    if inner == 1:
        scan_rows(x, z, running, outer, n, product, reverse)
        return
    for o in range(outer):
        first = 0
        while first < inner:
            at = (o * n + (n - 1 if reverse else 0)) * inner + first
            scan_columns(x + at, z + at, running, n, -inner if reverse else inner, min(SMALL, inner - first), product)
            first += SMALL


cdef object scanned(object x, int dim, bint product, bint reverse):
    """The running sums or products; None if x is not simple."""
    cdef int type_
    cdef double room[SMALL]
    rows = in_rows(x)
    if not by_rows(rows):
        return None
    cdef ndarray a = <ndarray>rows, z
    type_ = typenum(a)
    if not (type_ == NPY_FLOAT32 or type_ == NPY_FLOAT64 or type_ == cnp.NPY_INT64) or not 0 <= dim < ndim(a) or size(a) == 0:
        return None
    cdef Py_ssize_t outer, n, inner
    around(a, dim, &outer, &n, &inner)
    z = fresh_any(ndim(a), dims(a), type_)
    cdef char *p = data(a)
    cdef char *q = data(z)
    with nogil:
        if type_ == NPY_FLOAT32:
            scan_all(<const float *>p, <float *>q, room, outer, n, inner, product, reverse)
        elif type_ == NPY_FLOAT64:
            scan_all(<const double *>p, <double *>q, room, outer, n, inner, product, reverse)
        else:
            scan_all(<const cnp.int64_t *>p, <cnp.int64_t *>q, room, outer, n, inner, product, reverse)
    give_back(rows, x)
    return z


def cumsum(x, int dim, reverse):
    z = scanned(x, dim, False, reverse)
    return numpy_ref.cumsum(x, dim, reverse) if z is None else z


def cumprod(x, int dim):
    z = scanned(x, dim, True, False)
    return numpy_ref.cumprod(x, dim) if z is None else z
