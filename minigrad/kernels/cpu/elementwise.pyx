# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Elementwise kernels over the loops of ``loops.h``. Arguments that are not easy go to ``numpy_ref``."""

import numpy as np

from cpython.long cimport PyLong_AsLongLongAndOverflow
from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, fresh_any
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "loops.h" nogil:
    ctypedef void (*mg_binary)(const void *, const void *, void *, Py_ssize_t)
    ctypedef void (*mg_unary)(const void *, void *, Py_ssize_t)
    const mg_binary mg_binary_loops[][2][3]
    const mg_unary mg_unary_loops[][2]
    const mg_unary mg_libm_loops[][2]
    void mg_run_binary(mg_binary, const char *, const char *, char *, Py_ssize_t, int, int, int, int)
    void mg_run_unary(mg_unary, const char *, char *, Py_ssize_t, int, int)
    const mg_unary mg_special_loops[][2]
    # NumPy's loop for a function of one or two arguments
    ctypedef void (*mg_foreign)(char **, const npy_intp *, const npy_intp *, void *)
    void mg_run_foreign(mg_foreign, void *, int, char **, const npy_intp *, Py_ssize_t, int)
    ctypedef void (*mg_choice)(const char *, const void *, const void *, void *, Py_ssize_t)
    const mg_choice mg_choice_loops[2][2][2]
    ctypedef void (*mg_compare)(const void *, const void *, char *, Py_ssize_t)
    const mg_compare mg_compare_loops[][2][2]
    void mg_run_compare(mg_compare, const char *, const char *, char *, Py_ssize_t, int, int, int)
    int MG_C_eq, MG_C_ne, MG_C_lt, MG_C_le, MG_C_gt, MG_C_ge
    void mg_run_choice(mg_choice, const char *, const char *, const char *, char *, Py_ssize_t, int, int, int, int)
    int MG_PARALLEL
    int MG_B_add, MG_B_sub, MG_B_mul, MG_B_div, MG_B_maximum, MG_B_minimum, MG_B_relu_backward
    int MG_B_sigmoid_backward, MG_B_tanh_backward, MG_B_rsub, MG_B_gelu_backward, MG_B_gelu_tanh_backward
    int MG_B_silu_backward, MG_B_mish_backward, MG_B_glu
    void mg_glu_backward_f32(const void *, const void *, void *, Py_ssize_t)
    void mg_glu_backward_f64(const void *, const void *, void *, Py_ssize_t)
    int MG_U_neg, MG_U_sqrt, MG_U_rsqrt, MG_U_reciprocal, MG_U_abs, MG_U_relu, MG_U_square, MG_U_cube, MG_U_erf
    int MG_U_sigmoid, MG_U_gelu, MG_U_gelu_tanh, MG_U_silu, MG_U_mish, MG_U_sign
    int MG_S_erfc, MG_S_erfinv, MG_S_lgamma, MG_S_digamma, MG_S_i0, MG_S_i1
    int MG_L_exp, MG_L_log, MG_L_log1p, MG_L_sin, MG_L_cos, MG_L_tanh

cdef extern from "broadcast.h" nogil:
    ctypedef struct mg_spread:
        int nd
        npy_intp *n
        npy_intp *x_steps
        npy_intp *y_steps
    void mg_run_spread(mg_binary, const mg_spread *, const char *, const char *, char *, int, int)

cdef enum:
    VV = 0      # layouts of a binary loop: see loops.h
    VS = 1
    SV = 2
    FUNCTIONS = 6   # as many as MG_L_...
    MOST_OPS = 16       # in the tables of loops.h
    MOST_FOREIGN = 48   # ufuncs, and
    MOST_TYPES = 24     # NumPy's type numbers for dtypes of its own
    MOST_SPREAD = 8     # dimensions of a result whose operands broadcast: MG_MOST_SPREAD
    EXACT = 1 << 24     # integers up to here are float32 as well
    FEW = 8     # elements up to which libm's functions are as fast as NumPy's loops


cdef inline ndarray fresh_like(ndarray x):
    return fresh(ndim(x), dims(x), typenum(x))


cdef object run(int op, int kind, int layout, ndarray z, char *x, char *y):
    """z = x op y"""
    cdef Py_ssize_t n = size(z)
    cdef mg_binary loop = mg_binary_loops[op][kind][layout]
    cdef char *r = data(z)
    cdef int width = item_size(kind)
    if n < MG_PARALLEL:
        loop(x, y, r, n)
    else:
        with nogil:
            mg_run_binary(loop, x, y, r, n, width, layout != SV, layout != VS, threads)
    return z


# A Python number as an element of an array.
cdef union Element:
    float single
    double wide


cdef inline char *write_number(object number, int kind, Element *element) except NULL:
    """Write `number` to `element` in the dtype of `kind`, and return the address."""
    cdef double value = number
    if kind == 0:
        element.single = <float>value
    else:
        element.wide = value
    return <char *>element


# An operand that is not simply a row-major array of the result's shape: where it begins, its steps in bytes for each dimension
# of the result, 0 where it repeats, and the value of a Python number.
cdef struct Strided:
    char *start
    npy_intp steps[MOST_SPREAD]
    Element number


# 0 for an aligned array of float32 with at most MOST_SPREAD dimensions and any strides, 1 for float64, -1 for anything else.
cdef inline int kind_of(object x) noexcept:
    if not is_real(x) or ndim(<ndarray>x) > MOST_SPREAD or not has_flags(<ndarray>x, cnp.NPY_ARRAY_ALIGNED):
        return -1
    return 0 if typenum(<ndarray>x) == NPY_FLOAT32 else 1


# Whether two arrays of one kind have the same shape and both go through memory by columns, such as gradients of a weight that is
# used transposed.
cdef inline bint by_columns(ndarray x, ndarray y) noexcept:
    return (ndim(x) == ndim(y) and same_dims(dims(x), dims(y), ndim(x)) and has_flags(x, cnp.NPY_ARRAY_F_CONTIGUOUS)
            and has_flags(y, cnp.NPY_ARRAY_F_CONTIGUOUS))


cdef bint widen(object x, int *nd, npy_intp *d) noexcept:
    """Broadcast the shape of `x` and the shape in `d`, which has `nd` dimensions. Returns whether that is possible."""
    cdef int n = ndim(<ndarray>x), i, more = n - nd[0]
    cdef npy_intp one
    if more > 0:
        for i in range(n - 1, -1, -1):
            d[i] = d[i - more] if i >= more else 1
        nd[0] = n
    for i in range(n):
        one = dims(<ndarray>x)[i]
        if one != 1:
            if d[nd[0] - n + i] == 1:
                d[nd[0] - n + i] = one
            elif d[nd[0] - n + i] != one:
                return False
    return True


cdef bint locate(object x, int kind, int nd, npy_intp *d, Strided *at) except -1:
    """Set `at` for the operand `x` of a result of shape `d`. False if its memory is in another order than its dimensions."""
    cdef int i, lead
    cdef npy_intp step, before = 0
    if type(x) is ndarray:
        lead = nd - ndim(<ndarray>x)
        at.start = data(<ndarray>x)
        for i in range(nd):
            at.steps[i] = step = 0 if i < lead or dims(<ndarray>x)[i - lead] == 1 else strides(<ndarray>x)[i - lead]
            if step < 0 or (step > before > 0):
                return False
            if step > 0:
                before = step
        return True
    at.start = write_number(x, kind, &at.number)
    for i in range(nd):
        at.steps[i] = 0
    return True


cdef object spread(int op, int kind, object x, object y, ndarray z):
    """z = x op y for operands that broadcast, or repeat their elements as an expanded gradient does, for numbers, and by columns.

    `z` is the result, or None to make it. Returns None if NumPy has to do it.
    """
    cdef npy_intp d[MOST_SPREAD]
    cdef mg_spread s
    cdef Strided p, q
    cdef int nd = 0, i, k = -1, width = item_size(kind)
    cdef npy_intp total = 1
    cdef char *r
    cdef mg_binary loop
    if z is None and type(x) is ndarray and type(y) is ndarray and by_columns(<ndarray>x, <ndarray>y):
        z = empty(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x), 1)
        mg_run_binary(mg_binary_loops[op][kind][VV], data(<ndarray>x), data(<ndarray>y), data(z), size(z), width, 1, 1, 1)
        return z
    if type(x) is ndarray and not widen(x, &nd, d):
        return None
    if type(y) is ndarray and not widen(y, &nd, d):
        return None
    if not locate(x, kind, nd, d, &p) or not locate(y, kind, nd, d, &q):
        return None
    for i in range(nd - 1, -1, -1):         # dimensions through which both go in one step become one dimension
        total *= d[i]
        if d[i] == 1:
            continue
        if k >= 0 and p.steps[i] == s.x_steps[k] * s.n[k] and q.steps[i] == s.y_steps[k] * s.n[k]:
            s.n[k] *= d[i]
            continue
        k += 1
        s.n[k], s.x_steps[k], s.y_steps[k] = d[i], p.steps[i], q.steps[i]
    if k < 0:
        k, s.n[0], s.x_steps[0], s.y_steps[0] = 0, 1, width, width
    s.nd = k + 1
    if not (s.x_steps[0] == width and (s.y_steps[0] == width or s.y_steps[0] == 0)) \
            and not (s.x_steps[0] == 0 and s.y_steps[0] == width):
        return None
    if z is None:
        z = fresh(nd, d, NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)
    if total == 0:
        return z
    loop = mg_binary_loops[op][kind][SV if s.x_steps[0] == 0 else VS if s.y_steps[0] == 0 else VV]
    r = data(z)
    if total < MG_PARALLEL:
        mg_run_spread(loop, &s, p.start, q.start, r, width, 1)
    else:
        with nogil:
            mg_run_spread(loop, &s, p.start, q.start, r, width, threads)
    return z


cdef inline bint is_number(object x) noexcept:
    return type(x) is float or type(x) is int


cdef object binary(int op, object x, object y, str twin):
    cdef int kind = easy(x)
    cdef ndarray a, b
    cdef Element number
    if kind >= 0:
        a = <ndarray>x
        if type(y) is ndarray:
            b = <ndarray>y
            if easy(y) == kind:
                if ndim(a) == ndim(b) and same_dims(dims(a), dims(b), ndim(a)):
                    return run(op, kind, VV, fresh_like(a), data(a), data(b))
                if ndim(b) == 0:
                    return run(op, kind, VS, fresh_like(a), data(a), data(b))
                if ndim(a) == 0:
                    return run(op, kind, SV, fresh_like(b), data(a), data(b))
        elif is_number(y):
            return run(op, kind, VS, fresh_like(a), data(a), write_number(y, kind, &number))
    kind = kind_of(y) if is_number(x) else kind_of(x)
    if kind >= 0 and (is_number(x) or is_number(y) or kind_of(y) == kind):
        z = spread(op, kind, x, y, None)
        if z is not None:
            return z
    elif whole_binary[op] >= 0:
        z = foreign_two(whole_binary[op], x, y)
        if z is not None:
            return z
    return getattr(numpy_ref, twin)(x, y)


cdef inline object unary(int op, object x, str twin):
    return loop_over(mg_unary_loops[op], x, twin)


cdef object loop_over(const mg_unary *loops, object x, str twin):
    cdef int kind = easy(x)
    if kind < 0:
        return getattr(numpy_ref, twin)(x)
    return run_unary(loops[kind], <ndarray>x, fresh_like(<ndarray>x))


cdef object run_unary(mg_unary loop, ndarray x, ndarray z):
    cdef Py_ssize_t n = size(z), item = cnp.PyArray_ITEMSIZE(z)
    cdef char *p = data(x)
    cdef char *r = data(z)
    if n < MG_PARALLEL:
        loop(p, r, n)
    else:
        with nogil:
            mg_run_unary(loop, p, r, n, item, threads)
    return z


# ---- functions that NumPy computes several at a time ------------------------------------------------------------------

# NumPy's loop for a function of one argument, and the loop's data, for each kind: taken from the ufunc. Calling the ufunc
# instead takes 900 ns more. (PyUFuncObject is part of NumPy's C interface.)
cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin, nout, nargs, ntypes
        mg_foreign *functions
        void **data
        char *types

cdef mg_foreign numpy_loops[FUNCTIONS][2]
cdef void *numpy_data[FUNCTIONS][2]


cdef object find_loops(int op, object ufunc):
    cdef PyUFuncObject *u = <PyUFuncObject *>ufunc
    cdef int i, kind, wanted
    for kind in range(2):
        wanted = NPY_FLOAT32 if kind == 0 else NPY_FLOAT64
        for i in reversed(range(u.ntypes)):     # backwards, so that NumPy's first choice remains
            if u.types[2 * i] == wanted and u.types[2 * i + 1] == wanted:
                numpy_loops[op][kind] = u.functions[i]
                numpy_data[op][kind] = u.data[i]


for op_, ufunc_ in [(MG_L_exp, np.exp), (MG_L_log, np.log), (MG_L_log1p, np.log1p), (MG_L_sin, np.sin), (MG_L_cos, np.cos),
                    (MG_L_tanh, np.tanh)]:
    find_loops(op_, ufunc_)


cdef void call_loop(int op, int kind, char *x, char *z, npy_intp n) noexcept nogil:
    """Call libm's function for few elements, else NumPy's loop."""
    cdef char *args[2]
    cdef npy_intp steps[2]
    if n <= FEW or numpy_loops[op][kind] == NULL:
        mg_run_unary(mg_libm_loops[op][kind], x, z, n, item_size(kind), threads)
    else:
        args[0], args[1] = x, z
        steps[0] = steps[1] = item_size(kind)
        mg_run_foreign(numpy_loops[op][kind], numpy_data[op][kind], 2, args, steps, n, threads)


cdef object function(int op, object x, str twin):
    cdef int kind = easy(x)
    if kind < 0:
        return getattr(numpy_ref, twin)(x)
    return run_function(op, kind, <ndarray>x, fresh_like(<ndarray>x))


cdef object run_function(int op, int kind, ndarray x, ndarray z):
    cdef npy_intp n = size(z)
    cdef char *p = data(x)
    cdef char *r = data(z)
    if n < MG_PARALLEL:
        call_loop(op, kind, p, r, n)
    else:
        with nogil:
            call_loop(op, kind, p, r, n)
    return z


# NumPy's loops for a ufunc that has no loop of ours, for each dtype: dtypes of the arguments are the same. Calling the ufunc
# instead takes 300 to 900 ns more, most of them to switch off its warnings.
cdef struct Foreign:
    mg_foreign loop
    void *its_data
    int result              # type number of the result

cdef Foreign foreign_loops[MOST_FOREIGN][MOST_TYPES]
cdef int foreign_count = 0


cdef int find_foreign(object ufunc, tuple types) except -1:
    """Take the loops of `ufunc` for dtypes with these names. Returns the number of the ufunc in `foreign_loops`."""
    global foreign_count
    cdef PyUFuncObject *u = <PyUFuncObject *>ufunc
    cdef int op = foreign_count, i, k, n = u.nargs
    cdef set wanted = {np.dtype(name).num for name in types}
    if op == MOST_FOREIGN:
        raise ValueError("MOST_FOREIGN is too small")
    foreign_count += 1
    for i in reversed(range(u.ntypes)):     # backwards, so that NumPy's first choice remains
        k = u.types[n * i]
        if k in wanted and u.types[n * i + n - 2] == k:
            foreign_loops[op][k] = Foreign(u.functions[i], u.data[i], u.types[n * i + n - 1])
    return op


cdef inline Foreign *foreign_of(int op, object x) noexcept:
    """The loop of a ufunc for a row-major array x; NULL if there is none."""
    if not by_rows(x) or not 0 <= typenum(<ndarray>x) < MOST_TYPES:
        return NULL
    cdef Foreign *found = &foreign_loops[op][typenum(<ndarray>x)]
    return found if found.loop != NULL else NULL


cdef object run_foreign(Foreign *f, int n_args, char **args, npy_intp *steps, ndarray like):
    """The result of a loop, in the shape of `like`. Its address is the last of `args`."""
    cdef ndarray z = fresh_any(ndim(like), dims(like), f.result)
    cdef npy_intp n = size(like)
    args[n_args - 1], steps[n_args - 1] = data(z), cnp.PyArray_ITEMSIZE(z)
    if n < MG_PARALLEL:
        mg_run_foreign(f.loop, f.its_data, n_args, args, steps, n, 1)
    else:
        with nogil:
            mg_run_foreign(f.loop, f.its_data, n_args, args, steps, n, threads)
    return z


def loop_of_one(ufunc, str name, tuple types):
    """The kernel `name`: NumPy's `ufunc` of one argument."""
    cdef int op = find_foreign(ufunc, types)

    def kernel(x):
        cdef Foreign *f = foreign_of(op, x)
        cdef char *args[2]
        cdef npy_intp steps[2]
        if f == NULL:
            return getattr(numpy_ref, name)(x)
        args[0], steps[0] = data(<ndarray>x), cnp.PyArray_ITEMSIZE(<ndarray>x)
        return run_foreign(f, 2, args, steps, <ndarray>x)
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


# A Python number as an element of an array, also of integers.
cdef union Number:
    float single
    double wide
    long long whole


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


cdef object foreign_two(int op, object x, object y):
    """A ufunc of two row-major arrays of one shape and dtype, or of such an array and a number. None if they are something else."""
    cdef Foreign *f = foreign_of(op, x)
    cdef char *args[3]
    cdef npy_intp steps[3]
    cdef Number a
    cdef ndarray like
    if f != NULL:
        like = <ndarray>x
        if type(y) is ndarray:
            if typenum(<ndarray>y) != typenum(like) or foreign_of(op, y) == NULL or ndim(<ndarray>y) != ndim(like) \
                    or not same_dims(dims(<ndarray>y), dims(like), ndim(like)):
                return None
            args[1], steps[1] = data(<ndarray>y), cnp.PyArray_ITEMSIZE(like)
        elif fits(y, typenum(like), &a):
            args[1], steps[1] = <char *>&a, 0
        else:
            return None
        args[0], steps[0] = data(like), cnp.PyArray_ITEMSIZE(like)
    else:
        f = foreign_of(op, y)
        if f == NULL or type(x) is ndarray or not fits(x, typenum(<ndarray>y), &a):
            return None
        like = <ndarray>y
        args[0], steps[0] = <char *>&a, 0
        args[1], steps[1] = data(like), cnp.PyArray_ITEMSIZE(like)
    return run_foreign(f, 3, args, steps, like)


def loop_of_two(ufunc, str name, tuple types):
    """The kernel `name`: NumPy's `ufunc` of two arguments."""
    cdef int op = find_foreign(ufunc, types)

    def kernel(x, y):
        z = foreign_two(op, x, y)
        return getattr(numpy_ref, name)(x, y) if z is None else z
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


FLOATS = ("float32", "float64")
WHOLE = ("int32", "int64")
BITS = ("bool", "uint8", *WHOLE)
exp2, expm1, log2, log10 = [loop_of_one(getattr(np, name), name, FLOATS) for name in ("exp2", "expm1", "log2", "log10")]
tan, sinh, cosh = [loop_of_one(getattr(np, name), name, FLOATS) for name in ("tan", "sinh", "cosh")]
asin, acos, atan, asinh, acosh, atanh = [loop_of_one(getattr(np, "arc" + name[1:]), name, FLOATS) for name in (
    "asin", "acos", "atan", "asinh", "acosh", "atanh")]
floor, ceil, trunc = [loop_of_one(getattr(np, name), name, FLOATS) for name in ("floor", "ceil", "trunc")]
round = loop_of_one(np.rint, "round", FLOATS)
isnan, isinf, isfinite = [loop_of_one(getattr(np, name), name, FLOATS) for name in ("isnan", "isinf", "isfinite")]
invert = loop_of_one(np.invert, "invert", BITS)
logical_and, logical_or, logical_xor = [loop_of_two(getattr(np, "bitwise_" + name), "logical_" + name, BITS)
                                        for name in ("and", "or", "xor")]
atan2, hypot, fmod, copysign = [loop_of_two(ufunc, name, FLOATS) for ufunc, name in (
    (np.arctan2, "atan2"), (np.hypot, "hypot"), (np.fmod, "fmod"), (np.copysign, "copysign"))]
logaddexp, logaddexp2, fmax, fmin = [loop_of_two(getattr(np, name), name, FLOATS)
                                     for name in ("logaddexp", "logaddexp2", "fmax", "fmin")]
remainder, floor_divide = [loop_of_two(getattr(np, name), name, FLOATS + WHOLE) for name in ("remainder", "floor_divide")]
power = loop_of_two(np.power, "pow", FLOATS)

# The numbers of ufuncs for kernels whose own loops are for floats alone: by MG_B_... and by MG_C_...
cdef int whole_binary[MOST_OPS]
cdef int whole_compare[MOST_OPS]
for op_ in range(MOST_OPS):
    whole_binary[op_] = -1
for op_, ufunc_ in [(MG_B_add, np.add), (MG_B_sub, np.subtract), (MG_B_mul, np.multiply), (MG_B_maximum, np.maximum),
                    (MG_B_minimum, np.minimum)]:
    whole_binary[op_] = find_foreign(ufunc_, WHOLE)
for op_, ufunc_ in [(MG_C_eq, np.equal), (MG_C_ne, np.not_equal), (MG_C_lt, np.less), (MG_C_le, np.less_equal),
                    (MG_C_gt, np.greater), (MG_C_ge, np.greater_equal)]:
    whole_compare[op_] = find_foreign(ufunc_, BITS)


def add(x, y):
    return binary(MG_B_add, x, y, "add")


def sub(x, y):
    return binary(MG_B_sub, x, y, "sub")


def rsub(x, y):
    return binary(MG_B_rsub, x, y, "rsub")


def mul(x, y):
    return binary(MG_B_mul, x, y, "mul")


def div(x, y):
    return binary(MG_B_div, x, y, "div")


def maximum(x, y):
    return binary(MG_B_maximum, x, y, "maximum")


def minimum(x, y):
    return binary(MG_B_minimum, x, y, "minimum")


def relu_backward(g, z):
    return binary(MG_B_relu_backward, g, z, "relu_backward")


def sigmoid_backward(g, z):
    return binary(MG_B_sigmoid_backward, g, z, "sigmoid_backward")


def tanh_backward(g, z):
    return binary(MG_B_tanh_backward, g, z, "tanh_backward")


def gelu_backward(g, x):
    return binary(MG_B_gelu_backward, g, x, "gelu_backward")


def gelu_tanh_backward(g, x):
    return binary(MG_B_gelu_tanh_backward, g, x, "gelu_tanh_backward")


def silu_backward(g, x):
    return binary(MG_B_silu_backward, g, x, "silu_backward")


def mish_backward(g, x):
    return binary(MG_B_mish_backward, g, x, "mish_backward")


def pow(x, y):
    if (type(y) is int or type(y) is float) and easy(x) >= 0:
        if y == 2:
            return unary(MG_U_square, x, None)
        if y == 3:
            return unary(MG_U_cube, x, None)
        if y == 0.5:
            return unary(MG_U_sqrt, x, None)
    return power(x, y)


def neg(x):
    if easy(x) < 0 and kind_of(x) >= 0:         # an expanded gradient, or a view
        z = spread(MG_B_mul, kind_of(x), x, -1.0, None)
        if z is not None:
            return z
    return unary(MG_U_neg, x, "neg")


def sqrt(x):
    return unary(MG_U_sqrt, x, "sqrt")


def rsqrt(x):
    return unary(MG_U_rsqrt, x, "rsqrt")


def reciprocal(x):
    return unary(MG_U_reciprocal, x, "reciprocal")


def abs(x):
    return unary(MG_U_abs, x, "abs")


def relu(x):
    return unary(MG_U_relu, x, "relu")


def erf(x):
    return unary(MG_U_erf, x, "erf")


def gelu(x):
    return unary(MG_U_gelu, x, "gelu")


def gelu_tanh(x):
    return unary(MG_U_gelu_tanh, x, "gelu_tanh")


def silu(x):
    return unary(MG_U_silu, x, "silu")


def mish(x):
    return unary(MG_U_mish, x, "mish")


def exp(x):
    return function(MG_L_exp, x, "exp")


def log(x):
    return function(MG_L_log, x, "log")


def log1p(x):
    return function(MG_L_log1p, x, "log1p")


def sin(x):
    return function(MG_L_sin, x, "sin")


def cos(x):
    return function(MG_L_cos, x, "cos")


def tanh(x):
    return function(MG_L_tanh, x, "tanh")


def sigmoid(x):
    return unary(MG_U_sigmoid, x, "sigmoid")


def sign(x):
    return unary(MG_U_sign, x, "sign")


def erfc(x):
    return loop_over(mg_special_loops[MG_S_erfc], x, "erfc")


def erfinv(x):
    return loop_over(mg_special_loops[MG_S_erfinv], x, "erfinv")


def lgamma(x):
    return loop_over(mg_special_loops[MG_S_lgamma], x, "lgamma")


def digamma(x):
    return loop_over(mg_special_loops[MG_S_digamma], x, "digamma")


def i0(x):
    return loop_over(mg_special_loops[MG_S_i0], x, "i0")


def i1(x):
    return loop_over(mg_special_loops[MG_S_i1], x, "i1")


# ---- results in given memory ------------------------------------------------------------------------------------------
# The attribute `in_place` of a kernel: see KERNEL_ATTRIBUTES in contract.py.


# Whether a loop may write to `out` while it reads x, both row-major arrays of this kind and of one shape: they are the same array, or
# have no memory in common.
cdef bint loop_fits(object x, object out, int kind) noexcept:
    cdef ndarray a, z
    if x is out:
        return True
    if easy(x) != kind:
        return False
    a, z = <ndarray>x, <ndarray>out
    return (ndim(a) == ndim(z) and same_dims(dims(a), dims(z), ndim(a))
            and (data(a) + cnp.PyArray_NBYTES(a) <= data(z) or data(z) + cnp.PyArray_NBYTES(z) <= data(a)))


cdef inline int writable(object out) noexcept:
    """`easy`, for an array to write to."""
    return easy(out) if type(out) is ndarray and has_flags(<ndarray>out, cnp.NPY_ARRAY_WRITEABLE) else -1


def binary_in_place(kernel, int op):
    def in_place(x, y, out):
        cdef int kind = writable(out)
        cdef Element number
        if kind >= 0 and loop_fits(x, out, kind):
            if is_number(y):
                return run(op, kind, VS, <ndarray>out, data(<ndarray>x), write_number(y, kind, &number))
            if loop_fits(y, out, kind):
                return run(op, kind, VV, <ndarray>out, data(<ndarray>x), data(<ndarray>y))
        numpy_ref.copy_(out, kernel(x, y))
    return in_place


def unary_in_place(kernel, int op):
    def in_place(x, out):
        cdef int kind = writable(out)
        if kind >= 0 and loop_fits(x, out, kind):
            return run_unary(mg_unary_loops[op][kind], <ndarray>x, <ndarray>out)
        numpy_ref.copy_(out, kernel(x))
    return in_place


def function_in_place(kernel, int op):
    def in_place(x, out):
        cdef int kind = writable(out)
        if kind >= 0 and loop_fits(x, out, kind):
            return run_function(op, kind, <ndarray>x, <ndarray>out)
        numpy_ref.copy_(out, kernel(x))
    return in_place


for kernel_, op_ in [(add, MG_B_add), (sub, MG_B_sub), (rsub, MG_B_rsub), (mul, MG_B_mul), (div, MG_B_div), (maximum, MG_B_maximum),
                     (minimum, MG_B_minimum), (relu_backward, MG_B_relu_backward), (sigmoid_backward, MG_B_sigmoid_backward),
                     (tanh_backward, MG_B_tanh_backward), (gelu_backward, MG_B_gelu_backward),
                     (gelu_tanh_backward, MG_B_gelu_tanh_backward), (silu_backward, MG_B_silu_backward),
                     (mish_backward, MG_B_mish_backward)]:
    kernel_.in_place = binary_in_place(kernel_, op_)
for kernel_, op_ in [(neg, MG_U_neg), (sqrt, MG_U_sqrt), (rsqrt, MG_U_rsqrt), (reciprocal, MG_U_reciprocal), (abs, MG_U_abs),
                     (relu, MG_U_relu), (erf, MG_U_erf), (sigmoid, MG_U_sigmoid), (gelu, MG_U_gelu), (gelu_tanh, MG_U_gelu_tanh),
                     (silu, MG_U_silu), (mish, MG_U_mish)]:
    kernel_.in_place = unary_in_place(kernel_, op_)
for kernel_, op_ in [(exp, MG_L_exp), (log, MG_L_log), (log1p, MG_L_log1p), (sin, MG_L_sin), (cos, MG_L_cos), (tanh, MG_L_tanh)]:
    kernel_.in_place = function_in_place(kernel_, op_)


# ---- sums into given memory -------------------------------------------------------------------------------------------


cdef void add_into(char *x, char *y, Py_ssize_t n, int kind) noexcept:
    """x += y"""
    cdef mg_binary loop = mg_binary_loops[MG_B_add][kind][VV]
    if n < MG_PARALLEL:         # other threads get no turn for so few numbers: that would take longer than the sum
        loop(x, y, x, n)
    else:
        with nogil:
            mg_run_binary(loop, x, y, x, n, item_size(kind), 1, 1, threads)


def accumulate(x, y):
    cdef int kind = kind_of(x)
    cdef ndarray a, b
    if kind < 0 or kind_of(y) != kind:
        return numpy_ref.accumulate(x, y)
    a = <ndarray>x
    b = <ndarray>y
    if not (has_flags(a, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE)
            and ndim(a) == ndim(b) and same_dims(dims(a), dims(b), ndim(a))):
        return False
    if (easy(x) >= 0 and easy(y) >= 0) or by_columns(a, b):
        add_into(data(a), data(b), size(a), kind)
        return True
    # x owns its memory, so y is no view of it
    return (easy(x) >= 0 and spread(MG_B_add, kind, x, y, a) is not None) or numpy_ref.accumulate(x, y)


cdef bint spreads_over(ndarray y, ndarray x, int itemsize) noexcept:
    """Whether y broadcasts to the shape of x, such as a bias to planes, and is in other memory. Both are row-major."""
    cdef int i
    if ndim(y) != ndim(x):
        return False
    for i in range(ndim(x)):
        if dims(y)[i] != dims(x)[i] and dims(y)[i] != 1:
            return False
    return data(y) + size(y) * itemsize <= data(x) or data(x) + size(x) * itemsize <= data(y)


def add_(x, y):
    cdef int kind = easy(x)
    cdef ndarray a, b
    if kind >= 0 and easy(y) == kind:
        a = <ndarray>x
        b = <ndarray>y
        if has_flags(a, cnp.NPY_ARRAY_WRITEABLE) and ndim(a) == ndim(b) \
                and same_dims(dims(a), dims(b), ndim(a)):
            add_into(data(a), data(b), size(a), kind)
            return None
        if has_flags(a, cnp.NPY_ARRAY_WRITEABLE) and spreads_over(b, a, item_size(kind)) and spread(MG_B_add, kind, x, y, a) is not None:
            return None
    numpy_ref.add_(x, y)


# ---- comparisons ------------------------------------------------------------------------------------------------------


cdef object compare(int op, object x, object y, str twin):
    cdef int kind = easy(x), layout = VV
    cdef ndarray a, z
    cdef Element number
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
            z = empty(ndim(a), dims(a), cnp.NPY_BOOL, 0)
            n, r = size(a), data(z)
            if n < MG_PARALLEL:
                mg_compare_loops[op][kind][layout](data(a), q, r, n)
            else:
                with nogil:
                    mg_run_compare(mg_compare_loops[op][kind][layout], data(a), q, r, n, item_size(kind), layout == VV, threads)
            return z
    else:
        z = foreign_two(whole_compare[op], x, y)
        if z is not None:
            return z
    return getattr(numpy_ref, twin)(x, y)


def eq(x, y):
    return compare(MG_C_eq, x, y, "eq")


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


# ---- choices ----------------------------------------------------------------------------------------------------------


# The address of an operand of `where`: of an array of `kind` with the mask's shape, of the element of a 0-d array, or of `number`,
# which gets the value of a Python number. NULL for anything else. Sets `single` to whether the operand is one number.
cdef char *source(object x, int kind, ndarray mask, Element *number, bint *single) except? NULL:
    single[0] = True
    if is_number(x):
        return write_number(x, kind, number)
    if easy(x) != kind:
        return NULL
    if ndim(<ndarray>x) != 0 or ndim(mask) == 0:
        if ndim(<ndarray>x) != ndim(mask) or not same_dims(dims(<ndarray>x), dims(mask), ndim(mask)):
            return NULL
        single[0] = False
    return data(<ndarray>x)


def where(c, x, y):
    cdef int kind = easy(x)
    cdef ndarray mask, z
    cdef Element a, b
    cdef bint one, other
    cdef char *p
    cdef char *q
    cdef char *m
    cdef char *r
    cdef npy_intp n
    cdef mg_choice loop
    if kind < 0:
        kind = easy(y)
    if kind >= 0 and type(c) is ndarray and typenum(<ndarray>c) == cnp.NPY_BOOL and is_contiguous(<ndarray>c):
        mask = <ndarray>c
        p = source(x, kind, mask, &a, &one)
        q = source(y, kind, mask, &b, &other) if p != NULL else NULL
        if q != NULL:
            z = fresh(ndim(mask), dims(mask), NPY_FLOAT32 if kind == 0 else NPY_FLOAT64)
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


def clamp(x, low, high):
    if easy(x) < 0 or (low is None and high is None):
        return numpy_ref.clamp(x, low, high)
    z = x if low is None else binary(MG_B_maximum, x, low, "maximum")
    return z if high is None else binary(MG_B_minimum, z, high, "minimum")


# ---- halves -----------------------------------------------------------------------------------------------------------


# Write the shape of half of `x` along `dim` to `d`, and the number of pairs of halves to `outer`. Returns the number of contiguous
# elements of a half; -1 if the size along `dim` is odd.
cdef npy_intp half(ndarray x, int dim, npy_intp *d, npy_intp *outer) noexcept:
    cdef npy_intp inner = 1
    cdef int i
    outer[0] = 1
    if not 0 <= dim < ndim(x) or dims(x)[dim] % 2:
        return -1
    for i in range(ndim(x)):
        d[i] = dims(x)[i] // 2 if i == dim else dims(x)[i]
        if i < dim:
            outer[0] *= d[i]
        else:
            inner *= d[i]
    return inner


def glu(x, int dim):
    cdef int kind = easy(x), width
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp outer, k, inner = half(<ndarray>x, dim, d, &outer) if kind >= 0 else -1
    cdef ndarray z
    cdef char *p
    cdef char *r
    cdef mg_binary loop
    if inner < 0:
        return numpy_ref.glu(x, dim)
    z = fresh(ndim(<ndarray>x), d, typenum(<ndarray>x))
    p, r, loop, width = data(<ndarray>x), data(z), mg_binary_loops[MG_B_glu][kind][VV], item_size(kind)
    with nogil:
        for k in range(outer):
            mg_run_binary(loop, p + 2 * k * inner * width, p + (2 * k + 1) * inner * width, r + k * inner * width, inner, width,
                          True, True, threads)
    return z


def glu_backward(g, x, int dim):
    cdef int kind = easy(x), width
    cdef npy_intp d[MOST_DIMS]
    cdef npy_intp outer, k, inner = half(<ndarray>x, dim, d, &outer) if kind >= 0 else -1
    cdef ndarray z
    cdef char *p
    cdef char *q
    cdef char *r
    if inner < 0 or easy(g) != kind or ndim(<ndarray>g) != ndim(<ndarray>x) or not same_dims(dims(<ndarray>g), d, ndim(<ndarray>x)):
        return numpy_ref.glu_backward(g, x, dim)
    z = fresh(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x))
    p, q, r, width = data(<ndarray>g), data(<ndarray>x), data(z), item_size(kind)
    with nogil:
        for k in range(outer):
            if kind == 0:
                mg_glu_backward_f32(p + k * inner * width, q + 2 * k * inner * width, r + 2 * k * inner * width, inner)
            else:
                mg_glu_backward_f64(p + k * inner * width, q + 2 * k * inner * width, r + 2 * k * inner * width, inner)
    return z
