# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Matrix products. BLAS does the work; what is spared here is NumPy's ufunc machinery around it."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef inline bint both_matrices(object x, object y):
    return type(x) is ndarray and type(y) is ndarray and ndim(<ndarray>x) == 2 and ndim(<ndarray>y) == 2


def matmul(x, y):
    return matrix_product(x, y) if both_matrices(x, y) else numpy_ref.matmul(x, y)


def addmm(b, x, y):
    if not both_matrices(x, y):
        return numpy_ref.addmm(b, x, y)
    cdef ndarray z = matrix_product(x, y)
    cdef ndarray row
    cdef Py_ssize_t i, k, n
    cdef float *p
    cdef float *q
    if easy(z) == 0 and easy(b) == 0 and row_of(z, <ndarray>b) == dims(z)[1]:
        row = <ndarray>b
        n = dims(z)[1]
        p = <float *>data(z)
        q = <float *>data(row)
        with nogil:
            for i in range(dims(z)[0]):
                for k in range(n):
                    p[k] += q[k]
                p += n
        return z
    z += b
    return z


def dot(x, y):
    return numpy_ref.dot(x, y)
