"""Elementwise kernels. Operands are arrays of the same dtype, or Python numbers.

Most are NumPy's ufuncs, wrapped by `kernel`.

Read next: ``precision.py``.
"""

import builtins

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "add_scaled",
    "addcdiv",
    "addcmul",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bce_with_logits",
    "bce_with_logits_slope",
    "ceil",
    "clamp",
    "complex",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "div",
    "elu",
    "eq",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "ge",
    "gt",
    "hardsigmoid",
    "hardsigmoid_backward",
    "hardswish",
    "hardswish_backward",
    "heaviside",
    "huber",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "lerp",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_sigmoid",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "nan_to_num",
    "ne",
    "neg",
    "pow",
    "prelu",
    "reciprocal",
    "relu",
    "relu_backward",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sgn",
    "sigmoid",
    "sigmoid_backward",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "softplus",
    "softshrink",
    "sqrt",
    "sub",
    "tan",
    "tanh",
    "tanh_backward",
    "threshold",
    "trunc",
    "trunc_divide",
    "where",
    "xlog1py",
    "xlogy",
    "zero_within",
]

def round_floats(ufunc):
    """Wrap a ufunc that rounds: it leaves integers as they are."""
    return lambda x: ufunc(x) if x.dtype.kind == "f" else x.copy()


def kernel(ufunc, name, doc, silent=True):
    """Make a kernel of a NumPy ufunc: it returns an array also if that is 0-d.

    Args:
        ufunc: the function of arrays.
        name (str): the name of the kernel.
        doc (str): its docstring.
        silent (bool, optional): suppress NumPy's warnings. Functions that cannot overflow or divide give none.
    """
    def function(*operands):
        return np.asarray(ufunc(*operands))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return quiet(function) if silent else function


def sign_zeros(r, x):
    """Give the zeros among the remainders `r` the sign of x, as in PyTorch. NumPy gives them the sign of the divisor."""
    return np.where(r == 0, np.copysign(r, x), r) if r.dtype.kind not in "iub" else r


add = kernel(np.add, "add", "x + y")
sub = kernel(np.subtract, "sub", "x - y")
rsub = kernel(lambda x, y: np.subtract(y, x), "rsub", "y - x")
mul = kernel(np.multiply, "mul", "x y")
div = kernel(np.true_divide, "div", "x / y")
maximum = kernel(np.maximum, "maximum", "the larger")
minimum = kernel(np.minimum, "minimum", "the smaller")
eq = kernel(np.equal, "eq", "x = y")
ne = kernel(np.not_equal, "ne", "x != y")
lt = kernel(np.less, "lt", "x < y")
le = kernel(np.less_equal, "le", "x <= y")
gt = kernel(np.greater, "gt", "x > y")
ge = kernel(np.greater_equal, "ge", "x >= y")
logical_and = kernel(np.bitwise_and, "logical_and", "x and y", silent=False)
logical_or = kernel(np.bitwise_or, "logical_or", "x or y", silent=False)
logical_xor = kernel(np.bitwise_xor, "logical_xor", "x xor y", silent=False)
neg = kernel(np.negative, "neg", "-x", silent=False)
exp = kernel(np.exp, "exp", "e to the power x")
log = kernel(np.log, "log", "natural logarithm")
log1p = kernel(np.log1p, "log1p", "log(1 + x)")
sqrt = kernel(np.sqrt, "sqrt", "square root")
abs = kernel(np.absolute, "abs", "absolute value")
sin = kernel(np.sin, "sin", "sine")
cos = kernel(np.cos, "cos", "cosine")
tanh = kernel(np.tanh, "tanh", "hyperbolic tangent")
exp2 = kernel(np.exp2, "exp2", "2 to the power x")
expm1 = kernel(np.expm1, "expm1", "exp(x) - 1")
log2 = kernel(np.log2, "log2", "logarithm to the base 2")
log10 = kernel(np.log10, "log10", "logarithm to the base 10")
tan = kernel(np.tan, "tan", "tangent")
sinh = kernel(np.sinh, "sinh", "hyperbolic sine")
cosh = kernel(np.cosh, "cosh", "hyperbolic cosine")
asin = kernel(np.arcsin, "asin", "inverse sine")
acos = kernel(np.arccos, "acos", "inverse cosine")
atan = kernel(np.arctan, "atan", "inverse tangent")
asinh = kernel(np.arcsinh, "asinh", "inverse hyperbolic sine")
acosh = kernel(np.arccosh, "acosh", "inverse hyperbolic cosine")
atanh = kernel(np.arctanh, "atanh", "inverse hyperbolic tangent")
atan2 = kernel(np.arctan2, "atan2", "angle of the point (y, x)")
hypot = kernel(np.hypot, "hypot", "root of x x + y y")
fmod = kernel(np.fmod, "fmod", "remainder with the sign of x")
remainder = kernel(lambda x, y: sign_zeros(np.remainder(x, y), x), "remainder", "remainder with the sign of y")
floor_divide = kernel(np.floor_divide, "floor_divide", "x / y, rounded down")
trunc_divide = kernel(lambda x, y: np.trunc(x / y) if x.dtype.kind == "f" else x // y + ((x % y != 0) & ((x < 0) != (y < 0))),
                      "trunc_divide", "x / y, rounded towards zero")
copysign = kernel(np.copysign, "copysign", "x with the sign of y")
heaviside = kernel(lambda x, y: np.where(x == 0, y, (x > 0).astype(x.dtype)), "heaviside",
                   "0, y or 1, by the sign of x", silent=False)
fmax = kernel(np.fmax, "fmax", "the larger; nan if both are", silent=False)
fmin = kernel(np.fmin, "fmin", "the smaller; nan if both are", silent=False)
logaddexp = kernel(lambda x, y: np.logaddexp(x, y) if x.dtype.kind == "f" else log_of_sum(x, y), "logaddexp",
                   "log(exp x + exp y)")
logaddexp2 = kernel(np.logaddexp2, "logaddexp2", "the same to the base 2")
xlogy = kernel(lambda x, y: zero_times(x, y, np.log), "xlogy", "x log y")
xlog1py = kernel(lambda x, y: zero_times(x, y, np.log1p), "xlog1py", "x log(1 + y)")
sinc = kernel(np.sinc, "sinc", "sin(pi x) / (pi x)")
isnan = kernel(np.isnan, "isnan", "whether x is nan", silent=False)
isinf = kernel(np.isinf, "isinf", "whether x is infinite", silent=False)
isfinite = kernel(np.isfinite, "isfinite", "whether x is neither", silent=False)
signbit = kernel(lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0, "signbit", "whether the sign is set", silent=False)
floor = kernel(round_floats(np.floor), "floor", "rounded down")
ceil = kernel(round_floats(np.ceil), "ceil", "rounded up")
trunc = kernel(round_floats(np.trunc), "trunc", "rounded towards zero")
round = kernel(round_floats(np.rint), "round", "rounded to the nearest, halves to even")
frac = kernel(lambda x: x - trunc(x), "frac", "x - trunc(x)")
conj = kernel(np.conjugate, "conj", "complex conjugate", silent=False)
invert = kernel(np.invert, "invert", "bitwise not", silent=False)


@quiet
def pow(x, y):
    if type(y) is float and abs(y) == 0.5 and x.dtype.kind == "f":      # roots of -infinity and -0 are not their powers
        return np.asarray(np.sqrt(x) if y > 0 else 1 / np.sqrt(x))
    return np.asarray(np.power(x, y))


@quiet
def reciprocal(x):
    return np.asarray(1 / x)


@quiet
def rsqrt(x):
    return np.asarray(1 / np.sqrt(x))


def zero_times(x, y, log):
    """x log(y); 0 where x is 0, unless y is nan. One operand may be a Python number."""
    dtype = (x if isinstance(x, np.ndarray) else y).dtype
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    return np.where((x == 0) & ~np.isnan(y), dtype.type(0), x * log(y))


def angle(x):
    if x.dtype.kind == "c":
        return np.asarray(np.angle(x))
    return np.asarray(np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)), x.dtype)


def complex(x, y):
    shape = np.broadcast_shapes(x.shape, y.shape)
    z = np.empty(shape, np.result_type(x.dtype, np.complex64))
    z.real, z.imag = x, y
    return z


def log_of_sum(x, y):
    """logaddexp of complex numbers: a + log(1 + exp(b - a)), where a has the larger real part."""
    first = x.real >= y.real
    larger, smaller = np.where(first, x, y), np.where(first, y, x)
    return larger + np.log1p(np.exp(smaller - larger))


def sgn(x):
    return np.asarray(np.sign(x)) if x.dtype.kind == "c" else sign(x)


def sign(x):
    if x.dtype.kind == "f":
        return np.asarray(np.where(np.isnan(x), x.dtype.type(0), np.sign(x)))
    return np.asarray(np.sign(x)) if x.dtype.kind != "b" else x.copy()


def complex_sigmoid(x):
    """(σ(x), σ'(x)) for complex x, by powers of e that do not overflow."""
    left = x.real < 0
    e = np.exp(np.where(left, x, -x))
    d = 1 / (1 + e)
    return np.where(left, e * d, d), e * d * d


@quiet
def sigmoid(x):
    return np.asarray(complex_sigmoid(x)[0] if x.dtype.kind == "c" else 1 / (1 + np.exp(-x)))


def relu(x):
    return np.asarray(np.maximum(x, x.dtype.type(0)))


@quiet
def prelu(x, y):
    return np.asarray(np.where(x > 0, x, x * y))


def relu_backward(g, z):
    return np.asarray(np.where(z <= 0, g.dtype.type(0), g))


@quiet
def hardsigmoid(x):
    return np.asarray(np.clip(x + 3, 0, 6) / 6)


@quiet
def hardsigmoid_backward(g, x):
    return np.asarray(np.where(np.abs(x) >= 3, g.dtype.type(0), g / 6))


@quiet
def hardswish(x):           # below -3 the step is 0. We limit x to -3, because infinity times 0 is nan
    return np.asarray(np.maximum(x, -3) * hardsigmoid(x))


@quiet
def hardswish_backward(g, x):
    return np.asarray(np.where(x < 3, np.where(x <= -3, g.dtype.type(0), g * (x / 3 + 0.5)), g))


@quiet
def sigmoid_backward(g, z):
    return np.asarray(g * ((1 - z) * z))


@quiet
def tanh_backward(g, z):
    return np.asarray(g * (1 - z * z))


@quiet
def where(c, x, y):
    return np.asarray(np.where(c, x, y))


def equal(x, y):
    """Whether the elements of two arrays of one shape are equal: a Python bool."""
    return bool(np.equal(x, y).all())


def composed(add, sub, mul, div, minimum, abs):
    """Make the kernels lerp, add_scaled, addcmul, addcdiv and huber of other kernels of a device."""
    def lerp(x, y, w):
        d = sub(y, x)
        return add(x, mul(d, w)) if builtins.abs(w) < 0.5 else sub(y, mul(d, 1 - w))     # from the nearer end

    def scaled(x, value):
        return x if value == 1 else mul(x, value)       # a complex infinity times 1 would be nan

    def add_scaled(x, y, alpha):
        return add(x, scaled(y, alpha))

    def addcmul(b, x, y, value):
        return add(b, scaled(mul(x, y), value))

    def addcdiv(b, x, y, value):
        return add(b, scaled(div(x, y), value))

    def huber(x, y, limit, scale):
        d = abs(sub(x, y))
        s = minimum(d, limit)
        return mul(sub(d, mul(s, 0.5)), div(s, scale))
    return lerp, add_scaled, addcmul, addcdiv, huber


lerp, add_scaled, addcmul, addcdiv, huber = composed(add, sub, mul, div, minimum, abs)


def activations(where, le, gt, abs, sub, mul, div, minimum, exp, expm1, log1p, clamp):
    """Make kernels of other kernels of a device: functions of activations and of the losses that contain one."""
    def threshold(x, y, limit, value):
        return where(le(y, limit), value, x)

    def zero_within(x, y, limit):
        return where(le(abs(y), limit), 0.0, x)

    def softshrink(x, limit):
        return sub(x, clamp(x, -limit, limit))

    def softplus(x, beta, threshold):
        w = scaled(x, beta)
        z = log1p(exp(w))
        return where(gt(w, threshold), x, z if beta == 1 else div(z, beta))

    def elu(x, y, low, scale):
        return where(le(x, 0), mul(expm1(y), low), scaled(x, scale))

    def log_sigmoid(x, u):
        return sub(minimum(x, 0.0), log1p(u))

    def bce_with_logits(x, y):
        return sub(log1p(exp(mul(abs(x), -1.0))), mul(x, where(gt(x, 0), sub(y, 1.0), y)))

    def bce_with_logits_slope(x, y):        # no two numbers near 1 are subtracted
        e = exp(mul(abs(x), -1.0))
        s = div(e, sub(e, -1.0))
        return where(gt(x, 0), sub(mul(sub(y, 1.0), -1.0), s), sub(s, y))

    def scaled(x, factor):
        return x if factor == 1 else mul(x, factor)
    return threshold, zero_within, softshrink, softplus, elu, log_sigmoid, bce_with_logits, bce_with_logits_slope


@quiet
def clamp(x, low, high):
    if x.dtype.kind in "iu":        # limits that the dtype cannot represent become its own limits
        least, most = int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
        low, high = [min(max(n, least), most) if type(n) is int else n for n in (low, high)]
    if low is not None:
        x = np.maximum(x, low)
    if high is not None:
        x = np.minimum(x, high)
    return np.asarray(x)


threshold, zero_within, softshrink, softplus, elu, log_sigmoid, bce_with_logits, bce_with_logits_slope = activations(
    where, le, gt, abs, sub, mul, div, minimum, exp, expm1, log1p, clamp)


@quiet
def nan_to_num(x, nan, posinf, neginf):
    return np.asarray(np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf))
