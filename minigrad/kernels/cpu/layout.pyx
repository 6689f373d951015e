# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Layouts of gradients, copies and views. A view is made in one step from its shape and strides: 60 ns, where NumPy takes 150 to
3000 ns."""

import numpy as np

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.string cimport memcpy, memmove, memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, fresh_any, recycle, strided
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "pieces.h" nogil:
    int MG_PARALLEL
    void copy_elements "mg_copy_elements"(char *to, const char *origin, Py_ssize_t n, int itemsize, int threads)

cdef extern from "casts.h" nogil:
    ctypedef void (*mg_cast)(const void *, void *, npy_intp)
    const mg_cast mg_casts[6][6]
    void mg_run_cast(mg_cast, const char *, char *, npy_intp, int, int, int)

cdef enum:
    MOST_SIDE = 1 << 30     # a diagonal further away goes to the twin

cdef object FLOAT32 = np.dtype("float32"), FLOAT64 = np.dtype("float64"), INT64 = np.dtype("int64"), BOOL = np.dtype("bool")


def owns(x):
    if easy(x) < 0:
        return numpy_ref.owns(x)
    return has_flags(<ndarray>x, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE)


def obeys_layout(g, x):
    if type(g) is ndarray and type(x) is ndarray and is_contiguous(<ndarray>g) and is_contiguous(<ndarray>x):
        return ndim(<ndarray>g) == ndim(<ndarray>x) and same_dims(dims(<ndarray>g), dims(<ndarray>x), ndim(<ndarray>g))
    return numpy_ref.obeys_layout(g, x)


def copy_with_layout(g, x):
    cdef ndarray z
    if type(g) is ndarray and type(x) is ndarray and ndim(<ndarray>g) == ndim(<ndarray>x) \
            and (is_contiguous(<ndarray>x) or ndim(<ndarray>x) == 1):
        if not is_real(g) or easy(g) >= 0:
            return copy_of(<ndarray>g)
        z = fresh(ndim(<ndarray>g), dims(<ndarray>g), typenum(<ndarray>g))
        copy_into(z, <ndarray>g)
        return z
    return numpy_ref.copy_with_layout(g, x)


def full(shape, value, dtype):
    cdef npy_intp d[MOST_DIMS]
    cdef int n
    cdef Py_ssize_t k
    cdef ndarray z
    cdef double number
    cdef long long whole
    cdef int overflow
    if dtype is INT64 and type(value) is int:
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            z = empty(read_shape(shape, d), d, cnp.NPY_INT64, 0)
            for k in range(size(z)):
                (<cnp.int64_t *>data(z))[k] = whole
            return z
    if dtype is BOOL and (value is True or value is False):
        z = empty(read_shape(shape, d), d, cnp.NPY_BOOL, 0)
        memset(data(z), value is True, size(z))
        return z
    if not (dtype is FLOAT32 or dtype is FLOAT64) or not (type(value) is float or type(value) is int):
        return numpy_ref.full(shape, value, dtype)
    n = read_shape(shape, d)
    number = value
    z = fresh(n, d, NPY_FLOAT32 if dtype is FLOAT32 else NPY_FLOAT64)
    if dtype is FLOAT32:
        for k in range(size(z)):
            (<float *>data(z))[k] = <float>number
    else:
        for k in range(size(z)):
            (<double *>data(z))[k] = number
    return z


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
    if size(a) > SMALL or not is_real(a) or not has_flags(a, cnp.NPY_ARRAY_ALIGNED):
        return cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    z = fresh(ndim(a), dims(a), typenum(a))
    walk(ndim(a), dims(a), data(z), strides(z), data(a), strides(a), cnp.PyArray_ITEMSIZE(a))
    return z


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
        if size(a) <= SMALL and has_flags(a, cnp.NPY_ARRAY_ALIGNED | cnp.NPY_ARRAY_WRITEABLE) and has_flags(b, cnp.NPY_ARRAY_ALIGNED) and apart(a, b):
            walk(ndim(a), dims(a), data(a), strides(a), data(b), strides(b), cnp.PyArray_ITEMSIZE(a))
            return 0
    return copy_into(a, b)


cdef bint apart(ndarray a, ndarray b) noexcept:
    """Whether the two arrays cannot share a byte of memory. Strides may be negative."""
    cdef npy_intp a_low = 0, a_high = 0, b_low = 0, b_high = 0, far
    cdef int i
    for i in range(ndim(a)):
        far = (dims(a)[i] - 1) * strides(a)[i]
        a_low, a_high = (a_low + far, a_high) if far < 0 else (a_low, a_high + far)
        far = (dims(b)[i] - 1) * strides(b)[i]
        b_low, b_high = (b_low + far, b_high) if far < 0 else (b_low, b_high + far)
    return data(a) + a_high < data(b) + b_low or data(b) + b_high < data(a) + a_low


def by_columns(x):
    return has_flags(<ndarray?>x, cnp.NPY_ARRAY_F_CONTIGUOUS) and not is_contiguous(<ndarray>x)


def contiguous(x):
    return is_contiguous(<ndarray?>x)


def view(x, shape):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, n = read_shape(shape, d)
    if elements(d, n) != size(a):
        raise ValueError(f"no view of {size(a)} elements has the shape {shape}")
    cdef npy_intp step = cnp.PyArray_ITEMSIZE(a)
    if size(a) == 0:
        return numpy_ref.view(x, shape)
    if is_contiguous(a):
        for i in range(n - 1, -1, -1):
            s[i] = step
            step *= d[i]
    elif not regroup(a, n, d, s):
        return None
    return strided(a, n, d, s, data(a))


cdef bint regroup(ndarray a, int n, npy_intp *d, npy_intp *s) noexcept:
    """Write the strides of a view of `a` with the shape `d` to `s`. Returns False if no strides give that shape.

    We go from the last dimension to the first. Dimensions of `a` that form one stretch of memory are divided among dimensions of
    the view.
    """
    cdef int i = ndim(a) - 1, k = n - 1
    cdef npy_intp item = cnp.PyArray_ITEMSIZE(a), step, left
    while i >= 0:
        step, left = strides(a)[i], dims(a)[i]
        while i > 0 and (dims(a)[i - 1] == 1 or left == 1 or strides(a)[i - 1] == left * step):
            if left == 1:
                step = strides(a)[i - 1]
            left *= dims(a)[i - 1]
            i -= 1
        i -= 1
        while k >= 0 and (left > 1 or d[k] == 1):
            if left % d[k]:
                return False
            s[k] = step
            step *= d[k]
            left //= d[k]
            k -= 1
        if left > 1:
            return False
    while k >= 0:       # dimensions of size 1 at the front
        if d[k] != 1:
            return False
        s[k] = item if k == n - 1 else d[k + 1] * s[k + 1]
        k -= 1
    return True


def permute(x, order):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef tuple dims_ = <tuple>order if isinstance(order, tuple) else tuple(order)
    cdef int i, k, n = ndim(a)
    cdef unsigned long long seen = 0
    if len(dims_) != n:
        raise ValueError(f"{len(dims_)} dimensions for an array with {n}")
    for i in range(n):
        k = dims_[i]
        check_dim(k, n)
        if seen >> k & 1:
            raise ValueError(f"dimension {k} is named twice")
        seen |= <unsigned long long>1 << k
        d[i] = dims(a)[k]
        s[i] = strides(a)[k]
    if size(a) == 0:
        return numpy_ref.permute(x, order)
    return strided(a, n, d, s, data(a))


def transpose(x, int dim0, int dim1):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, n = ndim(a)
    for i in range(n):
        d[i] = dims(a)[i]
        s[i] = strides(a)[i]
    if n:
        check_dim(dim0, n)
        check_dim(dim1, n)
        d[dim0], s[dim0], d[dim1], s[dim1] = dims(a)[dim1], strides(a)[dim1], dims(a)[dim0], strides(a)[dim0]
    if size(a) == 0:
        return numpy_ref.transpose(x, dim0, dim1)
    return strided(a, n, d, s, data(a))


def t(x):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[2]
    cdef npy_intp s[2]
    if ndim(a) != 2 or size(a) == 0:
        return numpy_ref.t(x)
    d[0], d[1] = dims(a)[1], dims(a)[0]
    s[0], s[1] = strides(a)[1], strides(a)[0]
    return strided(a, 2, d, s, data(a))


def expand(x, shape):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, n = read_shape(shape, d), lead = n - ndim(a)
    if lead < 0:
        raise ValueError(f"an array of {ndim(a)} dimensions cannot be expanded to {n}")
    for i in range(n):
        s[i] = 0 if i < lead or dims(a)[i - lead] != d[i] else strides(a)[i - lead]
        if i >= lead and dims(a)[i - lead] != d[i] and dims(a)[i - lead] != 1:
            raise ValueError(f"{dims(a)[i - lead]} elements cannot be expanded to {d[i]}")
    if elements(d, n) < 0:
        raise ValueError(f"an array of shape {shape} has more elements than can be counted")
    if size(a) == 0:
        return numpy_ref.expand(x, shape)
    return strided(a, n, d, s, data(a))


def unsqueeze(x, int dim):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, n = ndim(a) + 1
    check_dim(dim, n)
    if n > MOST_DIMS:
        raise ValueError(f"an array has at most {MOST_DIMS} dimensions")
    for i in range(n):
        d[i] = 1 if i == dim else dims(a)[i - (i > dim)]
        s[i] = strides(a)[i - (i > dim)] if i != dim else cnp.PyArray_ITEMSIZE(a) if i == n - 1 else dims(a)[i] * strides(a)[i]
    if size(a) == 0:
        return numpy_ref.unsqueeze(x, dim)
    return strided(a, n, d, s, data(a))


def select(x, int dim, npy_intp index):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, k = 0
    check_dim(dim, ndim(a))
    if not 0 <= index < dims(a)[dim]:
        raise IndexError(f"index {index} of {dims(a)[dim]} elements")
    for i in range(ndim(a)):
        if i != dim:
            d[k] = dims(a)[i]
            s[k] = strides(a)[i]
            k += 1
    if size(a) == 0:
        return numpy_ref.select(x, dim, index)
    return strided(a, k, d, s, data(a) + index * strides(a)[dim])


def diagonal(x, npy_intp offset, int dim1, int dim2):
    cdef ndarray a = <ndarray?>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef npy_intp down = -offset if offset < 0 else 0, right = offset if offset > 0 else 0, length
    cdef int i, k = 0
    check_dim(dim1, ndim(a))
    check_dim(dim2, ndim(a))
    if dim1 == dim2 or size(a) == 0 or down >= dims(a)[dim1] or right >= dims(a)[dim2]:
        return numpy_ref.diagonal(x, offset, dim1, dim2)
    length = min(dims(a)[dim1] - down, dims(a)[dim2] - right)
    for i in range(ndim(a)):
        if i != dim1 and i != dim2:
            d[k], s[k] = dims(a)[i], strides(a)[i]
            k += 1
    d[k], s[k] = length, strides(a)[dim1] + strides(a)[dim2]
    return strided(a, k + 1, d, s, data(a) + down * strides(a)[dim1] + right * strides(a)[dim2])


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


def slice(x, int dim, npy_intp start, npy_intp stop, npy_intp step):
    return slice_of(<ndarray?>x, dim, start, stop, step)


cdef ndarray slice_of(ndarray a, int dim, npy_intp start, npy_intp stop, npy_intp step):
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i
    check_dim(dim, ndim(a))
    check_range(start, stop, step, dims(a)[dim])
    for i in range(ndim(a)):
        d[i] = dims(a)[i]
        s[i] = strides(a)[i]
    d[dim] = length_of(start, stop, step)
    s[dim] *= step
    if size(a) == 0:
        return numpy_ref.slice(a, dim, start, stop, step)
    return strided(a, ndim(a), d, s, data(a) + start * strides(a)[dim])


def into_slice(y, shape, int dim, npy_intp start, npy_intp stop, npy_intp step):
    cdef npy_intp d[MOST_DIMS]
    cdef ndarray z, a = <ndarray?>y
    cdef int i, n = read_shape(shape, d), type_ = typenum(a)
    check_dim(dim, n)
    check_range(start, stop, step, d[dim])
    if not of_numbers(y):
        return numpy_ref.into_slice(y, shape, dim, start, stop, step)
    if not is_real(y):
        z = <ndarray>zeros(n, d, type_, 0)
        overwrite(slice_of(z, dim, start, stop, step), a)
        return z
    z = fresh(n, d, type_)
    memset(data(z), 0, size(z) * cnp.PyArray_ITEMSIZE(z))
    d[dim] = length_of(start, stop, step)
    if size(a) <= SMALL and ndim(a) == n and same_dims(dims(a), d, n) and has_flags(a, cnp.NPY_ARRAY_ALIGNED):
        for i in range(n):      # d becomes the strides of the slice, in bytes
            d[i] = strides(z)[i]
        d[dim] *= step
        walk(n, dims(a), data(z) + start * strides(z)[dim], d, data(a), strides(a), cnp.PyArray_ITEMSIZE(a))
    else:
        overwrite(slice_of(z, dim, start, stop, step), a)
    return z


cdef inline int check_range(npy_intp start, npy_intp stop, npy_intp step, npy_intp n) except -1:
    """Raise unless the slice is inside `n` elements. It may be empty."""
    if step <= 0 or not 0 <= start <= n or stop > n:
        raise ValueError(f"no slice of {n} elements goes from {start} to {stop} by steps of {step}")
    return 0


cdef inline npy_intp length_of(npy_intp start, npy_intp stop, npy_intp step) noexcept:
    return (stop - start + step - 1) // step if stop > start else 0


# The place of a dtype in the table of loops, by its type number; -1 for a dtype that is not there.
cdef inline int cast_index(int type) noexcept:
    return (0 if type == cnp.NPY_BOOL else 1 if type == cnp.NPY_UINT8 else 2 if type == cnp.NPY_INT32 else 3 if type == cnp.NPY_INT64
            else 4 if type == NPY_FLOAT32 else 5 if type == NPY_FLOAT64 else -1)


def cast(x, dtype):
    cdef ndarray a, z
    cdef int origin, target, number, x_size, z_size
    cdef npy_intp n
    cdef mg_cast loop
    cdef char *p
    cdef char *r
    if type(x) is not ndarray or not isinstance(dtype, cnp.dtype):
        return numpy_ref.cast(x, dtype)
    a = <ndarray>x
    if <void *>cnp.PyArray_DESCR(a) == <void *>dtype:
        return x
    number = (<cnp.dtype>dtype).type_num
    origin, target = cast_index(typenum(a)), cast_index(number)
    if origin < 0 or target < 0 or not has_flags(a, cnp.NPY_ARRAY_CARRAY_RO) or not native(a) \
            or not cnp.PyArray_ISNBO((<cnp.dtype>dtype).byteorder):
        return numpy_ref.cast(x, dtype)
    loop = mg_casts[origin][target]
    if loop == NULL:
        return numpy_ref.cast(x, dtype)
    z = fresh_any(ndim(a), dims(a), number)
    n, p, r = size(a), data(a), data(z)
    if n < MG_PARALLEL:
        loop(p, r, n)
    else:
        x_size, z_size = cnp.PyArray_ITEMSIZE(a), cnp.PyArray_ITEMSIZE(z)
        with nogil:
            mg_run_cast(loop, p, r, n, x_size, z_size, threads)
    return z


# ---- parts of a base, by their strides -------------------------------------------------------------------


def geometry(x, base):
    if type(x) is not ndarray or type(base) is not ndarray or cnp.PyArray_ITEMSIZE(<ndarray>x) == 0 \
            or size(<ndarray>x) == 0 or size(<ndarray>base) == 0:
        return numpy_ref.geometry(x, base)
    cdef ndarray a = <ndarray>x
    cdef ndarray b = <ndarray>base
    cdef npy_intp item = cnp.PyArray_ITEMSIZE(a), start = data(a) - data(b)
    if start < 0 or start + reach(a) > reach(b):
        start = -item
    return (in_items(strides(b), ndim(b), item), in_items(dims(a), ndim(a), 1), in_items(strides(a), ndim(a), item),
            start // item)


def storage(x):
    # `x` or the array that it is a view of, if that is one block of elements of this type, row by row
    cdef ndarray a, owner
    cdef npy_intp n, item
    if type(x) is ndarray and size(<ndarray>x) > 0:
        a = <ndarray>x
        base = a if cnp.PyArray_BASE(a) == NULL else <object>cnp.PyArray_BASE(a)
        if type(base) is ndarray:
            owner = <ndarray>base
            n, item = size(owner), cnp.PyArray_ITEMSIZE(a)
            if cnp.PyArray_DESCR(owner) == cnp.PyArray_DESCR(a) and has_flags(owner, cnp.NPY_ARRAY_CARRAY | cnp.NPY_ARRAY_OWNDATA) \
                    and (data(a) - data(owner)) % item == 0 and item > 0:
                return strided(owner, 1, &n, &item, data(owner))
    return numpy_ref.storage(x)


cdef tuple in_items(npy_intp *numbers, int n, npy_intp item):
    if n == 1:
        return (numbers[0] // item,)
    return tuple([numbers[i] // item for i in range(n)])


# The number of bytes from the first element to the end of the last.
cdef npy_intp reach(ndarray a) noexcept:
    cdef npy_intp total = cnp.PyArray_ITEMSIZE(a)
    cdef int i
    for i in range(ndim(a)):
        total += (dims(a)[i] - 1) * strides(a)[i]
    return total


# A view of a row-major array: a shape, and strides and a start in bytes, that stay inside it.
cdef struct Part:
    int ndim
    npy_intp dims[MOST_DIMS]
    npy_intp strides[MOST_DIMS]
    npy_intp start


# Fill in `part`. Returns False if it is not inside the row-major array `base`, or `base` does not have `base_strides`, in elements.
cdef bint find_part(Part *part, ndarray base, tuple base_strides, tuple shape, tuple strides_, npy_intp offset) except -1:
    cdef npy_intp step = 1, last = offset, stride, elements = size(base), item = cnp.PyArray_ITEMSIZE(base)
    cdef Py_ssize_t i
    if base_strides is None or shape is None or strides_ is None or ndim(base) != len(base_strides) or len(shape) != len(strides_):
        raise ValueError("a shape and its strides are tuples of one length")
    if not 0 <= offset < elements:
        return False
    for i in range(ndim(base) - 1, -1, -1):
        if dims(base)[i] != 1 and <npy_intp>base_strides[i] != step:
            return False
        step *= dims(base)[i]
    if len(shape) > MOST_DIMS or step != elements:
        return False
    part.ndim = <int>len(shape)
    for i in range(part.ndim):
        part.dims[i] = shape[i]
        stride = strides_[i]
        if part.dims[i] <= 0 or stride < 0 or (stride > 0 and part.dims[i] - 1 > (elements - 1 - last) // stride):
            return False
        last += (part.dims[i] - 1) * stride
        part.strides[i] = <npy_intp>(<size_t>stride * <size_t>item)     # may overflow if the size is 1
    part.start = offset * item
    return True


# z[part] = y
cdef int write_part(ndarray z, Part *part, object y) except -1:
    cdef ndarray seen = strided(z, part.ndim, part.dims, part.strides, data(z) + part.start)
    write(seen, y)
    recycle(seen)
    return 0


# Whether no two indices name the same element: each stride goes beyond all that the smaller ones cover.
cdef bint distinct(Part *part, npy_intp item) noexcept:
    cdef npy_intp covered = item, best
    cdef bint done[MOST_DIMS]
    cdef int i, k, found
    for i in range(part.ndim):
        done[i] = part.dims[i] == 1
    for k in range(part.ndim):
        found = -1
        for i in range(part.ndim):
            if not done[i] and (found < 0 or part.strides[i] < best):
                found, best = i, part.strides[i]
        if found < 0:
            return True
        if best < covered:
            return False
        covered += best * (part.dims[found] - 1)
        done[found] = True
    return True


def as_strided(x, base_strides, shape, strides, offset):
    cdef Part part
    cdef ndarray a
    if type(x) is ndarray and is_contiguous(<ndarray>x):
        a = <ndarray>x
        if find_part(&part, a, base_strides, shape, strides, offset):
            return strided(a, part.ndim, part.dims, part.strides, data(a) + part.start)
    return numpy_ref.as_strided(x, base_strides, shape, strides, offset)


def as_strided_scatter(x, y, base_strides, shape, strides, offset):
    cdef Part part
    cdef ndarray z
    if of_numbers(x) and type(y) is ndarray:
        z = <ndarray>x
        if find_part(&part, z, base_strides, shape, strides, offset):
            z = copy_of(z)
            write_part(z, &part, y)
            return z
    return numpy_ref.as_strided_scatter(x, y, base_strides, shape, strides, offset)


def as_strided_add(y, base_shape, base_strides, shape, strides, offset):
    cdef Part part
    cdef ndarray z
    cdef npy_intp d[MOST_DIMS]
    if of_numbers(y):
        z = <ndarray>zeros(read_shape(base_shape, d), d, typenum(<ndarray>y), 0)
        if find_part(&part, z, base_strides, shape, strides, offset) and distinct(&part, cnp.PyArray_ITEMSIZE(z)) \
                and ndim(<ndarray>y) == part.ndim and same_dims(dims(<ndarray>y), part.dims, part.ndim):
            write_part(z, &part, y)
            return z
    return numpy_ref.as_strided_add(y, base_shape, base_strides, shape, strides, offset)
