# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Kernels that are functions of NumPy, its *ufuncs*: we run the inner loop of the ufunc, and so get the same numbers.

A ufunc has an inner loop in C for each dtype, which walks one dimension by strides. Calling the ufunc instead takes 300 to 900 ns
more, most of them to switch off its warnings. (PyUFuncObject is part of NumPy's C interface.)

    loop_of_one, loop_of_two    a kernel for row-major arrays of one dtype, and of one shape or with a number
    ufunc_of_two                the same for the kernels of elementwise.pyx and comparison.pyx, whose own loops are for floats
    inner_loop                  the loop alone: randoms.pyx calls it
"""

import numpy as np

from cpython.long cimport PyLong_AsLongLongAndOverflow
from minigrad.kernels.cpu.broadcast cimport kind_of, loop_fits
from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, fresh_any, gapless, new_like, repeated, repeated_part
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "ufuncs.h" nogil:
    int MG_PARALLEL
    void remainder_i64 "mg_remainder_i64"(char **, const npy_intp *, const npy_intp *, void *)
    void floor_divide_i64 "mg_floor_divide_i64"(char **, const npy_intp *, const npy_intp *, void *)
    void mg_run_inner(InnerFunction, void *, int, char **, const npy_intp *, Py_ssize_t, int)

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin, nout, nargs, ntypes
        InnerFunction *functions
        void **data
        char *types

cdef enum:
    MOST_UFUNCS = 48    # in `loops`, for
    MOST_TYPES = 24     # NumPy's type numbers for dtypes of its own

cdef InnerLoop loops[MOST_UFUNCS][MOST_TYPES]
cdef int count = 0


cdef InnerLoop inner_loop(object ufunc, int type_) except *:
    """NumPy's loop for arguments of this dtype. Its address is NULL if there is none."""
    cdef PyUFuncObject *u = <PyUFuncObject *>ufunc
    cdef int i, n = u.nargs
    for i in range(u.ntypes):
        if u.types[n * i] == type_ and u.types[n * i + n - 2] == type_:
            return InnerLoop(u.functions[i], u.data[i], u.types[n * i + n - 1])
    return InnerLoop(NULL, NULL, 0)


cdef int find_loops(object ufunc, tuple types) except -1:
    """Take the loops of `ufunc` for dtypes with these names. Returns the number of the ufunc in `loops`."""
    global count
    if count == MOST_UFUNCS:
        raise ValueError("MOST_UFUNCS is too small")
    for name in types:
        loops[count][np.dtype(name).num] = inner_loop(ufunc, np.dtype(name).num)
    if ufunc is np.remainder or ufunc is np.floor_divide:
        loops[count][<int>cnp.NPY_INT64].address = remainder_i64 if ufunc is np.remainder else floor_divide_i64
    count += 1
    return count - 1


cdef inline InnerLoop *loop_for(int op, object x) noexcept:
    """The loop of a ufunc for a row-major array x; NULL if there is none."""
    if not by_rows(x) or not 0 <= typenum(<ndarray>x) < MOST_TYPES:
        return NULL
    cdef InnerLoop *found = &loops[op][typenum(<ndarray>x)]
    return found if found.address != NULL else NULL


cdef object run(InnerLoop *f, int n_args, char **args, npy_intp *steps, ndarray like):
    """The result of a loop, in the shape of `like`. Its address is the last of `args`."""
    cdef ndarray z = fresh_any(ndim(like), dims(like), f.result)
    cdef npy_intp n = size(like)
    args[n_args - 1], steps[n_args - 1] = data(z), cnp.PyArray_ITEMSIZE(z)
    if n < MG_PARALLEL:
        mg_run_inner(f.address, f.its_data, n_args, args, steps, n, 1)
    else:
        with nogil:
            mg_run_inner(f.address, f.its_data, n_args, args, steps, n, threads)
    return z


def loop_of_one(ufunc, str name, tuple types):
    """The kernel `name`: NumPy's `ufunc` of one argument."""
    cdef int op = find_loops(ufunc, types)

    def kernel(x):
        cdef InnerLoop *f = loop_for(op, x)
        cdef char *args[2]
        cdef npy_intp steps[2]
        if f == NULL:
            return getattr(numpy_ref, name)(x)
        args[0], steps[0] = data(<ndarray>x), cnp.PyArray_ITEMSIZE(<ndarray>x)
        return run(f, 2, args, steps, <ndarray>x)
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


cdef bint fits(object x, int type_, Number *number) except -1:
    """Write the Python number x to `number` as an element of a dtype. False if it is none, or the dtype is another."""
    cdef int overflow
    if type_ == NPY_FLOAT32 and is_number(x):
        number.single = <float><double>x
    elif type_ == NPY_FLOAT64 and is_number(x):
        number.wide = x
    elif type_ == cnp.NPY_INT64 and type(x) is int:
        number.whole = PyLong_AsLongLongAndOverflow(x, &overflow)
        return not overflow
    else:
        return False
    return True


cdef object ufunc_of_two(int op, object x, object y):
    """A ufunc of two row-major arrays of one shape and dtype, or of such an array and a number. None if they are something else."""
    cdef InnerLoop *f = loop_for(op, x)
    cdef char *args[3]
    cdef npy_intp steps[3]
    cdef Number a
    cdef ndarray like
    if f != NULL:
        like = <ndarray>x
        if type(y) is ndarray:
            if typenum(<ndarray>y) != typenum(like) or loop_for(op, y) == NULL or ndim(<ndarray>y) != ndim(like) \
                    or not same_dims(dims(<ndarray>y), dims(like), ndim(like)):
                return None
            args[1], steps[1] = data(<ndarray>y), cnp.PyArray_ITEMSIZE(like)
        elif fits(y, typenum(like), &a):
            args[1], steps[1] = <char *>&a, 0
        else:
            return None
        args[0], steps[0] = data(like), cnp.PyArray_ITEMSIZE(like)
    else:
        f = loop_for(op, y)
        if f == NULL or type(x) is ndarray or not fits(x, typenum(<ndarray>y), &a):
            return None
        like = <ndarray>y
        args[0], steps[0] = <char *>&a, 0
        args[1], steps[1] = data(like), cnp.PyArray_ITEMSIZE(like)
    return run(f, 3, args, steps, like)


def loop_of_two(ufunc, str name, tuple types):
    """The kernel `name`: NumPy's `ufunc` of two arguments."""
    cdef int op = find_loops(ufunc, types)

    def kernel(x, y):
        z = ufunc_of_two(op, x, y)
        return getattr(numpy_ref, name)(x, y) if z is None else z
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


FLOATS = ("float32", "float64")
WHOLE = ("int32", "int64")
BITS = ("bool", "uint8", *WHOLE)
floor, ceil, trunc = [loop_of_one(getattr(np, name), name, FLOATS) for name in ("floor", "ceil", "trunc")]
round = loop_of_one(np.rint, "round", FLOATS)
isnan, isinf, isfinite = [loop_of_one(getattr(np, name), name, FLOATS) for name in ("isnan", "isinf", "isfinite")]
invert = loop_of_one(np.invert, "invert", BITS)
logical_and, logical_or, logical_xor = [loop_of_two(getattr(np, "bitwise_" + name), "logical_" + name, BITS)
                                        for name in ("and", "or", "xor")]
fmax, fmin = [loop_of_two(getattr(np, name), name, FLOATS) for name in ("fmax", "fmin")]
power = loop_of_two(np.power, "pow", FLOATS)
