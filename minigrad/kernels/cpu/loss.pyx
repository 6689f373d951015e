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

cdef enum:
    NONE, MEAN, SUM


cdef int number_of(reduction):
    return MEAN if reduction == "mean" else SUM if reduction == "sum" else NONE


cdef bint fits(object target, npy_intp rows, object weight, npy_intp n, int kind) noexcept:
    """Whether `target` is an easy int64 vector with a class for each row, and `weight` is None or has a number for each class."""
    return (indices(target) != NULL and ndim(<ndarray>target) == 1 and dims(<ndarray>target)[0] == rows
            and (weight is None or (easy(weight) == kind and size(<ndarray>weight) == n)))


def class_outside(target, Py_ssize_t n, Py_ssize_t ignore_index):
    cdef Py_ssize_t i
    cdef cnp.int64_t *t = indices(target)
    if t == NULL:
        return numpy_ref.class_outside(target, n, ignore_index)
    for i in range(size(<ndarray>target)):
        if not 0 <= t[i] < n and t[i] != ignore_index:
            return t[i]
    return None


cdef Py_ssize_t losses(const real *x, const cnp.int64_t *t, const real *weight, real *z, real *total, Py_ssize_t rows, Py_ssize_t n,
                       Py_ssize_t ignore_index, int reduction) noexcept nogil:
    """Write the loss of each row, or one loss for all, to z. Returns the first row whose target is not a class, or -1."""
    cdef Py_ssize_t i
    cdef double sum_ = 0, weights = 0, w
    for i in range(rows):
        if t[i] == ignore_index:
            if reduction == NONE:
                z[i] = 0
            continue
        if not 0 <= t[i] < n:
            return i
        w = 1 if weight == NULL else weight[t[i]]
        weights += w
        sum_ -= w * x[i * n + t[i]]
        if reduction == NONE:
            z[i] = <real>(-w * x[i * n + t[i]])
    if reduction != NONE:
        z[0] = <real>(sum_ / weights if reduction == MEAN else sum_)
    total[0] = <real>weights
    return -1


def nll_loss(x, target, weight, Py_ssize_t ignore_index, reduction):
    cdef int kind = easy(x), how = number_of(reduction)
    cdef Py_ssize_t bad
    if kind < 0 or ndim(<ndarray>x) != 2 or not fits(target, dims(<ndarray>x)[0], weight, dims(<ndarray>x)[1], kind):
        return numpy_ref.nll_loss(x, target, weight, ignore_index, reduction)
    cdef ndarray a = <ndarray>x, t = <ndarray>target
    cdef ndarray z = fresh(1 if how == NONE else 0, dims(a), typenum(a)), total = fresh(0, NULL, typenum(a))
    cdef char *w = NULL if weight is None else data(<ndarray>weight)
    if kind == 0:
        bad = losses(<float *>data(a), <cnp.int64_t *>data(t), <float *>w, <float *>data(z), <float *>data(total), dims(a)[0],
                     dims(a)[1], ignore_index, how)
    else:
        bad = losses(<double *>data(a), <cnp.int64_t *>data(t), <double *>w, <double *>data(z), <double *>data(total), dims(a)[0],
                     dims(a)[1], ignore_index, how)
    if bad >= 0:
        raise no_such_class((<cnp.int64_t *>data(t))[bad], dims(a)[1], ignore_index)
    return z, total


cdef Py_ssize_t shares(const real *g, const cnp.int64_t *t, const real *weight, real total, real *z, Py_ssize_t rows, Py_ssize_t n,
                       Py_ssize_t ignore_index, int reduction) noexcept nogil:
    """Write the gradient of each row's loss to z, which is zero. Returns the first row whose target is not a class, or -1."""
    cdef Py_ssize_t i
    cdef real w
    for i in range(rows):
        if t[i] == ignore_index:
            continue
        if not 0 <= t[i] < n:
            return i
        w = 1 if weight == NULL else weight[t[i]]
        z[i * n + t[i]] = -w * g[i] if reduction == NONE else -w * g[0] / total if reduction == MEAN else -w * g[0]
    return -1


def nll_loss_backward(g, x_shape, target, weight, total, Py_ssize_t ignore_index, reduction):
    cdef int kind = easy(g), how = number_of(reduction)
    cdef npy_intp shape[MOST_DIMS]
    cdef Py_ssize_t bad
    if kind < 0 or read_shape(x_shape, shape) != 2 or not fits(target, shape[0], weight, shape[1], kind) or easy(total) != kind \
            or size(<ndarray>total) != 1 or size(<ndarray>g) != (shape[0] if how == NONE else 1) \
            or ndim(<ndarray>g) > 1:
        return numpy_ref.nll_loss_backward(g, x_shape, target, weight, total, ignore_index, reduction)
    cdef ndarray a = <ndarray>g, t = <ndarray>target, z
    cdef char *w = NULL if weight is None else data(<ndarray>weight)
    z = fresh(2, shape, typenum(a))
    memset(data(z), 0, size(z) * item_size(kind))
    if kind == 0:
        bad = shares(<float *>data(a), <cnp.int64_t *>data(t), <float *>w, (<float *>data(<ndarray>total))[0], <float *>data(z),
                     shape[0], shape[1], ignore_index, how)
    else:
        bad = shares(<double *>data(a), <cnp.int64_t *>data(t), <double *>w, (<double *>data(<ndarray>total))[0], <double *>data(z),
                     shape[0], shape[1], ignore_index, how)
    if bad >= 0:
        raise no_such_class((<cnp.int64_t *>data(t))[bad], shape[1], ignore_index)
    return z
