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

Note [Views that are used again]
    A view is an array without memory, and making and freeing one costs 150 ns all the same. So the object of a view
    that has died is kept as well, without its base (a *shell*), and `strided` makes the next view of it: 40 ns.
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

cdef extern from *:
    """
    #define MG_FLAGS (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED)

    static PyObject *mg_new_view(PyArrayObject *x, int nd, npy_intp *shape, npy_intp *steps, char *start) {
        PyArray_Descr *descr = PyArray_DESCR(x);
        Py_INCREF(descr);                   /* NewFromDescr steals this reference */
        return PyArray_NewFromDescr(&PyArray_Type, descr, nd, shape, steps, start, PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
    }

    /* Whether a dead view may become a shell: nobody has looked at it through the buffer protocol or weakly. */
    static inline int mg_is_view(PyArrayObject *x) {
        PyArrayObject_fields *v = (PyArrayObject_fields *)x;
        return v->base != NULL && v->weakreflist == NULL && v->_buffer_info == NULL
            && !(v->flags & (NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEBACKIFCOPY));
    }

    static inline void mg_empty_shell(PyArrayObject *x) { Py_CLEAR(((PyArrayObject_fields *)x)->base); }

    /* Make a shell of `nd` dimensions a view on the memory of x. */
    static inline void mg_fill_shell(PyArrayObject *shell, PyArrayObject *x, int nd, const npy_intp *shape, const npy_intp *steps,
                                     char *start) {
        PyArrayObject_fields *v = (PyArrayObject_fields *)shell;
        PyArray_Descr *before = v->descr;
        v->descr = PyArray_DESCR(x);
        Py_INCREF(v->descr);
        Py_DECREF(before);
        v->data = start;
        for (int i = 0; i < nd; i++) { v->dimensions[i] = shape[i]; v->strides[i] = steps[i]; }
        v->flags = PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE;
        PyArray_UpdateFlags(shell, MG_FLAGS);
    }

    static inline int mg_set_base(PyArrayObject *view, PyObject *x) {
        Py_INCREF(x);                       /* which is stolen, also if it fails */
        return PyArray_SetBaseObject(view, x);
    }
    """
    ndarray new_view "mg_new_view"(ndarray x, int nd, npy_intp *shape, npy_intp *steps, char *start)
    bint is_view "mg_is_view"(ndarray) noexcept
    void empty_shell "mg_empty_shell"(ndarray) noexcept
    void fill_shell "mg_fill_shell"(ndarray shell, ndarray x, int nd, npy_intp *shape, npy_intp *steps, char *start) noexcept
    int set_base "mg_set_base"(ndarray view, object x) except -1

cdef enum:
    MOST_SHELL_DIMS = 4
    BINS = 64
    DEPTH = 256
    LARGE = 1 << 16         # bytes from which a bin holds few

cdef struct Bin:
    int count
    PyObject *arrays[DEPTH]

cdef Bin bins[BINS]
cdef Bin shells[MOST_SHELL_DIMS + 1]        # by number of dimensions; see Note [Views that are used again]
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


cdef ndarray strided(ndarray x, int nd, npy_intp *dims_, npy_intp *steps, char *start):
    """A view on the memory of `x`: its shape and steps (in bytes) from address `start`."""
    cdef ndarray view
    cdef Bin *bin
    if 0 < nd <= MOST_SHELL_DIMS and shells[nd].count > 0:
        bin = &shells[nd]
        bin.count -= 1
        view = <ndarray>bin.arrays[bin.count]
        Py_XDECREF(bin.arrays[bin.count])
        fill_shell(view, x, nd, dims_, steps, start)
    else:
        view = new_view(x, nd, dims_, steps, start)
    set_base(view, x)
    return view


def recycle(x):
    """Keep the array `x`, which nobody else holds, for the next one who wants its shape."""
    global held
    cdef int kind = easy(x)
    cdef Bin *bin
    cdef ndarray a
    cdef Py_ssize_t bytes
    if type(x) is not ndarray:
        return
    a = <ndarray>x
    if is_view(a):
        bin = &shells[ndim(a)]
        if 0 < ndim(a) <= MOST_SHELL_DIMS and bin.count < DEPTH:
            empty_shell(a)
            Py_INCREF(a)
            bin.arrays[bin.count] = <PyObject *>a
            bin.count += 1
        return
    if kind < 0:
        return
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
    for i in range(MOST_SHELL_DIMS + 1):
        while shells[i].count > 0:
            shells[i].count -= 1
            Py_XDECREF(shells[i].arrays[shells[i].count])
    held = 0


def pool_bytes():
    """Size of the arrays that are kept."""
    return held
