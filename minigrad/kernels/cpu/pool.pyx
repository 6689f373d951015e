# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Arrays that are used again.

Making a NumPy array and freeing it costs 45 ns, a third of a small op, and for a large one the pages of its
memory as well. Most arrays of a forward and backward pass die at once and another of the same shape is
wanted next. So when a tensor dies that was the only one to hold its array, the array goes into a bin here
(`recycle`, called by ``_core/graph/tensor.py``) and the next kernel that needs that shape takes it out (`fresh`).

    small arrays    bin = hash(dtype, shape)    a stack of arrays; the top one is taken if its shape is right
    large arrays    bin = hash(bytes)           the top one is given the new shape, so that few are kept: it is memory that counts

Only arrays that own their memory, lie row by row and are held by nobody else come here; a view, a
memoryview or another library's tensor on the memory holds the array and keeps it away. What the bins hold
is bounded: a few arrays each, and `LIMIT` bytes in all.

Python code cannot call `recycle`: it would hand over arrays that it still holds. The core gets its address in a capsule, `RECYCLE`.

Note [Views that are used again]
    A view is an array without memory, and making and freeing one costs 150 ns all the same. So the object of a view
    that has died is kept as well, without its base (a *shell*), and `strided` makes the next view of it: 40 ns. The
    base, if only this view still held it, goes into its bin: in `x.transpose(0, 1).reshape(4, 6)` the view outlives x.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
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

    /* The base of a view, which is now without one, or NULL. The reference is the caller's. */
    static inline PyObject *mg_empty_shell(PyArrayObject *x) {
        PyObject *base = ((PyArrayObject_fields *)x)->base;
        ((PyArrayObject_fields *)x)->base = NULL;
        return base;
    }

    static inline int mg_held_once(PyObject *x) { return Py_REFCNT(x) == 1; }

    /* Whether memory lies row by row, and column by column, as PyArray_UpdateFlags finds it in three times as long. */
    static inline int mg_order(int nd, const npy_intp *shape, const npy_intp *steps, npy_intp item) {
        int rows = NPY_ARRAY_C_CONTIGUOUS, columns = NPY_ARRAY_F_CONTIGUOUS;
        npy_intp step = item;
        for (int i = 0; i < nd; i++)
            if (shape[i] == 0) return rows | columns;
        for (int i = nd - 1; i >= 0; step *= shape[i--])
            if (shape[i] != 1 && steps[i] != step) rows = 0;
        step = item;
        for (int i = 0; i < nd; step *= shape[i++])
            if (shape[i] != 1 && steps[i] != step) columns = 0;
        return rows | columns;
    }

    /* Make a shell of `nd` dimensions a view on the memory of x. Elements of an aligned array that are whole elements
       apart are aligned. */
    static inline void mg_fill_shell(PyArrayObject *shell, PyArrayObject *x, int nd, const npy_intp *shape, const npy_intp *steps,
                                     char *start) {
        PyArrayObject_fields *v = (PyArrayObject_fields *)shell;
        PyArray_Descr *before = v->descr;
        v->descr = PyArray_DESCR(x);
        Py_INCREF(v->descr);
        Py_DECREF(before);
        v->data = start;
        for (int i = 0; i < nd; i++) { v->dimensions[i] = shape[i]; v->strides[i] = steps[i]; }
        v->flags = (PyArray_FLAGS(x) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)) | mg_order(nd, shape, steps, PyArray_ITEMSIZE(x));
    }

    /* How many numbers an array of this shape has, or -1 for more than are kept here. */
    static inline npy_intp mg_numbers(int nd, const npy_intp *shape) {
        const npy_intp most = (npy_intp)1 << 31;
        npy_intp n = 1;
        for (int i = 0; i < nd; n *= shape[i++])
            if (n >= most || shape[i] < 0 || shape[i] >= most) return -1;
        return n;
    }

    /* Give an array that lies row by row, and that nobody holds, another shape of as many dimensions and numbers. */
    static inline void mg_reshape(PyArrayObject *x, int nd, const npy_intp *shape) {
        PyArrayObject_fields *v = (PyArrayObject_fields *)x;
        npy_intp step = PyArray_ITEMSIZE(x);
        for (int i = nd - 1; i >= 0; i--) { v->dimensions[i] = shape[i]; v->strides[i] = step; step *= shape[i]; }
        v->flags = (v->flags & ~(NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS))
            | mg_order(nd, shape, v->strides, PyArray_ITEMSIZE(x));
    }

    static inline int mg_set_base(PyArrayObject *view, PyObject *x) {
        Py_INCREF(x);                       /* which is stolen, also if it fails */
        if (((PyArrayObject_fields *)x)->base == NULL && PyArray_CheckExact(x)) {
            ((PyArrayObject_fields *)view)->base = x;
            return 0;
        }
        return PyArray_SetBaseObject(view, x);      /* which looks for the owner of the memory */
    }
    """
    ndarray new_view "mg_new_view"(ndarray x, int nd, npy_intp *shape, npy_intp *steps, char *start)
    bint is_view "mg_is_view"(ndarray) noexcept
    PyObject *empty_shell "mg_empty_shell"(ndarray) noexcept
    bint held_once "mg_held_once"(PyObject *) noexcept
    void fill_shell "mg_fill_shell"(ndarray shell, ndarray x, int nd, npy_intp *shape, npy_intp *steps, char *start) noexcept
    npy_intp numbers_of "mg_numbers"(int nd, npy_intp *shape) noexcept
    void reshape "mg_reshape"(ndarray x, int nd, npy_intp *shape) noexcept
    int set_base "mg_set_base"(ndarray view, object x) except -1

cdef enum:
    MOST_SHELL_DIMS = 4
    BINS = 64
    DEPTH = 256
    LARGE = 1 << 16         # bytes of float32 from which an array is large
    FEW = 4                 # large arrays in a bin

cdef struct Bin:
    int count
    PyObject *arrays[DEPTH]

cdef Bin bins[BINS]
cdef Bin large[BINS]
cdef Bin shells[MOST_SHELL_DIMS + 1]        # by number of dimensions; see Note [Views that are used again]
cdef Py_ssize_t held = 0    # bytes in all bins
LIMIT = 256 << 20
cdef Py_ssize_t limit = LIMIT


cdef inline Bin *bin_of_shape(int nd, npy_intp *dims_, int type) noexcept:
    cdef Py_ssize_t key = type
    cdef int i
    for i in range(nd):
        key = key * 7 + dims_[i] + (dims_[i] >> 6)
    return &bins[key & (BINS - 1)]


cdef inline Bin *bin_of_bytes(Py_ssize_t bytes) noexcept:
    return &large[((bytes >> 6) ^ (bytes >> 14)) & (BINS - 1)]


cdef ndarray fresh(int nd, npy_intp *dims_, int type):
    """An uninitialised array, row by row."""
    global held
    cdef Bin *bin
    cdef ndarray x
    cdef Py_ssize_t numbers = numbers_of(nd, dims_)
    if numbers >= LARGE >> 2:
        return fresh_large(nd, dims_, type, numbers)
    bin = bin_of_shape(nd, dims_, type)
    if bin.count > 0:
        x = <ndarray>bin.arrays[bin.count - 1]
        if typenum(x) == type and ndim(x) == nd and same_dims(dims(x), dims_, nd):
            bin.count -= 1
            Py_XDECREF(bin.arrays[bin.count])
            held -= nbytes(x)
            return x
    return empty(nd, dims_, type, 0)


cdef ndarray fresh_large(int nd, npy_intp *dims_, int type, Py_ssize_t numbers):
    """The same of so many numbers that any array of as many bytes is taken; if it can't have the shape, malloc finds its memory."""
    global held
    cdef Py_ssize_t bytes = numbers * (8 if type == NPY_FLOAT64 else 4)
    cdef Bin *bin = bin_of_bytes(bytes)
    cdef ndarray x
    if bin.count > 0 and nbytes(<ndarray>bin.arrays[bin.count - 1]) == bytes:
        bin.count -= 1
        held -= bytes
        x = <ndarray>bin.arrays[bin.count]
        Py_XDECREF(bin.arrays[bin.count])
        if typenum(x) == type and ndim(x) == nd:
            reshape(x, nd, dims_)
            return x
        x = None
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


cdef void recycle(object x) noexcept:
    """Keep `x`, which is an array that only the caller holds, for the next one who wants its shape."""
    cdef Bin *bin
    cdef ndarray a
    cdef PyObject *base
    if type(x) is not ndarray:
        return
    a = <ndarray>x
    if not is_view(a):
        keep(a)
        return
    if not 0 < ndim(a) <= MOST_SHELL_DIMS:
        return
    bin = &shells[ndim(a)]
    if bin.count < DEPTH:
        base = empty_shell(a)
        if held_once(base) and type(<object>base) is ndarray:
            keep(<ndarray>base)
        Py_XDECREF(base)
        Py_INCREF(a)
        bin.arrays[bin.count] = <PyObject *>a
        bin.count += 1


RECYCLE = PyCapsule_New(<void *>recycle, "minigrad.recycle", NULL)


cdef void keep(ndarray a) noexcept:
    """Put an array that owns its memory into its bin, if that has room."""
    global held
    cdef Py_ssize_t bytes
    cdef Bin *bin
    cdef bint few
    if easy(a) < 0:
        return
    bytes = nbytes(a)
    few = size(a) >= LARGE >> 2
    bin = bin_of_bytes(bytes) if few else bin_of_shape(ndim(a), dims(a), typenum(a))
    if bin.count >= (FEW if few else DEPTH) or held + bytes > limit or weakly_held(a) \
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
        while large[i].count > 0:
            large[i].count -= 1
            Py_XDECREF(large[i].arrays[large[i].count])
    for i in range(MOST_SHELL_DIMS + 1):
        while shells[i].count > 0:
            shells[i].count -= 1
            Py_XDECREF(shells[i].arrays[shells[i].count])
    held = 0


def pool_bytes():
    """Size of the arrays that are kept."""
    return held
