# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The steps of optimisers in one pass over the parameter."""

from libc.math cimport sqrt

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref

cnp.import_array()

ctypedef fused real:
    float
    double




cdef void adam(real *w, const real *g, real *m, real *v, real *v_max, Py_ssize_t n, double size, double beta1,
               double beta2, double eps, double root, double decay, double shrink, double sign) noexcept nogil:
    cdef Py_ssize_t i
    cdef real grad, second
    cdef real b1 = <real>(1 - beta1), b2 = <real>beta2, c2 = <real>(1 - beta2), e = <real>eps
    cdef real step = <real>size, r = <real>root, d = <real>decay, s = <real>shrink, direction = <real>sign
    for i in range(n):
        grad = direction * g[i] + d * w[i]
        m[i] += (grad - m[i]) * b1
        v[i] = v[i] * b2 + c2 * grad * grad
        second = v[i]
        if v_max != NULL:
            if v_max[i] > second:
                second = v_max[i]
            else:
                v_max[i] = second
        w[i] = w[i] * s - step * m[i] / (<real>sqrt(second) / r + e)


def adam_(w, g, m, v, v_max, step, double lr, double beta1, double beta2, double eps, double weight_decay, decoupled,
          maximize):
    cdef int kind = easy(w)
    if kind < 0 or easy(g) != kind or easy(m) != kind or easy(v) != kind or (v_max is not None and easy(v_max) != kind):
        return numpy_ref.adam_(w, g, m, v, v_max, step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize)
    cdef double size_ = lr / (1 - beta1 ** step), root = (1 - beta2 ** step) ** 0.5
    cdef double decay = 0 if decoupled else weight_decay, shrink = 1 - lr * weight_decay if decoupled else 1
    cdef double sign = -1 if maximize else 1
    cdef char *top = NULL if v_max is None else data(<ndarray>v_max)
    cdef Py_ssize_t n = size(<ndarray>w)
    cdef char *pw = data(<ndarray>w)
    cdef char *pg = data(<ndarray>g)
    cdef char *pm = data(<ndarray>m)
    cdef char *pv = data(<ndarray>v)
    with nogil:
        if kind == 0:
            adam(<float *>pw, <float *>pg, <float *>pm, <float *>pv, <float *>top, n, size_, beta1, beta2, eps, root, decay,
                 shrink, sign)
        else:
            adam(<double *>pw, <double *>pg, <double *>pm, <double *>pv, <double *>top, n, size_, beta1, beta2, eps, root,
                 decay, shrink, sign)


cdef void sgd(real *w, const real *g, real *buffer, Py_ssize_t n, double lr, double momentum, double dampening,
              double decay, bint nesterov, double sign, bint first) noexcept nogil:
    cdef Py_ssize_t i
    cdef real grad, step = <real>lr, mu = <real>momentum, keep = <real>(1 - dampening), d = <real>decay
    cdef real direction = <real>sign
    for i in range(n):
        grad = direction * g[i] + d * w[i]
        if buffer != NULL:
            buffer[i] = grad if first else mu * buffer[i] + keep * grad
            grad = grad + mu * buffer[i] if nesterov else buffer[i]
        w[i] -= step * grad


def sgd_(w, g, momentum_buffer, double lr, double momentum, double dampening, double weight_decay, nesterov, maximize,
         first):
    cdef int kind = easy(w)
    if kind < 0 or easy(g) != kind or (momentum and easy(momentum_buffer) != kind):
        return numpy_ref.sgd_(w, g, momentum_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    cdef char *buffer = data(<ndarray>momentum_buffer) if momentum else NULL
    cdef Py_ssize_t n = size(<ndarray>w)
    cdef double sign = -1 if maximize else 1
    cdef bint look_ahead = nesterov, begins = first
    cdef char *pw = data(<ndarray>w)
    cdef char *pg = data(<ndarray>g)
    with nogil:
        if kind == 0:
            sgd(<float *>pw, <float *>pg, <float *>buffer, n, lr, momentum, dampening, weight_decay, look_ahead, sign, begins)
        else:
            sgd(<double *>pw, <double *>pg, <double *>buffer, n, lr, momentum, dampening, weight_decay, look_ahead, sign,
                begins)
