# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The loss of a classifier: one number per row is looked at, so what counts is what surrounds the loop."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    NONE, MEAN, SUM


cdef int number_of(reduction):
    return MEAN if reduction == "mean" else SUM if reduction == "sum" else NONE


cdef bint classes(object target):
    """Whether `target` is a plain vector of int64."""
    return (type(target) is ndarray and ndim(<ndarray>target) == 1 and typenum(<ndarray>target) == cnp.NPY_INT64
            and is_contiguous(<ndarray>target))


def class_outside(target, Py_ssize_t n, Py_ssize_t ignore_index):
    cdef Py_ssize_t i
    cdef cnp.int64_t *t
    if type(target) is not ndarray or typenum(<ndarray>target) != cnp.NPY_INT64 or not is_contiguous(<ndarray>target):
        return numpy_ref.class_outside(target, n, ignore_index)
    t = <cnp.int64_t *>data(<ndarray>target)
    for i in range(size(<ndarray>target)):
        if not 0 <= t[i] < n and t[i] != ignore_index:
            return t[i]
    return None


cdef void losses(const real *x, const cnp.int64_t *t, const real *weight, real *z, real *total, Py_ssize_t rows, Py_ssize_t n,
                 Py_ssize_t ignore_index, int reduction) noexcept nogil:
    """z: one per row, or one in all."""
    cdef Py_ssize_t i
    cdef double sum_ = 0, weights = 0, w
    for i in range(rows):
        if t[i] == ignore_index:
            if reduction == NONE:
                z[i] = 0
            continue
        w = 1 if weight == NULL else weight[t[i]]
        weights += w
        sum_ -= w * x[i * n + t[i]]
        if reduction == NONE:
            z[i] = <real>(-w * x[i * n + t[i]])
    if reduction != NONE:
        z[0] = <real>(sum_ / weights if reduction == MEAN else sum_)
    total[0] = <real>weights


def nll_loss(x, target, weight, Py_ssize_t ignore_index, reduction):
    cdef int kind = easy(x), how = number_of(reduction)
    if kind < 0 or ndim(<ndarray>x) != 2 or not classes(target) or (weight is not None and easy(weight) != kind):
        return numpy_ref.nll_loss(x, target, weight, ignore_index, reduction)
    cdef ndarray a = <ndarray>x, t = <ndarray>target
    cdef ndarray z = fresh(1 if how == NONE else 0, dims(a), typenum(a)), total = fresh(0, NULL, typenum(a))
    cdef char *w = NULL if weight is None else data(<ndarray>weight)
    if kind == 0:
        losses(<float *>data(a), <cnp.int64_t *>data(t), <float *>w, <float *>data(z), <float *>data(total), dims(a)[0],
               dims(a)[1], ignore_index, how)
    else:
        losses(<double *>data(a), <cnp.int64_t *>data(t), <double *>w, <double *>data(z), <double *>data(total), dims(a)[0],
               dims(a)[1], ignore_index, how)
    return z, total


cdef void shares(const real *g, const cnp.int64_t *t, const real *weight, real total, real *z, Py_ssize_t rows, Py_ssize_t n,
                 Py_ssize_t ignore_index, int reduction) noexcept nogil:
    """Adds to z, which is zero, what each row's loss gives to its class."""
    cdef Py_ssize_t i
    cdef real w
    for i in range(rows):
        if t[i] == ignore_index:
            continue
        w = 1 if weight == NULL else weight[t[i]]
        z[i * n + t[i]] = -w * g[i] if reduction == NONE else -w * g[0] / total if reduction == MEAN else -w * g[0]


def nll_loss_backward(g, x_shape, target, weight, total, Py_ssize_t ignore_index, reduction):
    cdef int kind = easy(g), how = number_of(reduction)
    if kind < 0 or len(x_shape) != 2 or not classes(target) or (weight is not None and easy(weight) != kind) \
            or easy(total) != kind:
        return numpy_ref.nll_loss_backward(g, x_shape, target, weight, total, ignore_index, reduction)
    cdef ndarray a = <ndarray>g, t = <ndarray>target, z
    cdef npy_intp shape[2]
    cdef char *w = NULL if weight is None else data(<ndarray>weight)
    shape[0], shape[1] = x_shape
    z = zeros(2, shape, typenum(a), 0)
    if kind == 0:
        shares(<float *>data(a), <cnp.int64_t *>data(t), <float *>w, (<float *>data(<ndarray>total))[0], <float *>data(z),
               shape[0], shape[1], ignore_index, how)
    else:
        shares(<double *>data(a), <cnp.int64_t *>data(t), <double *>w, (<double *>data(<ndarray>total))[0], <double *>data(z),
               shape[0], shape[1], ignore_index, how)
    return z
