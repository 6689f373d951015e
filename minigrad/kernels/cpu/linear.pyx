# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Matrix products: small ones by the loops of products.h, others by BLAS, without the time that NumPy's ufuncs take around it."""

from operator import iadd

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, in_rows
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref
from minigrad.kernels.numpy_ref.precision import SILENCE

cnp.import_array()

cdef extern from "Python.h":
    object PyContext_Copy(object)
    int PyContext_Enter(object) except -1
    int PyContext_Exit(object) except -1

cdef extern from "products.h" nogil:
    int product_f32 "mg_product_f32"(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t, Py_ssize_t, float *,
                                     Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    int product_f64 "mg_product_f64"(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t, Py_ssize_t, double *,
                                     Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void turn_f32 "mg_turn_f32"(const float *, Py_ssize_t, float *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void turn_f64 "mg_turn_f64"(const double *, Py_ssize_t, double *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void small_product_f32 "mg_small_product_f32"(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t, Py_ssize_t,
                                                  float *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void small_product_f64 "mg_small_product_f64"(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t, Py_ssize_t,
                                                  double *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    bint has_widest "mg_has_widest"()
    void whole_product "mg_whole_product"(const cnp.uint64_t *, const cnp.uint64_t *, cnp.uint64_t *, Py_ssize_t,
                                          Py_ssize_t, Py_ssize_t)
    void add_row_f32 "mg_add_row_f32"(void *, const void *, Py_ssize_t, Py_ssize_t)
    void add_row_f64 "mg_add_row_f64"(void *, const void *, Py_ssize_t, Py_ssize_t)

cdef extern from "pairs.h" nogil:
    void distances_f32 "mg_distances_f32"(const float *, const float *, float *, float *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void distances_f64 "mg_distances_f64"(const double *, const double *, double *, double *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void distances_backward_f32 "mg_distances_backward_f32"(const float *, const float *, const float *, const float *, float *,
                                                            Py_ssize_t, Py_ssize_t, Py_ssize_t, int)
    void distances_backward_f64 "mg_distances_backward_f64"(const double *, const double *, const double *, const double *,
                                                            double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, int)
    Py_ssize_t MG_PAIR_COLUMNS

# Numbers of multiplications
cdef enum:
    FEW = 1 << 13       # up to here, calling BLAS takes longer than any of our loops
    ALONE = 1 << 18     # BLAS shares more among threads
    MANY = 1 << 20      # up to here, our tiles are as fast as BLAS or faster, if they are filled
    WIDE = 1 << 27      # the same with vectors of 64 bytes: tiles are so wide that x is read a quarter as often

cdef inline bint both_matrices(object x, object y):
    return type(x) is ndarray and type(y) is ndarray and ndim(<ndarray>x) == 2 and ndim(<ndarray>y) == 2


cdef object blas(ndarray x, ndarray y, object z):
    """x y by NumPy, which calls BLAS, without its warnings about infinities and NaNs: see `quiet` in numpy_ref/precision.py.

    The result is in z if that is an array.
    """
    cdef object context = PyContext_Copy(SILENCE)
    PyContext_Enter(context)
    try:
        return matrix_product(x, y) if z is None else matrix_product_into(x, y, <ndarray>z)
    finally:
        PyContext_Exit(context)


cdef bint tiles(int kind, const char *x, npy_intp x_row, npy_intp x_column, const char *y, npy_intp y_row, npy_intp y_column,
                char *z, npy_intp z_row, npy_intp m, npy_intp k, npy_intp n) noexcept nogil:
    if kind == 0:
        return product_f32(<const float *>x, x_row, x_column, <const float *>y, y_row, y_column, <float *>z, z_row, m, k, n) == 0
    return product_f64(<const double *>x, x_row, x_column, <const double *>y, y_row, y_column, <double *>z, z_row, m, k, n) == 0


cdef void turn(int kind, const char *y, npy_intp y_column, char *z, npy_intp z_row, npy_intp k, npy_intp n) noexcept nogil:
    if kind == 0:
        turn_f32(<const float *>y, y_column, <float *>z, z_row, k, n)
    else:
        turn_f64(<const double *>y, y_column, <double *>z, z_row, k, n)


cdef bint multiply(int kind, const char *x, npy_intp x_row, npy_intp x_column, const char *y, npy_intp y_row, npy_intp y_column,
                   char *z, npy_intp m, npy_intp k, npy_intp n) noexcept nogil:
    """z = x y by our own loops, for a row-major z; or return False, and leave it to BLAS. Strides are in elements.

    Tiles need a row of at least one vector, and are filled if a row has 64 bytes and there are a few rows. They need contiguous
    rows of y; to copy contiguous columns takes as long as the products for half a dozen rows.
    """
    cdef npy_intp most = ALONE if threads > 1 else WIDE if has_widest() else MANY
    cdef npy_intp row = n * item_size(kind), filled = 4 if y_column == 1 else 8
    if m > most or k > most or n > most or m * k > most or m * k * n > most or m * k * n == 0:
        return False
    if m * k * n > FEW and (m < filled or row < 64):
        return False
    if k == 1:
        x_column = y_row = 1
    if n == 1:
        if m > 1:           # the product of a row, y, and a matrix
            return multiply(kind, y, 1, y_row, x, x_column, x_row, z, 1, k, m)
        y_column = 1
    if row >= 16 and (y_column == 1 or (y_row == 1 and m > 1)):
        return tiles(kind, x, x_row, x_column, y, y_row, y_column, z, n, m, k, n)
    if m != 1 and k != 1:
        return False
    if n == 1 and y_row == 1 and x_column == 1:
        y_column = 0        # selects the loop of inner products: rows of y have one element
    elif y_column != 1 and not (y_row == 1 and x_column == 1):
        return False
    if kind == 0:
        small_product_f32(<const float *>x, x_row, x_column, <const float *>y, y_row, y_column, <float *>z, m, k, n)
    else:
        small_product_f64(<const double *>x, x_row, x_column, <const double *>y, y_row, y_column, <double *>z, m, k, n)
    return True


cdef bint multiply_into(ndarray x, ndarray y, ndarray z) noexcept:
    cdef int kind = 0 if typenum(x) == NPY_FLOAT32 else 1, shift = 2 + kind         # from bytes to elements
    cdef npy_intp m = dims(x)[0], k = dims(x)[1], n = dims(y)[1]
    cdef npy_intp *a = strides(x)
    cdef npy_intp *b = strides(y)
    if not has_flags(x, cnp.NPY_ARRAY_ALIGNED) or not has_flags(y, cnp.NPY_ARRAY_ALIGNED):
        return False
    if m * k * n <= ALONE:      # a few microseconds, in which other threads may wait
        return multiply(kind, data(x), a[0] >> shift, a[1] >> shift, data(y), b[0] >> shift, b[1] >> shift, data(z), m, k, n)
    with nogil:
        return multiply(kind, data(x), a[0] >> shift, a[1] >> shift, data(y), b[0] >> shift, b[1] >> shift, data(z), m, k, n)


cdef object product_of_whole(object x, object y, int nd, npy_intp *shape):
    """x y for row-major int64 matrices, or batches of them, which BLAS does not have; None for others."""
    cdef const cnp.uint64_t *p = <cnp.uint64_t *>indices(x)
    cdef const cnp.uint64_t *q = <cnp.uint64_t *>indices(y)
    if p == NULL or q == NULL:
        return None
    cdef ndarray z = fresh(nd, shape, cnp.NPY_INT64)
    cdef cnp.uint64_t *r = <cnp.uint64_t *>data(z)
    cdef npy_intp m = shape[nd - 2], n = shape[nd - 1], k = dims(<ndarray>x)[nd - 1], count = elements(shape, nd - 2), i
    with nogil:
        for i in range(count):
            whole_product(p + i * m * k, q + i * k * n, r + i * m * n, m, k, n)
    return z


cdef object product(ndarray x, ndarray y):
    """x y for two matrices."""
    cdef npy_intp shape[2]
    cdef ndarray z
    shape[0], shape[1] = dims(x)[0], dims(y)[1]
    if dims(x)[1] != dims(y)[0]:
        return blas(x, y, None)
    if typenum(x) == typenum(y) == cnp.NPY_INT64:
        z = product_of_whole(in_rows(x), in_rows(y), 2, shape)
        return blas(x, y, None) if z is None else z
    if not is_real(x) or not is_real(y) or typenum(x) != typenum(y):
        return blas(x, y, None)
    z = fresh(2, shape, typenum(x))
    return z if multiply_into(x, y, z) else blas(x, y, z)


cdef object batches(ndarray x, ndarray y):
    """x y for two batches of matrices, of the same dimensions; None if NumPy should multiply them."""
    cdef int nd = ndim(x), shift, i
    cdef npy_intp at[MOST_DIMS]
    cdef npy_intp *steps = strides(x)
    cdef npy_intp *others = strides(y)
    cdef npy_intp m, k, n, count
    cdef char *p = data(x)
    cdef char *q = data(y)
    cdef char *r
    cdef ndarray z
    if nd < 3 or nd != ndim(y) or typenum(x) != typenum(y) or not same_dims(dims(x), dims(y), nd - 2) \
            or dims(x)[nd - 1] != dims(y)[nd - 2]:
        return None
    m, k, n = dims(x)[nd - 2], dims(x)[nd - 1], dims(y)[nd - 1]
    for i in range(nd - 1):
        at[i] = dims(x)[i]
    at[nd - 1] = n
    if typenum(x) == cnp.NPY_INT64:
        return product_of_whole(in_rows(x), in_rows(y), nd, at)
    if not is_real(x) or not is_real(y) or not has_flags(x, cnp.NPY_ARRAY_ALIGNED) or not has_flags(y, cnp.NPY_ARRAY_ALIGNED):
        return None
    z = fresh(nd, at, typenum(x))
    shift = 2 if typenum(x) == NPY_FLOAT32 else 3           # from bytes to elements
    count = size(z) // (m * n) if m * n else 0
    r = data(z)
    for i in range(nd - 2):
        at[i] = 0
    with nogil:
        while count > 0:
            if not multiply(shift - 2, p, steps[nd - 2] >> shift, steps[nd - 1] >> shift, q, others[nd - 2] >> shift,
                            others[nd - 1] >> shift, r, m, k, n):
                break
            r += m * n << shift
            count -= 1
            for i in range(nd - 3, -1, -1):         # the next matrix: of the last dimension that has one
                at[i] += 1
                p += steps[i]
                q += others[i]
                if at[i] < dims(x)[i]:
                    break
                p -= at[i] * steps[i]
                q -= at[i] * others[i]
                at[i] = 0
    return z if count == 0 else None


def matmul(x, y):
    if both_matrices(x, y):
        return product(<ndarray>x, <ndarray>y)
    z = batches(<ndarray>x, <ndarray>y) if type(x) is ndarray and type(y) is ndarray else None
    return numpy_ref.matmul(x, y) if z is None else z


def addmm(b, x, y):
    if not both_matrices(x, y):
        return numpy_ref.addmm(b, x, y)
    cdef ndarray z = product(<ndarray>x, <ndarray>y)
    cdef int kind = easy(z)
    if kind >= 0 and easy(b) == kind and row_of(z, <ndarray>b) == dims(z)[1]:
        (add_row_f32 if kind == 0 else add_row_f64)(data(z), data(<ndarray>b), dims(z)[0], dims(z)[1])
        return z
    return SILENCE.copy().run(iadd, z, b)


cdef object inner_product(object x, object y):
    """The inner product of two vectors, as of a row and a column; None for others, and for those that BLAS multiplies faster."""
    if not is_real(x) or not is_real(y) or typenum(<ndarray>x) != typenum(<ndarray>y) or ndim(<ndarray>x) != 1 \
            or ndim(<ndarray>y) != 1 or dims(<ndarray>x)[0] != dims(<ndarray>y)[0] \
            or not has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED) or not has_flags(<ndarray>y, cnp.NPY_ARRAY_ALIGNED):
        return None
    cdef npy_intp n = dims(<ndarray>x)[0]
    cdef int kind = 0 if typenum(<ndarray>x) == NPY_FLOAT32 else 1, shift = 2 + kind        # from bytes to elements
    cdef ndarray z = fresh(0, NULL, typenum(<ndarray>x))
    return z if multiply(kind, data(<ndarray>x), n, strides(<ndarray>x)[0] >> shift, data(<ndarray>y),
                         strides(<ndarray>y)[0] >> shift, 1, data(z), 1, n, 1) else None


def dot(x, y):
    z = inner_product(x, y)
    return numpy_ref.dot(x, y) if z is None else z


cdef int kind_of_pairs(object x, object y) noexcept:
    """0 (float) or 1 (double) if x and y are contiguous batches of matrices whose rows have the same length; else -1."""
    cdef int kind = easy(x)
    if kind < 0 or easy(y) != kind or ndim(<ndarray>x) < 2 or ndim(<ndarray>y) != ndim(<ndarray>x) \
            or not same_dims(dims(<ndarray>x), dims(<ndarray>y), ndim(<ndarray>x) - 2) or size(<ndarray>x) == 0 \
            or dims(<ndarray>y)[ndim(<ndarray>y) - 1] != dims(<ndarray>x)[ndim(<ndarray>x) - 1]:
        return -1
    return kind


def distances(x, y):
    cdef int kind = kind_of_pairs(x, y), nd, i
    cdef npy_intp shape[MOST_DIMS]
    cdef npy_intp n, m, d, k, item
    cdef ndarray z, turned
    if kind < 0:
        return numpy_ref.distances(x, y)
    nd = ndim(<ndarray>x)
    n, m, d = dims(<ndarray>x)[nd - 2], dims(<ndarray>y)[nd - 2], dims(<ndarray>x)[nd - 1]
    for i in range(nd - 1):
        shape[i] = dims(<ndarray>x)[i]
    shape[nd - 1] = m
    z = fresh(nd, shape, typenum(<ndarray>x))
    k = elements(shape, nd - 2)
    shape[0], shape[1], item = d, MG_PAIR_COLUMNS, item_size(kind)
    turned = fresh(2, shape, typenum(<ndarray>x))
    cdef char *p = data(<ndarray>x)
    cdef char *q = data(<ndarray>y)
    cdef char *r = data(z)
    cdef char *room = data(turned)
    with nogil:
        while k > 0:
            if kind == 0:
                distances_f32(<float *>p, <float *>q, <float *>r, <float *>room, n, m, d)
            else:
                distances_f64(<double *>p, <double *>q, <double *>r, <double *>room, n, m, d)
            p += n * d * item
            q += m * d * item
            r += n * m * item
            k -= 1
    return z


def distances_backward(g, dist, x, y):
    z = summed_slopes(in_rows(g), in_rows(dist), in_rows(x), in_rows(y))
    return numpy_ref.distances_backward(g, dist, x, y) if z is None else z


cdef object summed_slopes(object g, object dist, object x, object y):
    """`distances_backward` of contiguous arrays; None if they do not fit."""
    cdef int kind = kind_of_pairs(x, y), nd
    cdef npy_intp n, m, d, item, batch
    cdef ndarray z
    if kind >= 0:
        nd = ndim(<ndarray>x)
        n, m, d = dims(<ndarray>x)[nd - 2], dims(<ndarray>y)[nd - 2], dims(<ndarray>x)[nd - 1]
    if kind < 0 or not of_pairs(g, kind, <ndarray>x, m) or not of_pairs(dist, kind, <ndarray>x, m):
        return None
    z, item = fresh(nd, dims(<ndarray>x), typenum(<ndarray>x)), item_size(kind)
    batch = size(z) // (n * d)
    cdef char *h = data(<ndarray>g)
    cdef char *l = data(<ndarray>dist)
    cdef char *p = data(<ndarray>x)
    cdef char *q = data(<ndarray>y)
    cdef char *r = data(z)
    with nogil:
        while batch > 0:
            if kind == 0:
                distances_backward_f32(<float *>h, <float *>l, <float *>p, <float *>q, <float *>r, n, m, d, threads)
            else:
                distances_backward_f64(<double *>h, <double *>l, <double *>p, <double *>q, <double *>r, n, m, d, threads)
            h += n * m * item
            l += n * m * item
            p += n * d * item
            q += m * d * item
            r += n * d * item
            batch -= 1
    return z


cdef bint of_pairs(object g, int kind, ndarray x, npy_intp m) noexcept:
    """Whether g has, for each row of the matrices x, m numbers of this kind."""
    return (easy(g) == kind and ndim(<ndarray>g) == ndim(x) and same_dims(dims(<ndarray>g), dims(x), ndim(x) - 1)
            and dims(<ndarray>g)[ndim(x) - 1] == m)
