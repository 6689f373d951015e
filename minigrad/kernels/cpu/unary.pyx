# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Functions of each element of one array, by the loops of ``elementwise.h``. Arguments that are not easy go to ``numpy_ref``.

Functions that we leave to NumPy: ufuncs.pyx. Functions of several arrays: elementwise.pyx.
"""

from minigrad.kernels.cpu.broadcast cimport kind_of, loop_fits
from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh, fresh_any, gapless, new_like, repeated, repeated_part
from minigrad.kernels.cpu.threads cimport threads
from minigrad.kernels import numpy_ref

cnp.import_array()

cdef extern from "elementwise.h" nogil:
    int MG_PARALLEL
    ctypedef void (*mg_unary)(const void *, void *, Py_ssize_t)
    const mg_unary mg_unary_loops[][2]
    void mg_run_unary(mg_unary, const char *, char *, Py_ssize_t, int, int)
    int MG_U_abs, MG_U_relu, MG_U_erf
    int MG_U_sigmoid, MG_U_gelu, MG_U_gelu_tanh, MG_U_silu, MG_U_mish, MG_U_sign, MG_U_angle, MG_U_hardsigmoid, MG_U_hardswish
    int MG_U_erfc, MG_U_erfinv, MG_U_lgamma, MG_U_digamma
    int MG_U_exp, MG_U_exp2, MG_U_expm1, MG_U_log, MG_U_log2, MG_U_log10, MG_U_log1p, MG_U_sin, MG_U_cos, MG_U_tan, MG_U_asin, MG_U_acos
    int MG_U_atan, MG_U_sinh, MG_U_cosh, MG_U_tanh, MG_U_asinh, MG_U_acosh, MG_U_atanh
    int MG_U_frac, MG_U_sinc, MG_U_i0, MG_U_i1, MG_U_i0e, MG_U_i1e, MG_U_trigamma


cdef object unary(int op, object x, str twin):
    cdef int kind = easy(x)
    cdef ndarray block
    if kind >= 0:
        return run_unary(mg_unary_loops[op][kind], <ndarray>x, fresh(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x)))
    kind = kind_of(x)
    if kind >= 0:           # an expanded or transposed array, or a view with gaps
        block = repeated_part(<ndarray>x)
        if block is not x:
            return repeated(unary(op, block, twin), dims(<ndarray>x))
        block = gapless(<ndarray>x)
        return run_unary(mg_unary_loops[op][kind], block, new_like(block, typenum(block)))
    return getattr(numpy_ref, twin)(x)


cdef object run_unary(mg_unary loop, ndarray x, ndarray z, int parts=1):
    """z = loop(x), where each element has `parts` numbers."""
    cdef Py_ssize_t n = size(z) * parts, item = cnp.PyArray_ITEMSIZE(z) // parts
    cdef char *p = data(x)
    cdef char *r = data(z)
    if n < MG_PARALLEL:
        loop(p, r, n)
    else:
        with nogil:
            mg_run_unary(loop, p, r, n, item, threads)
    return z


cdef object unary_of_parts(int op, int kind, ndarray x):
    """The function of the real and of the imaginary parts of x, a row-major array of complex numbers whose parts are of `kind`."""
    return run_unary(mg_unary_loops[op][kind], x, fresh_any(ndim(x), dims(x), typenum(x)), 2)


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


def hardsigmoid(x):
    return unary(MG_U_hardsigmoid, x, "hardsigmoid")


def hardswish(x):
    return unary(MG_U_hardswish, x, "hardswish")


def sigmoid(x):
    return unary(MG_U_sigmoid, x, "sigmoid")


def sign(x):
    return unary(MG_U_sign, x, "sign")


def angle(x):
    return unary(MG_U_angle, x, "angle")


def transcendental(int op, str name):
    """The kernel of this name."""
    def kernel(x):
        return unary(op, x, name)
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


exp, exp2, expm1 = transcendental(MG_U_exp, "exp"), transcendental(MG_U_exp2, "exp2"), transcendental(MG_U_expm1, "expm1")
log, log2, log10, log1p = [transcendental(op_, name_) for op_, name_ in (
    (MG_U_log, "log"), (MG_U_log2, "log2"), (MG_U_log10, "log10"), (MG_U_log1p, "log1p"))]
sin, cos, tan = transcendental(MG_U_sin, "sin"), transcendental(MG_U_cos, "cos"), transcendental(MG_U_tan, "tan")
asin, acos, atan = transcendental(MG_U_asin, "asin"), transcendental(MG_U_acos, "acos"), transcendental(MG_U_atan, "atan")
sinh, cosh, tanh = transcendental(MG_U_sinh, "sinh"), transcendental(MG_U_cosh, "cosh"), transcendental(MG_U_tanh, "tanh")
asinh, acosh, atanh = [transcendental(op_, name_) for op_, name_ in (
    (MG_U_asinh, "asinh"), (MG_U_acosh, "acosh"), (MG_U_atanh, "atanh"))]


def erfc(x):
    return unary(MG_U_erfc, x, "erfc")


def erfinv(x):
    return unary(MG_U_erfinv, x, "erfinv")


def lgamma(x):
    return unary(MG_U_lgamma, x, "lgamma")


def digamma(x):
    return unary(MG_U_digamma, x, "digamma")


def polygamma(x, n):
    if type(n) is int and n == 1 and kind_of(x) >= 0:
        return unary(MG_U_trigamma, x, None)
    return numpy_ref.polygamma(x, n)


def frac(x):
    return unary(MG_U_frac, x, "frac")


def sinc(x):
    return unary(MG_U_sinc, x, "sinc")


i0, i1, i0e, i1e = [transcendental(op_, name_) for op_, name_ in (
    (MG_U_i0, "i0"), (MG_U_i1, "i1"), (MG_U_i0e, "i0e"), (MG_U_i1e, "i1e"))]


def unary_in_place(kernel, int op):
    """Make the attribute `in_place` of a kernel: see KERNEL_ATTRIBUTES in contract.py."""
    def in_place(x, out):
        cdef int kind = writable(out)
        if kind >= 0 and loop_fits(x, out, kind):
            return run_unary(mg_unary_loops[op][kind], <ndarray>x, <ndarray>out)
        numpy_ref.copy_(out, kernel(x))
    return in_place


for kernel_, op_ in [(sqrt, MG_U_sqrt), (rsqrt, MG_U_rsqrt), (reciprocal, MG_U_reciprocal), (abs, MG_U_abs), (relu, MG_U_relu),
                     (erf, MG_U_erf), (sigmoid, MG_U_sigmoid), (gelu, MG_U_gelu), (gelu_tanh, MG_U_gelu_tanh),
                     (silu, MG_U_silu), (mish, MG_U_mish), (hardsigmoid, MG_U_hardsigmoid),
                     (hardswish, MG_U_hardswish), (exp, MG_U_exp), (log, MG_U_log), (log1p, MG_U_log1p),
                     (sin, MG_U_sin), (cos, MG_U_cos), (tanh, MG_U_tanh)]:
    kernel_.in_place = unary_in_place(kernel_, op_)
