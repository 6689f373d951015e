# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Concatenation."""

from libc.string cimport memcpy

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh_any, strided
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "tile_copy.h":
    bint copy_to_rows "mg_copy_to_rows"(int, const npy_intp *, char *, const char *, const npy_intp *, npy_intp) nogil


def cat(xs, int dim):
    cdef list arrays = <list>xs if type(xs) is list else list(xs)
    if not arrays:
        return numpy_ref.cat(arrays, dim)
    cdef ndarray first = <ndarray?>arrays[0], x, z
    cdef npy_intp d[MOST_DIMS]
    cdef int i, n = ndim(first)
    cdef npy_intp length = 0, item = cnp.PyArray_ITEMSIZE(first), inner = item, outer = 1, o, width, row
    cdef bint dense = True
    cdef char *p
    cdef char *q
    if not 0 <= dim < n:
        return numpy_ref.cat(arrays, dim)
    for y in arrays:
        x = <ndarray?>y
        if not of_numbers(x) or typenum(x) != typenum(first) or ndim(x) != n or not has_flags(x, cnp.NPY_ARRAY_ALIGNED):
            return numpy_ref.cat(arrays, dim)
        for i in range(n):
            if i != dim and dims(x)[i] != dims(first)[i]:
                return numpy_ref.cat(arrays, dim)
        dense = dense and is_contiguous(x)
        length += dims(x)[dim]
    for i in range(n):
        d[i] = dims(first)[i]
        if i < dim:
            outer *= d[i]
        elif i > dim:
            inner *= d[i]
    d[dim] = length
    z = fresh_any(n, d, typenum(first))
    if size(z) == 0:
        return z
    p = data(z)
    row = length * inner
    for y in arrays:
        x = <ndarray>y
        width = dims(x)[dim] * inner
        if dense and width == item:         # a call of memcpy for each number would take longer
            walk(1, &outer, p, &row, data(x), &item, item)
        elif dense:
            q = data(x)
            for o in range(outer):
                memcpy(p + o * row, q + o * width, width)
        elif size(x) <= SMALL:
            walk(n, dims(x), p, strides(z), data(x), strides(x), item)
        elif outer == 1 and copy_to_rows(n, dims(x), p, data(x), strides(x), item):
            pass
        else:
            d[dim] = dims(x)[dim]
            copy_into(strided(z, n, d, strides(z), p), x)
        p += width
    return z


def stack(xs, int dim):
    """`cat` of views with a new dimension of size 1."""
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp s[MOST_DIMS]
    cdef list views = []
    cdef ndarray x
    cdef int i, n
    for y in xs:
        x = <ndarray?>y
        n = ndim(x)
        if not 0 <= dim <= n or n == MOST_DIMS:
            return numpy_ref.stack(xs, dim)
        for i in range(n + 1):
            d[i] = 1 if i == dim else dims(x)[i - (i > dim)]
            s[i] = cnp.PyArray_ITEMSIZE(x) if i == dim else strides(x)[i - (i > dim)]
        views.append(strided(x, n + 1, d, s, data(x)))
    return cat(views, dim)
