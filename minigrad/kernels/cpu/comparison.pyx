# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Comparisons of each element, and the choice between two elements by a mask; the loops are in ``comparison.h``."""

import numpy as np

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.string cimport memchr, memcmp

from minigrad.kernels.cpu.broadcast cimport widen
from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport copied, fresh, repeats, strided
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels.cpu.ufuncs cimport find_loops, ufunc_of_two
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "comparison.h" nogil:
    int MG_PARALLEL
    ctypedef void (*mg_compare)(const void *, const void *, char *, Py_ssize_t)
    const mg_compare mg_compare_loops[][2][2]
    void mg_run_compare(mg_compare, const char *, const char *, char *, Py_ssize_t, int, int, int)
    ctypedef void (*mg_choice)(const char *, const void *, const void *, void *, Py_ssize_t)
    const mg_choice mg_choice_loops[3][2][2]
    void mg_run_choice(mg_choice, const char *, const char *, const char *, char *, Py_ssize_t, int, int, int, int)
    int MG_C_eq, MG_C_ne, MG_C_lt, MG_C_le, MG_C_gt, MG_C_ge

cdef enum:
    VV = 0              # layouts of a loop: see comparison.h
    VS = 1
    COMPARISONS = 6
    EXACT = 1 << 24     # integers up to here are float32 as well
    BLOCK = 4096        # elements that `equal` compares before it looks for a difference

cdef int whole_compare[COMPARISONS]     # the number of NumPy's ufunc, for other dtypes
for op_, ufunc_ in [(MG_C_eq, np.equal), (MG_C_ne, np.not_equal), (MG_C_lt, np.less), (MG_C_le, np.less_equal),
                    (MG_C_gt, np.greater), (MG_C_ge, np.greater_equal)]:
    whole_compare[op_] = find_loops(ufunc_, ("bool", "uint8", "int32", "int64"))


cdef object compare(int op, object x, object y, str twin):
    cdef int kind = easy(x), layout = VV
    cdef ndarray a, z
    cdef Number number
    cdef char *q
    cdef char *r
    cdef npy_intp n
    if kind >= 0:
        a = <ndarray>x
        q = NULL
        if type(y) is float or (type(y) is int and -EXACT <= y <= EXACT):
            layout = VS
            q = write_number(y, kind, &number)
        elif easy(y) == kind and ndim(<ndarray>y) == ndim(a) and same_dims(dims(<ndarray>y), dims(a), ndim(a)):
            q = data(<ndarray>y)
        if q != NULL:
            z = fresh(ndim(a), dims(a), cnp.NPY_BOOL)
            n, r = size(a), data(z)
            if n < MG_PARALLEL:
                mg_compare_loops[op][kind][layout](data(a), q, r, n)
            else:
                with nogil:
                    mg_run_compare(mg_compare_loops[op][kind][layout], data(a), q, r, n, item_size(kind), layout == VV, threads)
            return z
    else:
        z = ufunc_of_two(whole_compare[op], x, y)
        if z is not None:
            return z
    return getattr(numpy_ref, twin)(x, y)


def eq(x, y):
    return compare(MG_C_eq, x, y, "eq")


cdef inline bint is_whole(object x) noexcept:
    """Whether x is a row-major array of integers or bools."""
    return type(x) is ndarray and typenum(<ndarray>x) <= cnp.NPY_ULONGLONG and native(<ndarray>x) and is_contiguous(<ndarray>x)


def equal(x, y):
    cdef int kind = easy(x)
    cdef char differs[BLOCK]
    cdef const char *p
    cdef const char *q
    cdef npy_intp n, count
    cdef mg_compare loop
    if not (kind >= 0 and easy(y) == kind or is_whole(x) and is_whole(y) and typenum(<ndarray>x) == typenum(<ndarray>y)) \
            or ndim(<ndarray>x) != ndim(<ndarray>y) or not same_dims(dims(<ndarray>x), dims(<ndarray>y), ndim(<ndarray>x)):
        return numpy_ref.equal(x, y)
    if kind < 0:
        return memcmp(data(<ndarray>x), data(<ndarray>y), size(<ndarray>x) * cnp.PyArray_ITEMSIZE(<ndarray>x)) == 0
    n, p, q, loop = size(<ndarray>x), data(<ndarray>x), data(<ndarray>y), mg_compare_loops[MG_C_ne][kind][VV]
    while n > 0:
        count = min(n, <npy_intp>BLOCK)
        loop(p, q, differs, count)
        if memchr(differs, 1, count) != NULL:
            return False
        n -= count
        p += count * item_size(kind)
        q += count * item_size(kind)
    return True


def ne(x, y):
    return compare(MG_C_ne, x, y, "ne")


def lt(x, y):
    return compare(MG_C_lt, x, y, "lt")


def le(x, y):
    return compare(MG_C_le, x, y, "le")


def gt(x, y):
    return compare(MG_C_gt, x, y, "gt")


def ge(x, y):
    return compare(MG_C_ge, x, y, "ge")


# 0 for a row-major array of float32, 1 for one of float64, 2 for one of int64; else -1.
cdef inline int choosable(object x) noexcept:
    return 2 if indices(x) != NULL else easy(x)


# The address of an operand of `where`: of an array of `kind` with the mask's shape, of the element of a 0-d array, or of `number`,
# which gets the value of a Python number. NULL for anything else. Sets `single` to whether the operand is one number.
cdef char *source(object x, int kind, ndarray mask, Number *number, bint *single) except? NULL:
    single[0] = True
    cdef int overflow
    if kind == 2 and type(x) is int:
        number.whole = PyLong_AsLongLongAndOverflow(x, &overflow)
        return NULL if overflow else <char *>&number.whole
    if kind != 2 and is_number(x):
        return write_number(x, kind, number)
    if choosable(x) != kind:
        return NULL
    if ndim(<ndarray>x) != 0 or ndim(mask) == 0:
        if ndim(<ndarray>x) != ndim(mask) or not same_dims(dims(<ndarray>x), dims(mask), ndim(mask)):
            return NULL
        single[0] = False
    return data(<ndarray>x)


cdef object one_or_rows(object x, int nd, npy_intp *shape):
    """The element that an expanded array repeats, such as the gradient of a sum, as a 0-d array; else `spread_rows`."""
    cdef int i
    if not of_numbers(x) or ndim(<ndarray>x) == 0:
        return x
    if not by_rows(x):
        for i in range(ndim(<ndarray>x)):
            if strides(<ndarray>x)[i] != 0 and dims(<ndarray>x)[i] != 1:
                return spread_rows(x, nd, shape)
        return strided(<ndarray>x, 0, NULL, NULL, data(<ndarray>x))
    return spread_rows(x, nd, shape)


cdef object spread_rows(object x, int nd, npy_intp *shape):
    """A row-major copy of x in this shape, if x is an array of numbers of another shape, or one that repeats elements; else x."""
    cdef npy_intp steps[MOST_DIMS]
    cdef int i, lead
    if not of_numbers(x):
        return x
    lead = nd - ndim(<ndarray>x)
    for i in range(nd):
        steps[i] = 0 if i < lead or dims(<ndarray>x)[i - lead] == 1 else strides(<ndarray>x)[i - lead]
        if i >= lead and dims(<ndarray>x)[i - lead] != shape[i] and dims(<ndarray>x)[i - lead] != 1:
            return x
    if lead == 0 and same_dims(dims(<ndarray>x), shape, nd) and (by_rows(x) or not repeats(<ndarray>x)):
        return x
    z = copied(<ndarray>x, nd, shape, steps, data(<ndarray>x))
    return x if z is None else z


def where(c, x, y):
    cdef npy_intp shape[MOST_DIMS]
    cdef int nd = 0
    for each in (c, x, y):
        if type(each) is ndarray and not widen(each, &nd, shape):
            return numpy_ref.where(c, x, y)     # raises the error
    c, x, y = spread_rows(c, nd, shape), one_or_rows(x, nd, shape), one_or_rows(y, nd, shape)
    cdef int kind = choosable(x)
    cdef ndarray mask, z
    cdef Number a, b
    cdef bint one, other
    cdef char *p
    cdef char *q
    cdef char *m
    cdef char *r
    cdef npy_intp n
    cdef mg_choice loop
    if kind < 0:
        kind = choosable(y)
    if kind >= 0 and type(c) is ndarray and typenum(<ndarray>c) == cnp.NPY_BOOL and is_contiguous(<ndarray>c):
        mask = <ndarray>c
        if ndim(mask) != nd or not same_dims(dims(mask), shape, nd):        # it could not be spread
            return numpy_ref.where(c, x, y)
        p = source(x, kind, mask, &a, &one)
        q = source(y, kind, mask, &b, &other) if p != NULL else NULL
        if q != NULL:
            z = fresh(ndim(mask), dims(mask), NPY_FLOAT32 if kind == 0 else NPY_FLOAT64 if kind == 1 else <int>cnp.NPY_INT64)
            n = size(z)
            loop = mg_choice_loops[kind][one][other]
            m, r = data(mask), data(z)
            if n < MG_PARALLEL:
                loop(m, p, q, r, n)
            else:
                with nogil:
                    mg_run_choice(loop, m, p, q, r, n, item_size(kind), not one, not other, threads)
            return z
    return numpy_ref.where(c, x, y)
