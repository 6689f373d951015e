# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Batch and group normalisation. The loops are in channels.h and groups.h."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, in_rows
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
    void normalize_channels_f32 "mg_normalize_channels_f32"(const float *, const float *, const float *, const float *, float *,
                                                            Py_ssize_t, Py_ssize_t, Py_ssize_t, int)
    void normalize_channels_f64 "mg_normalize_channels_f64"(const double *, const double *, const double *, const double *,
                                                            double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, int)

cdef extern from "groups.h" nogil:
    void group_norm_f32 "mg_group_norm_f32"(const float *, const float *, const float *, float *, float *, float *, Py_ssize_t,
                                            Py_ssize_t, Py_ssize_t, Py_ssize_t, float, int)
    void group_norm_f64 "mg_group_norm_f64"(const double *, const double *, const double *, double *, double *, double *,
                                            Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, double, int)
    void group_norm_backward_f32 "mg_group_norm_backward_f32"(const float *, const float *, const float *, const float *,
                                                              const float *, float *, float *, float *, double *, Py_ssize_t,
                                                              Py_ssize_t, Py_ssize_t, Py_ssize_t, int)
    void group_norm_backward_f64 "mg_group_norm_backward_f64"(const double *, const double *, const double *, const double *,
                                                              const double *, double *, double *, double *, double *, Py_ssize_t,
                                                              Py_ssize_t, Py_ssize_t, Py_ssize_t, int)


cdef bint has_channels(object x) noexcept:
    """Whether x is easy and not empty, and has a dimension of channels."""
    return easy(x) >= 0 and ndim(<ndarray>x) >= 2 and size(<ndarray>x) > 0


cdef bint of_channels(object v, ndarray x) noexcept:
    """Whether `v` is an easy vector with a number for each channel of x."""
    return easy(v) == easy(x) and ndim(<ndarray>v) == 1 and dims(<ndarray>v)[0] == dims(x)[1]


def batch_norm(x, w, b, double eps):
    x = in_rows(x)
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
    g, x = in_rows(g), in_rows(x)
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


def normalize_channels(x, mean, scale, shift):
    x = in_rows(x)
    if not has_channels(x) or not of_channels(mean, <ndarray>x) or not of_channels(scale, <ndarray>x) \
            or not (shift is None or of_channels(shift, <ndarray>x)):
        return numpy_ref.normalize_channels(x, mean, scale, shift)
    cdef ndarray a = <ndarray>x, z = fresh(ndim(a), dims(a), typenum(a))
    cdef Py_ssize_t images = dims(a)[0], channels = dims(a)[1], area = size(a) // (images * channels)
    cdef int kind = easy(x)
    cdef char *px = data(a)
    cdef char *pm = data(<ndarray>mean)
    cdef char *ps = data(<ndarray>scale)
    cdef char *pb = NULL if shift is None else data(<ndarray>shift)
    cdef char *pz = data(z)
    with nogil:
        if kind == 0:
            normalize_channels_f32(<float *>px, <float *>pm, <float *>ps, <float *>pb, <float *>pz, images, channels, area, threads)
        else:
            normalize_channels_f64(<double *>px, <double *>pm, <double *>ps, <double *>pb, <double *>pz, images, channels, area,
                                   threads)
    return z


cdef bint of_groups(object v, ndarray x) noexcept:
    """Whether `v` is an easy array of (images, groups) for x, with a divisor of the channels as the number of groups."""
    return easy(v) == easy(x) and ndim(<ndarray>v) == 2 and dims(<ndarray>v)[0] == dims(x)[0] and dims(<ndarray>v)[1] > 0 \
        and dims(x)[1] % dims(<ndarray>v)[1] == 0


def group_norm(x, w, b, Py_ssize_t groups, double eps):
    x = in_rows(x)
    if not has_channels(x) or groups < 1 or dims(<ndarray>x)[1] % groups \
            or not (w is None or of_channels(w, <ndarray>x)) or not (b is None or of_channels(b, <ndarray>x)):
        return numpy_ref.group_norm(x, w, b, groups, eps)
    cdef ndarray a = <ndarray>x, z = fresh(ndim(a), dims(a), typenum(a))
    cdef npy_intp[2] shape = [dims(a)[0], groups]
    cdef ndarray mean = fresh(2, shape, typenum(a)), rstd = fresh(2, shape, typenum(a))
    cdef Py_ssize_t images = dims(a)[0], planes = dims(a)[1] // groups, area = size(a) // (images * dims(a)[1])
    cdef int kind = easy(x)
    cdef char *px = data(a)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pb = NULL if b is None else data(<ndarray>b)
    cdef char *pz = data(z)
    cdef char *pm = data(mean)
    cdef char *ps = data(rstd)
    with nogil:
        if kind == 0:
            group_norm_f32(<float *>px, <float *>pw, <float *>pb, <float *>pz, <float *>pm, <float *>ps, images, groups,
                           planes, area, <float>eps, threads)
        else:
            group_norm_f64(<double *>px, <double *>pw, <double *>pb, <double *>pz, <double *>pm, <double *>ps, images, groups,
                           planes, area, eps, threads)
    return z, mean, rstd


def group_norm_backward(g, x, w, mean, rstd):
    g, x = in_rows(g), in_rows(x)
    if not has_channels(x) or easy(g) != easy(x) or ndim(<ndarray>g) != ndim(<ndarray>x) \
            or not same_dims(dims(<ndarray>g), dims(<ndarray>x), ndim(<ndarray>x)) or not of_groups(mean, <ndarray>x) \
            or not of_groups(rstd, <ndarray>x) or dims(<ndarray>mean)[1] != dims(<ndarray>rstd)[1] \
            or not (w is None or of_channels(w, <ndarray>x)):
        return numpy_ref.group_norm_backward(g, x, w, mean, rstd)
    cdef ndarray a = <ndarray>x, dx = fresh(ndim(a), dims(a), typenum(a))
    cdef ndarray dw = fresh(1, dims(a) + 1, typenum(a)), db = fresh(1, dims(a) + 1, typenum(a))
    cdef Py_ssize_t images = dims(a)[0], channels = dims(a)[1], groups = dims(<ndarray>mean)[1]
    cdef npy_intp room = 2 * images * channels
    cdef Py_ssize_t planes = channels // groups, area = size(a) // (images * channels)
    cdef ndarray sums = fresh(1, &room, cnp.NPY_DOUBLE)
    cdef int kind = easy(x)
    cdef char *pg = data(<ndarray>g)
    cdef char *px = data(a)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pm = data(<ndarray>mean)
    cdef char *ps = data(<ndarray>rstd)
    cdef char *pdx = data(dx)
    cdef char *pdw = data(dw)
    cdef char *pdb = data(db)
    cdef double *room_of_sums = <double *>data(sums)
    with nogil:
        if kind == 0:
            group_norm_backward_f32(<float *>pg, <float *>px, <float *>pw, <float *>pm, <float *>ps, <float *>pdx, <float *>pdw,
                                    <float *>pdb, room_of_sums, images, groups, planes, area, threads)
        else:
            group_norm_backward_f64(<double *>pg, <double *>px, <double *>pw, <double *>pm, <double *>ps, <double *>pdx,
                                    <double *>pdw, <double *>pdb, room_of_sums, images, groups, planes, area, threads)
    return dx, dw, db
