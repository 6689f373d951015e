# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Sums, softmax and layer normalisation over contiguous memory. The loops over rows are in rows.h."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "rows.h" nogil:
    double sum_row_f32 "mg_sum_row_f32"(const float *, Py_ssize_t)
    double sum_row_f64 "mg_sum_row_f64"(const double *, Py_ssize_t)
    void softmax_f32 "mg_softmax_f32"(const float *, float *, Py_ssize_t, Py_ssize_t, float, Py_ssize_t)
    void softmax_f64 "mg_softmax_f64"(const double *, double *, Py_ssize_t, Py_ssize_t, double, Py_ssize_t)
    void log_softmax_f32 "mg_log_softmax_f32"(const float *, float *, Py_ssize_t, Py_ssize_t)
    void log_softmax_f64 "mg_log_softmax_f64"(const double *, double *, Py_ssize_t, Py_ssize_t)
    void softmax_backward_f32 "mg_softmax_backward_f32"(const float *, const float *, float *, Py_ssize_t, Py_ssize_t)
    void softmax_backward_f64 "mg_softmax_backward_f64"(const double *, const double *, double *, Py_ssize_t, Py_ssize_t)
    void log_softmax_backward_f32 "mg_log_softmax_backward_f32"(const float *, const float *, float *, Py_ssize_t, Py_ssize_t)
    void log_softmax_backward_f64 "mg_log_softmax_backward_f64"(const double *, const double *, double *, Py_ssize_t,
                                                                Py_ssize_t)
    void layer_norm_f32 "mg_layer_norm_f32"(const float *, const float *, const float *, float *, float *, float *, Py_ssize_t,
                                            Py_ssize_t, float)
    void layer_norm_f64 "mg_layer_norm_f64"(const double *, const double *, const double *, double *, double *, double *,
                                            Py_ssize_t, Py_ssize_t, double)
    void layer_norm_backward_f32 "mg_layer_norm_backward_f32"(const float *, const float *, const float *, const float *,
                                                              const float *, float *, float *, float *, Py_ssize_t, Py_ssize_t)
    void layer_norm_backward_f64 "mg_layer_norm_backward_f64"(const double *, const double *, const double *, const double *,
                                                              const double *, double *, double *, double *, Py_ssize_t,
                                                              Py_ssize_t)

ctypedef fused real:
    float
    double


cdef void sum_block(const real *x, real *z, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner) noexcept nogil:
    """z[o, i] = sum over r of x[o, r, i]."""
    cdef Py_ssize_t o, r, i
    cdef const real *p
    cdef real *q
    if inner == 1:
        for o in range(outer):
            if real is float:
                z[o] = <real>sum_row_f32(x + o * n, n)
            else:
                z[o] = <real>sum_row_f64(x + o * n, n)
        return
    for o in range(outer):
        q = z + o * inner
        for i in range(inner):
            q[i] = 0
        for r in range(n):
            p = x + (o * n + r) * inner
            for i in range(inner):
                q[i] += p[i]


def sum(x, reduced, keepdim):
    cdef int kind = easy(x), i, k, nd, n_reduced = len(reduced)
    cdef ndarray a, z
    cdef npy_intp d[64]
    cdef Py_ssize_t outer = 1, n = 1, inner = 1
    cdef double room[SMALL]
    cdef char *numbers
    if (kind < 0 and not small_and_strided(x)) or n_reduced == 0:
        return numpy_ref.sum(x, reduced, keepdim)
    a = <ndarray>x
    nd = ndim(a)
    cdef int first = reduced[0], last = reduced[n_reduced - 1]
    if last - first + 1 != n_reduced:
        return numpy_ref.sum(x, reduced, keepdim)
    for k in range(n_reduced):
        if reduced[k] != first + k:
            return numpy_ref.sum(x, reduced, keepdim)
    k = 0
    for i in range(nd):
        if i < first:
            outer *= dims(a)[i]
        elif i <= last:
            n *= dims(a)[i]
        else:
            inner *= dims(a)[i]
        if i < first or i > last:
            d[k] = dims(a)[i]
            k += 1
        elif keepdim:
            d[k] = 1
            k += 1
    if inner > 1 and n > 4096:
        return numpy_ref.sum(x, reduced, keepdim)       # a running sum of so many floats loses digits
    z = fresh(k, d, typenum(a))
    numbers = data(a) if kind >= 0 else row_by_row(a, <char *>room)
    if typenum(a) == NPY_FLOAT32:
        sum_block(<float *>numbers, <float *>data(z), outer, n, inner)
    else:
        sum_block(<double *>numbers, <double *>data(z), outer, n, inner)
    return z


cdef bint small_and_strided(x) noexcept:
    """Whether to copy an array costs less than NumPy's preparations for its strides."""
    return is_real(x) and 0 < size(<ndarray>x) <= SMALL and has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED)


cdef char *row_by_row(ndarray a, char *room) noexcept:
    """The numbers of `a` without gaps, in `room`."""
    cdef npy_intp steps[MOST_DIMS]
    cdef npy_intp step = cnp.PyArray_ITEMSIZE(a)
    cdef int i
    for i in range(ndim(a) - 1, -1, -1):
        steps[i] = step
        step *= dims(a)[i]
    walk(ndim(a), dims(a), room, steps, data(a), strides(a), cnp.PyArray_ITEMSIZE(a))
    return room


cdef bint last_dim(object x, int dim):
    """Whether `dim` is the last of an easy array that has elements: then its rows are contiguous."""
    return easy(x) >= 0 and ndim(<ndarray>x) > 0 and dim == ndim(<ndarray>x) - 1 and size(<ndarray>x) > 0


def softmax(x, int dim):
    if not last_dim(x, dim):
        return numpy_ref.softmax(x, dim)
    return softmax_of(<ndarray>x, 1, 0)


cdef object softmax_of(ndarray x, double scale, Py_ssize_t queries):
    cdef ndarray z = fresh(ndim(x), dims(x), typenum(x))
    cdef Py_ssize_t n = dims(x)[ndim(x) - 1], rows = size(x) // n
    cdef int type_ = typenum(x)
    cdef char *p = data(x)
    cdef char *q = data(z)
    with nogil:
        if type_ == NPY_FLOAT32:
            softmax_f32(<float *>p, <float *>q, rows, n, <float>scale, queries)
        else:
            softmax_f64(<double *>p, <double *>q, rows, n, scale, queries)
    return z


def attention_weights(x, double scale, causal):
    if ndim(<ndarray>x) < 2 or not last_dim(x, ndim(<ndarray>x) - 1) or scale <= 0:
        return numpy_ref.attention_weights(x, scale, causal)
    cdef ndarray a = <ndarray>x
    return softmax_of(a, scale, dims(a)[ndim(a) - 2] if causal else 0)


def log_softmax(x, int dim):
    if not last_dim(x, dim):
        return numpy_ref.log_softmax(x, dim)
    cdef ndarray a = <ndarray>x, z = fresh(ndim(a), dims(a), typenum(a))
    cdef Py_ssize_t n = dims(z)[dim], rows = size(z) // n
    cdef int type_ = typenum(a)
    cdef char *p = data(a)
    cdef char *q = data(z)
    with nogil:
        if type_ == NPY_FLOAT32:
            log_softmax_f32(<float *>p, <float *>q, rows, n)
        else:
            log_softmax_f64(<double *>p, <double *>q, rows, n)
    return z


cdef object backward_of(ndarray g, ndarray z, bint logarithm):
    cdef ndarray out = fresh(ndim(g), dims(g), typenum(g))
    cdef Py_ssize_t n = dims(g)[ndim(g) - 1], rows = size(g) // n
    cdef int type_ = typenum(g)
    cdef char *p = data(g)
    cdef char *q = data(z)
    cdef char *r = data(out)
    with nogil:
        if type_ == NPY_FLOAT32 and logarithm:
            log_softmax_backward_f32(<float *>p, <float *>q, <float *>r, rows, n)
        elif type_ == NPY_FLOAT32:
            softmax_backward_f32(<float *>p, <float *>q, <float *>r, rows, n)
        elif logarithm:
            log_softmax_backward_f64(<double *>p, <double *>q, <double *>r, rows, n)
        else:
            softmax_backward_f64(<double *>p, <double *>q, <double *>r, rows, n)
    return out


def softmax_backward(g, z, int dim):
    if not last_dim(g, dim) or easy(z) != easy(g):
        return numpy_ref.softmax_backward(g, z, dim)
    return backward_of(<ndarray>g, <ndarray>z, False)


def log_softmax_backward(g, z, int dim):
    if not last_dim(g, dim) or easy(z) != easy(g):
        return numpy_ref.log_softmax_backward(g, z, dim)
    return backward_of(<ndarray>g, <ndarray>z, True)


cdef bint fits(object w, object x):
    """Whether `w` is None, or an easy array of the dtype of `x`."""
    return w is None or easy(w) == easy(x)


def layer_norm(x, w, b, int n_dims, double eps):
    if easy(x) < 0 or size(<ndarray>x) == 0 or not (fits(w, x) and fits(b, x)):
        return numpy_ref.layer_norm(x, w, b, n_dims, eps)
    cdef ndarray a = <ndarray>x, z = fresh(ndim(a), dims(a), typenum(a)), mean, rstd
    cdef npy_intp d[64]
    cdef Py_ssize_t n = 1, rows = 1
    cdef int i, lead = ndim(a) - n_dims, type_ = typenum(a)
    for i in range(ndim(a)):
        d[i] = dims(a)[i] if i < lead else 1
        if i < lead:
            rows *= dims(a)[i]
        else:
            n *= dims(a)[i]
    mean, rstd = fresh(ndim(a), d, type_), fresh(ndim(a), d, type_)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pb = NULL if b is None else data(<ndarray>b)
    cdef char *px = data(a)
    cdef char *pz = data(z)
    cdef char *pm = data(mean)
    cdef char *ps = data(rstd)
    with nogil:
        if type_ == NPY_FLOAT32:
            layer_norm_f32(<float *>px, <float *>pw, <float *>pb, <float *>pz, <float *>pm, <float *>ps, rows, n, <float>eps)
        else:
            layer_norm_f64(<double *>px, <double *>pw, <double *>pb, <double *>pz, <double *>pm, <double *>ps, rows, n, eps)
    return z, mean, rstd


def layer_norm_backward(g, x, w, mean, rstd, int n_dims):
    cdef int kind = easy(x)
    if kind < 0 or easy(g) != kind or easy(mean) != kind or easy(rstd) != kind or size(<ndarray>x) == 0 \
            or not fits(w, x):
        return numpy_ref.layer_norm_backward(g, x, w, mean, rstd, n_dims)
    cdef ndarray a = <ndarray>x, m = <ndarray>mean
    cdef int lead = ndim(a) - n_dims, type_ = typenum(a)
    cdef Py_ssize_t rows = size(m), n = size(a) // rows
    cdef ndarray dx = fresh(ndim(a), dims(a), type_)
    cdef ndarray dw = zeros(n_dims, dims(a) + lead, type_, 0), db = zeros(n_dims, dims(a) + lead, type_, 0)
    cdef char *pg = data(<ndarray>g)
    cdef char *px = data(a)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pm = data(m)
    cdef char *ps = data(<ndarray>rstd)
    cdef char *pdx = data(dx)
    cdef char *pdw = data(dw)
    cdef char *pdb = data(db)
    with nogil:
        if type_ == NPY_FLOAT32:
            layer_norm_backward_f32(<float *>pg, <float *>px, <float *>pw, <float *>pm, <float *>ps, <float *>pdx, <float *>pdw,
                                    <float *>pdb, rows, n)
        else:
            layer_norm_backward_f64(<double *>pg, <double *>px, <double *>pw, <double *>pm, <double *>ps, <double *>pdx,
                                    <double *>pdw, <double *>pdb, rows, n)
    return dx, dw, db
