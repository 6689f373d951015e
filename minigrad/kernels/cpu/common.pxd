# What the CPU kernels share: checking an array, and making one.
#
# Note [Who checks what a kernel addresses]
#     C code trusts shapes, dtypes and indices, and reads and writes wherever they lead. Between forward and backward they may
#     change: hooks return other tensors, NumPy writes to indices, `.data` grows. So each kernel checks once, before it takes an
#     address: that arrays are arrays (`easy`, or the cast `<ndarray?>x`), that shapes agree, that dimensions and indices are in
#     range. Arguments that do not fit go to the twin in numpy_ref, where NumPy checks every access, or raise a ValueError,
#     TypeError or IndexError. An index is checked in the loop that uses it, not in an earlier loop.
cimport numpy as cnp
from cpython.tuple cimport PyTuple_GET_ITEM
from numpy cimport NPY_FLOAT32, NPY_FLOAT64, ndarray, npy_intp

cdef extern from "simd.h":
    bint times "mg_times"(npy_intp, npy_intp, npy_intp *) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    bint is_contiguous "PyArray_IS_C_CONTIGUOUS"(ndarray) noexcept nogil
    bint has_flags "PyArray_CHKFLAGS"(ndarray, int) noexcept nogil
    int typenum "PyArray_TYPE"(ndarray) noexcept nogil
    bint native "PyArray_ISNOTSWAPPED"(ndarray) noexcept nogil
    int NPY_HALF, NPY_USERDEF
    int ndim "PyArray_NDIM"(ndarray) noexcept nogil
    npy_intp *dims "PyArray_DIMS"(ndarray) noexcept nogil
    npy_intp *strides "PyArray_STRIDES"(ndarray) noexcept nogil
    char *data "PyArray_BYTES"(ndarray) noexcept nogil
    int copy_into "PyArray_CopyInto"(ndarray, ndarray) except -1
    object empty "PyArray_EMPTY"(int, npy_intp *, int, int)
    object zeros "PyArray_ZEROS"(int, npy_intp *, int, int)
    object matrix_product "PyArray_MatrixProduct"(object, object)
    object matrix_product_into "PyArray_MatrixProduct2"(object, object, ndarray)


# Number of elements.
cdef inline npy_intp size(ndarray x) noexcept:
    cdef npy_intp n = 1
    cdef int i
    for i in range(ndim(x)):
        n *= dims(x)[i]
    return n


# The sizes of x around dimension `dim`: the product of those before it, its own, and the product of those after it.
cdef inline void around(ndarray x, int dim, Py_ssize_t *outer, Py_ssize_t *n, Py_ssize_t *inner) noexcept:
    cdef int i
    outer[0] = inner[0] = 1
    n[0] = dims(x)[dim]
    for i in range(dim):
        outer[0] *= dims(x)[i]
    for i in range(dim + 1, ndim(x)):
        inner[0] *= dims(x)[i]


cdef inline bint same_dims(npy_intp *a, npy_intp *b, int n) noexcept:
    cdef int i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True


# Number of elements of a shape of `n` dimensions; -1 if that does not fit in an integer, or a size is negative.
cdef inline npy_intp elements(npy_intp *d, int n) noexcept:
    cdef npy_intp total = 1
    cdef bint too_many = False
    cdef int i
    for i in range(n):
        if d[i] == 0:
            return 0
        if d[i] < 0 or times(total, d[i], &total):
            too_many = True
    return -1 if too_many else total


# Write the sizes of a shape to `d`, which has room for MOST_DIMS. Returns the number of dimensions.
cdef inline int read_shape(object shape, npy_intp *d) except -1:
    cdef tuple numbers = <tuple>shape if isinstance(shape, tuple) else tuple(shape)
    cdef Py_ssize_t i, n = len(numbers)
    if n > MOST_DIMS:
        raise ValueError(f"an array has at most {MOST_DIMS} dimensions")
    for i in range(n):
        d[i] = <object>PyTuple_GET_ITEM(numbers, i)
        if d[i] < 0:
            raise ValueError(f"a dimension cannot have {d[i]} elements")
    return <int>n


cdef inline int check_dim(int dim, int n) except -1:
    if not 0 <= dim < n:
        raise ValueError(f"dimension {dim} of an array with {n}")
    return 0


# Whether x is an aligned array, row-major without gaps, in the machine's byte order.
cdef inline bint by_rows(object x) noexcept:
    return type(x) is ndarray and has_flags(<ndarray>x, cnp.NPY_ARRAY_CARRAY_RO) and native(<ndarray>x)


# 0 for an aligned float32 array that is row-major without gaps, 1 for float64, -1 for anything else.
cdef inline int easy(object x) noexcept:
    cdef int t
    if not by_rows(x):
        return -1
    t = typenum(<ndarray>x)
    return 0 if t == NPY_FLOAT32 else 1 if t == NPY_FLOAT64 else -1


# The same for the parts of complex numbers: 0 for complex64, 1 for complex128.
cdef inline int easy_parts(object x) noexcept:
    cdef int t
    if not by_rows(x):
        return -1
    t = typenum(<ndarray>x)
    return 0 if t == cnp.NPY_COMPLEX64 else 1 if t == cnp.NPY_COMPLEX128 else -1


# Whether x is an array of float32 or float64, with any strides.
cdef inline bint is_real(object x) noexcept:
    return (type(x) is ndarray and (typenum(<ndarray>x) == NPY_FLOAT32 or typenum(<ndarray>x) == NPY_FLOAT64)
            and native(<ndarray>x))


# Whether x is an array of numbers or bools in the machine's byte order, so that its elements may be moved as bytes.
cdef inline bint of_numbers(object x) noexcept:
    return (type(x) is ndarray and (typenum(<ndarray>x) <= cnp.NPY_CLONGDOUBLE or typenum(<ndarray>x) == NPY_HALF)
            and native(<ndarray>x))


# Whether the elements of x can be moved by their size.
cdef inline bint movable(object x) noexcept:
    return of_numbers(x) and has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED) and cnp.PyArray_ITEMSIZE(<ndarray>x) <= 16


# Whether x is an int64 array, with any strides, as indices are.
cdef inline bint is_index(object x) noexcept:
    return (type(x) is ndarray and typenum(<ndarray>x) == cnp.NPY_INT64 and has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED)
            and native(<ndarray>x))


# The address of the elements, if x is a row-major int64 array; else NULL.
cdef inline cnp.int64_t *indices(object x) noexcept:
    if not by_rows(x) or typenum(<ndarray>x) != cnp.NPY_INT64:
        return NULL
    return <cnp.int64_t *>data(<ndarray>x)


cdef inline int item_size(int kind) noexcept nogil:
    return 4 if kind == 0 else 8


cdef inline bint is_number(object x) noexcept:
    return type(x) is float or type(x) is int


# A Python number as an element of an array.
cdef union Number:
    float single
    double wide
    long long whole


cdef inline char *write_number(object number, int kind, Number *element) except NULL:
    """Write `number` to `element` in the dtype of `kind`, and return the address."""
    cdef double value = number
    if kind == 0:
        element.single = <float>value
    else:
        element.wide = value
    return <char *>element


cdef inline int writable(object out) noexcept:
    """`easy`, for an array to write to."""
    return easy(out) if type(out) is ndarray and has_flags(<ndarray>out, cnp.NPY_ARRAY_WRITEABLE) else -1


# The size of y, if y is a row that broadcasts over x: y's shape, without leading 1s, is the end of x's shape. Else 0.
cdef inline npy_intp row_of(ndarray x, ndarray y) noexcept:
    cdef int n = ndim(y), lead, i
    cdef npy_intp *d = dims(y)
    while n > 0 and d[0] == 1:
        d += 1
        n -= 1
    lead = ndim(x) - n
    if lead < 0 or n == 0 or ndim(y) > ndim(x):
        return 0
    for i in range(n):
        if dims(x)[lead + i] != d[i]:
            return 0
    return size(y)


# Copy an array of `nd` dimensions element by element. For small arrays this is faster than NumPy, which prepares more. So does
# mg_copy_to_rows (tile_copy.h), which is for large ones and for rows without gaps: 4 x 4 numbers take 41 ns there, 16 ns here.
cdef extern from *:
    """
    #ifndef MINIGRAD_WALK
    #define MINIGRAD_WALK
    #define MG_WALK(T)                                                                             \
        for (npy_intp i = 0; i < length; i++) *(T *)(to + i * to_step) = *(const T *)(from + i * from_step)
    static inline void mg_walk_rows(int nd, const npy_intp *dims, char *to, const npy_intp *to_steps, const char *from,
                                    const npy_intp *from_steps, int item) {
        if (nd > 1) {
            for (npy_intp i = 0; i < dims[0]; i++)
                mg_walk_rows(nd - 1, dims + 1, to + i * to_steps[0], to_steps + 1, from + i * from_steps[0], from_steps + 1, item);
            return;
        }
        const npy_intp length = nd ? dims[0] : 1, to_step = nd ? to_steps[0] : 0, from_step = nd ? from_steps[0] : 0;
        if (item == 4) MG_WALK(npy_int32); else if (item == 8) MG_WALK(npy_int64); else if (item == 1) MG_WALK(char);
        else for (npy_intp i = 0; i < length; i++) memcpy(to + i * to_step, from + i * from_step, item);
    }
    static inline void mg_walk(int nd, const npy_intp *dims, char *to, const npy_intp *to_steps, const char *from,
                               const npy_intp *from_steps, int item) {
        for (int i = 0; i < nd; i++)
            if (dims[i] == 0) return;       /* without this, 2^40 empty rows would take a loop of 2^40 steps */
        mg_walk_rows(nd, dims, to, to_steps, from, from_steps, item);
    }
    #endif
    """
    void walk "mg_walk"(int nd, const npy_intp *dims, char *to, const npy_intp *to_steps, const char *from_,
                        const npy_intp *from_steps, int item) nogil

cdef enum:
    SMALL = 2048        # elements up to which `walk` is faster than NumPy
    MOST_DIMS = 64


# A reduction of neighbouring dimensions of a row-major array, which has outer x n x inner elements: over n. And the result's shape.
cdef struct Reduction:
    Py_ssize_t outer, n, inner
    npy_intp dims[MOST_DIMS]
    int nd


# Fill in `g` for the dimensions in `reduced`. Returns False if they are not neighbours, in their order.
cdef inline bint divide(ndarray a, object reduced, bint keepdim, Reduction *g) except -1:
    cdef int i, first, count, k = 0
    if type(reduced) is not tuple or not <tuple>reduced:
        return False
    first, count = (<tuple>reduced)[0], <int>len(<tuple>reduced)
    if first < 0 or first + count > ndim(a):
        return False
    for i in range(count):
        if (<tuple>reduced)[i] != first + i:
            return False
    g.outer = g.n = g.inner = 1
    for i in range(ndim(a)):
        if first <= i < first + count:
            g.n *= dims(a)[i]
        elif i < first:
            g.outer *= dims(a)[i]
        else:
            g.inner *= dims(a)[i]
        if keepdim or not first <= i < first + count:
            g.dims[k] = 1 if first <= i < first + count else dims(a)[i]
            k += 1
    g.nd = k
    return True
