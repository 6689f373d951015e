cimport numpy as cnp
from numpy cimport ndarray, npy_intp

from minigrad.kernels.cpu.common cimport MOST_DIMS, empty

cdef ndarray fresh(int nd, npy_intp *dims, int kind)
cdef void recycle(object x) noexcept
cdef ndarray strided(ndarray x, int nd, npy_intp *dims, npy_intp *steps, char *start)


# An uninitialised row-major array of any type: by `fresh`, or a new one if the pool has none of this type.
cdef inline ndarray fresh_any(int nd, npy_intp *dims, int type):
    if type == cnp.NPY_FLOAT32 or type == cnp.NPY_FLOAT64:
        return fresh(nd, dims, type)
    return <ndarray>empty(nd, dims, type, 0)


# The contiguous matrix of `rows` x `columns` elements in the memory of x, from address `start`.
cdef inline ndarray matrix_in(ndarray x, npy_intp rows, npy_intp columns, char *start):
    cdef npy_intp shape[2]
    cdef npy_intp steps[2]
    shape[0] = rows
    shape[1] = columns
    steps[1] = cnp.PyArray_ITEMSIZE(x)
    steps[0] = columns * steps[1]
    return strided(x, 2, shape, steps, start)
