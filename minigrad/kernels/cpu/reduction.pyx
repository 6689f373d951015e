# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Sums and softmax over contiguous memory."""

from libc.math cimport INFINITY, exp, expf, log, logf

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused real:
    float
    double


cdef double sum_row(const real *x, Py_ssize_t n) noexcept nogil:
    """The sum of `n` numbers, in eight lanes of double so that it vectorises and float loses nothing."""
    cdef double lane[8]
    cdef double total = 0
    cdef Py_ssize_t i, k
    for k in range(8):
        lane[k] = 0
    for i in range(0, n - 7, 8):
        for k in range(8):
            lane[k] += x[i + k]
    for i in range(n - n % 8, n):
        total += x[i]
    for k in range(8):
        total += lane[k]
    return total


cdef void sum_block(const real *x, real *z, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner) noexcept nogil:
    """z[o, i] = sum over r of x[o, r, i]."""
    cdef Py_ssize_t o, r, i
    cdef const real *p
    cdef real *q
    if inner == 1:
        for o in range(outer):
            z[o] = <real>sum_row(x + o * n, n)
        return
    for o in range(outer):
        q = z + o * inner
        for i in range(inner):
            q[i] = 0
        for r in range(n):
            p = x + (o * n + r) * inner
            for i in range(inner):
                q[i] += p[i]


def sum(x, reduced, keepdim):
    cdef int kind = easy(x), i, k, nd, n_reduced = len(reduced)
    cdef ndarray a, z
    cdef npy_intp d[64]
    cdef Py_ssize_t outer = 1, n = 1, inner = 1
    if kind < 0 or n_reduced == 0:
        return numpy_ref.sum(x, reduced, keepdim)
    a = <ndarray>x
    nd = ndim(a)
    cdef int first = reduced[0], last = reduced[n_reduced - 1]
    if last - first + 1 != n_reduced:
        return numpy_ref.sum(x, reduced, keepdim)
    for k in range(n_reduced):
        if reduced[k] != first + k:
            return numpy_ref.sum(x, reduced, keepdim)
    k = 0
    for i in range(nd):
        if i < first:
            outer *= dims(a)[i]
        elif i <= last:
            n *= dims(a)[i]
        else:
            inner *= dims(a)[i]
        if i < first or i > last:
            d[k] = dims(a)[i]
            k += 1
        elif keepdim:
            d[k] = 1
            k += 1
    if inner > 1 and n > 4096:
        return numpy_ref.sum(x, reduced, keepdim)       # a running sum of so many floats loses digits
    z = empty(k, d, typenum(a), 0)
    if kind == 0:
        sum_block(<float *>data(a), <float *>data(z), outer, n, inner)
    else:
        sum_block(<double *>data(a), <double *>data(z), outer, n, inner)
    return z


cdef bint last_dim(object x, int dim):
    """Whether `dim` is the last of an easy array that has elements: then its rows are contiguous."""
    return easy(x) >= 0 and ndim(<ndarray>x) > 0 and dim == ndim(<ndarray>x) - 1 and size(<ndarray>x) > 0


cdef void softmax_backward_rows(const real *g, const real *z, real *out, Py_ssize_t rows, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r, i
    cdef double total
    for r in range(rows):
        total = 0
        for i in range(n):
            total += <double>g[i] * z[i]
        for i in range(n):
            out[i] = z[i] * (g[i] - <real>total)
        g += n
        z += n
        out += n


cdef real top_of(const real *x, Py_ssize_t n) noexcept nogil:
    """The largest of a row; nan if there is one."""
    cdef real top = x[0]
    cdef Py_ssize_t i
    for i in range(1, n):
        if x[i] > top or x[i] != x[i]:
            top = x[i]
    return top


cdef void subtract_top(const real *x, real *z, Py_ssize_t rows, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r, i
    cdef real top
    for r in range(rows):
        top = top_of(x, n)
        for i in range(n):
            z[i] = x[i] - top
        x += n
        z += n


cdef void divide_by_sum(real *z, Py_ssize_t rows, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r, i
    cdef real total
    for r in range(rows):
        total = <real>sum_row(z, n)
        for i in range(n):
            z[i] /= total
        z += n


cdef void subtract_log_sum(real *z, const real *e, Py_ssize_t rows, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r, i
    cdef real shift
    for r in range(rows):
        shift = <real>log(sum_row(e, n))
        for i in range(n):
            z[i] -= shift
        z += n
        e += n


cdef void log_softmax_backward_rows(const real *g, const real *e, real *out, Py_ssize_t rows, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r, i
    cdef real total
    for r in range(rows):
        total = <real>sum_row(g, n)
        for i in range(n):
            out[i] = g[i] - e[i] * total
        g += n
        e += n
        out += n


cdef ndarray shifted(ndarray x):
    """x less the largest of its row."""
    cdef ndarray z = fresh(ndim(x), dims(x), typenum(x))
    cdef Py_ssize_t n = dims(x)[ndim(x) - 1], rows = size(x) // n
    if typenum(x) == NPY_FLOAT32:
        subtract_top(<float *>data(x), <float *>data(z), rows, n)
    else:
        subtract_top(<double *>data(x), <double *>data(z), rows, n)
    return z


import numpy as np

cdef object np_exp = np.exp


def softmax(x, int dim):
    if not last_dim(x, dim):
        return numpy_ref.softmax(x, dim)
    cdef ndarray z = shifted(x)
    cdef Py_ssize_t n = dims(z)[dim], rows = size(z) // n
    np_exp(z, z)
    if typenum(z) == NPY_FLOAT32:
        divide_by_sum(<float *>data(z), rows, n)
    else:
        divide_by_sum(<double *>data(z), rows, n)
    return z


def log_softmax(x, int dim):
    if not last_dim(x, dim):
        return numpy_ref.log_softmax(x, dim)
    cdef ndarray z = shifted(x)
    cdef ndarray e = np_exp(z)
    cdef Py_ssize_t n = dims(z)[dim], rows = size(z) // n
    if typenum(z) == NPY_FLOAT32:
        subtract_log_sum(<float *>data(z), <float *>data(e), rows, n)
    else:
        subtract_log_sum(<double *>data(z), <double *>data(e), rows, n)
    return z


def softmax_backward(g, z, int dim):
    if not last_dim(g, dim) or easy(z) != easy(g):
        return numpy_ref.softmax_backward(g, z, dim)
    cdef ndarray out = fresh(ndim(<ndarray>g), dims(<ndarray>g), typenum(<ndarray>g))
    cdef Py_ssize_t n = dims(out)[dim], rows = size(out) // n
    if typenum(out) == NPY_FLOAT32:
        softmax_backward_rows(<float *>data(<ndarray>g), <float *>data(<ndarray>z), <float *>data(out), rows, n)
    else:
        softmax_backward_rows(<double *>data(<ndarray>g), <double *>data(<ndarray>z), <double *>data(out), rows, n)
    return out


def log_softmax_backward(g, z, int dim):
    if not last_dim(g, dim) or easy(z) != easy(g):
        return numpy_ref.log_softmax_backward(g, z, dim)
    cdef ndarray out = fresh(ndim(<ndarray>g), dims(<ndarray>g), typenum(<ndarray>g))
    cdef ndarray e = np_exp(z)
    cdef Py_ssize_t n = dims(out)[dim], rows = size(out) // n
    if typenum(out) == NPY_FLOAT32:
        log_softmax_backward_rows(<float *>data(<ndarray>g), <float *>data(e), <float *>data(out), rows, n)
    else:
        log_softmax_backward_rows(<double *>data(<ndarray>g), <double *>data(e), <double *>data(out), rows, n)
    return out
