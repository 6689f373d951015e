# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Functions of each element of several arrays, by the loops of ``elementwise.h``. Arguments that are not easy go to ``numpy_ref``.

Functions of one array: see unary.pyx. Operands that broadcast: broadcast.pyx. Integers, and functions that we leave to NumPy:
ufuncs.pyx.
"""

import numpy as np

from libc.math cimport INFINITY
from minigrad.kernels.cpu.broadcast cimport SV, VS, VV, by_columns, kind_of, loop_fits, mg_binary, spread, spreads_over
from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, fresh_any, gapless, in_rows, new_like, repeated, repeated_part, row_major_copy
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels.cpu.ufuncs cimport find_loops, ufunc_of_two
from minigrad.kernels.cpu.unary cimport (MG_U_cube, MG_U_neg, MG_U_reciprocal, MG_U_rsqrt, MG_U_sqrt, MG_U_square, unary,
                                         unary_of_parts)
from minigrad.kernels import numpy_ref
from minigrad.kernels.cpu.ufuncs import power
from minigrad.kernels.cpu.unary import unary_in_place

cnp.import_array()

cdef extern from "float.h" nogil:
    double FLT_MAX, DBL_MAX

cdef extern from "elementwise.h" nogil:
    int MG_PARALLEL
    const mg_binary mg_binary_loops[][2][3]
    void mg_run_binary(mg_binary, const char *, const char *, char *, Py_ssize_t, int, int, int, int)
    int MG_B_add, MG_B_sub, MG_B_mul, MG_B_div, MG_B_maximum, MG_B_minimum, MG_B_relu_backward
    int MG_B_sigmoid_backward, MG_B_tanh_backward, MG_B_rsub, MG_B_gelu_backward, MG_B_gelu_tanh_backward
    int MG_B_silu_backward, MG_B_mish_backward, MG_B_prelu, MG_B_hypot, MG_B_fmod, MG_B_remainder, MG_B_floor_divide
    int MG_B_hardsigmoid_backward, MG_B_hardswish_backward, MG_B_copysign, MG_B_heaviside, MG_B_xlogy, MG_B_xlog1py
    int MG_B_logaddexp, MG_B_logaddexp2, MG_B_pow, MG_B_atan2
    ctypedef void (*mg_mixed)(const void *, const void *, const void *, const void *, const void *, void *, Py_ssize_t)
    const mg_mixed mg_mixed_loops[][2]
    void mg_run_mixed(mg_mixed, const char *, const char *, const char *, const void *, const void *, char *, Py_ssize_t, int, int)
    int MG_M_limit, MG_M_lerp, MG_M_addcmul, MG_M_addcdiv, MG_M_huber, MG_M_add_scaled, MG_M_nan_to_num
    int MG_M_threshold, MG_M_zero_within, MG_M_softshrink, MG_M_softplus, MG_M_elu, MG_M_log_sigmoid
    int MG_M_bce_with_logits, MG_M_bce_with_logits_slope

cdef enum:
    MOST_OPS = 32       # in the table of binary loops

cdef object LEAST = -1 << 63, MOST = (1 << 63) - 1      # of int64

# The number of NumPy's ufunc for other dtypes, by MG_B_...; -1 if there is none.
cdef int whole_binary[MOST_OPS]
for op_ in range(MOST_OPS):
    whole_binary[op_] = -1
for op_, ufunc_ in [(MG_B_add, np.add), (MG_B_sub, np.subtract), (MG_B_mul, np.multiply), (MG_B_maximum, np.maximum),
                    (MG_B_minimum, np.minimum), (MG_B_remainder, np.remainder), (MG_B_floor_divide, np.floor_divide)]:
    whole_binary[op_] = find_loops(ufunc_, ("int32", "int64"))


cdef void run(int op, int kind, int layout, char *z, char *x, char *y, Py_ssize_t n) noexcept:
    """z = x op y, for n numbers"""
    cdef mg_binary loop = mg_binary_loops[op][kind][layout]
    if n < MG_PARALLEL:         # other threads get no turn for so few numbers: that would take longer than the loop
        loop(x, y, z, n)
    else:
        with nogil:
            mg_run_binary(loop, x, y, z, n, item_size(kind), layout != SV, layout != VS, threads)


cdef object binary(int op, object x, object y, str twin):
    cdef int kind = easy(x), layout = -1
    cdef ndarray shaped, z
    cdef char *q
    cdef Number number
    if kind >= 0:
        shaped = <ndarray>x
        if type(y) is ndarray:
            if by_rows(y) and typenum(<ndarray>y) == typenum(shaped):
                q = data(<ndarray>y)
                if ndim(shaped) == ndim(<ndarray>y) and same_dims(dims(shaped), dims(<ndarray>y), ndim(shaped)):
                    layout = VV
                elif ndim(<ndarray>y) == 0:
                    layout = VS
                elif ndim(shaped) == 0:
                    layout, shaped = SV, <ndarray>y
        elif is_number(y):
            layout, q = VS, write_number(y, kind, &number)
        if layout >= 0:
            z = fresh(ndim(shaped), dims(shaped), typenum(shaped))
            run(op, kind, layout, data(z), data(<ndarray>x), q, size(z))
            return z
    kind = kind_of(y) if is_number(x) else kind_of(x)
    if kind >= 0 and (is_number(x) or is_number(y) or kind_of(y) == kind):
        result = spread(mg_binary_loops[op][kind], kind, x, y, None)
        if result is not None:
            return result
    elif whole_binary[op] >= 0:
        result = ufunc_of_two(whole_binary[op], x, y)
        if result is not None:
            return result
    if op == MG_B_add or op == MG_B_sub:
        result = by_parts(op, x, y)
        if result is not None:
            return result
    return getattr(numpy_ref, twin)(x, y)


cdef object by_parts(int op, object x, object y):
    """A sum or difference of complex numbers: that of their real parts, and of their imaginary parts. None if it is not simple."""
    cdef int kind = easy_parts(x)
    if kind < 0 or easy_parts(y) != kind or ndim(<ndarray>x) != ndim(<ndarray>y) \
            or not same_dims(dims(<ndarray>x), dims(<ndarray>y), ndim(<ndarray>x)):
        return None
    cdef ndarray z = fresh_any(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x))
    run(op, kind, VV, data(z), data(<ndarray>x), data(<ndarray>y), 2 * size(z))
    return z


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


def hardsigmoid_backward(g, x):
    return binary(MG_B_hardsigmoid_backward, g, x, "hardsigmoid_backward")


def hardswish_backward(g, x):
    return binary(MG_B_hardswish_backward, g, x, "hardswish_backward")


def prelu(x, y):
    return binary(MG_B_prelu, x, y, "prelu")


def hypot(x, y):
    return binary(MG_B_hypot, x, y, "hypot")


def copysign(x, y):
    return binary(MG_B_copysign, x, y, "copysign")


def heaviside(x, y):
    return binary(MG_B_heaviside, x, y, "heaviside")


def xlogy(x, y):
    return binary(MG_B_xlogy, x, y, "xlogy")


def xlog1py(x, y):
    return binary(MG_B_xlog1py, x, y, "xlog1py")


def logaddexp(x, y):
    return binary(MG_B_logaddexp, x, y, "logaddexp")


def logaddexp2(x, y):
    return binary(MG_B_logaddexp2, x, y, "logaddexp2")


def fmod(x, y):
    return binary(MG_B_fmod, x, y, "fmod")


def remainder(x, y):
    return binary(MG_B_remainder, x, y, "remainder")


def floor_divide(x, y):
    return binary(MG_B_floor_divide, x, y, "floor_divide")


def neg(x):
    cdef int kind = kind_of(x), parts
    if easy(x) < 0:
        parts = easy_parts(x)
        if parts >= 0:              # complex numbers
            return unary_of_parts(MG_U_neg, parts, <ndarray>x)
        if kind >= 0:               # an expanded gradient, or a view
            result = spread(mg_binary_loops[MG_B_mul][kind], kind, x, -1.0, None)
            if result is not None:
                return result
    return unary(MG_U_neg, x, "neg")


def pow(x, y):
    if kind_of(x) >= 0:
        if type(y) is int or type(y) is float:
            if y == 2:
                return unary(MG_U_square, x, None)
            if y == 3:
                return unary(MG_U_cube, x, None)
            if y == 0.5:
                return unary(MG_U_sqrt, x, None)
            if y == -0.5:
                return unary(MG_U_rsqrt, x, None)
            if y == -1:
                return unary(MG_U_reciprocal, x, None)
            if y == -2:
                return unary(MG_U_reciprocal, unary(MG_U_square, x, None), None)
    elif type(x) is ndarray and (type(y) is int or type(y) is complex) and y == 2:
        return mul(x, x)        # integers and complex numbers
    if (kind_of(y) if is_number(x) else kind_of(x)) == 0:
        return binary(MG_B_pow, x, y, "pow")        # of floats
    return power(x, y)


def atan2(y, x):
    return binary(MG_B_atan2, y, x, "atan2")


cdef bint write_mixed(int op, int kind, ndarray x, object y, object w, object first, object second, ndarray z) except -1:
    """z = f(x, y, w, first, second) for an array x of `kind` without gaps, arrays like x and numbers. False for others.

    For a function of fewer arrays, the others are x too, which it does not use; for one of a single number, the second is 0.
    """
    cdef Number p, q
    cdef char *px = data(x)
    cdef char *py = data_like(x, kind, y)
    cdef char *pw = data_like(x, kind, w)
    cdef char *r = data(z)
    cdef Py_ssize_t n = size(z)
    if py == NULL or pw == NULL or not is_number(first) or not is_number(second):
        return False
    write_number(first, kind, &p)
    write_number(second, kind, &q)
    if n < MG_PARALLEL:
        mg_mixed_loops[op][kind](px, py, pw, &p, &q, r, n)
    else:
        with nogil:
            mg_run_mixed(mg_mixed_loops[op][kind], px, py, pw, &p, &q, r, n, item_size(kind), threads)
    return True


cdef inline char *data_like(ndarray x, int kind, object y) noexcept:
    """The address of the elements of y, if it is an array with the dtype, shape and strides of x, which has no gaps; else NULL."""
    if y is x:
        return data(x)
    if (easy(y) != kind and kind_of(y) != kind) or ndim(<ndarray>y) != ndim(x) or not same_dims(dims(<ndarray>y), dims(x), ndim(x)):
        return NULL
    if is_contiguous(x):
        return data(<ndarray>y) if is_contiguous(<ndarray>y) else NULL
    return data(<ndarray>y) if same_dims(strides(<ndarray>y), strides(x), ndim(x)) else NULL


cdef object mixed(int op, object x, object y, object w, object first, object second):
    """`write_mixed` to a new array; None for other operands."""
    cdef int kind = easy(x)
    cdef ndarray z, block
    if kind >= 0:
        y, w = in_rows(y), in_rows(w)       # the result is row-major, as x is
        z = fresh(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x))
        return z if write_mixed(op, kind, <ndarray>x, y, w, first, second, z) else None
    kind = kind_of(x)
    if kind < 0:
        return None
    block = repeated_part(<ndarray>x)       # x is expanded or transposed, or has gaps: see `unary` in unary.pyx
    if block is not x:
        if y is x and w is x:
            z = mixed(op, block, block, block, first, second)
            return None if z is None else repeated(z, dims(<ndarray>x))
        block = row_major_copy(<ndarray>x)
        return mixed(op, block, block if y is x else y, block if w is x else w, first, second)
    block = gapless(<ndarray>x)
    y, w = block if y is x else gapless_if_real(y), block if w is x else gapless_if_real(w)
    z = new_like(block, typenum(block))
    return z if write_mixed(op, kind, block, y, w, first, second, z) else None


cdef inline object gapless_if_real(object y):
    return gapless(<ndarray>y) if is_real(y) else y


def lerp(x, y, w):
    z = mixed(MG_M_lerp, x, y, x, w, 1 - w) if is_number(w) else None
    return numpy_ref.lerp(x, y, w) if z is None else z


def add_scaled(x, y, alpha):
    z = mixed(MG_M_add_scaled, x, y, x, alpha, 0)
    return add(x, mul(y, alpha)) if z is None else z


def addcmul(b, x, y, value):
    z = mixed(MG_M_addcmul, b, x, y, value, 0)
    return numpy_ref.addcmul(b, x, y, value) if z is None else z


def addcdiv(b, x, y, value):
    z = mixed(MG_M_addcdiv, b, x, y, value, 0)
    return numpy_ref.addcdiv(b, x, y, value) if z is None else z


def huber(x, y, limit, scale):
    z = mixed(MG_M_huber, x, y, x, limit, scale)
    return numpy_ref.huber(x, y, limit, scale) if z is None else z


def threshold(x, y, limit, value):
    z = mixed(MG_M_threshold, x, y, x, limit, value)
    return numpy_ref.threshold(x, y, limit, value) if z is None else z


def zero_within(x, y, limit):
    z = mixed(MG_M_zero_within, x, y, x, limit, 0)
    return numpy_ref.zero_within(x, y, limit) if z is None else z


def softshrink(x, limit):
    z = mixed(MG_M_softshrink, x, x, x, limit, 0)
    return numpy_ref.softshrink(x, limit) if z is None else z


def softplus(x, beta, threshold):
    z = mixed(MG_M_softplus, x, x, x, beta, threshold)
    return numpy_ref.softplus(x, beta, threshold) if z is None else z


def elu(x, y, low, scale):
    z = mixed(MG_M_elu, x, y, x, low, scale)
    return numpy_ref.elu(x, y, low, scale) if z is None else z


def log_sigmoid(x, u):
    z = mixed(MG_M_log_sigmoid, x, u, x, 0, 0)
    return numpy_ref.log_sigmoid(x, u) if z is None else z


def bce_with_logits(x, y):
    z = mixed(MG_M_bce_with_logits, x, y, x, 0, 0)
    return numpy_ref.bce_with_logits(x, y) if z is None else z


def bce_with_logits_slope(x, y):
    z = mixed(MG_M_bce_with_logits_slope, x, y, x, 0, 0)
    return numpy_ref.bce_with_logits_slope(x, y) if z is None else z


cdef inline object or_infinity(object limit, double infinity):
    """A limit as a number; None for nan, which limits all numbers to nan, and is left to `maximum` and `minimum`."""
    return infinity if limit is None else None if type(limit) is float and limit != limit else limit


cdef inline bint is_limit(object limit, object x):
    """Whether int64 numbers of x can be compared with `limit`, an int; None is none."""
    return indices(x) != NULL and (limit is None or (type(limit) is int and LEAST <= limit <= MOST))


def clamp(x, low, high):
    z = mixed(MG_M_limit, x, x, x, or_infinity(low, -INFINITY), or_infinity(high, INFINITY))
    if z is not None:
        return z
    if (kind_of(x) < 0 and not (is_limit(low, x) and is_limit(high, x))) or (low is None and high is None):
        return numpy_ref.clamp(x, low, high)
    z = x if low is None else binary(MG_B_maximum, x, low, "maximum")
    return z if high is None else binary(MG_B_minimum, z, high, "minimum")


def nan_to_num(x, nan, posinf, neginf):
    cdef int kind = kind_of(x)
    cdef double most = FLT_MAX if kind == 0 else DBL_MAX
    if kind < 0 or posinf is not None or neginf is not None or nan is None or not -most <= nan <= most:
        return numpy_ref.nan_to_num(x, nan, posinf, neginf)
    z = mixed(MG_M_nan_to_num, x, x, x, nan, most)
    return numpy_ref.nan_to_num(x, nan, posinf, neginf) if z is None else z


# ---- results in given memory ------------------------------------------------------------------------------------------
# The attribute `in_place` of a kernel: see KERNEL_ATTRIBUTES in contract.py.


cdef bint write_binary(int op, object x, object y, object out) except -1:
    """out = x op y, if out is row-major, and a loop may read x and y while it writes. Returns whether that was done."""
    cdef int kind = writable(out)
    cdef Number number
    if kind < 0 or not loop_fits(x, out, kind):
        return False
    if is_number(y):
        run(op, kind, VS, data(<ndarray>out), data(<ndarray>x), write_number(y, kind, &number), size(<ndarray>out))
        return True
    if loop_fits(y, out, kind):
        run(op, kind, VV, data(<ndarray>out), data(<ndarray>x), data(<ndarray>y), size(<ndarray>out))
        return True
    return kind_of(x) == kind_of(y) == kind and spreads_over(<ndarray>y, <ndarray>out) \
        and spread(mg_binary_loops[op][kind], kind, x, y, <ndarray>out) is not None


def binary_in_place(kernel, int op):
    def in_place(x, y, out):
        if not write_binary(op, x, y, out):
            numpy_ref.copy_(out, kernel(x, y))
    return in_place


cdef bint write_mixed_to(int op, object x, object y, object w, object first, object second, object out) except -1:
    """`write_mixed` to out, if a loop may read x, y and w while it writes. Returns whether that was done."""
    cdef int kind = writable(out)
    return kind >= 0 and loop_fits(x, out, kind) and loop_fits(y, out, kind) and loop_fits(w, out, kind) \
        and write_mixed(op, kind, <ndarray>x, y, w, first, second, <ndarray>out)


def clamp_in_place(x, low, high, out):
    if not write_mixed_to(MG_M_limit, x, x, x, or_infinity(low, -INFINITY), or_infinity(high, INFINITY), out):
        numpy_ref.copy_(out, clamp(x, low, high))


def lerp_in_place(x, y, w, out):
    if not is_number(w) or not write_mixed_to(MG_M_lerp, x, y, x, w, 1 - w, out):
        numpy_ref.copy_(out, lerp(x, y, w))


def add_scaled_in_place(x, y, alpha, out):
    if not write_mixed_to(MG_M_add_scaled, x, y, x, alpha, 0, out):
        add.in_place(x, mul(y, alpha), out)


def addcmul_in_place(b, x, y, value, out):
    if not write_mixed_to(MG_M_addcmul, b, x, y, value, 0, out):
        numpy_ref.copy_(out, addcmul(b, x, y, value))


def addcdiv_in_place(b, x, y, value, out):
    if not write_mixed_to(MG_M_addcdiv, b, x, y, value, 0, out):
        numpy_ref.copy_(out, addcdiv(b, x, y, value))


for kernel_, in_place_ in [(clamp, clamp_in_place), (lerp, lerp_in_place), (addcmul, addcmul_in_place), (addcdiv, addcdiv_in_place),
                           (add_scaled, add_scaled_in_place)]:
    kernel_.in_place = in_place_
for kernel_, op_ in [(add, MG_B_add), (sub, MG_B_sub), (rsub, MG_B_rsub), (mul, MG_B_mul), (div, MG_B_div), (maximum, MG_B_maximum),
                     (minimum, MG_B_minimum), (relu_backward, MG_B_relu_backward), (sigmoid_backward, MG_B_sigmoid_backward),
                     (tanh_backward, MG_B_tanh_backward), (gelu_backward, MG_B_gelu_backward),
                     (gelu_tanh_backward, MG_B_gelu_tanh_backward), (silu_backward, MG_B_silu_backward),
                     (mish_backward, MG_B_mish_backward), (hardsigmoid_backward, MG_B_hardsigmoid_backward),
                     (hardswish_backward, MG_B_hardswish_backward), (prelu, MG_B_prelu), (hypot, MG_B_hypot), (fmod, MG_B_fmod),
                     (remainder, MG_B_remainder), (floor_divide, MG_B_floor_divide), (logaddexp, MG_B_logaddexp),
                     (atan2, MG_B_atan2), (copysign, MG_B_copysign), (heaviside, MG_B_heaviside), (xlogy, MG_B_xlogy),
                     (xlog1py, MG_B_xlog1py)]:
    kernel_.in_place = binary_in_place(kernel_, op_)
neg.in_place = unary_in_place(neg, MG_U_neg)


def add_(x, y):
    if not write_binary(MG_B_add, x, y, x):
        numpy_ref.add_(x, y)


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
    # x owns its memory, so y is no view of it
    if (easy(x) >= 0 and easy(y) >= 0) or by_columns(a, b):
        run(MG_B_add, kind, VV, data(a), data(a), data(b), size(a))
        return True
    return (easy(x) >= 0 and spread(mg_binary_loops[MG_B_add][kind], kind, x, y, a) is not None) or numpy_ref.accumulate(x, y)
