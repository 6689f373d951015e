# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Storing a number, or the next element of an array, where a mask is True.

The mask has x's shape. For a number, it may also have the beginning of x's shape and then sizes of 1. Then each of its elements
stands for a run of elements of x:

    mask (2, 1)     x (2, 3)
    False           0 1 2
    True            9 9 9
"""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.layout cimport copy_of
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused unit:        # elements are moved by their size
    cnp.uint8_t
    cnp.uint16_t
    cnp.int32_t
    cnp.int64_t
    double complex


cdef void fill_where(unit *x, const cnp.uint8_t *mask, unit value, npy_intp n, npy_intp run) noexcept nogil:
    """Store `value` in each run of `run` elements whose element of the mask, of `n`, is True."""
    cdef npy_intp i, j
    if run == 1:
        for i in range(n):
            x[i] = value if mask[i] else x[i]
        return
    for i in range(n):
        if mask[i]:
            for j in range(run):
                x[i * run + j] = value


cdef bint filled_where(object x, object mask, object y) noexcept:
    """Store the number y in x where the mask is True. False if the arguments are not simple."""
    cdef int i
    cdef npy_intp n, run = 1
    cdef char *to
    cdef const cnp.uint8_t *m
    if not (by_rows(x) and movable(x) and has_flags(<ndarray>x, cnp.NPY_ARRAY_WRITEABLE) and by_rows(mask) and movable(y)):
        return False
    if (typenum(<ndarray>mask) != cnp.NPY_BOOL or ndim(<ndarray>mask) != ndim(<ndarray>x) or ndim(<ndarray>y)
            or typenum(<ndarray>y) != typenum(<ndarray>x)):
        return False
    for i in range(ndim(<ndarray>x)):
        if run == 1 and dims(<ndarray>mask)[i] == dims(<ndarray>x)[i]:
            continue
        if dims(<ndarray>mask)[i] != 1:
            return False
        run *= dims(<ndarray>x)[i]
    n, to, m = size(<ndarray>mask), data(<ndarray>x), <const cnp.uint8_t *>data(<ndarray>mask)
    item = cnp.PyArray_ITEMSIZE(<ndarray>x)
    with nogil:
        if item == 8:
            fill_where(<cnp.int64_t *>to, m, (<cnp.int64_t *>data(<ndarray>y))[0], n, run)
        elif item == 4:
            fill_where(<cnp.int32_t *>to, m, (<cnp.int32_t *>data(<ndarray>y))[0], n, run)
        elif item == 2:
            fill_where(<cnp.uint16_t *>to, m, (<cnp.uint16_t *>data(<ndarray>y))[0], n, run)
        elif item == 1:
            fill_where(<cnp.uint8_t *>to, m, (<cnp.uint8_t *>data(<ndarray>y))[0], n, run)
        else:
            fill_where(<double complex *>to, m, (<double complex *>data(<ndarray>y))[0], n, run)
    return True


def masked_fill_(x, mask, y):
    if not filled_where(x, mask, y):
        numpy_ref.masked_fill_(x, mask, y)


cdef bint scatter_where(unit *z, const cnp.uint8_t *mask, const unit *y, npy_intp n, npy_intp most) noexcept nogil:
    """Store the elements of y, of which there are `most`, in turn where the mask is True. False if there are too few."""
    cdef npy_intp i, k = 0
    cdef bint here
    for i in range(n):
        here = mask[i] != 0
        if here & (k == most):
            return False
        z[i] = (y + k if here else z + i)[0]        # no branch: a mask is hard to predict
        k += here
    return True


def masked_scatter(x, mask, y):
    cdef ndarray z
    cdef bint done
    if not (movable(x) and movable(y) and by_rows(y) and by_rows(mask)) or typenum(<ndarray>mask) != cnp.NPY_BOOL \
            or typenum(<ndarray>y) != typenum(<ndarray>x) or ndim(<ndarray>mask) != ndim(<ndarray>x) \
            or not same_dims(dims(<ndarray>mask), dims(<ndarray>x), ndim(<ndarray>x)):
        return numpy_ref.masked_scatter(x, mask, y)
    z = copy_of(<ndarray>x)
    cdef char *to = data(z)
    cdef char *p = data(<ndarray>y)
    cdef const cnp.uint8_t *m = <const cnp.uint8_t *>data(<ndarray>mask)
    cdef npy_intp n = size(z), most = size(<ndarray>y), item = cnp.PyArray_ITEMSIZE(z)
    with nogil:
        if item == 8:
            done = scatter_where(<cnp.int64_t *>to, m, <const cnp.int64_t *>p, n, most)
        elif item == 4:
            done = scatter_where(<cnp.int32_t *>to, m, <const cnp.int32_t *>p, n, most)
        elif item == 2:
            done = scatter_where(<cnp.uint16_t *>to, m, <const cnp.uint16_t *>p, n, most)
        elif item == 1:
            done = scatter_where(<cnp.uint8_t *>to, m, <const cnp.uint8_t *>p, n, most)
        else:
            done = scatter_where(<double complex *>to, m, <const double complex *>p, n, most)
    return z if done else numpy_ref.masked_scatter(x, mask, y)
