# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Maxima over windows, and resampling. `places`, `starts`, `columns`, `weights` are the tables of ``kernels/resampling.py``."""

from libc.string cimport memcpy, memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, give_back, in_rows
from minigrad.kernels import numpy_ref
from minigrad.kernels.refusals import no_such_index

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    LARGEST = 2147483647    # positions of a plane that an int32 can count
    TILE = 256              # contiguous elements that are summed together

cdef extern from "pooling.h" nogil:
    # void stands for int64_t, because C and NumPy may use different types of that size
    int max_planes_f32 "mg_max_planes_f32"(const float *, float *, void *, Py_ssize_t, const Py_ssize_t *, const Py_ssize_t *,
                                           const Py_ssize_t *, void *)
    int max_planes_f64 "mg_max_planes_f64"(const double *, double *, void *, Py_ssize_t, const Py_ssize_t *, const Py_ssize_t *,
                                           const Py_ssize_t *, void *)


cdef bint inside(const cnp.int64_t *places, Py_ssize_t count, Py_ssize_t length) noexcept:
    """Whether all `count` positions are in [0, length)."""
    cdef Py_ssize_t i
    for i in range(count):
        if not 0 <= places[i] < length:
            return False
    return True


cdef bint tables_fit(ndarray x, tuple places) noexcept:
    """Whether `places` has one table for each of the last one to three dimensions of `x`, with all positions in range."""
    cdef int i, n = <int>len(places)
    cdef ndarray table
    if not 1 <= n <= 3 or n > ndim(x):
        return False
    for i in range(n):
        if indices(places[i]) == NULL or ndim(<ndarray>places[i]) != 2:
            return False
        table = <ndarray>places[i]
        if dims(table)[1] == 0 or not inside(indices(table), size(table), dims(x)[ndim(x) - n + i]):
            return False
    return True


def max_pool(x, places):
    rows = in_rows(x)
    cdef int kind = easy(rows), n, i, missing, failed
    cdef cnp.int64_t zero = 0
    cdef cnp.int64_t *tables[3]
    cdef Py_ssize_t plane[3]
    cdef Py_ssize_t kernel[3]
    cdef Py_ssize_t out[3]
    if kind < 0 or len(places) > 3 or not tables_fit(<ndarray>rows, tuple(places)):
        return numpy_ref.max_pool(x, places)
    n = len(places)
    missing = 3 - n
    cdef ndarray a = <ndarray>rows, z, index
    cdef npy_intp shape[MOST_DIMS]
    cdef Py_ssize_t planes = 1
    for i in range(3):
        plane[i] = kernel[i] = out[i] = 1
        tables[i] = &zero
    for i in range(ndim(a) - n):
        shape[i] = dims(a)[i]
        planes *= shape[i]
    for i in range(n):
        table = <ndarray>places[i]
        plane[missing + i] = dims(a)[ndim(a) - n + i]
        shape[ndim(a) - n + i] = out[missing + i] = dims(<ndarray>table)[0]
        kernel[missing + i] = dims(<ndarray>table)[1]
        tables[missing + i] = <cnp.int64_t *>data(<ndarray>table)
    if plane[0] * plane[1] * plane[2] > LARGEST:
        return numpy_ref.max_pool(x, places)
    z = fresh(ndim(a), shape, typenum(a))
    index = fresh(ndim(a), shape, cnp.NPY_INT64)
    if size(z) == 0:
        return z, index
    with nogil:
        if kind == 0:
            failed = max_planes_f32(<float *>data(a), <float *>data(z), <void *>data(index), planes, plane, kernel, out, tables)
        else:
            failed = max_planes_f64(<double *>data(a), <double *>data(z), <void *>data(index), planes, plane, kernel, out, tables)
    if failed:
        raise MemoryError
    give_back(rows, x)
    return z, index


cdef Py_ssize_t add_at(const real *g, const cnp.int64_t *index, real *out, Py_ssize_t planes, Py_ssize_t places,
                       Py_ssize_t area) noexcept nogil:
    """Add g to `out` at the indices. Returns the position of the first index outside [0, area), or -1."""
    cdef Py_ssize_t p, i
    for p in range(planes):
        for i in range(places):
            if not 0 <= index[p * places + i] < area:
                return p * places + i
            out[index[p * places + i]] += g[i]
        g += places
        out += area
    return -1


def max_pool_backward(g, index, x_shape, int n):
    rows = in_rows(g)           # the gradient of a sum is expanded
    z = pool_backward(rows, index, x_shape, n)
    give_back(rows, g)
    return z


cdef object pool_backward(object g, object index, object x_shape, int n):
    cdef int kind = easy(g), i
    cdef cnp.int64_t *place = indices(index)
    cdef npy_intp shape[MOST_DIMS]
    cdef int nd = read_shape(x_shape, shape)
    if kind < 0 or place == NULL or ndim(<ndarray>g) != nd or ndim(<ndarray>index) != nd or not 0 <= n <= nd \
            or not same_dims(dims(<ndarray>g), dims(<ndarray>index), nd) or not same_dims(dims(<ndarray>g), shape, nd - n):
        return numpy_ref.max_pool_backward(g, index, x_shape, n)
    cdef ndarray grad = <ndarray>g, z = fresh(nd, shape, typenum(grad))
    cdef Py_ssize_t planes = 1, places = 1, area = 1, bad
    memset(data(z), 0, size(z) * item_size(kind))
    if size(grad) == 0:
        return z
    for i in range(ndim(z)):
        if i < ndim(z) - n:
            planes *= dims(z)[i]
        else:
            area *= dims(z)[i]
            places *= dims(grad)[i]
    if kind == 0:
        bad = add_at(<float *>data(grad), place, <float *>data(z), planes, places, area)
    else:
        bad = add_at(<double *>data(grad), place, <double *>data(z), planes, places, area)
    if bad >= 0:
        raise no_such_index(place[bad], area)
    return z


cdef void tap(const real *x, real *z, Py_ssize_t outer, Py_ssize_t length, Py_ssize_t count, Py_ssize_t inner,
              const cnp.int64_t *starts, const cnp.int64_t *columns, const double *weights) noexcept nogil:
    cdef Py_ssize_t o, i, r, t, first, width
    cdef const real *row
    cdef double total, w
    cdef double totals[TILE]
    for o in range(outer):
        for i in range(count):
            if inner == 1:
                total = 0
                for t in range(starts[i], starts[i + 1]):
                    total += weights[t] * x[columns[t]]
                z[0] = <real>total
            else:
                first = 0
                while first < inner:
                    width = inner - first if inner - first < TILE else TILE
                    for r in range(width):
                        totals[r] = 0
                    for t in range(starts[i], starts[i + 1]):
                        row = x + columns[t] * inner + first
                        w = weights[t]
                        for r in range(width):
                            totals[r] += w * row[r]
                    for r in range(width):
                        z[first + r] = <real>totals[r]
                    first += width
            z += inner
        x += length * inner


cdef void pick(const real *x, real *z, Py_ssize_t outer, Py_ssize_t length, Py_ssize_t count, Py_ssize_t inner,
               const cnp.int64_t *columns) noexcept nogil:
    """`tap` where each result is one element."""
    cdef Py_ssize_t o, i
    for o in range(outer):
        for i in range(count):
            if inner == 1:
                z[i] = x[columns[i]]
            else:
                memcpy(z + i * inner, x + columns[i] * inner, inner * sizeof(real))
        z += count * inner
        x += length * inner


cdef bint picks(const cnp.int64_t *starts, const double *weights, Py_ssize_t count, Py_ssize_t taps) noexcept nogil:
    """Whether each of `count` sums is one element times 1, as in interpolation by the nearest."""
    cdef Py_ssize_t i
    if taps != count:
        return False
    for i in range(count):
        if starts[i] != i or weights[i] != 1:
            return False
    return True


cdef bint taps_fit(object starts, object columns, object weights, Py_ssize_t length) noexcept:
    """Whether these are a sparse matrix with `length` columns, as in kernels/resampling.py."""
    cdef cnp.int64_t *first = indices(starts)
    cdef cnp.int64_t *places = indices(columns)
    cdef Py_ssize_t i, n
    if first == NULL or places == NULL or easy(weights) != 1 or size(<ndarray>starts) == 0 \
            or ndim(<ndarray>starts) != 1 or ndim(<ndarray>columns) != 1 or ndim(<ndarray>weights) != 1 \
            or size(<ndarray>columns) != size(<ndarray>weights):
        return False
    n = size(<ndarray>columns)
    for i in range(size(<ndarray>starts)):
        if not 0 <= first[i] <= n or (i and first[i] < first[i - 1]):
            return False
    return inside(places, n, length)


def resample(x, int dim, starts, columns, weights):
    rows = in_rows(x)
    cdef int kind = easy(rows), i
    if kind < 0 or not 0 <= dim < ndim(<ndarray>x) or not taps_fit(starts, columns, weights, dims(<ndarray>x)[dim]):
        return numpy_ref.resample(x, dim, starts, columns, weights)
    cdef ndarray a = <ndarray>rows, first = <ndarray>starts, places = <ndarray>columns, factors = <ndarray>weights, z
    cdef npy_intp shape[MOST_DIMS]
    cdef Py_ssize_t outer = 1, inner = 1
    for i in range(ndim(a)):
        shape[i] = dims(a)[i]
        if i < dim:
            outer *= shape[i]
        elif i > dim:
            inner *= shape[i]
    shape[dim] = size(first) - 1
    z = fresh(ndim(a), shape, typenum(a))
    if size(z) == 0:
        return z
    if picks(<cnp.int64_t *>data(first), <double *>data(factors), shape[dim], size(places)):
        if kind == 0:
            pick(<float *>data(a), <float *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(places))
        else:
            pick(<double *>data(a), <double *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(places))
    elif kind == 0:
        tap(<float *>data(a), <float *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(first),
            <cnp.int64_t *>data(places), <double *>data(factors))
    else:
        tap(<double *>data(a), <double *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(first),
            <cnp.int64_t *>data(places), <double *>data(factors))
    give_back(rows, x)
    return z
