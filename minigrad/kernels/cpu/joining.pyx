# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Adding slices where an index says: the backward of a table lookup, for which NumPy goes number by number."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused real:
    float
    double


cdef void add_slices(real *z, const real *y, const cnp.int64_t *index, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t places,
                     Py_ssize_t inner) noexcept nogil:
    """z[o, index[i], :] += y[o, i, :], with `n` slices in y and `places` in z."""
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
    if kind < 0 or easy(y) != kind or type(index) is not ndarray or typenum(<ndarray>index) != cnp.NPY_INT64 \
            or not has_flags(<ndarray>index, cnp.NPY_ARRAY_CARRAY_RO) or not fits(<ndarray>x, dim, <ndarray>index, <ndarray>y):
        return numpy_ref.index_add(x, dim, index, y)
    cdef ndarray z = cnp.PyArray_NewCopy(<ndarray>x, cnp.NPY_CORDER)
    cdef Py_ssize_t outer = 1, inner = 1, n = size(<ndarray>index)
    cdef char *p = data(z)
    cdef char *q = data(<ndarray>y)
    cdef cnp.int64_t *where = <cnp.int64_t *>data(<ndarray>index)
    for i in range(ndim(z)):
        if i < dim:
            outer *= dims(z)[i]
        elif i > dim:
            inner *= dims(z)[i]
    with nogil:
        if kind == 0:
            add_slices(<float *>p, <float *>q, where, outer, n, dims(z)[dim], inner)
        else:
            add_slices(<double *>p, <double *>q, where, outer, n, dims(z)[dim], inner)
    return z


cdef bint fits(ndarray x, int dim, ndarray index, ndarray y):
    """Whether y has the shape of x, but for as many slices as there are numbers in the index; and these are all places of x."""
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
