# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Layout and views. A view is made in one step, from its shape and strides (60 ns; NumPy's own take 150
to 3000)."""

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef enum:
    MOST_DIMS = 64


def owns(x):
    if easy(x) < 0:
        return numpy_ref.owns(x)
    return has_flags(<ndarray>x, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE)


def obeys_layout(g, x):
    if type(g) is ndarray and type(x) is ndarray and is_contiguous(<ndarray>g) and is_contiguous(<ndarray>x):
        return ndim(<ndarray>g) == ndim(<ndarray>x) and same_dims(dims(<ndarray>g), dims(<ndarray>x), ndim(<ndarray>g))
    return numpy_ref.obeys_layout(g, x)


def copy_with_layout(g, x):
    if type(g) is ndarray and type(x) is ndarray and is_contiguous(<ndarray>x):
        return cnp.PyArray_NewCopy(<ndarray>g, cnp.NPY_CORDER)
    return numpy_ref.copy_with_layout(g, x)


def copy(x):
    return cnp.PyArray_NewCopy(<ndarray>x, cnp.NPY_CORDER)


def by_columns(x):
    return has_flags(<ndarray>x, cnp.NPY_ARRAY_F_CONTIGUOUS) and not is_contiguous(<ndarray>x)


def contiguous(x):
    return is_contiguous(<ndarray>x)


def view(x, shape):
    cdef ndarray a = <ndarray>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, n = len(shape)
    if n > MOST_DIMS or not is_contiguous(a):
        return numpy_ref.view(x, shape)
    for i in range(n):
        d[i] = shape[i]
    cdef npy_intp step = cnp.PyArray_ITEMSIZE(a)
    for i in range(n - 1, -1, -1):
        s[i] = step
        step *= d[i]
    return strided(a, n, d, s, data(a))


def permute(x, order):
    cdef ndarray a = <ndarray>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, k, n = ndim(a)
    for i in range(n):
        k = order[i]
        d[i] = dims(a)[k]
        s[i] = strides(a)[k]
    return strided(a, n, d, s, data(a))


def expand(x, shape):
    cdef ndarray a = <ndarray>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, n = len(shape), lead = n - ndim(a)
    if n > MOST_DIMS:
        raise ValueError(f"at most {MOST_DIMS} dimensions")
    for i in range(n):
        d[i] = shape[i]
        s[i] = 0 if i < lead or dims(a)[i - lead] != d[i] else strides(a)[i - lead]
    return strided(a, n, d, s, data(a))


def unsqueeze(x, int dim):
    cdef ndarray a = <ndarray>x
    cdef npy_intp d[MOST_DIMS + 1]
    cdef npy_intp s[MOST_DIMS + 1]
    cdef int i, n = ndim(a) + 1
    for i in range(n):
        d[i] = 1 if i == dim else dims(a)[i - (i > dim)]
        s[i] = strides(a)[i - (i > dim)] if i != dim else cnp.PyArray_ITEMSIZE(a) if i == n - 1 else dims(a)[i] * strides(a)[i]
    return strided(a, n, d, s, data(a))


def select(x, int dim, npy_intp index):
    cdef ndarray a = <ndarray>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i, k = 0
    for i in range(ndim(a)):
        if i != dim:
            d[k] = dims(a)[i]
            s[k] = strides(a)[i]
            k += 1
    return strided(a, k, d, s, data(a) + index * strides(a)[dim])


def slice(x, int dim, npy_intp start, npy_intp stop, npy_intp step):
    cdef ndarray a = <ndarray>x
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef int i
    for i in range(ndim(a)):
        d[i] = dims(a)[i]
        s[i] = strides(a)[i]
    d[dim] = (stop - start + step - 1) // step if stop > start else 0
    s[dim] *= step
    return strided(a, ndim(a), d, s, data(a) + start * strides(a)[dim])


def cast(x, dtype):
    return x if x.dtype is dtype else numpy_ref.cast(x, dtype)
