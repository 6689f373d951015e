# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Views. A view is made in one step from its shape and strides: 60 ns, where NumPy takes 150 to 3000 ns.

Two kinds of kernels write to a view: the adjoint of a slice, and those of parts of a base, which a view is after a write to it.
"""

from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.layout cimport copy_of, overwrite, write
from minigrad.kernels.cpu.pool cimport fresh, fresh_any, recycle, strided
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused real:
    float
    double


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
        z = fresh_any(read_shape(base_shape, d), d, typenum(<ndarray>y))
        memset(data(z), 0, size(z) * cnp.PyArray_ITEMSIZE(z))
        if find_part(&part, z, base_strides, shape, strides, offset) and ndim(<ndarray>y) == part.ndim \
                and same_dims(dims(<ndarray>y), part.dims, part.ndim):
            if distinct(&part, cnp.PyArray_ITEMSIZE(z)):
                write_part(z, &part, y)
                return z
            if is_real(y) and has_flags(<ndarray>y, cnp.NPY_ARRAY_ALIGNED):
                add_part(z, &part, <ndarray>y)
                return z
    return numpy_ref.as_strided_add(y, base_shape, base_strides, shape, strides, offset)


cdef void add_part(ndarray z, const Part *part, ndarray y) noexcept:
    """Add y to the part of z. The inner loop is over neighbours in z: over the longest dimension of the smallest stride."""
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp to[MOST_DIMS]
    cdef npy_intp source[MOST_DIMS]
    cdef int i, k
    for i in range(part.ndim):
        k = i
        while k > 0 and (to[k - 1] < part.strides[i] or (to[k - 1] == part.strides[i] and d[k - 1] > part.dims[i])):
            d[k], to[k], source[k] = d[k - 1], to[k - 1], source[k - 1]
            k -= 1
        d[k], to[k], source[k] = part.dims[i], part.strides[i], strides(y)[i]
    cdef char *p = data(z) + part.start
    cdef char *q = data(y)
    with nogil:
        if typenum(y) == NPY_FLOAT32:
            add_rows(part.ndim, d, <float *>p, to, <const float *>q, source)
        else:
            add_rows(part.ndim, d, <double *>p, to, <const double *>q, source)


cdef void add_rows(int nd, const npy_intp *d, real *z, const npy_intp *to, const real *y, const npy_intp *source) noexcept nogil:
    cdef npy_intp i, item = sizeof(real)
    if nd > 1:
        for i in range(d[0]):
            add_rows(nd - 1, d + 1, <real *>(<char *>z + i * to[0]), to + 1, <const real *>(<const char *>y + i * source[0]), source + 1)
    elif to[0] == item and source[0] == item:
        for i in range(d[0]):
            z[i] += y[i]
    else:
        for i in range(d[0]):
            (<real *>(<char *>z + i * to[0]))[0] += (<const real *>(<const char *>y + i * source[0]))[0]
