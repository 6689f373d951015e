"""The expressions of elementwise kernels: functions of one element of each operand.

Numba compiles each expression for the dtypes that it meets. One function serves all dtypes, unless there is another one for
integers (`i`), for bools (`b`) or for complex numbers (`c`). A constant in a formula is ``like(x, 0.5)``: see Note [Constants have
a type] in mathematics.py.

    ONE, TWO    name -> Expression, for one and for two operands

Read next: ``special.py``.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.mathematics import like

__all__ = ["ONE", "TWO", "Expression"]

PI = float(np.pi)
ROOT_HALF = float(np.sqrt(0.5))
ROOT_2_PI = float(np.sqrt(2 / np.pi))       # of 2 / pi
LOG_2 = float(np.log(2))
SLOPE = float(1 / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class Expression:
    """A function of numbers, with other functions for some kinds of dtypes.

    Attributes:
        f: the function for all kinds that have no other.
        gives: the dtype of the result: "same", "bool", "real" (float32 for complex64), or "complex" (complex64 for float32).
        i, b, c: the functions for integers, bools and complex numbers; None for `f`, NONE if there is no function.
    """

    f: object
    gives: str = "same"
    i: object = None
    b: object = None
    c: object = None

    def of(self, dtype):
        """The function for a NumPy dtype, or None."""
        own = {"f": None, "i": self.i, "u": self.i, "b": self.b, "c": self.c}[dtype.kind]
        found = self.f if own is None else own
        return None if found is NONE else found


NONE = "none"       # instead of a function: the expression has none for these dtypes


def itself(x):
    return x


def floats(f, gives="same", **others):
    """Return an expression for real floats alone; the ops convert integers to floats before."""
    return Expression(f, gives, **{"i": NONE, "b": NONE, "c": NONE, **others})


def python_function(f):
    """Return a function of the standard library or of NumPy as a Python function, which numba can compile."""
    return lambda x: f(x)


# ---- one operand ------------------------------------------------------------------------------------------


def sigmoid(x):
    return like(x, 1) / (like(x, 1) + m.exp(-x))


def sign(x):
    return 1 if x > 0 else -1 if x < 0 else 0


def gelu(x):
    return x * m.erfc(x * like(x, -ROOT_HALF)) * like(x, 0.5)       # for x < 0, 1 + erf would cancel


def gelu_tanh(x):
    return x / (like(x, 1) + m.exp(like(x, -2 * ROOT_2_PI) * (x + like(x, 0.044715) * x * x * x)))


def silu(x):
    return x / (like(x, 1) + m.exp(-x))


def mish(x):
    u = m.exp(-abs(x))                                  # tanh(log(1 + exp x)) as a fraction of powers of u
    square = u * u
    top = (like(x, 1) if x > 0 else square) + like(x, 2) * u
    return x * (top / (top + (like(x, 2) * square if x > 0 else like(x, 2))))


def relu(x):
    return x if x > 0 or x != x else 0


def hardsigmoid(x):
    t = x + like(x, 3)
    return (like(x, 0) if t < 0 else like(x, 6) if t > 6 else t) / like(x, 6)


def hardswish(x):
    t = x + like(x, 3)                                  # below -3 we limit x too, because infinity times 0 is nan
    return (like(x, -3) if x < -3 else x) * ((like(x, 0) if t < 0 else like(x, 6) if t > 6 else t) / like(x, 6))


def sinc(x):
    return like(x, 1) if x == 0 else m.sin(like(x, PI) * x) / (like(x, PI) * x)


def to_even(x):
    if not m.isfinite(x):
        return x
    below = m.floor(x)
    apart = x - below
    return m.copysign(below + like(x, 1) if apart > 0.5 or (apart == 0.5 and below % like(x, 2) != 0) else below, x)


def rounding(f):
    """Return an expression that rounds finite floats by `f`, and does not change integers."""
    return Expression(lambda x: m.copysign(f(x), x) if m.isfinite(x) else x, i=itself, b=NONE, c=NONE)


ONE = {
    "neg": Expression(lambda x: -x),
    "exp": floats(python_function(m.exp)),
    "log": floats(python_function(m.log)),
    "log1p": floats(python_function(m.log1p)),
    "sqrt": floats(python_function(m.sqrt)),
    "rsqrt": floats(lambda x: like(x, 1) / m.sqrt(x)),
    "reciprocal": Expression(lambda x: like(x, 1) / x),
    "abs": Expression(lambda x: abs(x), gives="real", b=itself),
    "sign": Expression(sign, b=itself, c=NONE),
    "sin": floats(python_function(m.sin)),
    "cos": floats(python_function(m.cos)),
    "tanh": floats(python_function(m.tanh)),
    "sigmoid": floats(sigmoid),
    "gelu": floats(gelu),
    "gelu_tanh": floats(gelu_tanh),
    "silu": floats(silu),
    "mish": floats(mish),
    "relu": Expression(relu, b=itself, c=NONE),
    "hardsigmoid": floats(hardsigmoid),
    "hardswish": floats(hardswish),
    "conj": Expression(itself, c=lambda x: x.conjugate()),
    "invert": Expression(NONE, i=lambda x: ~x, b=lambda x: not x, c=NONE),
    "exp2": floats(lambda x: m.pow(like(x, 2), x)),
    "expm1": floats(python_function(m.expm1)),
    "log2": floats(python_function(m.log2)),
    "log10": floats(python_function(m.log10)),
    "tan": floats(python_function(m.tan)),
    "sinh": floats(python_function(m.sinh)),
    "cosh": floats(python_function(m.cosh)),
    "asin": floats(python_function(m.asin)),
    "acos": floats(python_function(m.acos)),
    "atan": floats(python_function(m.atan)),
    "asinh": floats(python_function(m.asinh)),
    "acosh": floats(python_function(m.acosh)),
    "atanh": floats(python_function(m.atanh)),
    "sinc": floats(sinc),
    "erf": floats(python_function(m.erf)),
    "erfc": floats(python_function(m.erfc)),
    "lgamma": floats(python_function(m.lgamma)),
    "floor": rounding(m.floor),
    "ceil": rounding(m.ceil),
    "trunc": rounding(m.trunc),
    "round": Expression(to_even, i=itself, b=NONE, c=NONE),
    "frac": Expression(lambda x: x - m.trunc(x) if m.isfinite(x) else x - x, i=lambda x: x - x, b=NONE, c=NONE),
    "sgn": Expression(sign, b=itself, c=lambda x: x / abs(x) if x != 0 else x),
    "angle": floats(lambda x: x if x != x else PI if x < 0 else 0.0, gives="real", c=lambda x: m.atan2(x.imag, x.real)),
    "isinf": Expression(lambda x: m.isinf(x), gives="bool", i=lambda x: False, b=lambda x: False,
                        c=lambda x: m.isinf(x.real) or m.isinf(x.imag)),
    "isfinite": Expression(lambda x: m.isfinite(x), gives="bool", i=lambda x: True, b=lambda x: True,
                           c=lambda x: m.isfinite(x.real) and m.isfinite(x.imag)),
    "isnan": Expression(lambda x: x != x, gives="bool"),
    "signbit": Expression(lambda x: m.copysign(1.0, x) < 0, gives="bool", i=lambda x: x < 0, b=lambda x: False, c=NONE),
}


# ---- two operands -----------------------------------------------------------------------------------------


def larger(x, y):
    return x if x > y or x != x else y


def smaller(x, y):
    return x if x < y or x != x else y


def remainder(x, y):
    """x % y with the sign of y, as in Python, except for infinite y, and that a remainder of 0 has the sign of x."""
    r = m.fmod(x, y)
    return r + y if r != 0 and (r < 0) != (y < 0) else r


def remainder_of_integers(x, y):
    return x % y if y != 0 else 0


def quotient_of_integers(x, y):
    return x // y if y != 0 else 0


def truncated(x, y):
    if y == 0:
        return 0
    q = x // y                          # rounds down; abs(x) would overflow for the smallest integer
    return q + 1 if q * y != x and (x < 0) != (y < 0) else q


def remainder_like_x(x, y):
    if y == 0:
        return 0
    r = abs(x) % abs(y)
    return -r if x < 0 else r


def quotient(x, y):
    """x / y rounded down, computed from the remainder, as in NumPy and PyTorch: x / y itself may round up to an integer."""
    if y == 0:
        return x / y
    r = m.fmod(x, y)
    q = (x - r) / y
    if r != 0 and (y < 0) != (r < 0):
        q = q - like(q, 1)
    if q == 0:
        return m.copysign(like(x, 0), x / y)
    down = m.floor(q)
    return down + like(q, 1) if q - down > 0.5 else down


def power_of_integers(x, y):
    """x ** y by squaring; for a negative y, 1 / x ** -y rounded toward 0."""
    if y < 0:
        return x * 0 + (1 if x == 1 else (1 if y % 2 == 0 else -1) if x == -1 else 0)
    z = x * 0 + 1
    while y > 0:
        if y & 1:
            z = z * x
        x = x * x
        y >>= 1
    return z


def log_of_sum(x, y):
    if x == y:
        return x + like(x, LOG_2)
    if x != x or y != y:
        return x + y
    return x + m.log1p(m.exp(y - x)) if x > y else y + m.log1p(m.exp(x - y))


def log2_of_sum(x, y):
    if x == y:
        return x + like(x, 1)
    if x != x or y != y:
        return x + y
    low, high = (y, x) if x > y else (x, y)
    return high + m.log1p(m.pow(like(x, 2), low - high)) / like(x, LOG_2)


def comparison(f, of_complex=NONE):
    return Expression(f, gives="bool", c=of_complex)


def bits(f, of_bools):
    return Expression(NONE, i=f, b=of_bools, c=NONE)


def gelu_slope(g, x):
    return g * (like(x, 0.5) * m.erfc(x * like(x, -ROOT_HALF)) + x * like(x, SLOPE) * m.exp(like(x, -0.5) * x * x))


def gelu_tanh_slope(g, x):
    v = like(x, 2 * ROOT_2_PI) * (x + like(x, 0.044715) * x * x * x)
    e = m.exp(-abs(v))                                  # s (1 - s) is e / (1 + e)²: 1 - s would cancel
    d = like(x, 1) / (like(x, 1) + e)
    return g * ((e * d if v < 0 else d) + x * (e * d * d) * like(x, 2 * ROOT_2_PI) * (like(x, 1) + like(x, 0.134145) * x * x))


def silu_slope(g, x):
    e = m.exp(-abs(x))                                  # s (1 - s) is e / (1 + e)²: 1 - s would cancel
    d = like(x, 1) / (like(x, 1) + e)
    return g * ((e * d if x < 0 else d) + x * (e * d * d))


def mish_slope(g, x):
    u = m.exp(-abs(x))
    square = u * u
    top = (like(x, 1) if x > 0 else square) + like(x, 2) * u
    bottom = top + (like(x, 2) * square if x > 0 else like(x, 2))
    steep = (like(x, 1) + u) * u * (like(x, 4) * u if x > 0 else like(x, 4)) / (bottom * bottom)
    return g * (top / bottom + (x if x < 1000 else like(x, 1000)) * steep)


TWO = {
    "add": Expression(lambda x, y: x + y, b=lambda x, y: x or y),
    "sub": Expression(lambda x, y: x - y),
    "rsub": Expression(lambda x, y: y - x),
    "mul": Expression(lambda x, y: x * y, b=lambda x, y: x and y),
    "div": Expression(lambda x, y: x / y),
    "pow": Expression(lambda x, y: m.pow(x, y), i=power_of_integers, b=NONE, c=lambda x, y: x ** y),
    "maximum": Expression(larger, b=lambda x, y: x or y, c=NONE),
    "minimum": Expression(smaller, b=lambda x, y: x and y, c=NONE),
    "eq": comparison(lambda x, y: x == y, lambda x, y: x == y),
    "ne": comparison(lambda x, y: x != y, lambda x, y: x != y),
    "lt": comparison(lambda x, y: x < y),
    "le": comparison(lambda x, y: x <= y),
    "gt": comparison(lambda x, y: x > y),
    "ge": comparison(lambda x, y: x >= y),
    "logical_and": bits(lambda x, y: x & y, lambda x, y: x and y),
    "logical_or": bits(lambda x, y: x | y, lambda x, y: x or y),
    "logical_xor": bits(lambda x, y: x ^ y, lambda x, y: x != y),
    "relu_backward": Expression(lambda g, z: 0 if z <= 0 else g, c=NONE),
    "sigmoid_backward": Expression(lambda g, z: g * ((like(z, 1) - z) * z)),
    "tanh_backward": Expression(lambda g, z: g * (like(z, 1) - z * z)),
    "gelu_backward": floats(gelu_slope),
    "gelu_tanh_backward": floats(gelu_tanh_slope),
    "silu_backward": floats(silu_slope),
    "mish_backward": floats(mish_slope),
    "hardsigmoid_backward": floats(lambda g, x: 0 if abs(x) >= 3 else g / like(x, 6)),
    "hardswish_backward": floats(lambda g, x: g if not x < 3 else 0 if x <= -3 else g * (x / like(x, 3) + like(x, 0.5))),
    "atan2": floats(lambda x, y: m.atan2(x, y)),
    "prelu": floats(lambda x, y: x if x > 0 else x * y),
    "hypot": floats(lambda x, y: m.hypot(x, y)),
    "fmod": floats(lambda x, y: m.fmod(x, y), i=remainder_like_x),
    "remainder": floats(remainder, i=remainder_of_integers),
    "floor_divide": floats(quotient, i=quotient_of_integers),
    "trunc_divide": floats(lambda x, y: m.trunc(x / y), i=truncated),
    "complex": Expression(lambda x, y: complex(x, y), gives="complex", i=NONE, b=NONE, c=NONE),
    "copysign": floats(lambda x, y: m.copysign(x, y)),
    "heaviside": Expression(lambda x, y: y if x == 0 else 1 if x > 0 else 0, b=NONE, c=NONE),
    "fmax": Expression(lambda x, y: y if x != x else x if y != y or x > y else y, b=lambda x, y: x or y, c=NONE),
    "fmin": Expression(lambda x, y: y if x != x else x if y != y or x < y else y, b=lambda x, y: x and y, c=NONE),
    "logaddexp": floats(log_of_sum),
    "logaddexp2": floats(log2_of_sum),
    "xlogy": floats(lambda x, y: 0 if x == 0 and y == y else x * m.log(y)),
    "xlog1py": floats(lambda x, y: 0 if x == 0 and y == y else x * m.log1p(y)),
}
