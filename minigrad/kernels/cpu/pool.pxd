cimport numpy as cnp
from numpy cimport ndarray, npy_intp

from minigrad.kernels.cpu.common cimport MOST_DIMS, NPY_HALF, Reduction, by_rows, dims, divide, empty, ndim, of_numbers, strides

cdef ndarray fresh(int nd, npy_intp *dims, int kind)
cdef void recycle(object x) noexcept
cdef ndarray row_major_copy(ndarray x)
cdef ndarray copied(ndarray x, int nd, npy_intp *dims, npy_intp *steps, char *start)
cdef ndarray repeated_part(ndarray x)
cdef ndarray repeated(ndarray x, npy_intp *dims)
cdef ndarray gapless(ndarray x)
cdef ndarray in_memory_order(ndarray x, object reduced, bint keepdim, Reduction *g)
cdef ndarray new_like(ndarray x, int type)
cdef ndarray strided(ndarray x, int nd, npy_intp *dims, npy_intp *steps, char *start)


# An uninitialised row-major array of any type: by `fresh`, or a new one if the pool has none of this type.
cdef inline ndarray fresh_any(int nd, npy_intp *dims, int type):
    if type == cnp.NPY_FLOAT32 or type == cnp.NPY_FLOAT64 or type == cnp.NPY_INT64 or type == cnp.NPY_BOOL or type == NPY_HALF:
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

# `x`; or a row-major copy of it, if it is an array of numbers with other strides.
cdef inline object in_rows(object x):
    return row_major_copy(<ndarray>x) if of_numbers(x) and not by_rows(x) else x


# Whether x repeats elements along a dimension: its copy is row-major.
cdef inline bint repeats(ndarray x) noexcept:
    cdef int i
    for i in range(ndim(x)):
        if strides(x)[i] == 0:
            return True
    return False


# Recycle what `in_rows` or `divided` returned for x, if it is a copy. Only the caller may refer to it.
cdef inline void give_back(object rows, object x) noexcept:
    if rows is not x:
        recycle(rows)


# `divide` for any strides, and for dimensions that are not neighbours. Returns the array that `g` describes: x, the view of
# `in_memory_order`, or a row-major copy in which the reduced dimensions are the last. None if `reduced` does not name dimensions.
cdef inline object divided(object x, object reduced, bint keepdim, Reduction *g):
    cdef bint gone[MOST_DIMS]
    cdef int i, dim, k = 0
    if not of_numbers(x) or type(reduced) is not tuple or not <tuple>reduced:
        return None
    cdef ndarray a = <ndarray>x
    if by_rows(a):
        if divide(a, reduced, keepdim, g):
            return a
    else:
        rows = in_memory_order(a, reduced, keepdim, g)
        if rows is not None:
            return rows
    for i in range(ndim(a)):
        gone[i] = False
    for each in <tuple>reduced:
        dim = each
        if not 0 <= dim < ndim(a) or gone[dim]:
            return None
        gone[dim] = True
    g.outer = g.n = g.inner = 1
    for i in range(ndim(a)):
        if gone[i]:
            g.n *= dims(a)[i]
        else:
            g.outer *= dims(a)[i]
        if keepdim or not gone[i]:
            g.dims[k] = 1 if gone[i] else dims(a)[i]
            k += 1
    g.nd = k
    order = [i for i in range(ndim(a)) if not gone[i]]
    return row_major_copy(a.transpose((*order, *(<tuple>reduced))))
