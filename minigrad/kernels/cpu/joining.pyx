# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Concatenation; and adding slices by index, which NumPy does element by element."""

from libc.string cimport memcpy

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, strided
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused real:
    float
    double

cdef Py_ssize_t CROWD = numpy_ref.precision.CROWD


def cat(xs, int dim):
    cdef list arrays = <list>xs if type(xs) is list else list(xs)
    if not arrays:
        return numpy_ref.cat(arrays, dim)
    cdef ndarray first = <ndarray?>arrays[0], x, z
    cdef npy_intp d[MOST_DIMS]
    cdef int i, n = ndim(first)
    cdef npy_intp length = 0, inner = cnp.PyArray_ITEMSIZE(first), outer = 1, o, width, row
    cdef bint dense = True
    cdef char *p
    cdef char *q
    if not 0 <= dim < n:
        return numpy_ref.cat(arrays, dim)
    for y in arrays:
        x = <ndarray?>y
        if not of_numbers(x) or typenum(x) != typenum(first) or ndim(x) != n or not has_flags(x, cnp.NPY_ARRAY_ALIGNED):
            return numpy_ref.cat(arrays, dim)
        for i in range(n):
            if i != dim and dims(x)[i] != dims(first)[i]:
                return numpy_ref.cat(arrays, dim)
        dense = dense and is_contiguous(x)
        length += dims(x)[dim]
    for i in range(n):
        d[i] = dims(first)[i]
        if i < dim:
            outer *= d[i]
        elif i > dim:
            inner *= d[i]
    d[dim] = length
    z = fresh(n, d, typenum(first)) if is_real(first) else <ndarray>empty(n, d, typenum(first), 0)
    if size(z) == 0:
        return z
    p = data(z)
    row = length * inner
    for y in arrays:
        x = <ndarray>y
        width = dims(x)[dim] * inner
        if dense:
            q = data(x)
            for o in range(outer):
                memcpy(p + o * row, q + o * width, width)
        elif size(x) <= SMALL:
            walk(n, dims(x), p, strides(z), data(x), strides(x), cnp.PyArray_ITEMSIZE(x))
        else:
            d[dim] = dims(x)[dim]
            copy_into(strided(z, n, d, strides(z), p), x)
        p += width
    return z


cdef void add_slices(real *z, const real *y, const cnp.int64_t *index, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t places,
                     Py_ssize_t inner) noexcept nogil:
    """z[o, index[i], :] += y[o, i, :], for `n` slices in y and `places` slices in z."""
    cdef Py_ssize_t o, i, k
    cdef real *p
    for o in range(outer):
        for i in range(n):
            p = z + (o * places + index[i]) * inner
            for k in range(inner):
                p[k] += y[k]
            y += inner


def index_add(x, int dim, index, y):
    cdef int kind = easy(x), i
    cdef cnp.int64_t *where = indices(index)
    if kind < 0 or easy(y) != kind or where == NULL or not fits(<ndarray>x, dim, <ndarray>index, <ndarray>y) \
            or size(<ndarray>y) > CROWD * size(<ndarray>x):       # in float32 sums of many would lose digits
        return numpy_ref.index_add(x, dim, index, y)
    cdef ndarray z = cnp.PyArray_NewCopy(<ndarray>x, cnp.NPY_CORDER)
    cdef Py_ssize_t outer = 1, inner = 1, n = size(<ndarray>index)
    cdef char *p = data(z)
    cdef char *q = data(<ndarray>y)
    for i in range(ndim(z)):
        if i < dim:
            outer *= dims(z)[i]
        elif i > dim:
            inner *= dims(z)[i]
    if size(<ndarray>y) == 0:
        return z
    with nogil:
        if kind == 0:
            add_slices(<float *>p, <float *>q, where, outer, n, dims(z)[dim], inner)
        else:
            add_slices(<double *>p, <double *>q, where, outer, n, dims(z)[dim], inner)
    return z


cdef bint fits(ndarray x, int dim, ndarray index, ndarray y):
    """Whether y has the shape of x except along `dim`, where it has one slice for each index; and all indices are in range."""
    cdef int i
    cdef Py_ssize_t k
    cdef cnp.int64_t *where = <cnp.int64_t *>data(index)
    if ndim(x) != ndim(y) or not 0 <= dim < ndim(x) or ndim(index) != 1 or dims(y)[dim] != dims(index)[0]:
        return False
    for i in range(ndim(x)):
        if i != dim and dims(x)[i] != dims(y)[i]:
            return False
    for k in range(dims(index)[0]):
        if not 0 <= where[k] < dims(x)[dim]:
            return False
    return True
