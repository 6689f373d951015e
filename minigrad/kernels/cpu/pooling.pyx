# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Maxima over windows, and resampling. `places` and the like are the tables of ``kernels/taps.py``."""

from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    LARGEST = 2147483647    # places of a plane that an int counts

cdef extern from "pooling.h" nogil:
    # void for int64_t, which may be another type of the same size in C and in NumPy
    int max_planes_f32 "mg_max_planes_f32"(const float *, float *, void *, Py_ssize_t, const Py_ssize_t *, const Py_ssize_t *,
                                           const Py_ssize_t *, void *)
    int max_planes_f64 "mg_max_planes_f64"(const double *, double *, void *, Py_ssize_t, const Py_ssize_t *, const Py_ssize_t *,
                                           const Py_ssize_t *, void *)


def max_pool(x, places):
    cdef int kind = easy(x), n = len(places), i, missing = 3 - n, failed
    cdef cnp.int64_t zero = 0
    cdef cnp.int64_t *tables[3]
    cdef Py_ssize_t plane[3]
    cdef Py_ssize_t kernel[3]
    cdef Py_ssize_t out[3]
    if kind < 0:
        return numpy_ref.max_pool(x, places)
    cdef ndarray a = <ndarray>x, z, index
    cdef npy_intp shape[32]
    cdef Py_ssize_t planes = 1
    for i in range(3):
        plane[i] = kernel[i] = out[i] = 1
        tables[i] = &zero
    for i in range(ndim(a) - n):
        shape[i] = dims(a)[i]
        planes *= shape[i]
    for i in range(n):
        table = places[i]
        plane[missing + i] = dims(a)[ndim(a) - n + i]
        shape[ndim(a) - n + i] = out[missing + i] = dims(<ndarray>table)[0]
        kernel[missing + i] = dims(<ndarray>table)[1]
        tables[missing + i] = <cnp.int64_t *>data(<ndarray>table)
    if plane[0] * plane[1] * plane[2] > LARGEST:
        return numpy_ref.max_pool(x, places)
    z = fresh(ndim(a), shape, typenum(a))
    index = empty(ndim(a), shape, cnp.NPY_INT64, 0)
    if size(z) == 0:
        return z, index
    with nogil:
        if kind == 0:
            failed = max_planes_f32(<float *>data(a), <float *>data(z), <void *>data(index), planes, plane, kernel, out, tables)
        else:
            failed = max_planes_f64(<double *>data(a), <double *>data(z), <void *>data(index), planes, plane, kernel, out, tables)
    if failed:
        raise MemoryError
    return z, index


cdef void add_at(const real *g, const cnp.int64_t *index, real *out, Py_ssize_t planes, Py_ssize_t places,
                 Py_ssize_t area) noexcept nogil:
    cdef Py_ssize_t p, i
    for p in range(planes):
        for i in range(places):
            out[index[i]] += g[i]
        g += places
        index += places
        out += area


def max_pool_backward(g, index, x_shape, int n):
    cdef int kind = easy(g), i
    if kind < 0 or type(index) is not ndarray or not is_contiguous(<ndarray>index):
        return numpy_ref.max_pool_backward(g, index, x_shape, n)
    cdef ndarray grad = <ndarray>g, place = <ndarray>index, z
    cdef Py_ssize_t planes = 1, places = 1, area = 1
    cdef npy_intp shape[32]
    for i in range(len(x_shape)):
        shape[i] = x_shape[i]
    z = fresh(len(x_shape), shape, typenum(grad))
    memset(data(z), 0, size(z) * item_size(kind))
    for i in range(ndim(z)):
        if i < ndim(z) - n:
            planes *= dims(z)[i]
        else:
            area *= dims(z)[i]
            places *= dims(grad)[i]
    if kind == 0:
        add_at(<float *>data(grad), <cnp.int64_t *>data(place), <float *>data(z), planes, places, area)
    else:
        add_at(<double *>data(grad), <cnp.int64_t *>data(place), <double *>data(z), planes, places, area)
    return z


cdef void tap(const real *x, real *z, Py_ssize_t outer, Py_ssize_t length, Py_ssize_t count, Py_ssize_t inner,
              const cnp.int64_t *starts, const cnp.int64_t *columns, const double *weights) noexcept nogil:
    cdef Py_ssize_t o, i, r, t
    cdef const real *row
    cdef real w, total
    for o in range(outer):
        for i in range(count):
            if inner == 1:
                total = 0
                for t in range(starts[i], starts[i + 1]):
                    total += <real>weights[t] * x[columns[t]]
                z[0] = total
            else:
                for r in range(inner):
                    z[r] = 0
                for t in range(starts[i], starts[i + 1]):
                    row = x + columns[t] * inner
                    w = <real>weights[t]
                    for r in range(inner):
                        z[r] += w * row[r]
            z += inner
        x += length * inner


def resample(x, int dim, starts, columns, weights):
    cdef int kind = easy(x), i
    if kind < 0:
        return numpy_ref.resample(x, dim, starts, columns, weights)
    cdef ndarray a = <ndarray>x, first = <ndarray>starts, places = <ndarray>columns, factors = <ndarray>weights, z
    cdef npy_intp shape[32]
    cdef Py_ssize_t outer = 1, inner = 1
    for i in range(ndim(a)):
        shape[i] = dims(a)[i]
        if i < dim:
            outer *= shape[i]
        elif i > dim:
            inner *= shape[i]
    shape[dim] = dims(first)[0] - 1
    z = fresh(ndim(a), shape, typenum(a))
    if kind == 0:
        tap(<float *>data(a), <float *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(first),
            <cnp.int64_t *>data(places), <double *>data(factors))
    else:
        tap(<double *>data(a), <double *>data(z), outer, dims(a)[dim], shape[dim], inner, <cnp.int64_t *>data(first),
            <cnp.int64_t *>data(places), <double *>data(factors))
    return z
