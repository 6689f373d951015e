# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""glu: the first half of an array along a dimension, times the sigmoid of the second."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, give_back, in_rows
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "halves.h" nogil:
    ctypedef void (*mg_binary)(const void *, const void *, void *, Py_ssize_t)
    const mg_binary mg_glu_loops[2]
    const mg_binary mg_glu_backward_loops[2]
    void mg_run_binary(mg_binary, const char *, const char *, char *, Py_ssize_t, int, int, int, int)


# Write the shape of half of `x` along `dim` to `d`, and the number of pairs of halves to `outer`. Returns the number of contiguous
# elements of a half; -1 if the size along `dim` is odd.
cdef npy_intp half(ndarray x, int dim, npy_intp *d, npy_intp *outer) noexcept:
    cdef npy_intp inner = 1
    cdef int i
    outer[0] = 1
    if not 0 <= dim < ndim(x) or dims(x)[dim] % 2:
        return -1
    for i in range(ndim(x)):
        d[i] = dims(x)[i] // 2 if i == dim else dims(x)[i]
        if i < dim:
            outer[0] *= d[i]
        else:
            inner *= d[i]
    return inner


def glu(x, int dim):
    cdef int kind = easy(x), width
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp outer, k, inner = half(<ndarray>x, dim, d, &outer) if kind >= 0 else -1
    cdef ndarray z
    cdef char *p
    cdef char *r
    cdef mg_binary loop
    if inner < 0:
        return numpy_ref.glu(x, dim)
    z = fresh(ndim(<ndarray>x), d, typenum(<ndarray>x))
    p, r, loop, width = data(<ndarray>x), data(z), mg_glu_loops[kind], item_size(kind)
    with nogil:
        for k in range(outer):
            mg_run_binary(loop, p + 2 * k * inner * width, p + (2 * k + 1) * inner * width, r + k * inner * width, inner, width,
                          True, True, threads)
    return z


def glu_backward(g, x, int dim):
    rows = in_rows(g)
    z = halves_backward(rows, x, dim)
    give_back(rows, g)
    return z


cdef object halves_backward(object g, object x, int dim):
    cdef int kind = easy(x), width
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp outer, k, inner = half(<ndarray>x, dim, d, &outer) if kind >= 0 else -1
    cdef ndarray z
    cdef char *p
    cdef char *q
    cdef char *r
    if inner < 0 or easy(g) != kind or ndim(<ndarray>g) != ndim(<ndarray>x) or not same_dims(dims(<ndarray>g), d, ndim(<ndarray>x)):
        return numpy_ref.glu_backward(g, x, dim)
    z = fresh(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x))
    p, q, r, width = data(<ndarray>g), data(<ndarray>x), data(z), item_size(kind)
    with nogil:
        for k in range(outer):
            mg_glu_backward_loops[kind](p + k * inner * width, q + 2 * k * inner * width, r + 2 * k * inner * width, inner)
    return z
