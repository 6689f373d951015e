# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The largest and smallest elements along dimensions, and their positions. nan counts as larger, and also as smaller, than all.

An array that is reduced along neighbouring dimensions has three in effect: x[o, r, i], reduced over r. For many elements NumPy is
faster, which uses the widest vectors of the processor; but it finds the positions in columns one column after the other.
"""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh_any
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused number:
    float
    double
    cnp.int64_t
    cnp.uint8_t


cdef int kind_of(object x) noexcept:
    """The dtype of x, if x is row-major without gaps, not empty, and has a dtype of `number` (bool as uint8); else -1."""
    if not by_rows(x) or size(<ndarray>x) == 0:
        return -1
    cdef int t = typenum(<ndarray>x)
    if t == cnp.NPY_BOOL:
        return cnp.NPY_UINT8
    return t if t == NPY_FLOAT32 or t == NPY_FLOAT64 or t == cnp.NPY_INT64 or t == cnp.NPY_UINT8 else -1


cdef inline bint wins(number x, number y, bint largest) noexcept nogil:
    """Whether x is better than y, or nan."""
    if number is float or number is double:
        if x != x:
            return True
    return x > y if largest else x < y


cdef void best(const number *x, number *z, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, bint largest) noexcept nogil:
    """z[o, i] = the best of x[o, r, i] over r."""
    cdef Py_ssize_t o, r, i
    for o in range(outer):
        for i in range(inner):
            z[i] = x[i]
        for r in range(1, n):
            x += inner
            if largest:
                for i in range(inner):
                    z[i] = x[i] if wins(x[i], z[i], True) else z[i]
            else:
                for i in range(inner):
                    z[i] = x[i] if wins(x[i], z[i], False) else z[i]
        x += inner
        z += inner


cdef void first_places(const number *x, const number *z, cnp.int64_t *at, Py_ssize_t outer, Py_ssize_t n,
                       Py_ssize_t inner) noexcept nogil:
    """at[o, i] = the first r where x[o, r, i] is z[o, i] or nan."""
    cdef Py_ssize_t o, r, i
    for o in range(outer):
        if inner == 1:
            r = 0
            while r < n - 1 and x[r] != z[0] and x[r] == x[r]:
                r += 1
            at[0] = r
        else:
            for r in range(n - 1, -1, -1):
                for i in range(inner):
                    if x[r * inner + i] == z[i] or x[r * inner + i] != x[r * inner + i]:
                        at[i] = r
        x += n * inner
        z += inner
        at += inner


cdef void running_places(const number *x, cnp.int64_t *at, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner,
                         bint largest) noexcept nogil:
    """at[o, r, i] = the last place of the best of x[o, s, i] over s <= r; after a nan, of the last nan."""
    cdef Py_ssize_t o, r, i
    cdef cnp.int64_t place
    for o in range(outer):
        for i in range(inner):
            at[i] = 0
        for r in range(1, n):
            for i in range(inner):
                place = at[(r - 1) * inner + i]
                if not wins(x[place * inner + i], x[r * inner + i], largest):
                    place = r
                elif x[r * inner + i] != x[r * inner + i]:
                    place = r
                at[r * inner + i] = place
        x += n * inner
        at += n * inner


cdef object reduced(object x, object over, bint keepdim, bint largest, bint places):
    """The best elements of x along the dimensions `over`, or their places; None if x is not simple, or NumPy is faster."""
    cdef int kind = kind_of(x)
    cdef Reduction g
    if kind < 0 or not divide(<ndarray>x, over, keepdim, &g):
        return None
    if size(<ndarray>x) > SMALL and (g.inner == 1 or not places):
        return None
    cdef ndarray z = fresh_any(g.nd, g.dims, typenum(<ndarray>x))
    cdef ndarray at = <ndarray>empty(g.nd, g.dims, cnp.NPY_INT64, 0) if places else z
    cdef char *px = data(<ndarray>x)
    cdef char *pz = data(z)
    cdef cnp.int64_t *pa = <cnp.int64_t *>data(at)
    with nogil:
        if kind == NPY_FLOAT32:
            best(<const float *>px, <float *>pz, g.outer, g.n, g.inner, largest)
            if places:
                first_places(<const float *>px, <const float *>pz, pa, g.outer, g.n, g.inner)
        elif kind == NPY_FLOAT64:
            best(<const double *>px, <double *>pz, g.outer, g.n, g.inner, largest)
            if places:
                first_places(<const double *>px, <const double *>pz, pa, g.outer, g.n, g.inner)
        elif kind == cnp.NPY_INT64:
            best(<const cnp.int64_t *>px, <cnp.int64_t *>pz, g.outer, g.n, g.inner, largest)
            if places:
                first_places(<const cnp.int64_t *>px, <const cnp.int64_t *>pz, pa, g.outer, g.n, g.inner)
        else:
            best(<const cnp.uint8_t *>px, <cnp.uint8_t *>pz, g.outer, g.n, g.inner, largest)
            if places:
                first_places(<const cnp.uint8_t *>px, <const cnp.uint8_t *>pz, pa, g.outer, g.n, g.inner)
    return at


cdef object places_along(object x, object dim, bint keepdim, bint largest):
    """argmax or argmin along `dim`, or of all elements; None if the arguments are not simple."""
    if type(x) is not ndarray:
        return None
    return reduced(x, tuple(range(ndim(<ndarray>x))) if dim is None else (dim,), keepdim, largest, True)


def amax(x, dims, keepdim):
    z = reduced(x, dims, keepdim, True, False)
    return numpy_ref.amax(x, dims, keepdim) if z is None else z


def amin(x, dims, keepdim):
    z = reduced(x, dims, keepdim, False, False)
    return numpy_ref.amin(x, dims, keepdim) if z is None else z


def argmax(x, dim, keepdim):
    z = places_along(x, dim, keepdim, True)
    return numpy_ref.argmax(x, dim, keepdim) if z is None else z


def argmin(x, dim, keepdim):
    z = places_along(x, dim, keepdim, False)
    return numpy_ref.argmin(x, dim, keepdim) if z is None else z


def cumextremum(x, int dim, largest):
    cdef int kind = kind_of(x)
    if kind < 0 or not 0 <= dim < ndim(<ndarray>x):
        return numpy_ref.cumextremum(x, dim, largest)
    cdef ndarray a = <ndarray>x, z = <ndarray>empty(ndim(a), dims(a), cnp.NPY_INT64, 0)
    cdef Py_ssize_t outer, n, inner
    around(a, dim, &outer, &n, &inner)
    cdef cnp.int64_t *at = <cnp.int64_t *>data(z)
    cdef bint most = largest
    cdef char *p = data(a)
    with nogil:
        if kind == NPY_FLOAT32:
            running_places(<const float *>p, at, outer, n, inner, most)
        elif kind == NPY_FLOAT64:
            running_places(<const double *>p, at, outer, n, inner, most)
        elif kind == cnp.NPY_INT64:
            running_places(<const cnp.int64_t *>p, at, outer, n, inner, most)
        else:
            running_places(<const cnp.uint8_t *>p, at, outer, n, inner, most)
    return z
