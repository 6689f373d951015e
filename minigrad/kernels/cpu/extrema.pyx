# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The largest and smallest elements along dimensions, and their positions. nan counts as larger, and also as smaller, than all.

An array that is reduced along neighbouring dimensions has three in effect: x[o, r, i], reduced over r. The loops of the elements
are in extrema.h. The positions in many rows are left to NumPy, whose loop for them has the widest vectors of the processor.
"""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport divided, fresh, fresh_any, give_back, in_rows
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused number:
    float
    double
    cnp.int64_t
    cnp.uint8_t


cdef extern from "extrema.h" nogil:
    ctypedef void (*mg_extremum)(const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    const mg_extremum *mg_largest
    const mg_extremum *mg_smallest

cdef enum Kind:             # in the order of the tables of extrema.h
    OTHER = -1
    SINGLE
    DOUBLE
    WHOLE
    BYTE


cdef Kind kind_of(object x) noexcept:
    """The dtype of x, if x is row-major without gaps and not empty. A bool counts as a byte."""
    if not by_rows(x) or size(<ndarray>x) == 0:
        return OTHER
    cdef int t = typenum(<ndarray>x)
    return (SINGLE if t == NPY_FLOAT32 else DOUBLE if t == NPY_FLOAT64 else WHOLE if t == cnp.NPY_INT64
            else BYTE if t == cnp.NPY_UINT8 or t == cnp.NPY_BOOL else OTHER)


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
    cdef number top, v
    for o in range(outer):
        for i in range(inner):
            place, top = 0, x[i]
            for r in range(n):
                v = x[r * inner + i]
                if (v >= top if largest else v <= top) or v != v:       # after a nan, only for a nan
                    place, top = r, v
                at[r * inner + i] = place
        x += n * inner
        at += n * inner


cdef object reduced(object x, object over, bint keepdim, bint largest, bint places):
    """The best elements of x along the dimensions `over`, or their places; None if x is not simple, or NumPy is faster."""
    cdef Kind kind
    cdef Reduction g
    rows = divided(in_rows(x) if places and len(<tuple>over) > 1 else x, over, keepdim, &g)     # places count in logical order
    kind = kind_of(rows)
    if kind == OTHER or (places and g.inner == 1 and size(<ndarray>x) > SMALL):
        return None
    cdef ndarray z = fresh_any(g.nd, g.dims, typenum(<ndarray>x))
    cdef ndarray at = fresh(g.nd, g.dims, cnp.NPY_INT64) if places else z
    cdef char *px = data(<ndarray>rows)
    cdef char *pz = data(z)
    cdef cnp.int64_t *pa = <cnp.int64_t *>data(at)
    with nogil:
        (mg_largest if largest else mg_smallest)[<int>kind](px, pz, g.outer, g.n, g.inner)
        if not places:
            pass
        elif kind == SINGLE:
            first_places(<const float *>px, <const float *>pz, pa, g.outer, g.n, g.inner)
        elif kind == DOUBLE:
            first_places(<const double *>px, <const double *>pz, pa, g.outer, g.n, g.inner)
        elif kind == WHOLE:
            first_places(<const cnp.int64_t *>px, <const cnp.int64_t *>pz, pa, g.outer, g.n, g.inner)
        else:
            first_places(<const cnp.uint8_t *>px, <const cnp.uint8_t *>pz, pa, g.outer, g.n, g.inner)
    give_back(rows, x)
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
    rows = in_rows(x)
    cdef Kind kind = kind_of(rows)
    if kind == OTHER or not 0 <= dim < ndim(<ndarray>x):
        return numpy_ref.cumextremum(x, dim, largest)
    cdef ndarray a = <ndarray>rows, z = fresh(ndim(a), dims(a), cnp.NPY_INT64)
    cdef Py_ssize_t outer, n, inner
    around(a, dim, &outer, &n, &inner)
    cdef cnp.int64_t *at = <cnp.int64_t *>data(z)
    cdef bint most = largest
    cdef char *p = data(a)
    with nogil:
        if kind == SINGLE:
            running_places(<const float *>p, at, outer, n, inner, most)
        elif kind == DOUBLE:
            running_places(<const double *>p, at, outer, n, inner, most)
        elif kind == WHOLE:
            running_places(<const cnp.int64_t *>p, at, outer, n, inner, most)
        else:
            running_places(<const cnp.uint8_t *>p, at, outer, n, inner, most)
    return z
