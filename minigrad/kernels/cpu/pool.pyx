# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""A cache of freed arrays.

Making and freeing a NumPy array takes 45 ns, a third of a small op. For a large array, the system also has to supply the pages of
its memory. Most arrays of a forward and backward pass live for a short time, and the next op needs an array of the same shape. So
when a tensor dies and nothing else refers to its array, the array goes into a bin (`recycle`, called by ``_core/graph/tensor.py``).
The next kernel that needs that shape takes the array out again (`fresh`).

    small arrays    bin = hash(dtype, shape)    a stack of arrays; the top one is taken if its shape is right, and freed if not
    large arrays    bin = hash(bytes)           the top one gets the new shape, so that a bin needs few arrays and little memory

A bin takes only arrays that own their memory, have the strides of a new array, and that nothing else refers to. A view, a
memoryview or another library's tensor on the memory refers to the array, and so keeps it out of the bins. All bins together have at
most `LIMIT` bytes, and each has at most as many arrays as were made because it had none (of large ones, at most `FEW`): arrays that
nobody asks for do not pile up. So a graph of a million small nodes finds the arrays of the last one. If the system had to map their
pages again, a node would take three times as long.

Python code cannot call `recycle`, since it would still refer to the array. The core gets the function's address in a capsule,
`RECYCLE`.

Note [Reusing views]
    A view is an array without memory, and still takes 150 ns to make and free. So we also keep the object of a dead view, without
    its base (a *shell*), and `strided` turns a shell into the next view: 40 ns. If only this view still referred to its base, the
    base goes into its bin: in `x.transpose(0, 1).reshape(4, 6)` the view outlives x.

Read next: ``elementwise.pyx``.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF, Py_XDECREF

from minigrad.kernels.cpu.common cimport *

cnp.import_array()

cdef extern from "internals.h":
    bint weakly_held "mg_weakly_held"(ndarray) noexcept
    bint is_view "mg_is_view"(ndarray) noexcept
    PyObject *empty_shell "mg_empty_shell"(ndarray) noexcept
    PyObject *below "mg_below"(PyObject *) noexcept
    void set_below "mg_set_below"(PyObject *, PyObject *) noexcept
    Py_ssize_t reference_count "mg_reference_count"(PyObject *) noexcept
    void fill_shell "mg_fill_shell"(ndarray shell, ndarray x, int nd, npy_intp *shape, npy_intp *steps, char *start) noexcept
    void reshape "mg_reshape"(ndarray x, int nd, npy_intp *shape) noexcept
    int set_base "mg_set_base"(ndarray view, object x) except -1

cdef extern from "numpy/arrayobject.h":
    object new_like_array "PyArray_NewLikeArray"(ndarray, cnp.NPY_ORDER, cnp.dtype, int)

cdef extern from "tile_copy.h":
    bint copy_to_rows "mg_copy_to_rows"(int, const npy_intp *, char *, const char *, const npy_intp *, npy_intp) nogil

cdef extern from *:
    """
    static PyObject *mg_new_view(PyArrayObject *x, int nd, npy_intp *shape, npy_intp *steps, char *start) {
        PyArray_Descr *descr = PyArray_DESCR(x);
        Py_INCREF(descr);                   /* NewFromDescr steals this reference */
        return PyArray_NewFromDescr(&PyArray_Type, descr, nd, shape, steps, start, PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
    }

    /* The number of elements of this shape; -1 if the bins take no array of that size. */
    static inline npy_intp mg_numbers(int nd, const npy_intp *shape) {
        const npy_intp most = (npy_intp)1 << 31;
        npy_intp n = 1;
        for (int i = 0; i < nd; n *= shape[i++])
            if (n >= most || shape[i] < 0 || shape[i] >= most) return -1;
        return n;
    }

    /* Makes the reference at an address one of Cython's, which frees it. */
    static inline PyObject *mg_reference_of(PyObject *o) { return o; }
    """
    object reference_of "mg_reference_of"(PyObject *)
    ndarray new_view "mg_new_view"(ndarray x, int nd, npy_intp *shape, npy_intp *steps, char *start)
    npy_intp numbers_of "mg_numbers"(int nd, npy_intp *shape) noexcept

cdef enum:
    MOST_SHELL_DIMS = 4
    BINS = 4096             # a power of 2
    OBJECT = 128            # bytes of an array besides its numbers: the object, its shape and strides
    LARGE = 1 << 16         # an array of LARGE / 4 elements or more is large
    FEW = 16                # large arrays in a bin

cdef struct Bin:            # a stack: each array has a link to the one below it
    Py_ssize_t count
    Py_ssize_t made         # how many arrays were made because the bin had none
    PyObject *top

cdef Bin bins[BINS]
cdef Bin large[BINS]
cdef Bin shells[MOST_SHELL_DIMS + 1]        # by number of dimensions; see Note [Reusing views]
cdef Py_ssize_t held = 0    # bytes in all bins
LIMIT = 256 << 20
cdef Py_ssize_t limit = LIMIT


# The size of a number of a type that the bins take; 0 for other types. (NumPy's PyArray_ITEMSIZE is slower.)
cdef inline Py_ssize_t width(int type) noexcept:
    return 4 if type == NPY_FLOAT32 else 8 if type == NPY_FLOAT64 or type == cnp.NPY_INT64 else 1 if type == cnp.NPY_BOOL \
        else 2 if type == NPY_HALF else 0


cdef inline Py_ssize_t bytes_of(ndarray x) noexcept:
    return size(x) * width(typenum(x))


cdef inline Bin *bin_of_shape(int nd, npy_intp *dims_, int type) noexcept:
    cdef Py_ssize_t key = type
    cdef int i
    for i in range(nd):
        key = key * 31 + dims_[i] + (dims_[i] >> 6)
    return &bins[key & (BINS - 1)]


cdef inline Bin *bin_of_bytes(Py_ssize_t bytes) noexcept:
    return &large[((bytes >> 6) ^ (bytes >> 14)) & (BINS - 1)]


# Whether a bin may have one more array, of so many bytes with its object. `few`: whether it is a bin of large arrays.
cdef inline bint has_room(Bin *bin, Py_ssize_t bytes, bint few) noexcept:
    return held + bytes <= limit and bin.count < bin.made and (not few or bin.count < FEW)


cdef inline void push(Bin *bin, ndarray x, Py_ssize_t bytes) noexcept:
    global held
    Py_INCREF(x)
    set_below(<PyObject *>x, bin.top)
    bin.top = <PyObject *>x
    bin.count += 1
    held += bytes


# The top array of a bin that has one, with the bin's reference to it.
cdef inline ndarray pop(Bin *bin, Py_ssize_t bytes):
    global held
    cdef PyObject *top = bin.top
    bin.top = below(top)
    set_below(top, NULL)
    bin.count -= 1
    held -= bytes
    return <ndarray>reference_of(top)


cdef ndarray fresh(int nd, npy_intp *dims_, int type):
    """An uninitialised row-major array."""
    cdef Bin *bin = bin_of_shape(nd, dims_, type)
    cdef ndarray top
    cdef Py_ssize_t numbers
    if bin.count > 0:
        top = pop(bin, OBJECT + bytes_of(<ndarray>bin.top))
        if typenum(top) == type and ndim(top) == nd and same_dims(dims(top), dims_, nd):
            return top
        top = None
    numbers = numbers_of(nd, dims_)
    if numbers >= LARGE >> 2:
        return fresh_large(nd, dims_, type, numbers)
    if bin.count == 0:
        bin.made += 1
    return empty(nd, dims_, type, 0)


cdef ndarray fresh_large(int nd, npy_intp *dims_, int type, Py_ssize_t numbers):
    """`fresh` for a large array. A cached array of as many bytes gets the new shape; if it cannot, malloc reuses its memory."""
    cdef Py_ssize_t bytes = numbers * width(type)
    cdef Bin *bin = bin_of_bytes(bytes)
    cdef ndarray x
    if bin.count > 0 and bytes_of(<ndarray>bin.top) == bytes:
        x = pop(bin, OBJECT + bytes)
        if typenum(x) == type and ndim(x) == nd:
            reshape(x, nd, dims_)
            return x
        x = None
    bin.made += 1
    return empty(nd, dims_, type, 0)


cdef ndarray strided(ndarray x, int nd, npy_intp *dims_, npy_intp *steps, char *start):
    """A view of the memory of `x` from address `start`, with this shape and these strides in bytes."""
    cdef ndarray view
    if 0 < nd <= MOST_SHELL_DIMS and shells[nd].count > 0:
        view = pop(&shells[nd], OBJECT)
        fill_shell(view, x, nd, dims_, steps, start)
    else:
        if nd <= MOST_SHELL_DIMS:
            shells[nd].made += 1
        view = new_view(x, nd, dims_, steps, start)
    set_base(view, x)
    return view


cdef void recycle(object x) noexcept:
    """Put `x` into its bin. Only the caller may refer to it."""
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
    if has_room(bin, OBJECT, False):
        base = empty_shell(a)
        if reference_count(base) == 1 and type(<object>base) is ndarray:
            keep(<ndarray>base)
        Py_XDECREF(base)
        push(bin, a, OBJECT)


RECYCLE = PyCapsule_New(<void *>recycle, "minigrad.recycle", NULL)


cdef void keep(ndarray a) noexcept:
    """Put an array that owns its memory into its bin, if the bin has room and the array has the strides of a new one."""
    cdef Py_ssize_t bytes = width(typenum(a)), numbers = 1
    cdef Bin *bin
    cdef bint few
    cdef int i
    if bytes == 0 or not by_rows(a):
        return
    for i in range(ndim(a) - 1, -1, -1):
        if strides(a)[i] != bytes:      # of a dimension with one element, which `by_rows` does not look at
            return
        bytes *= dims(a)[i]
        numbers *= dims(a)[i]
    few = numbers >= LARGE >> 2
    bin = bin_of_bytes(bytes) if few else bin_of_shape(ndim(a), dims(a), typenum(a))
    bytes += OBJECT
    if has_room(bin, bytes, few) and not weakly_held(a) and has_flags(a, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE):
        push(bin, a, bytes)


def empty_pool():
    """Free all cached arrays, and forget how many were made: the pool is as in a new process."""
    global held
    cdef int i
    for i in range(BINS):
        empty_bin(&bins[i])
        empty_bin(&large[i])
    for i in range(MOST_SHELL_DIMS + 1):
        empty_bin(&shells[i])
    held = 0


cdef void empty_bin(Bin *bin) noexcept:
    while bin.count > 0:
        pop(bin, 0)
    bin.made = 0


def pool_bytes():
    """The bytes of the cached arrays: of their numbers, and `OBJECT` for each."""
    return held


cdef ndarray row_major_copy(ndarray x):
    """A copy of an array of numbers without gaps."""
    z = copied(x, ndim(x), dims(x), strides(x), data(x))
    return cnp.PyArray_NewCopy(x, cnp.NPY_CORDER) if z is None else z


cdef ndarray copied(ndarray x, int nd, npy_intp *dims_, npy_intp *steps, char *start):
    """A row-major copy of the view that `strided` would make of x. None if x is not aligned."""
    cdef npy_intp item = cnp.PyArray_ITEMSIZE(x)
    cdef ndarray z
    cdef char *to
    cdef bint done
    if not has_flags(x, cnp.NPY_ARRAY_ALIGNED):
        return None
    z = fresh_any(nd, dims_, typenum(x))
    to = data(z)
    if size(z) <= SMALL:
        done = copy_to_rows(nd, dims_, to, start, steps, item)
    else:
        with nogil:
            done = copy_to_rows(nd, dims_, to, start, steps, item)
    return z if done else None


cdef ndarray repeated_part(ndarray x):
    """The row-major array whose elements an expanded array repeats: one in each dimension of stride 0. For other arrays, x."""
    cdef npy_intp d[MOST_DIMS]
    cdef bint repeats = False
    cdef ndarray part
    cdef int i
    for i in range(ndim(x)):
        d[i] = dims(x)[i]
        if d[i] > 1 and strides(x)[i] == 0:
            d[i], repeats = 1, True
    if not repeats:
        return x
    part = strided(x, ndim(x), d, strides(x), data(x))
    return part if by_rows(part) else x


cdef ndarray repeated(ndarray x, npy_intp *dims_):
    """A row-major array of this shape, with the elements of x, which has 1 instead of some of the sizes."""
    cdef npy_intp steps[MOST_DIMS]
    cdef int i
    for i in range(ndim(x)):
        steps[i] = strides(x)[i] if dims(x)[i] == dims_[i] else 0
    return copied(x, ndim(x), dims_, steps, data(x))


cdef ndarray in_memory_order(ndarray x, object reduced, bint keepdim, Reduction *g):
    """A view of x, which describes its memory row by row, for a reduction that `g` then describes; None if that is not simple.

    x is transposed or in the channels-last format: a permutation of its dimensions has no gaps. The dimensions to reduce must be
    neighbours in memory, and the others in the order of the result. Elements are then reduced in the order of memory.
    """
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef bint gone[MOST_DIMS]
    cdef npy_intp step = cnp.PyArray_ITEMSIZE(x)
    cdef int at[MOST_DIMS]
    cdef int i, k, dim, nd = ndim(x), last = -1
    cdef bint begun = False, ended = False
    if type(reduced) is not tuple or not <tuple>reduced or not has_flags(x, cnp.NPY_ARRAY_ALIGNED):
        return None
    for i in range(nd):
        gone[i], at[i] = False, i
    for each in <tuple>reduced:
        dim = each
        if not 0 <= dim < nd or gone[dim]:
            return None
        gone[dim] = True
    for i in range(1, nd):              # sort by stride, the largest first
        dim, k = at[i], i
        while k > 0 and strides(x)[at[k - 1]] < strides(x)[dim]:
            at[k] = at[k - 1]
            k -= 1
        at[k] = dim
    for i in range(nd - 1, -1, -1):
        d[i], s[i] = dims(x)[at[i]], step
        if d[i] != 1 and strides(x)[at[i]] != step:
            return None
        step *= d[i]
    g.outer = g.n = g.inner = 1
    for i in range(nd):
        if d[i] == 1:
            continue
        if gone[at[i]]:
            if ended:
                return None
            begun = True
            g.n *= d[i]
            continue
        ended = begun
        if at[i] < last:
            return None
        last = at[i]
        if begun:
            g.inner *= d[i]
        else:
            g.outer *= d[i]
    g.nd = 0
    for i in range(nd):
        if keepdim or not gone[i]:
            g.dims[g.nd] = 1 if gone[i] else dims(x)[i]
            g.nd += 1
    return strided(x, nd, d, s, data(x))


cdef ndarray new_like(ndarray x, int type):
    """An array with the shape of x, and with its dimensions in the same order in memory."""
    cdef cnp.dtype dtype = cnp.PyArray_DescrFromType(type)
    Py_INCREF(dtype)                        # new_like_array steals this reference
    return new_like_array(x, cnp.NPY_KEEPORDER, dtype, 0)


cdef ndarray gapless(ndarray x):
    """x, if it is aligned and its elements are all of a block of memory, in any order of dimensions; else a copy that is.

    For functions of each element.
    """
    cdef ndarray z = new_like(x, typenum(x))
    cdef bint fits = has_flags(x, cnp.NPY_ARRAY_ALIGNED)
    cdef int i
    for i in range(ndim(x)):
        fits &= dims(x)[i] == 1 or strides(x)[i] == strides(z)[i]
    if fits:
        return x
    copy_into(z, x)
    return z
