# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Matrix products. They call BLAS without the time that NumPy's ufuncs take around it."""

from operator import iadd

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
from minigrad.kernels import numpy_ref
from minigrad.kernels.numpy_ref.precision import SILENCE

cnp.import_array()

cdef extern from "Python.h":
    object PyContext_Copy(object)
    int PyContext_Enter(object) except -1
    int PyContext_Exit(object) except -1

cdef extern from "products.h" nogil:
    void small_product_f32 "mg_small_product_f32"(const float *, Py_ssize_t, Py_ssize_t, const float *, Py_ssize_t, Py_ssize_t,
                                                  float *, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void small_product_f64 "mg_small_product_f64"(const double *, Py_ssize_t, Py_ssize_t, const double *, Py_ssize_t, Py_ssize_t,
                                                  double *, Py_ssize_t, Py_ssize_t, Py_ssize_t)

cdef enum:
    FEW = 8192      # multiplications up to which our loops are faster than BLAS, if one operand is a vector

cdef inline bint both_matrices(object x, object y):
    return type(x) is ndarray and type(y) is ndarray and ndim(<ndarray>x) == 2 and ndim(<ndarray>y) == 2


cdef object blas(ndarray x, ndarray y):
    """x y by NumPy, which calls BLAS, without its warnings about infinities and NaNs: see `quiet` in numpy_ref/precision.py."""
    cdef object context = PyContext_Copy(SILENCE)
    cdef npy_intp shape[2]
    PyContext_Enter(context)
    try:
        if is_real(x) and typenum(x) == typenum(y) and is_real(y) and dims(x)[1] == dims(y)[0]:    # into memory of the pool
            shape[0], shape[1] = dims(x)[0], dims(y)[1]
            return matrix_product_into(x, y, fresh(2, shape, typenum(x)))
        return matrix_product(x, y)
    finally:
        PyContext_Exit(context)


cdef object product(ndarray x, ndarray y):
    """x y for two matrices: by our own loops if both are small and x is a row or a column, else by BLAS."""
    cdef npy_intp m = dims(x)[0], k = dims(x)[1], n = dims(y)[1], item = cnp.PyArray_ITEMSIZE(x)
    cdef npy_intp x_row, x_column, y_row, y_column
    cdef npy_intp shape[2]
    cdef int kind = typenum(x)
    cdef ndarray z
    if (m != 1 and k != 1) or m > FEW or k > FEW or n > FEW or m * k * n > FEW or m * k * n == 0 or dims(y)[0] != k or not is_real(x) \
            or not is_real(y) or typenum(y) != kind or not has_flags(x, cnp.NPY_ARRAY_ALIGNED) or not has_flags(y, cnp.NPY_ARRAY_ALIGNED):
        return blas(x, y)
    x_row, x_column = strides(x)[0] // item, strides(x)[1] // item if k > 1 else 1
    y_row, y_column = strides(y)[0] // item if k > 1 else 1, strides(y)[1] // item if n > 1 else 1
    if n == 1 and y_row == 1 and x_column == 1:
        y_column = 0        # selects the loop of inner products: rows of y have one element
    elif y_column != 1 and not (y_row == 1 and x_column == 1):
        return blas(x, y)
    shape[0], shape[1] = m, n
    z = fresh(2, shape, kind)
    if kind == NPY_FLOAT32:
        small_product_f32(<float *>data(x), x_row, x_column, <float *>data(y), y_row, y_column, <float *>data(z), m, k, n)
    else:
        small_product_f64(<double *>data(x), x_row, x_column, <double *>data(y), y_row, y_column, <double *>data(z), m, k, n)
    return z


def matmul(x, y):
    return product(<ndarray>x, <ndarray>y) if both_matrices(x, y) else numpy_ref.matmul(x, y)


def addmm(b, x, y):
    if not both_matrices(x, y):
        return numpy_ref.addmm(b, x, y)
    cdef ndarray z = product(<ndarray>x, <ndarray>y)
    cdef ndarray row
    cdef Py_ssize_t i, k, n
    cdef float *p
    cdef float *q
    if easy(z) == 0 and easy(b) == 0 and row_of(z, <ndarray>b) == dims(z)[1]:
        row = <ndarray>b
        n = dims(z)[1]
        p = <float *>data(z)
        q = <float *>data(row)
        with nogil:
            for i in range(dims(z)[0]):
                for k in range(n):
                    p[k] += q[k]
                p += n
        return z
    return SILENCE.copy().run(iadd, z, b)


def dot(x, y):
    return numpy_ref.dot(x, y)
