# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Batch normalisation. The loops are in channels.h."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "channels.h" nogil:
    void batch_norm_f32 "mg_batch_norm_f32"(const float *, const float *, const float *, float *, float *, float *, float *,
                                            Py_ssize_t, Py_ssize_t, Py_ssize_t, float, int)
    void batch_norm_f64 "mg_batch_norm_f64"(const double *, const double *, const double *, double *, double *, double *, double *,
                                            Py_ssize_t, Py_ssize_t, Py_ssize_t, double, int)
    void batch_norm_backward_f32 "mg_batch_norm_backward_f32"(const float *, const float *, const float *, const float *,
                                                              const float *, float *, float *, float *, Py_ssize_t, Py_ssize_t,
                                                              Py_ssize_t, int)
    void batch_norm_backward_f64 "mg_batch_norm_backward_f64"(const double *, const double *, const double *, const double *,
                                                              const double *, double *, double *, double *, Py_ssize_t, Py_ssize_t,
                                                              Py_ssize_t, int)


cdef bint has_channels(object x) noexcept:
    """Whether x is easy and not empty, and has a dimension of channels."""
    return easy(x) >= 0 and ndim(<ndarray>x) >= 2 and size(<ndarray>x) > 0


cdef bint of_channels(object v, ndarray x) noexcept:
    """Whether `v` is an easy vector with a number for each channel of x."""
    return easy(v) == easy(x) and ndim(<ndarray>v) == 1 and dims(<ndarray>v)[0] == dims(x)[1]


def batch_norm(x, w, b, double eps):
    if not has_channels(x) or not (w is None or of_channels(w, <ndarray>x)) or not (b is None or of_channels(b, <ndarray>x)):
        return numpy_ref.batch_norm(x, w, b, eps)
    cdef ndarray a = <ndarray>x, z = fresh(ndim(a), dims(a), typenum(a))
    cdef ndarray mean = fresh(1, dims(a) + 1, typenum(a)), rstd = fresh(1, dims(a) + 1, typenum(a))
    cdef ndarray variance = fresh(1, dims(a) + 1, typenum(a))
    cdef Py_ssize_t images = dims(a)[0], channels = dims(a)[1], area = size(a) // (images * channels)
    cdef int kind = easy(x)
    cdef char *px = data(a)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pb = NULL if b is None else data(<ndarray>b)
    cdef char *pz = data(z)
    cdef char *pm = data(mean)
    cdef char *ps = data(rstd)
    cdef char *pv = data(variance)
    with nogil:
        if kind == 0:
            batch_norm_f32(<float *>px, <float *>pw, <float *>pb, <float *>pz, <float *>pm, <float *>ps, <float *>pv, images,
                           channels, area, <float>eps, threads)
        else:
            batch_norm_f64(<double *>px, <double *>pw, <double *>pb, <double *>pz, <double *>pm, <double *>ps, <double *>pv, images,
                           channels, area, eps, threads)
    return z, mean, rstd, variance


def batch_norm_backward(g, x, w, mean, rstd):
    if not has_channels(x) or easy(g) != easy(x) or ndim(<ndarray>g) != ndim(<ndarray>x) \
            or not same_dims(dims(<ndarray>g), dims(<ndarray>x), ndim(<ndarray>x)) or not of_channels(mean, <ndarray>x) \
            or not of_channels(rstd, <ndarray>x) or not (w is None or of_channels(w, <ndarray>x)):
        return numpy_ref.batch_norm_backward(g, x, w, mean, rstd)
    cdef ndarray a = <ndarray>x, dx = fresh(ndim(a), dims(a), typenum(a))
    cdef ndarray dw = fresh(1, dims(a) + 1, typenum(a)), db = fresh(1, dims(a) + 1, typenum(a))
    cdef Py_ssize_t images = dims(a)[0], channels = dims(a)[1], area = size(a) // (images * channels)
    cdef int kind = easy(x)
    cdef char *pg = data(<ndarray>g)
    cdef char *px = data(a)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pm = data(<ndarray>mean)
    cdef char *ps = data(<ndarray>rstd)
    cdef char *pdx = data(dx)
    cdef char *pdw = data(dw)
    cdef char *pdb = data(db)
    with nogil:
        if kind == 0:
            batch_norm_backward_f32(<float *>pg, <float *>px, <float *>pw, <float *>pm, <float *>ps, <float *>pdx, <float *>pdw,
                                    <float *>pdb, images, channels, area, threads)
        else:
            batch_norm_backward_f64(<double *>pg, <double *>px, <double *>pw, <double *>pm, <double *>ps, <double *>pdx,
                                    <double *>pdw, <double *>pdb, images, channels, area, threads)
    return dx, dw, db
