# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The loss of a classifier. The loop reads one element per row, so most of the time is spent around the loop."""

from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels import numpy_ref
from minigrad.kernels.refusals import no_such_class

cnp.import_array()

ctypedef fused real:
    float
    double

cdef extern from *:
    """
    #include "simd.h"

    /* Whether some t[i] is not in [0, n): then the sign of one of the two is set. Without branches it vectorises. */
    MG_SIMD static int mg_some_outside(const int64_t *t, mg_size count, mg_size n) {
        uint64_t signs = 0;
        for (mg_size i = 0; i < count; i++) signs |= (uint64_t)t[i] | ((uint64_t)(n - 1) - (uint64_t)t[i]);
        return signs >> 63;
    }
    """
    bint some_outside "mg_some_outside"(const cnp.int64_t *, Py_ssize_t, Py_ssize_t) nogil

cdef enum:
    NONE, MEAN, SUM
    BLOCK = 1024        # targets that are checked together


cdef int number_of(reduction):
    return MEAN if reduction == "mean" else SUM if reduction == "sum" else NONE


cdef bint fits(object target, int nd, const npy_intp *d, object weight, int kind) noexcept:
    """Whether `target` is an easy int64 array with a class for each row of the shape `d`, whose classes are dimension 1, and
    `weight` is None or has a number for each class."""
    return (nd >= 2 and indices(target) != NULL and ndim(<ndarray>target) == nd - 1 and dims(<ndarray>target)[0] == d[0]
            and same_dims(dims(<ndarray>target) + 1, <npy_intp *>d + 2, nd - 2)
            and (weight is None or (easy(weight) == kind and size(<ndarray>weight) == d[1])))


def class_outside(target, Py_ssize_t n, Py_ssize_t ignore_index):
    cdef Py_ssize_t first = 0, last, count, i
    cdef cnp.int64_t *t = indices(target)
    if t == NULL and is_index(target):      # an expanded index, which repeats elements by the stride 0: check each once
        target = target[tuple([slice(1) if step == 0 else slice(None) for step in target.strides])]
        t = indices(target)
    if t == NULL:
        return numpy_ref.class_outside(target, n, ignore_index)
    count = size(<ndarray>target)
    while first < count:
        last = min(first + <Py_ssize_t>BLOCK, count)
        if some_outside(t + first, last - first, n):
            for i in range(first, last):
                if not 0 <= t[i] < n and t[i] != ignore_index:
                    return t[i]
        first = last
    return None


cdef Py_ssize_t losses(const real *x, const cnp.int64_t *t, const real *weight, real *z, real *total, Py_ssize_t rows, Py_ssize_t n,
                       Py_ssize_t area, Py_ssize_t ignore_index, int reduction) noexcept nogil:
    """Write the loss of each row, or one loss for all, to z. Returns the first row whose target is not a class, or -1.

    The n numbers of a row are `area` elements apart, and so many rows lie side by side: a plane of x has one number of each.
    """
    cdef Py_ssize_t i, column = -1
    cdef double sum_ = 0, weights = 0, w
    for i in range(rows):
        column += 1
        if column == area:
            column, x = 0, x + n * area
        if t[i] == ignore_index:
            if reduction == NONE:
                z[i] = 0
            continue
        if not 0 <= t[i] < n:
            return i
        w = 1 if weight == NULL else weight[t[i]]
        weights += w
        sum_ -= w * x[t[i] * area + column]
        if reduction == NONE:
            z[i] = <real>(-w * x[t[i] * area + column])
    if reduction != NONE:
        z[0] = <real>(sum_ / weights if reduction == MEAN else sum_)
    total[0] = <real>weights
    return -1


def nll_loss(x, target, weight, Py_ssize_t ignore_index, reduction):
    cdef int kind = easy(x), how = number_of(reduction)
    cdef Py_ssize_t bad
    if kind < 0 or not fits(target, ndim(<ndarray>x), dims(<ndarray>x), weight, kind):
        return numpy_ref.nll_loss(x, target, weight, ignore_index, reduction)
    cdef ndarray a = <ndarray>x, t = <ndarray>target
    cdef ndarray z = fresh(ndim(t) if how == NONE else 0, dims(t), typenum(a)), total = fresh(0, NULL, typenum(a))
    cdef Py_ssize_t area = size(t) // dims(a)[0] if size(t) else 1
    cdef char *w = NULL if weight is None else data(<ndarray>weight)
    if kind == 0:
        bad = losses(<float *>data(a), <cnp.int64_t *>data(t), <float *>w, <float *>data(z), <float *>data(total), size(t),
                     dims(a)[1], area, ignore_index, how)
    else:
        bad = losses(<double *>data(a), <cnp.int64_t *>data(t), <double *>w, <double *>data(z), <double *>data(total), size(t),
                     dims(a)[1], area, ignore_index, how)
    if bad >= 0:
        raise no_such_class((<cnp.int64_t *>data(t))[bad], dims(a)[1], ignore_index)
    return z, total


cdef Py_ssize_t shares(const real *g, const cnp.int64_t *t, const real *weight, real total, real *z, Py_ssize_t rows, Py_ssize_t n,
                       Py_ssize_t area, Py_ssize_t ignore_index, int reduction) noexcept nogil:
    """Write the gradient of each row's loss to z, which is zero. Returns the first row whose target is not a class, or -1."""
    cdef Py_ssize_t i, column = -1
    cdef real w
    for i in range(rows):
        column += 1
        if column == area:
            column, z = 0, z + n * area
        if t[i] == ignore_index:
            continue
        if not 0 <= t[i] < n:
            return i
        w = 1 if weight == NULL else weight[t[i]]
        z[t[i] * area + column] = -w * g[i] if reduction == NONE else -w * g[0] / total if reduction == MEAN else -w * g[0]
    return -1


def nll_loss_backward(g, x_shape, target, weight, total, Py_ssize_t ignore_index, reduction):
    cdef int kind = easy(g), how = number_of(reduction)
    cdef npy_intp shape[MOST_DIMS]
    cdef Py_ssize_t bad, area
    cdef int nd
    nd = read_shape(x_shape, shape)
    if kind < 0 or not fits(target, nd, shape, weight, kind) or easy(total) != kind or size(<ndarray>total) != 1 \
            or size(<ndarray>g) != (size(<ndarray>target) if how == NONE else 1) or ndim(<ndarray>g) > nd - 1:
        return numpy_ref.nll_loss_backward(g, x_shape, target, weight, total, ignore_index, reduction)
    cdef ndarray a = <ndarray>g, t = <ndarray>target, z
    cdef char *w = NULL if weight is None else data(<ndarray>weight)
    area = size(t) // shape[0] if size(t) else 1
    z = fresh(nd, shape, typenum(a))
    memset(data(z), 0, size(z) * item_size(kind))
    if kind == 0:
        bad = shares(<float *>data(a), <cnp.int64_t *>data(t), <float *>w, (<float *>data(<ndarray>total))[0], <float *>data(z),
                     size(t), shape[1], area, ignore_index, how)
    else:
        bad = shares(<double *>data(a), <cnp.int64_t *>data(t), <double *>w, (<double *>data(<ndarray>total))[0], <double *>data(z),
                     size(t), shape[1], area, ignore_index, how)
    if bad >= 0:
        raise no_such_class((<cnp.int64_t *>data(t))[bad], shape[1], ignore_index)
    return z
