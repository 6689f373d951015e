# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The function `rounding` of ``kernels/rounding.py`` in C: one of its kernels needs 200 ns more than the kernel that it calls."""

import numpy as np

from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.layout cimport cast, write
from minigrad.kernels.cpu.pool cimport recycle
from minigrad.kernels.numpy_ref.precision import rounded

cnp.import_array()

cdef extern from "Python.h":
    object vectorcall "PyObject_Vectorcall"(object, PyObject **, size_t, PyObject *)
    PyObject **items "PySequence_Fast_ITEMS"(object) noexcept

cdef extern from "internals.h":
    Py_ssize_t reference_count "mg_reference_count"(PyObject *) noexcept

cdef object SINGLE = np.dtype("float32")


# Whether x is an array of float16, or of bfloat16: of the dtypes that are not NumPy's own, only this one has two bytes.
cdef inline bint is_reduced(object x) noexcept:
    if type(x) is not ndarray:
        return False
    return typenum(<ndarray>x) == NPY_HALF or (typenum(<ndarray>x) >= NPY_USERDEF and cnp.PyArray_ITEMSIZE(<ndarray>x) == 2)


# Recycle an array that only the caller refers to.
cdef inline void release(object x) noexcept:
    if reference_count(<PyObject *>x) == 1:
        recycle(x)


cdef object narrow(object x, object dtype):
    if type(x) is ndarray and typenum(<ndarray>x) == NPY_FLOAT32:
        z = cast(x, dtype)
        release(x)
        return z
    return x


def rounding(list table, Py_ssize_t number, bint round_numbers, bint writes):
    def kernel(*args):
        cdef tuple given = args
        cdef list wide = None
        cdef Py_ssize_t i, n = len(given)
        dtype = None
        for i in range(n):
            x = <object>PyTuple_GET_ITEM(given, i)
            if is_reduced(x):
                if wide is None:
                    wide, dtype = list(given), (<ndarray>x).dtype
                wide[i] = cast(x, SINGLE)
        if wide is None:
            return table[number](*given)
        if round_numbers:
            for i in range(n):
                if is_number(wide[i]):
                    wide[i] = rounded(wide[i], dtype)
        z = vectorcall(table[number], items(wide), n, NULL)
        for i in range(n):
            x = <object>PyTuple_GET_ITEM(given, i)
            if is_reduced(x):
                copy, wide[i] = wide[i], None
                if writes and has_flags(<ndarray>x, cnp.NPY_ARRAY_WRITEABLE):
                    write(<ndarray>x, cast(copy, dtype))
                release(copy)
        if type(z) is tuple or type(z) is list:
            return tuple([narrow(item, dtype) for item in z])
        return narrow(z, dtype)
    return kernel
