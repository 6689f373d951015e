# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Sums, recurrences, softmax and layer normalisation over contiguous memory. The loops over rows are in rows.h.

Only the sum over one dimension also reads rows apart from each other, or overlapping ones, where they are.
"""

from libc.stdlib cimport calloc, free

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport divided, fresh, fresh_any, give_back, in_rows, in_memory_order
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "rows.h" nogil:
    void sum_rows_f32 "mg_run_sum_rows_f32"(const float *, float *, Py_ssize_t, Py_ssize_t, int)
    void sum_rows_f64 "mg_run_sum_rows_f64"(const double *, double *, Py_ssize_t, Py_ssize_t, int)
    void sum_columns_f32 "mg_sum_columns_f32"(const float *, float *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void sum_columns_f64 "mg_sum_columns_f64"(const double *, double *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void recurrence_f32 "mg_recurrence_f32"(const float *, const float *, float *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void recurrence_f64 "mg_recurrence_f64"(const double *, const double *, double *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    int MG_PARALLEL
    int MG_TILE
    void softmax_f32 "mg_run_softmax_f32"(const float *, float *, Py_ssize_t, Py_ssize_t, int)
    void softmax_f64 "mg_run_softmax_f64"(const double *, double *, Py_ssize_t, Py_ssize_t, int)
    void log_softmax_f32 "mg_run_log_softmax_f32"(const float *, float *, Py_ssize_t, Py_ssize_t, int)
    void log_softmax_f64 "mg_run_log_softmax_f64"(const double *, double *, Py_ssize_t, Py_ssize_t, int)
    void softmax_backward_f32 "mg_run_softmax_backward_f32"(const float *, const float *, float *, Py_ssize_t, Py_ssize_t, int)
    void softmax_backward_f64 "mg_run_softmax_backward_f64"(const double *, const double *, double *, Py_ssize_t, Py_ssize_t, int)
    void log_softmax_backward_f32 "mg_run_log_softmax_backward_f32"(const float *, const float *, float *, Py_ssize_t,
                                                                    Py_ssize_t, int)
    void log_softmax_backward_f64 "mg_run_log_softmax_backward_f64"(const double *, const double *, double *, Py_ssize_t,
                                                                    Py_ssize_t, int)
    void layer_norm_f32 "mg_run_layer_norm_f32"(const float *, const float *, const float *, float *, float *, float *, Py_ssize_t,
                                                Py_ssize_t, float, int)
    void layer_norm_f64 "mg_run_layer_norm_f64"(const double *, const double *, const double *, double *, double *, double *,
                                                Py_ssize_t, Py_ssize_t, double, int)
    void layer_norm_backward_f32 "mg_run_layer_norm_backward_f32"(const float *, const float *, const float *, const float *,
                                                                  const float *, float *, float *, float *, double *, Py_ssize_t,
                                                                  Py_ssize_t, int)
    void layer_norm_backward_f64 "mg_run_layer_norm_backward_f64"(const double *, const double *, const double *, const double *,
                                                                  const double *, double *, double *, double *, double *,
                                                                  Py_ssize_t, Py_ssize_t, int)
    Py_ssize_t MG_CHUNK_ROOM(Py_ssize_t)
    Py_ssize_t mg_chunk_of(Py_ssize_t)

cdef extern from "columns.h" nogil:
    void softmax_columns_f32 "mg_softmax_columns_f32"(const float *, float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, bint)
    void softmax_columns_f64 "mg_softmax_columns_f64"(const double *, double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, bint)
    void softmax_backward_columns_f32 "mg_softmax_backward_columns_f32"(const float *, const float *, float *, Py_ssize_t,
                                                                        Py_ssize_t, Py_ssize_t, bint)
    void softmax_backward_columns_f64 "mg_softmax_backward_columns_f64"(const double *, const double *, double *, Py_ssize_t,
                                                                        Py_ssize_t, Py_ssize_t, bint)

    void softmax_short_f32 "mg_run_softmax_short_f32"(const float *, float *, Py_ssize_t, Py_ssize_t, bint, int)
    void softmax_short_f64 "mg_run_softmax_short_f64"(const double *, double *, Py_ssize_t, Py_ssize_t, bint, int)
    void softmax_backward_short_f32 "mg_run_softmax_backward_short_f32"(const float *, const float *, float *, Py_ssize_t, Py_ssize_t,
                                                                        bint, int)
    void softmax_backward_short_f64 "mg_run_softmax_backward_short_f64"(const double *, const double *, double *, Py_ssize_t,
                                                                        Py_ssize_t, bint, int)
    Py_ssize_t MG_SHORT_ROW

cdef extern from "reductions.h" nogil:
    ctypedef void (*mg_reduction)(const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double)
    const mg_reduction mg_var_loops[2]
    const mg_reduction mg_prod_loops[2]
    const mg_reduction mg_nansum_loops[2]
    const mg_reduction mg_logsumexp_loops[2]
    void sum_whole "mg_sum_whole"(const cnp.int64_t *, cnp.int64_t *, Py_ssize_t, Py_ssize_t, Py_ssize_t)

cdef enum:
    SHORT = 8       # shorter rows are not worth a call for each

ctypedef fused real:
    float
    double


cdef object reduce(const mg_reduction *loops, object x, object reduced, bint keepdim, double correction):
    """A reduction of reductions.h, whose last argument is n - `correction`, and at least 0; None if x is not simple."""
    cdef Reduction g
    cdef ndarray a, z
    if not is_real(x):
        return None
    rows = divided(x, reduced, keepdim, &g)
    if rows is None:
        return None
    a = <ndarray>rows
    z = fresh(g.nd, g.dims, typenum(a))
    cdef char *p = data(a)
    cdef char *r = data(z)
    with nogil:
        loops[typenum(a) != NPY_FLOAT32](p, r, g.outer, g.n, g.inner, max(g.n - correction, 0))
    give_back(rows, x)
    return z


def var(x, reduced, correction, keepdim):
    z = reduce(mg_var_loops, x, reduced, keepdim, correction)
    return numpy_ref.var(x, reduced, correction, keepdim) if z is None else z


def prod(x, reduced, keepdim):
    z = reduce(mg_prod_loops, x, reduced, keepdim, 0)
    return numpy_ref.prod(x, reduced, keepdim) if z is None else z


def nansum(x, reduced, keepdim):
    z = reduce(mg_nansum_loops, x, reduced, keepdim, 0)
    return numpy_ref.nansum(x, reduced, keepdim) if z is None else z


def logsumexp(x, reduced, keepdim):
    z = reduce(mg_logsumexp_loops, x, reduced, keepdim, 0)
    return numpy_ref.logsumexp(x, reduced, keepdim) if z is None else z


cdef object sum_of_whole(object x, Reduction *g):
    """The sum of row-major int64 numbers, or None."""
    cdef cnp.int64_t *p = indices(x)
    cdef ndarray z
    if p == NULL:
        return None
    z = fresh(g.nd, g.dims, cnp.NPY_INT64)
    cdef cnp.int64_t *r = <cnp.int64_t *>data(z)
    with nogil:
        sum_whole(p, r, g.outer, g.n, g.inner)
    return z


cdef void sum_block(const real *x, real *z, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner) noexcept nogil:
    """z[o, i] = Σ x[o, r, i] over r."""
    cdef Py_ssize_t o
    if inner == 1:
        if real is float:
            sum_rows_f32(x, z, outer, n, threads)
        else:
            sum_rows_f64(x, z, outer, n, threads)
        return
    for o in range(outer):
        if real is float:
            sum_columns_f32(x + o * n * inner, z + o * inner, inner, n, inner)
        else:
            sum_columns_f64(x + o * n * inner, z + o * inner, inner, n, inner)


cdef void sum_numbers(int type_, char *x, char *z, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner) noexcept nogil:
    if type_ == NPY_FLOAT32:
        sum_block(<float *>x, <float *>z, outer, n, inner)
    else:
        sum_block(<double *>x, <double *>z, outer, n, inner)


cdef object sum_of(object x, Reduction *g):
    """The sum of float numbers, or None if x has others."""
    cdef char *numbers
    cdef char *result
    cdef ndarray a, z
    if not is_real(x):
        return None
    rows = in_rows(x)
    a = <ndarray>rows
    z = fresh(g.nd, g.dims, typenum(a))
    if g.inner == 0 or g.outer == 0:
        return z
    numbers, result = data(a), data(z)
    if g.outer * g.n * g.inner < MG_PARALLEL:
        sum_numbers(typenum(a), numbers, result, g.outer, g.n, g.inner)
    else:
        with nogil:
            sum_numbers(typenum(a), numbers, result, g.outer, g.n, g.inner)
    give_back(rows, x)
    return z


cdef object sum_of_parts(ndarray x, Reduction *g):
    """The sum of row-major complex numbers: their real and imaginary parts are two columns."""
    cdef int kind = easy_parts(x)
    cdef ndarray z = fresh_any(g.nd, g.dims, typenum(x))
    cdef char *p = data(x)
    cdef char *r = data(z)
    if size(z):
        with nogil:
            sum_numbers(NPY_FLOAT64 if kind else NPY_FLOAT32, p, r, g.outer, g.n, 2 * g.inner)
    return z


cdef object sum_over(object x, object reduced, bint keepdim, Reduction *g):
    """The sum of float numbers over the dimensions `reduced`, or None."""
    if easy_parts(x) >= 0 and divide(<ndarray>x, reduced, keepdim, g):
        return sum_of_parts(<ndarray>x, g)
    if not is_real(x):
        return None
    if not by_rows(x):
        rows = in_memory_order(<ndarray>x, reduced, keepdim, g)
        if rows is not None:
            z = sum_of(rows, g)
            give_back(rows, x)
            return z
    if divide(<ndarray>x, reduced, keepdim, g):
        z = sum_of_rows_apart(<ndarray>x, (<tuple>reduced)[0], g) if len(<tuple>reduced) == 1 else None
        return sum_of(x, g) if z is None else z
    z = sum_of_planes(<ndarray>x, reduced, keepdim, g)
    if z is not None:
        return z
    rows = divided(x, reduced, keepdim, g)
    z = None if rows is None else sum_of(rows, g)
    give_back(rows, x)
    return z


cdef object sum_of_rows_apart(ndarray x, int dim, Reduction *g):
    """The sum over dimension `dim` of an array with gaps or overlaps, such as windows, if the last of the other dimensions has none.

    We read the rows where they are. `sum_of` would copy x: for windows that takes most of the time. None if x is not like that.
    """
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef npy_intp item = cnp.PyArray_ITEMSIZE(x), step, inner
    cdef int i, n = 0
    cdef ndarray z
    cdef char *p
    cdef char *r
    if by_rows(x) or not has_flags(x, cnp.NPY_ARRAY_ALIGNED) or strides(x)[dim] % item:
        return None
    for i in range(ndim(x)):
        if i == dim:
            continue
        if n and s[n - 1] == dims(x)[i] * strides(x)[i]:        # two dimensions in one line
            d[n - 1] *= dims(x)[i]
            s[n - 1] = strides(x)[i]
        else:
            d[n], s[n] = dims(x)[i], strides(x)[i]
            n += 1
    if n == 0 or s[n - 1] != item or d[n - 1] < SHORT:
        return None
    z = fresh(g.nd, g.dims, typenum(x))
    if size(z):
        step, inner, p, r = strides(x)[dim] // item, d[n - 1], data(x), data(z)
        with nogil:
            sum_apart(typenum(x), n - 1, d, s, p, r, step, g.n, inner)
    return z


cdef char *sum_apart(int type_, int nd, const npy_intp *d, const npy_intp *s, const char *x, char *z, Py_ssize_t step, Py_ssize_t n,
                     Py_ssize_t inner) noexcept nogil:
    """Write the sums of n rows of `inner` numbers, from each place of the `nd` dimensions on, to z; return the end of them."""
    cdef npy_intp i = 0, width
    if nd:
        for i in range(d[0]):
            z = sum_apart(type_, nd - 1, d + 1, s + 1, x + i * s[0], z, step, n, inner)
        return z
    while i < inner:        # so many sums stay in the cache while rows are added
        width = min(inner - i, <npy_intp>MG_TILE)
        if type_ == NPY_FLOAT32:
            sum_columns_f32(<const float *>x + i, <float *>z + i, step, n, width)
        else:
            sum_columns_f64(<const double *>x + i, <double *>z + i, step, n, width)
        i += width
    return z + inner * (sizeof(float) if type_ == NPY_FLOAT32 else sizeof(double))


cdef object sum_of_planes(ndarray x, object reduced, bint keepdim, Reduction *g):
    """The sum over the first and the last dimensions, as that of a bias of channels, first over the last ones; or None.

    `divided` would copy x: for (32, 64, 28, 28) that takes half of the time.
    """
    cdef int first = 0, last = ndim(x), count
    cdef Py_ssize_t n
    if type(reduced) is not tuple or not by_rows(x):
        return None
    count = <int>len(<tuple>reduced)
    while first < count and (<tuple>reduced)[first] == first:
        first += 1
    while last > ndim(x) - count and (<tuple>reduced)[count - 1 - (ndim(x) - last)] == last - 1:
        last -= 1
    if first == 0 or first + ndim(x) - last != count:
        return None
    rows = sum_over(x, (<tuple>reduced)[first:], keepdim, g)
    if rows is None:            # no such dimensions
        return None
    n = g.n
    z = sum_over(cnp.PyArray_Cast(<ndarray>rows, NPY_FLOAT64), (<tuple>reduced)[:first], keepdim, g)    # float loses a digit
    g.n *= n
    return None if z is None else cnp.PyArray_Cast(<ndarray>z, typenum(x))


def sum(x, reduced, keepdim):
    cdef Reduction g
    z = sum_over(x, reduced, keepdim, &g)
    if z is None and type(x) is ndarray and divide(<ndarray>x, reduced, keepdim, &g):
        z = sum_of_whole(x, &g)
    return numpy_ref.sum(x, reduced, keepdim) if z is None else z


def mean(x, reduced, keepdim):
    cdef Reduction g
    cdef Py_ssize_t i, count
    z = sum_over(x, reduced, keepdim, &g)
    if z is None:
        return numpy_ref.mean(x, reduced, keepdim)
    count = size(<ndarray>z) * (2 if easy_parts(z) >= 0 else 1)
    if typenum(<ndarray>z) == NPY_FLOAT32 or typenum(<ndarray>z) == cnp.NPY_COMPLEX64:
        for i in range(count):
            (<float *>data(<ndarray>z))[i] /= <float>g.n
    else:
        for i in range(count):
            (<double *>data(<ndarray>z))[i] /= <double>g.n
    return z


cdef bint divide_to(ndarray a, object shape, Reduction *g) except -1:
    """Fill in `g` for the sum to `shape`. False if that does not broadcast to the shape of `a`, or sums no neighbours."""
    cdef int i, last = -1, lead
    g.nd = read_shape(shape, g.dims)
    g.outer = g.n = g.inner = 1
    lead = ndim(a) - g.nd
    if lead < 0:
        return False
    for i in range(ndim(a)):
        if i >= lead and g.dims[i - lead] == dims(a)[i]:
            if last < 0:
                g.outer *= dims(a)[i]
            else:
                g.inner *= dims(a)[i]
        elif (i < lead or g.dims[i - lead] == 1) and (last < 0 or last == i - 1):
            g.n *= dims(a)[i]
            last = i
        else:
            return False
    return last >= 0


def sum_to(x, shape):
    cdef Reduction g
    cdef int i, lead, dim = -1, count = 0
    z = None
    if is_real(x) and divide_to(<ndarray>x, shape, &g):
        lead = ndim(<ndarray>x) - g.nd
        for i in range(ndim(<ndarray>x)):
            if i < lead or g.dims[i - lead] != dims(<ndarray>x)[i]:
                dim, count = i, count + 1
        z = sum_of_rows_apart(<ndarray>x, dim, &g) if count == 1 else None
        z = sum_of(x, &g) if z is None else z
    return numpy_ref.sum_to(x, shape) if z is None else z


def recurrence(x, y, int dim, reverse):
    x, y = in_rows(x), in_rows(y)           # the gradient of a sum is expanded
    if not alike(x, y) or not 0 <= dim < ndim(<ndarray>x) or size(<ndarray>x) == 0:
        return numpy_ref.recurrence(x, y, dim, reverse)
    cdef ndarray a = <ndarray>x, b = <ndarray>y, z = fresh(ndim(a), dims(a), typenum(a))
    cdef Py_ssize_t outer, n, inner, o, at, step = -1 if reverse else 1
    around(a, dim, &outer, &n, &inner)
    for o in range(outer):
        at = (o * n + (n - 1 if reverse else 0)) * inner
        if typenum(a) == NPY_FLOAT32:
            recurrence_f32(<float *>data(a) + at, <float *>data(b) + at, <float *>data(z) + at, n, inner, step)
        else:
            recurrence_f64(<double *>data(a) + at, <double *>data(b) + at, <double *>data(z) + at, n, inner, step)
    return z


cdef bint alike(object x, object y) noexcept:
    """Whether x and y are easy, with the same dtype and shape."""
    return (easy(y) == easy(x) >= 0 and ndim(<ndarray>x) == ndim(<ndarray>y)
            and same_dims(dims(<ndarray>x), dims(<ndarray>y), ndim(<ndarray>x)))


cdef object softmax_of(object x, int dim, bint logarithm):
    """softmax or log_softmax; None if x is not simple."""
    rows = in_rows(x)
    if easy(rows) < 0 or not 0 <= dim < ndim(<ndarray>x) or size(<ndarray>x) == 0:
        return None
    cdef ndarray a = <ndarray>rows, z = fresh(ndim(a), dims(a), typenum(a))
    cdef Py_ssize_t outer, n, inner
    around(a, dim, &outer, &n, &inner)
    cdef bint single = typenum(a) == NPY_FLOAT32
    cdef char *p = data(a)
    cdef char *q = data(z)
    with nogil:
        if inner > 1 and single:
            softmax_columns_f32(<float *>p, <float *>q, outer, n, inner, logarithm)
        elif inner > 1:
            softmax_columns_f64(<double *>p, <double *>q, outer, n, inner, logarithm)
        elif n <= MG_SHORT_ROW and single:
            softmax_short_f32(<float *>p, <float *>q, outer, n, logarithm, threads)
        elif n <= MG_SHORT_ROW:
            softmax_short_f64(<double *>p, <double *>q, outer, n, logarithm, threads)
        elif single and logarithm:
            log_softmax_f32(<float *>p, <float *>q, outer, n, threads)
        elif single:
            softmax_f32(<float *>p, <float *>q, outer, n, threads)
        elif logarithm:
            log_softmax_f64(<double *>p, <double *>q, outer, n, threads)
        else:
            softmax_f64(<double *>p, <double *>q, outer, n, threads)
    give_back(rows, x)
    return z


cdef object softmax_backward_of(object g, object z, int dim, bint logarithm):
    """The backward of softmax or log_softmax; None if the arrays are not simple."""
    rows, results = in_rows(g), in_rows(z)
    if not alike(rows, results) or not 0 <= dim < ndim(<ndarray>g) or size(<ndarray>g) == 0:
        return None
    cdef ndarray a = <ndarray>rows, out = fresh(ndim(a), dims(a), typenum(a))
    cdef Py_ssize_t outer, n, inner
    around(a, dim, &outer, &n, &inner)
    cdef bint single = typenum(a) == NPY_FLOAT32
    cdef char *p = data(a)
    cdef char *q = data(<ndarray>results)
    cdef char *r = data(out)
    with nogil:
        if inner > 1 and single:
            softmax_backward_columns_f32(<float *>p, <float *>q, <float *>r, outer, n, inner, logarithm)
        elif inner > 1:
            softmax_backward_columns_f64(<double *>p, <double *>q, <double *>r, outer, n, inner, logarithm)
        elif n <= MG_SHORT_ROW and single:
            softmax_backward_short_f32(<float *>p, <float *>q, <float *>r, outer, n, logarithm, threads)
        elif n <= MG_SHORT_ROW:
            softmax_backward_short_f64(<double *>p, <double *>q, <double *>r, outer, n, logarithm, threads)
        elif single and logarithm:
            log_softmax_backward_f32(<float *>p, <float *>q, <float *>r, outer, n, threads)
        elif single:
            softmax_backward_f32(<float *>p, <float *>q, <float *>r, outer, n, threads)
        elif logarithm:
            log_softmax_backward_f64(<double *>p, <double *>q, <double *>r, outer, n, threads)
        else:
            softmax_backward_f64(<double *>p, <double *>q, <double *>r, outer, n, threads)
    give_back(rows, g)
    give_back(results, z)
    return out


def softmax(x, int dim):
    z = softmax_of(x, dim, False)
    return numpy_ref.softmax(x, dim) if z is None else z


def log_softmax(x, int dim):
    z = softmax_of(x, dim, True)
    return numpy_ref.log_softmax(x, dim) if z is None else z


def softmax_backward(g, z, int dim):
    out = softmax_backward_of(g, z, dim, False)
    return numpy_ref.softmax_backward(g, z, dim) if out is None else out


def log_softmax_backward(g, z, int dim):
    out = softmax_backward_of(g, z, dim, True)
    return numpy_ref.log_softmax_backward(g, z, dim) if out is None else out


cdef bint fits(object w, object x, Py_ssize_t n) noexcept:
    """Whether `w` is None, or an easy array of `n` elements with the dtype of `x`."""
    return w is None or (easy(w) == easy(x) and size(<ndarray>w) == n)


cdef Py_ssize_t in_last(object x, int n_dims) noexcept:
    """The number of elements in the last `n_dims` dimensions of x; -1 if x is not easy, is empty, or has fewer dimensions."""
    cdef Py_ssize_t n = 1
    cdef int i
    if easy(x) < 0 or not 0 <= n_dims <= ndim(<ndarray>x) or size(<ndarray>x) == 0:
        return -1
    for i in range(ndim(<ndarray>x) - n_dims, ndim(<ndarray>x)):
        n *= dims(<ndarray>x)[i]
    return n


def layer_norm(x, w, b, int n_dims, double eps):
    x = in_rows(x)
    cdef Py_ssize_t n = in_last(x, n_dims)
    if n < 0 or not (fits(w, x, n) and fits(b, x, n)):
        return numpy_ref.layer_norm(x, w, b, n_dims, eps)
    cdef ndarray a = <ndarray>x, z = fresh(ndim(a), dims(a), typenum(a)), mean, rstd
    cdef npy_intp d[MOST_DIMS]
    cdef Py_ssize_t rows = size(a) // n
    cdef int i, lead = ndim(a) - n_dims, type_ = typenum(a)
    for i in range(ndim(a)):
        d[i] = dims(a)[i] if i < lead else 1
    mean, rstd = fresh(ndim(a), d, type_), fresh(ndim(a), d, type_)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pb = NULL if b is None else data(<ndarray>b)
    cdef char *px = data(a)
    cdef char *pz = data(z)
    cdef char *pm = data(mean)
    cdef char *ps = data(rstd)
    with nogil:
        if type_ == NPY_FLOAT32:
            layer_norm_f32(<float *>px, <float *>pw, <float *>pb, <float *>pz, <float *>pm, <float *>ps, rows, n, eps, threads)
        else:
            layer_norm_f64(<double *>px, <double *>pw, <double *>pb, <double *>pz, <double *>pm, <double *>ps, rows, n, eps,
                           threads)
    return z, mean, rstd


def layer_norm_backward(g, x, w, mean, rstd, int n_dims):
    g, x = in_rows(g), in_rows(x)
    cdef Py_ssize_t n = in_last(x, n_dims), rows = 0 if n < 0 else size(<ndarray>x) // n
    if n < 0 or not alike(x, g) or mean is None or rstd is None \
            or not (fits(w, x, n) and fits(mean, x, rows) and fits(rstd, x, rows)):
        return numpy_ref.layer_norm_backward(g, x, w, mean, rstd, n_dims)
    cdef ndarray a = <ndarray>x, m = <ndarray>mean
    cdef int lead = ndim(a) - n_dims, type_ = typenum(a)
    cdef ndarray dx = fresh(ndim(a), dims(a), type_)
    cdef ndarray dw = fresh(n_dims, dims(a) + lead, type_), db = fresh(n_dims, dims(a) + lead, type_)
    cdef char *pg = data(<ndarray>g)
    cdef char *px = data(a)
    cdef char *pw = NULL if w is None else data(<ndarray>w)
    cdef char *pm = data(m)
    cdef char *ps = data(<ndarray>rstd)
    cdef char *pdx = data(dx)
    cdef char *pdw = data(dw)
    cdef char *pdb = data(db)
    cdef Py_ssize_t chunk = mg_chunk_of(rows)
    cdef double *room = <double *>calloc((rows + chunk - 1) // chunk, MG_CHUNK_ROOM(n) * sizeof(double))
    if room == NULL:
        raise MemoryError
    with nogil:
        if type_ == NPY_FLOAT32:
            layer_norm_backward_f32(<float *>pg, <float *>px, <float *>pw, <float *>pm, <float *>ps, <float *>pdx, <float *>pdw,
                                    <float *>pdb, room, rows, n, threads)
        else:
            layer_norm_backward_f64(<double *>pg, <double *>px, <double *>pw, <double *>pm, <double *>ps, <double *>pdx,
                                    <double *>pdw, <double *>pdb, room, rows, n, threads)
        free(room)
    return dx, dw, db
