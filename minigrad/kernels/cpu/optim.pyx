# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The steps of optimisers in one pass over the parameter. The loops are in steps.h."""

from libc.string cimport memset

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "steps.h" nogil:
    void adam_f32 "mg_adam_f32"(float *, float *, float *, float *, Py_ssize_t, float, float, float, float, float, float,
                                float, float, float)
    void adam_f64 "mg_adam_f64"(double *, double *, double *, double *, Py_ssize_t, double, double, double, double, double,
                                double, double, double, double)
    void amsgrad_f32 "mg_amsgrad_f32"(float *, float *, float *, float *, float *, Py_ssize_t, float, float, float, float,
                                      float, float, float, float, float)
    void amsgrad_f64 "mg_amsgrad_f64"(double *, double *, double *, double *, double *, Py_ssize_t, double, double, double,
                                      double, double, double, double, double, double)
    void sgd_f32 "mg_sgd_f32"(float *, float *, Py_ssize_t, float, float, float)
    void sgd_f64 "mg_sgd_f64"(double *, double *, Py_ssize_t, double, double, double)
    void momentum_f32 "mg_momentum_f32"(float *, float *, float *, Py_ssize_t, float, float, float, float, float, float, float)
    void momentum_f64 "mg_momentum_f64"(double *, double *, double *, Py_ssize_t, double, double, double, double, double,
                                        double, double)


cdef bint agree(ndarray w, object x, bint written) noexcept:
    """Whether `x` is an easy array with the shape and dtype of the parameter `w`; with `written`, also whether it is writeable."""
    cdef int flags = cnp.NPY_ARRAY_CARRAY if written else cnp.NPY_ARRAY_CARRAY_RO
    return (type(x) is ndarray and has_flags(<ndarray>x, flags) and typenum(<ndarray>x) == typenum(w) and native(<ndarray>x)
            and ndim(w) == ndim(<ndarray>x) and same_dims(dims(w), dims(<ndarray>x), ndim(w)))


def adam_(w, g, m, v, v_max, step, double lr, double beta1, double beta2, double eps, double weight_decay, decoupled,
          maximize):
    cdef int kind = easy(w)
    if kind < 0 or not has_flags(<ndarray>w, cnp.NPY_ARRAY_WRITEABLE) or not agree(<ndarray>w, g, False) \
            or not agree(<ndarray>w, m, True) or not agree(<ndarray>w, v, True) \
            or (v_max is not None and not agree(<ndarray>w, v_max, True)):
        return numpy_ref.adam_(w, g, m, v, v_max, step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize)
    cdef double rate = lr / (1 - beta1 ** step), correction = (1 - beta2 ** step) ** -0.5
    cdef double decay = 0 if decoupled else weight_decay, shrink = 1 - lr * weight_decay if decoupled else 1
    cdef double sign = -1 if maximize else 1
    cdef bint amsgrad = v_max is not None
    cdef Py_ssize_t n = size(<ndarray>w)
    cdef char *pw = data(<ndarray>w)
    cdef char *pg = data(<ndarray>g)
    cdef char *pm = data(<ndarray>m)
    cdef char *pv = data(<ndarray>v)
    cdef char *top = data(<ndarray>v_max) if amsgrad else NULL
    with nogil:
        if kind == 0 and amsgrad:
            amsgrad_f32(<float *>pw, <float *>pg, <float *>pm, <float *>pv, <float *>top, n, rate, 1 - beta1, beta2, 1 - beta2,
                        eps, correction, decay, shrink, sign)
        elif kind == 0:
            adam_f32(<float *>pw, <float *>pg, <float *>pm, <float *>pv, n, rate, 1 - beta1, beta2, 1 - beta2, eps, correction,
                     decay, shrink, sign)
        elif amsgrad:
            amsgrad_f64(<double *>pw, <double *>pg, <double *>pm, <double *>pv, <double *>top, n, rate, 1 - beta1, beta2,
                        1 - beta2, eps, correction, decay, shrink, sign)
        else:
            adam_f64(<double *>pw, <double *>pg, <double *>pm, <double *>pv, n, rate, 1 - beta1, beta2, 1 - beta2, eps,
                     correction, decay, shrink, sign)


def sgd_(w, g, momentum_buffer, double lr, double momentum, double dampening, double weight_decay, nesterov, maximize,
         first):
    cdef int kind = easy(w)
    if kind < 0 or not has_flags(<ndarray>w, cnp.NPY_ARRAY_WRITEABLE) or not agree(<ndarray>w, g, False) \
            or (momentum and not agree(<ndarray>w, momentum_buffer, True)):
        return numpy_ref.sgd_(w, g, momentum_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    cdef bint moves = momentum != 0
    cdef double sign = -1 if maximize else 1
    cdef double keep = 1 if first else 1 - dampening        # the first momentum buffer is the gradient itself
    cdef double carry = 1 if nesterov else 0, push = momentum if nesterov else 1
    cdef Py_ssize_t n = size(<ndarray>w)
    cdef char *pw = data(<ndarray>w)
    cdef char *pg = data(<ndarray>g)
    cdef char *buffer = data(<ndarray>momentum_buffer) if moves else NULL
    if moves and first:
        memset(buffer, 0, n * item_size(kind))
    with nogil:
        if kind == 0 and moves:
            momentum_f32(<float *>pw, <float *>pg, <float *>buffer, n, lr, momentum, keep, carry, push, weight_decay, sign)
        elif kind == 0:
            sgd_f32(<float *>pw, <float *>pg, n, lr, weight_decay, sign)
        elif moves:
            momentum_f64(<double *>pw, <double *>pg, <double *>buffer, n, lr, momentum, keep, carry, push, weight_decay, sign)
        else:
            sgd_f64(<double *>pw, <double *>pg, n, lr, weight_decay, sign)
