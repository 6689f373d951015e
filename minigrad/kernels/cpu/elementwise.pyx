# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Elementwise kernels over the loops of ``loops.h``. Arguments that are not easy go to ``numpy_ref``."""

import numpy as np

from minigrad.kernels.cpu.common cimport *
from minigrad.kernels.cpu.pool cimport fresh
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
    ctypedef void (*mg_choice)(const char *, const void *, const void *, void *, Py_ssize_t)
    const mg_choice mg_choice_loops[2][2][2]
    void mg_run_choice(mg_choice, const char *, const char *, const char *, char *, Py_ssize_t, int, int, int, int)
    int MG_PARALLEL
    int MG_B_add, MG_B_sub, MG_B_mul, MG_B_div, MG_B_maximum, MG_B_minimum, MG_B_relu_backward
    int MG_B_sigmoid_backward, MG_B_tanh_backward, MG_B_rsub, MG_B_gelu_backward, MG_B_gelu_tanh_backward
    int MG_B_silu_backward, MG_B_mish_backward, MG_B_glu
    void mg_glu_backward_f32(const void *, const void *, void *, Py_ssize_t)
    void mg_glu_backward_f64(const void *, const void *, void *, Py_ssize_t)
    int MG_U_neg, MG_U_sqrt, MG_U_rsqrt, MG_U_reciprocal, MG_U_abs, MG_U_relu, MG_U_square, MG_U_cube, MG_U_erf
    int MG_U_sigmoid, MG_U_gelu, MG_U_gelu_tanh, MG_U_silu, MG_U_mish
    int MG_L_exp, MG_L_log, MG_L_log1p, MG_L_sin, MG_L_cos, MG_L_tanh

cdef enum:
    VV = 0      # layouts of a binary loop: see loops.h
    VS = 1
    SV = 2
    FUNCTIONS = 6   # as many as MG_L_...
    FEW = 8     # elements up to which libm's functions are as fast as NumPy's loops


cdef object run(int op, int kind, int layout, ndarray like, char *x, char *y):
    """z = x op y in the shape of `like`."""
    cdef ndarray z = fresh(ndim(like), dims(like), typenum(like))
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


cdef object run_rows(int op, int kind, int layout, ndarray like, ndarray row, npy_intp width):
    """z = x op y, where one operand is a row of `width` elements that repeats."""
    cdef ndarray z = fresh(ndim(like), dims(like), typenum(like))
    cdef Py_ssize_t k, bytes = width * item_size(kind), n = size(z) // width if width else 0
    cdef mg_binary loop = mg_binary_loops[op][kind][VV]
    cdef char *p = data(like)
    cdef char *q = data(row)
    cdef char *r = data(z)
    with nogil:
        if layout == VS:
            for k in range(n):
                loop(p + k * bytes, q, r + k * bytes, width)
        else:
            for k in range(n):
                loop(q, p + k * bytes, r + k * bytes, width)
    return z


cdef object binary(int op, object x, object y, str twin):
    cdef int kind = easy(x), other
    cdef ndarray a, b
    cdef npy_intp width
    cdef float f
    cdef double d
    if kind >= 0:
        a = <ndarray>x
        if type(y) is ndarray:
            b = <ndarray>y
            if easy(y) == kind:
                if ndim(a) == ndim(b) and same_dims(dims(a), dims(b), ndim(a)):
                    return run(op, kind, VV, a, data(a), data(b))
                if ndim(b) == 0:
                    return run(op, kind, VS, a, data(a), data(b))
                if ndim(a) == 0:
                    return run(op, kind, SV, b, data(a), data(b))
                width = row_of(a, b)
                if width > 0:
                    return run_rows(op, kind, VS, a, b, width)
                width = row_of(b, a)
                if width > 0:
                    return run_rows(op, kind, SV, b, a, width)
        elif type(y) is float or type(y) is int:
            d = y
            if kind == 1:
                return run(op, kind, VS, a, data(a), <char *>&d)
            f = <float>d
            return run(op, kind, VS, a, data(a), <char *>&f)
    elif type(x) is float or type(x) is int:
        kind = easy(y)
        if kind >= 0:
            b = <ndarray>y
            d = x
            if kind == 1:
                return run(op, kind, SV, b, <char *>&d, data(b))
            f = <float>d
            return run(op, kind, SV, b, <char *>&f, data(b))
    return getattr(numpy_ref, twin)(x, y)


cdef object unary(int op, object x, str twin):
    cdef int kind = easy(x)
    cdef ndarray z
    cdef Py_ssize_t n
    cdef mg_unary loop
    cdef char *p
    cdef char *r
    if kind < 0:
        return getattr(numpy_ref, twin)(x)
    z = fresh(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x))
    n = size(z)
    loop = mg_unary_loops[op][kind]
    p = data(<ndarray>x)
    r = data(z)
    if n < MG_PARALLEL:
        loop(p, r, n)
    else:
        with nogil:
            mg_run_unary(loop, p, r, n, item_size(kind), threads)
    return z


# ---- functions that NumPy computes several at a time ------------------------------------------------------------------

# NumPy's loop for a function of one argument, and the loop's data, for each kind: taken from the ufunc. Calling the ufunc
# instead takes 900 ns more. (PyUFuncObject is part of NumPy's C interface.)
ctypedef void (*numpy_loop)(char **, const npy_intp *, const npy_intp *, void *) noexcept nogil

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin, nout, nargs, ntypes
        numpy_loop *functions
        void **data
        char *types

cdef numpy_loop numpy_loops[FUNCTIONS][2]
cdef void *numpy_data[FUNCTIONS][2]


cdef object find_loops(int op, object ufunc):
    cdef PyUFuncObject *u = <PyUFuncObject *>ufunc
    cdef int i, kind
    for kind in range(2):
        for i in reversed(range(u.ntypes)):     # backwards, so that NumPy's first choice remains
            if u.types[2 * i] == u.types[2 * i + 1] == (NPY_FLOAT32 if kind == 0 else NPY_FLOAT64):
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
        mg_libm_loops[op][kind](x, z, n)
        return
    args[0] = x
    args[1] = z
    steps[0] = steps[1] = item_size(kind)
    numpy_loops[op][kind](args, &n, steps, numpy_data[op][kind])


cdef object function(int op, object x, str twin):
    cdef int kind = easy(x)
    cdef ndarray z
    cdef char *p
    cdef char *r
    cdef npy_intp n
    if kind < 0:
        return getattr(numpy_ref, twin)(x)
    z = fresh(ndim(<ndarray>x), dims(<ndarray>x), typenum(<ndarray>x))
    n = size(z)
    p = data(<ndarray>x)
    r = data(z)
    if n < MG_PARALLEL:
        call_loop(op, kind, p, r, n)
    else:
        with nogil:
            call_loop(op, kind, p, r, n)
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


def pow(x, y):
    if (type(y) is int or type(y) is float) and easy(x) >= 0:
        if y == 2:
            return unary(MG_U_square, x, None)
        if y == 3:
            return unary(MG_U_cube, x, None)
        if y == 0.5:
            return unary(MG_U_sqrt, x, None)
    return numpy_ref.pow(x, y)


def neg(x):
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


def accumulate(x, y):
    cdef int kind = easy(x)
    cdef ndarray a, b
    cdef char *p
    cdef char *q
    cdef Py_ssize_t n
    if kind < 0 or easy(y) != kind:
        return numpy_ref.accumulate(x, y)
    a = <ndarray>x
    b = <ndarray>y
    if not (has_flags(a, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE)
            and ndim(a) == ndim(b) and same_dims(dims(a), dims(b), ndim(a))):
        return False
    p = data(a)
    q = data(b)
    n = size(a)
    with nogil:
        mg_run_binary(mg_binary_loops[MG_B_add][kind][VV], p, q, p, n, item_size(kind), 1, 1, threads)
    return True


def add_(x, y):
    cdef int kind = easy(x)
    cdef ndarray a, b
    cdef char *p
    cdef char *q
    cdef Py_ssize_t n
    if kind >= 0 and easy(y) == kind:
        a = <ndarray>x
        b = <ndarray>y
        if has_flags(a, cnp.NPY_ARRAY_WRITEABLE) and ndim(a) == ndim(b) \
                and same_dims(dims(a), dims(b), ndim(a)):
            p = data(a)
            q = data(b)
            n = size(a)
            with nogil:
                mg_run_binary(mg_binary_loops[MG_B_add][kind][VV], p, q, p, n, item_size(kind), 1, 1, threads)
            return None
    numpy_ref.add_(x, y)


# ---- choices ----------------------------------------------------------------------------------------------------------


# The address of an operand of `where`: of an array of `kind` with the mask's shape, of the element of a 0-d array, or of `number`,
# which gets the value of a Python number. NULL for anything else. Sets `single` to whether the operand is one number.
cdef char *source(object x, int kind, ndarray mask, double *number, bint *single) except? NULL:
    single[0] = True
    if type(x) is float or type(x) is int:
        number[0] = x
        if kind == 0:
            (<float *>number)[0] = <float>number[0]
        return <char *>number
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
    cdef double a, b
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
