# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Arrays that are used again.

Making a NumPy array and freeing it costs 45 ns, a third of a small op, and for a large one the pages of its
memory as well. Most arrays of a forward and backward pass die at once and another of the same shape is
wanted next. So when a tensor dies that was the only one to hold its array, the array goes into a bin here
(`recycle`, called by ``_core/tensor.py``) and the next kernel that needs that shape takes it out (`fresh`).

    bin = hash(dtype, number of elements)   a stack of arrays; the top one is taken if its shape is right

Only arrays that own their memory, lie row by row and are held by nobody else come here; a view, a
memoryview or another library's tensor on the memory holds the array and keeps it away. What the bins hold
is bounded: a few arrays each, and `LIMIT` bytes in all.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

from minigrad.kernels.cpu.common cimport *

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    npy_intp nbytes "PyArray_NBYTES"(ndarray) noexcept

cdef extern from *:
    """
    #define MG_WEAKLY_HELD(x) (((PyArrayObject_fields *)(x))->weakreflist != NULL)
    """
    bint weakly_held "MG_WEAKLY_HELD"(ndarray) noexcept

cdef enum:
    BINS = 64
    DEPTH = 256
    LARGE = 1 << 16         # bytes from which a bin holds few

cdef struct Bin:
    int count
    PyObject *arrays[DEPTH]

cdef Bin bins[BINS]
cdef Py_ssize_t held = 0    # bytes in all bins
LIMIT = 256 << 20
cdef Py_ssize_t limit = LIMIT


cdef inline Bin *bin_of(Py_ssize_t n, int type) noexcept:
    return &bins[(n * 7 + type * 3 + (n >> 6)) & (BINS - 1)]


cdef ndarray fresh(int nd, npy_intp *dims_, int type):
    """An uninitialised array, row by row."""
    global held
    cdef Py_ssize_t n = 1
    cdef int i
    cdef Bin *bin
    cdef ndarray x
    for i in range(nd):
        n *= dims_[i]
    bin = bin_of(n, type)
    if bin.count > 0:
        x = <ndarray>bin.arrays[bin.count - 1]
        if typenum(x) == type and ndim(x) == nd and same_dims(dims(x), dims_, nd):
            bin.count -= 1
            Py_XDECREF(bin.arrays[bin.count])
            held -= nbytes(x)
            return x
    return empty(nd, dims_, type, 0)


def recycle(x):
    """Keep the array `x`, which nobody else holds, for the next one who wants its shape."""
    global held
    cdef int kind = easy(x)
    cdef Bin *bin
    cdef ndarray a
    cdef Py_ssize_t bytes
    if kind < 0:
        return
    a = <ndarray>x
    bytes = nbytes(a)
    bin = bin_of(size(a), typenum(a))
    if bin.count >= (DEPTH if bytes < LARGE else 4) or held + bytes > limit or weakly_held(a) \
            or not has_flags(a, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE):
        return
    Py_INCREF(a)
    bin.arrays[bin.count] = <PyObject *>a
    bin.count += 1
    held += bytes


def empty_pool():
    """Let go of all arrays that are kept."""
    global held
    cdef int i
    for i in range(BINS):
        while bins[i].count > 0:
            bins[i].count -= 1
            Py_XDECREF(bins[i].arrays[bins[i].count])
    held = 0


def pool_bytes():
    """Size of the arrays that are kept."""
    return held
