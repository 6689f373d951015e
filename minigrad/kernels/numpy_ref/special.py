"""Special functions: the error function, the gamma function and its derivatives. They compute in float64 for every dtype.

NumPy has none of them. We compute them with NumPy's functions, and without tables of unexplained constants:

    erf, erfc       Taylor series about the nearest multiple of 1/64, where `math` knows the value
    erfinv          Halley's iteration on the residual of erf, or of erfc where erfc is more exact
    lgamma          Taylor series about 2, with values of zeta as coefficients; Stirling's formula above
    digamma         the recurrence up to 10, then the asymptotic series
    polygamma       n! zeta(n + 1, x), with Hurwitz's zeta by the formula of Euler and Maclaurin

The error is a few units in the last place, except near the zeros of lgamma and digamma below 0, where only the absolute error is
small. (The test is tests/ops/test_special.py.)
"""

import functools
import math

import numpy as np

from minigrad.kernels.numpy_ref.elementwise import complex_sigmoid
from minigrad.kernels.numpy_ref.precision import quiet

__all__ = ["digamma", "erf", "erfc", "erfinv", "gelu", "gelu_backward", "gelu_tanh", "gelu_tanh_backward", "glu",
           "glu_backward", "lgamma", "mish", "mish_backward", "polygamma", "silu", "silu_backward"]

# the Bernoulli numbers B2, B4, ...
BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138]
STEPS = 64          # points of the table per unit
LAST = 27           # erfc is 0 from here on
TERMS = 14          # of the Taylor series: (2 · 27 / 128)^14 / 14! = 6e-17
EPSILON = np.finfo(np.float64).eps
DEEP = -64          # zeta below this is not a sum term by term


def in_float64(function):
    """Make a kernel of a function on float64 arrays: it gives no warnings, and returns the dtype of its first argument."""
    @quiet
    @functools.wraps(function)
    def kernel(x, *args):
        return np.asarray(function(np.asarray(x, np.float64), *args), x.dtype)
    return kernel


# ---- the error function -------------------------------------------------------------------------------------


@functools.cache
def tables():
    """erf, erfc and the derivative of erf at the points i / STEPS."""
    points = [i / STEPS for i in range(LAST * STEPS + 1)]
    return (np.array([math.erf(a) for a in points]), np.array([math.erfc(a) for a in points]),
            np.array([2 / math.sqrt(math.pi) * math.exp(-a * a) for a in points]))


def erf_from_table(x):
    """(i, erf(x) - erf(i / 64)) for x >= 0, where i / 64 is the nearest point of the tables.

    Let t[n] be h^n / n! times the n-th derivative at a = i / 64. Then y'' = -2 a y' gives t[n + 2] in terms of t[n + 1] and t[n].
    """
    i = np.minimum(np.rint(x * STEPS), LAST * STEPS)
    a = i / STEPS
    h = np.where(x < LAST, x - a, 0.0)
    i = np.nan_to_num(i).astype(np.int64)
    last, term = 0.0, tables()[2][i] * h
    total = term
    for n in range(TERMS):
        last, term = term, (-2 * h) * (a * (n + 1) * term + h * n * last) / ((n + 2) * (n + 1))
        total = total + term
    return i, total


@in_float64
def erf(x):
    i, difference = erf_from_table(np.abs(x))
    return np.where(np.isnan(x), x, np.copysign(tables()[0][i] + difference, x))


@in_float64
def erfc(x):
    i, difference = erf_from_table(np.abs(x))
    upper = np.where(np.abs(x) < LAST, tables()[1][i] - difference, 0.0)
    return np.where(np.isnan(x), x, np.where(x < 0, 2 - upper, upper))


@quiet
def gelu(x):
    return np.asarray(x * normal_distribution(x))


@quiet
def gelu_backward(g, x):
    return np.asarray(g * (normal_distribution(x) + x * np.exp(x * x * -0.5) * (0.5 * math.sqrt(2 / math.pi))))


def normal_distribution(x):
    return 0.5 * erfc(x * -math.sqrt(0.5))      # 1 + erf would cancel for negative x


@quiet
def gelu_tanh(x):
    return np.asarray(x / (1 + np.exp(-twice_u(x))))


@quiet
def gelu_tanh_backward(g, x):
    v = twice_u(x)
    e = np.exp(-np.abs(v))      # s (1 - s) is e / (1 + e)²: 1 - s would cancel
    d = 1 / (1 + e)
    return np.asarray(g * (np.where(v < 0, e * d, d) + x * (e * d * d) * math.sqrt(8 / math.pi) * (1 + 0.134145 * x * x)))


def twice_u(x):
    """2 u: (1 + tanh u) / 2 = sigmoid(2 u) approximates the normal distribution function."""
    return math.sqrt(8 / math.pi) * (x + 0.044715 * x * x * x)


@quiet
def silu(x):
    if x.dtype.kind == "c":
        s, _ = complex_sigmoid(x)
        return np.asarray(x * s)
    return np.asarray(x / (1 + np.exp(-x)))


@quiet
def silu_backward(g, x):
    if x.dtype.kind == "c":
        s, slope = complex_sigmoid(x)
        return np.asarray(g * (s + x * slope))
    e = np.exp(-np.abs(x))      # s (1 - s) is e / (1 + e)²: 1 - s would cancel
    d = 1 / (1 + e)
    return np.asarray(g * (np.where(x < 0, e * d, d) + x * (e * d * d)))


@quiet
def mish(x):
    _, top, bottom = tanh_of_softplus(x)
    return np.asarray(x * (top / bottom))


@quiet
def mish_backward(g, x):
    u, top, bottom = tanh_of_softplus(x)    # t' = sigmoid(x) (1 - t²) = 4 u (1 + u) / bottom², for x > 0 times u
    steep = (1 + u) * u * np.where(x > 0, 4 * u, 4) / (bottom * bottom)
    return np.asarray(g * (top / bottom + np.minimum(x, 1000) * steep))


@quiet
def glu(x, dim):
    a, b = np.split(x, 2, dim)
    return np.asarray(a / (1 + np.exp(-b)))


@quiet
def glu_backward(g, x, dim):
    a, b = np.split(x, 2, dim)
    e = np.exp(-np.abs(b))
    d = 1 / (1 + e)
    return np.concatenate([g * np.where(b < 0, e * d, d), g * a * (e * d * d)], dim)


def tanh_of_softplus(x):
    """(u, numerator, denominator) of t = tanh(log(1 + exp x)), in powers of u = exp(-|x|), which cannot overflow.

    t = (1 + 2u) / (1 + 2u + 2u²) for x > 0, else (2u + u²) / (2 + 2u + u²).
    """
    u = np.exp(-np.abs(x))
    top = np.where(x > 0, 1, u * u) + 2 * u
    return u, top, top + np.where(x > 0, 2 * u * u, 2)


@in_float64
def erfinv(x):
    p = np.abs(x)
    # A first guess with an error of 2e-3. From 1/2 on we use the residual of erfc, since 1 - p is exact there.
    w = np.log1p(-p * p)
    b = 2 / (math.pi * 0.147) + w / 2
    z = np.sqrt(np.maximum(np.sqrt(b * b - w / 0.147) - b, 0.0))
    for _ in range(3):
        residual = np.where(p < 0.5, erf(z) - p, (1 - p) - erfc(z))
        step = residual * np.exp(z * z) * (math.sqrt(math.pi) / 2)
        z = z - step / (1 + z * step)
    z = np.where(p < 1, z, np.where(p == 1, np.inf, np.nan))
    return np.copysign(z, x)


# ---- gamma ----------------------------------------------------------------------------------------------------


def zeta(s, q):
    """Hurwitz's zeta: the sum of (q + k)^-s over k = 0, 1, ..., for an integer s > 1."""
    q = np.array(q, np.float64)
    deep = q < DEEP
    if deep.any():      # q = p - m with p in [0, 1): ζ(s, q) = ζ(s, p) + (-1)^s (ζ(s, 1 - p) - ζ(s, 1 - p + m))
        whole = zeta(s, np.where(deep, 1.0, q))
        steps = np.floor(q[deep])
        p = q[deep] - steps
        below = zeta(s, 1 - p) - zeta(s, 1 - p - steps)
        whole[deep] = np.where(p == 0, np.inf, zeta(s, p) + (below if s % 2 == 0 else -below))
        return whole
    total = np.zeros_like(q)
    pole = (q <= 0) & (q == np.floor(q))
    far = np.zeros(q.shape, bool)          # so far below 0 that further terms do not count
    while True:
        small = (q < 10) & ~pole & ~far
        if not small.any():
            break
        term = np.where(small, q ** -s, 0.0)
        total += term
        far |= small & (np.abs(term) < EPSILON * np.abs(total)) & (q < -10)
        q += small
    tail = q ** (1 - s) / (s - 1) + q ** -s / 2
    factor = s * q ** (-s - 1)
    for j, b in enumerate(BERNOULLI, 1):
        tail = tail + b * factor / math.factorial(2 * j)
        factor = factor * ((s + 2 * j - 1) * (s + 2 * j)) / (q * q)
    tail = np.where(q == np.inf, 0.0, tail)
    return np.where(pole, np.inf, total + np.where(far, 0.0, tail))


@functools.cache
def about_two():
    """Coefficients of lgamma(2 + z) = z (1 - γ) + Σ (zeta(k) - 1) (-z)^k / k over k = 2, 3, ..."""
    return [1 - np.euler_gamma] + [float(zeta(k, 2.0)) * (-1) ** k / k for k in range(2, 30)]


def lgamma_near_two(z):
    """lgamma(2 + z) for |z| <= 1/2."""
    total = np.zeros_like(z)
    for c in reversed(about_two()):
        total = (total + c) * z
    return total


def lgamma_above(x):
    """lgamma(x) for x >= 2.5: the recurrence up to 10, then Stirling's formula."""
    product = np.ones_like(x)
    for _ in range(8):
        small = x < 10
        product = np.where(small, product * x, product)
        x = np.where(small, x + 1, x)
    series = np.zeros_like(x)
    for j in range(len(BERNOULLI), 0, -1):
        series = series / (x * x) + BERNOULLI[j - 1] / (2 * j * (2 * j - 1))
    found = (x - 0.5) * np.log(x) - x + math.log(2 * math.pi) / 2 + series / x - np.log(product)
    return np.where(x == np.inf, x, found)


@in_float64
def lgamma(x):
    y = np.where(x < 0, 1 - x, x)
    found = np.select(
        [y < 0.5, y < 1.5, y < 2.5],
        [lgamma_near_two(np.where(y < 0.5, y, 0.0)) - np.log1p(y) - np.log(y),
         lgamma_near_two(np.where(np.abs(y - 1) <= 0.5, y - 1, 0.0)) - np.log1p(y - 1),
         lgamma_near_two(np.where(np.abs(y - 2) <= 0.5, y - 2, 0.0))], lgamma_above(np.maximum(y, 2.5)))
    sine = np.abs(np.sin(np.pi * (x - np.rint(x))))
    reflected = np.where(sine == 0, np.inf, math.log(math.pi) - np.log(sine) - found)
    return np.where(np.isnan(x), x, np.where(x == -np.inf, np.inf, np.where(x < 0, reflected, found)))


@in_float64
def digamma(x):
    y = np.where(x < 0, 1 - x, x)
    total = np.zeros_like(y)
    for _ in range(10):
        small = y < 10
        total = np.where(small, total - 1 / y, total)
        y = np.where(small, y + 1, y)
    series = np.zeros_like(y)
    for j in range(len(BERNOULLI), 0, -1):
        series = (series + BERNOULLI[j - 1] / (2 * j)) / (y * y)
    total = total + np.log(y) - 0.5 / y - series
    total = np.where(np.isinf(y), y, total)
    pole = (x < 0) & (x == np.floor(x))
    total = np.where(x < 0, total - math.pi / np.tan(np.pi * (x - np.rint(x))), total)
    return np.where(pole, np.nan, np.where(x == 0, np.copysign(np.inf, -x), total))


@in_float64
def polygamma(x, n):
    if n == 0:
        return digamma(x)
    return (factorial(n) if n % 2 else -factorial(n)) * zeta(float(n + 1), x)


def factorial(n):
    """n! as a float; inf if that is too large for a float."""
    return float(math.factorial(n)) if n <= 170 else math.inf
