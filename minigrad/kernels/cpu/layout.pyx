# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Layouts of gradients, creation, copies and conversions; the loops of conversions are in ``casts.h``."""

import numpy as np

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.string cimport memcpy, memmove, memset

from minigrad.kernels.cpu.broadcast cimport apart
from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport (copied, fresh, fresh_any, gapless, new_like, repeated, repeated_part, repeats,
                                          row_major_copy, strided)
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "pieces.h" nogil:
    int MG_PARALLEL
    void copy_elements "mg_copy_elements"(char *to, const char *origin, Py_ssize_t n, int itemsize, int threads)

cdef extern from "tile_copy.h" nogil:
    void copy_line "mg_copy_line"(char *to, const char *origin, npy_intp step, npy_intp n, npy_intp item)

cdef extern from "casts.h" nogil:
    int MG_CAST_BF16
    bint can_cast "mg_can_cast"(int, int)
    void cast_some "mg_cast_some"(int, int, const char *, char *, npy_intp, int, int)
    void run_cast "mg_run_cast"(int, int, const char *, char *, npy_intp, int, int, int)

cdef enum:
    MOST_SIDE = 1 << 30     # a diagonal further away goes to the twin

cdef object FLOAT32 = np.dtype("float32"), FLOAT64 = np.dtype("float64"), INT64 = np.dtype("int64"), BOOL = np.dtype("bool")
cdef object COMPLEX64 = np.dtype("complex64"), COMPLEX128 = np.dtype("complex128")


def owns(x):
    if easy(x) < 0:
        return numpy_ref.owns(x)
    return has_flags(<ndarray>x, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE)


def obeys_layout(g, x):
    if type(g) is ndarray and type(x) is ndarray and is_contiguous(<ndarray>g) and is_contiguous(<ndarray>x):
        return ndim(<ndarray>g) == ndim(<ndarray>x) and same_dims(dims(<ndarray>g), dims(<ndarray>x), ndim(<ndarray>g))
    return numpy_ref.obeys_layout(g, x)


def copy_with_layout(g, x):
    cdef ndarray a, z
    cdef int order[MOST_DIMS]
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, n
    if not of_numbers(g) or type(x) is not ndarray or ndim(<ndarray>g) != ndim(<ndarray>x):
        return numpy_ref.copy_with_layout(g, x)
    a, n = <ndarray>g, ndim(<ndarray>x)
    if n < 2 or not same_dims(dims(a), dims(<ndarray>x), n) or is_contiguous(<ndarray>x) or not find_order(order, <ndarray>x):
        return copy_of(a)
    for i in range(n):          # the dimensions in the order that they have in memory
        d[i], s[i] = dims(a)[order[i]], strides(a)[order[i]]
    z = copied(a, n, d, s, data(a))
    if z is None:
        return numpy_ref.copy_with_layout(g, x)
    for i in range(n):
        s[order[i]] = strides(z)[i]
    return strided(z, n, dims(a), s, data(z))


cdef bint find_order(int *order, ndarray x) noexcept:
    """Write the dimensions of x in the order of their strides, the largest first. False if x has gaps or overlaps."""
    cdef npy_intp step = cnp.PyArray_ITEMSIZE(x)
    cdef int i, k
    for i in range(ndim(x)):
        k = i
        while k > 0 and strides(x)[order[k - 1]] < strides(x)[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    for i in range(ndim(x) - 1, -1, -1):
        k = order[i]
        if dims(x)[k] == 1:
            continue
        if strides(x)[k] != step:
            return False
        step *= dims(x)[k]
    return True


cdef bint fill(ndarray z, object value) except -1:
    """z[...] = value, for a row-major array. False, without a change, if that is not simple."""
    cdef int type_ = typenum(z), overflow
    cdef Py_ssize_t n = size(z)
    cdef char *r = data(z)
    cdef Number element
    element.whole = 0
    if type_ == cnp.NPY_INT64 and type(value) is int:
        element.whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            return False
    elif (type_ == NPY_FLOAT32 or type_ == NPY_FLOAT64) and is_number(value):
        write_number(value, type_ == NPY_FLOAT64, &element)
    elif type_ == cnp.NPY_COMPLEX64 and is_number(value):
        write_number(value, 0, &element)        # the real part; the imaginary part, after it, is 0 already
    elif type_ == cnp.NPY_COMPLEX128 and is_number(value) and value == 0:
        write_number(value, 1, &element)
        if element.whole:       # -0.
            return False
    elif type_ == cnp.NPY_BOOL and (value is True or value is False):
        memset(r, value is True, n)
        return True
    else:
        return False
    if element.whole == 0:          # all bits: not for -0.
        memset(r, 0, n * cnp.PyArray_ITEMSIZE(z))
    else:
        copy_line(r, <char *>&element, 0, n, cnp.PyArray_ITEMSIZE(z))
    return True


def fill_(x, value):
    if not by_rows(x) or not has_flags(<ndarray>x, cnp.NPY_ARRAY_WRITEABLE) or not fill(<ndarray>x, value):
        numpy_ref.fill_(x, value)


def full(shape, value, dtype):
    cdef npy_intp d[MOST_DIMS]
    cdef ndarray z
    if dtype is FLOAT32 or dtype is FLOAT64 or dtype is INT64 or dtype is BOOL or dtype is COMPLEX64 or dtype is COMPLEX128:
        z = fresh_any(read_shape(shape, d), d, (<cnp.dtype>dtype).num)
        if fill(z, value):
            return z
    return numpy_ref.full(shape, value, dtype)


def copy(x):
    return copy_of(<ndarray?>x)


cdef ndarray copy_of(ndarray a):
    """A row-major copy."""
    cdef ndarray z
    cdef int kind = easy(a)
    if kind >= 0:
        z = fresh(ndim(a), dims(a), typenum(a))
        copy_rows(data(z), data(a), size(a), item_size(kind))
        return z
    return row_major_copy(a) if of_numbers(a) else cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)


cdef void copy_rows(char *to, char *origin, npy_intp n, int width) noexcept:
    """Copy `n` elements from one array without gaps to another."""
    if n < MG_PARALLEL:
        memcpy(to, origin, n * width)
    else:
        with nogil:
            copy_elements(to, origin, n, width, threads)


def copy_(x, y):
    if not of_numbers(x):
        return numpy_ref.copy_(x, y)
    write(<ndarray>x, y)


cdef int write(ndarray x, object y) except -1:
    """x[...] = y"""
    if of_numbers(y) and typenum(x) == typenum(<ndarray>y):
        return overwrite(x, <ndarray>y)
    numpy_ref.copy_(x, y)
    return 0


cdef int overwrite(ndarray a, ndarray b) except -1:
    """a[...] = b, for arrays of the same dtype."""
    if ndim(a) == ndim(b) and same_dims(dims(a), dims(b), ndim(a)):
        if has_flags(a, cnp.NPY_ARRAY_CARRAY) and has_flags(b, cnp.NPY_ARRAY_CARRAY_RO):
            memmove(data(a), data(b), size(a) * cnp.PyArray_ITEMSIZE(a))
            return 0
        if (size(a) <= SMALL and has_flags(a, cnp.NPY_ARRAY_ALIGNED | cnp.NPY_ARRAY_WRITEABLE)
                and has_flags(b, cnp.NPY_ARRAY_ALIGNED) and apart(a, b)):
            walk(ndim(a), dims(a), data(a), strides(a), data(b), strides(b), cnp.PyArray_ITEMSIZE(a))
            return 0
    return copy_into(a, b)


def by_columns(x):
    return has_flags(<ndarray?>x, cnp.NPY_ARRAY_F_CONTIGUOUS) and not is_contiguous(<ndarray>x)


def contiguous(x):
    return is_contiguous(<ndarray?>x)


cdef object triangle(object x, object diagonal, bint lower, str twin):
    """A copy of the matrices x with 0 above a diagonal, or below it."""
    cdef ndarray z
    cdef npy_intp rows, columns, i, k, edge, item
    if not of_numbers(x) or ndim(<ndarray>x) < 2 or type(diagonal) is not int or not -MOST_SIDE < diagonal < MOST_SIDE:
        return getattr(numpy_ref, twin)(x, diagonal)
    z = copy_of(<ndarray>x)
    rows, columns, item = dims(z)[ndim(z) - 2], dims(z)[ndim(z) - 1], cnp.PyArray_ITEMSIZE(z)
    if size(z) == 0:
        return z
    for k in range(size(z) // columns):
        edge = k % rows + <npy_intp>diagonal + lower        # the first column that lies above, or that does not lie below
        edge = min(max(edge, 0), columns)
        if lower:
            memset(data(z) + (k * columns + edge) * item, 0, (columns - edge) * item)
        else:
            memset(data(z) + k * columns * item, 0, edge * item)
    return z


def tril(x, diagonal):
    return triangle(x, diagonal, True, "tril")


def triu(x, diagonal):
    return triangle(x, diagonal, False, "triu")


# The place of a dtype in the table of loops, by its type number; -1 for a dtype that is not there. Of the dtypes that are not NumPy's
# own, only bfloat16 has two bytes.
cdef inline int cast_index(int type, int itemsize) noexcept:
    return (0 if type == cnp.NPY_BOOL else 1 if type == cnp.NPY_UINT8 else 2 if type == cnp.NPY_INT32
            else 3 if type == cnp.NPY_INT64 else 4 if type == NPY_FLOAT32 else 5 if type == NPY_FLOAT64
            else 6 if type == NPY_HALF else MG_CAST_BF16 if type >= NPY_USERDEF and itemsize == 2 else -1)


cpdef object cast(object x, object dtype):
    cdef ndarray a, z
    cdef int origin, target, number, x_size, z_size
    cdef npy_intp n
    cdef char *p
    cdef char *r
    if type(x) is not ndarray or not isinstance(dtype, cnp.dtype):
        return numpy_ref.cast(x, dtype)
    a = <ndarray>x
    if <void *>cnp.PyArray_DESCR(a) == <void *>dtype:
        return x
    number = (<cnp.dtype>dtype).type_num
    origin, target = cast_index(typenum(a), cnp.PyArray_ITEMSIZE(a)), cast_index(number, (<cnp.dtype>dtype).itemsize)
    if origin < 0 or target < 0 or not native(a) or not cnp.PyArray_ISNBO((<cnp.dtype>dtype).byteorder) \
            or not can_cast(origin, target):
        return numpy_ref.cast(x, dtype)
    if not by_rows(a) and repeats(a):
        block = repeated_part(a)
        return numpy_ref.cast(x, dtype) if block is a else repeated(cast(block, dtype), dims(a))
    if by_rows(a):
        z = fresh_any(ndim(a), dims(a), number)
    else:                   # a transposed array, or a view with gaps
        a = gapless(a)
        z = new_like(a, number)
    n, p, r, x_size, z_size = size(a), data(a), data(z), cnp.PyArray_ITEMSIZE(a), cnp.PyArray_ITEMSIZE(z)
    if n < MG_PARALLEL:
        cast_some(origin, target, p, r, n, x_size, z_size)
    else:
        with nogil:
            run_cast(origin, target, p, r, n, x_size, z_size, threads)
    return z
