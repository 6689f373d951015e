"""The incomplete gamma functions, Hurwitz's zeta function, the Bessel functions I₀ and I₁. They compute in float64 for every dtype.

    gammainc(a, x)      P: the probability that a number from the gamma distribution of shape a is below x
    gammaincc(a, x)     Q = 1 - P

We compute one of the two, and the other as 1 minus it. For a below 20 the choice and the method follow `igam.c` of Cephes (Moshier
1989): the series of P, the series of Q for small x, and the continued fraction of Q by the method of Lentz. These need a number of
steps that grows like √a. So for larger a we integrate the density beside x by the rule of Gauss and Legendre, as in Numerical
Recipes (3rd ed., 6.2.1). The density falls like a normal distribution, and so 64 points are enough for every a.

    zeta(s, q)          Σ (q + k)^-s: ten terms, then the formula of Euler and Maclaurin (Cephes, `zeta.c`)
    i0, i1              the power series up to 20, then Hankel's expansion (Abramowitz and Stegun, 9.6.10 and 9.7.1)
"""

import functools
import math

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet
from minigrad.kernels.numpy_ref.special import BERNOULLI, DEEP, EPSILON, lgamma, lgamma_near_two

__all__ = ["frexp", "gammainc", "gammaincc", "i0", "i0e", "i1", "i1e", "nextafter", "zeta"]

LARGE = 20.0        # from this a on we integrate
POINTS = 64         # of the rule
FALL = 45.0         # the integral ends where the density has fallen by e^-45 = 3e-20
MOST = 2000         # steps of a series


def in_float64(function):
    """Make a kernel of a function on two float64 arrays of one shape: it broadcasts, gives no warnings, and keeps the dtype."""
    @quiet
    @functools.wraps(function)
    def kernel(x, y):
        x, y = np.asarray(x), np.asarray(y)
        wide = np.broadcast_arrays(x.astype(np.float64), y.astype(np.float64))
        return np.asarray(function(*[np.atleast_1d(a) for a in wide]).reshape(wide[0].shape), np.result_type(x, y))
    return kernel


# ---- incomplete gamma -----------------------------------------------------------------------------------------


@in_float64
def gammainc(a, x):
    return lower_and_upper(a, x)[0]


@in_float64
def gammaincc(a, x):
    return lower_and_upper(a, x)[1]


def lower_and_upper(a, x):
    """(P, Q)"""
    p, q = np.full(a.shape, np.nan), np.full(a.shape, np.nan)
    for at, value in ((a == 0, 1.0), (x == 0, 0.0), (a == np.inf, 0.0), (x == np.inf, 1.0)):
        p[at], q[at] = value, 1 - value
    known = (a == 0) | (x == 0) | (a == np.inf) | (x == np.inf)
    outside = (a < 0) | (x < 0) | np.isnan(a) | np.isnan(x) | ((a == 0) & (x == 0)) | ((a == np.inf) & (x == np.inf))
    p[outside] = q[outside] = np.nan
    rest = ~(known | outside)
    large = rest & (a >= LARGE)
    upper = large & (x >= a)
    fill(q, p, upper, lambda a, x: density_integral(a, x, 1.0), a, x)
    fill(p, q, large & ~upper, lambda a, x: density_integral(a, x, -1.0), a, x)
    small = rest & ~large
    tiny = np.where(x <= 0.5, -0.4 / np.log(np.minimum(x, 0.5)) < a, x * 1.1 < a)
    below = small & np.where(x <= 1.1, tiny, x < a)
    fill(p, q, below, lower_series, a, x)
    fill(q, p, small & ~below & (x <= 1.1), upper_series, a, x)
    fill(q, p, small & ~below & (x > 1.1), continued_fraction, a, x)
    return p, q


def fill(found, other, where, function, a, x):
    """Where `where` is True, set `found` to `function(a, x)`, and `other` to 1 minus that."""
    if where.any():
        found[where] = np.minimum(function(a[where], x[where]), 1.0)
        other[where] = 1 - found[where]


def log1p_minus(u):
    """log(1 + u) - u for u > -1. Near 0, where the two would cancel, by the series of atanh with r = u / (2 + u)."""
    near = np.abs(u) < 0.5
    r = np.where(near, u / (2 + u), 0.0)
    square, total = r * r, np.zeros_like(u)
    for n in range(17, 0, -1):                  # log(1 + u) = 2 (r + r³/3 + r⁵/5 + ...), and u = 2 r / (1 - r)
        total = square * (1 / (2 * n + 1) + total)
    return np.where(near, 2 * r * total - u * r, np.log1p(u) - u)


def stirling(a):
    """log Γ(a + 1) - (a + 1/2) log a + a - log √2π, for a >= 20."""
    total = np.zeros_like(a)
    for j in range(8, 0, -1):
        total = total / (a * a) + BERNOULLI[j - 1] / (2 * j * (2 * j - 1))
    return total / a


def factor(a, x):
    """x^a e^-x / Γ(a + 1)"""
    large = a >= LARGE
    exponent = a * log1p_minus(np.where(large, (x - a) / a, 0.0)) - stirling(np.where(large, a, LARGE))
    whole = np.exp(exponent) / np.sqrt(2 * math.pi * a)
    return np.where(large, whole, np.exp(a * np.log(x) - x - lgamma(a + 1)))


def density_integral(a, x, side):
    """The integral of the density from x to the right (side 1) or to the left (side -1), the side on which the density falls.

    The density is t^a e^-t / t, up to a constant. With t = x + d, log(t^a e^-t) minus its value at x is
    φ(d) = d (a - x) / x + a (log(1 + d / x) - d / x). The factor 1 / t is 1 / (x (1 + d / x)).
    """
    slope = np.abs(a - x) / x
    # The d where -slope d - a (d / x)² / 2 = -45. This approximates φ; to the right φ falls more slowly, and we go further.
    curve = a / (x * x)
    reach = 2 * FALL / (slope + np.sqrt(slope * slope + 2 * FALL * curve))
    reach = np.minimum(reach, x) if side < 0 else reach * (1 + reach / x)
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    total = np.zeros_like(x)
    for node, weight in zip(nodes, weights):
        d = side * reach * ((1 + node) / 2)
        u = d / x
        total += weight * np.exp(-slope * np.abs(d) + a * log1p_minus(u)) / (1 + u)
    return factor(a, x) * a * total * (reach / x / 2)


def lower_series(a, x):
    """P = x^a e^-x / Γ(a + 1) (1 + x / (a + 1) + x² / ((a + 1) (a + 2)) + ...)"""
    term, total, n = np.ones_like(x), np.ones_like(x), a
    for _ in range(MOST):
        n = n + 1
        term = term * (x / n)
        total = total + term
        if (term <= EPSILON / 4 * total).all():
            break
    return factor(a, x) * total


def upper_series(a, x):
    """Q = 1 - x^a / Γ(a + 1) - x^a / Γ(a) Σ (-x)^n / (n! (a + n)), n = 1, 2, ..., for x <= 1.1"""
    power, total = np.ones_like(x), np.zeros_like(x)
    for n in range(1, 40):
        power = power * (-x / n)
        total = total + power / (a + n)
    whole = a * np.log(x) - np.where(a < 0.5, lgamma_near_two(np.minimum(a, 0.5)) - np.log1p(a), lgamma(a + 1))
    return -np.expm1(whole) - a * np.exp(whole) * total


def continued_fraction(a, x):
    """Q = x^a e^-x / Γ(a) / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...)))"""
    least = 1e-300
    b = x + 1 - a
    c, d = np.full_like(x, 1 / least), 1 / np.where(b == 0, least, b)
    h = d
    for n in range(1, MOST):
        step = -n * (n - a)
        b = b + 2
        d = step * d + b
        d = 1 / np.where(np.abs(d) < least, least, d)
        c = b + step / c
        c = np.where(np.abs(c) < least, least, c)
        h = h * (c * d)
        if (np.abs(c * d - 1) < EPSILON).all():
            break
    return factor(a, x) * a * h


# ---- zeta -----------------------------------------------------------------------------------------------------


@in_float64
def zeta(s, q):
    found = np.full(s.shape, np.nan)
    whole = q == np.floor(q)
    found[(q <= 0) & whole & (s > 1)] = np.inf
    inside = (s > 1) & (q < np.inf) & ~((q <= 0) & (whole | (s != np.floor(s))))
    if inside.any():
        found[inside] = hurwitz(s[inside], q[inside])
    found[s == 1] = np.inf
    return found


def hurwitz(s, q):
    """ζ(s, q) for s > 1. Where q <= 0, s must be an integer, and q must not be one."""
    deep = q < DEEP
    if deep.any():      # as in `special.zeta`
        found = np.empty_like(q)
        found[~deep] = hurwitz(s[~deep], q[~deep])
        s, q = s[deep], q[deep]
        p = q - np.floor(q)
        below = hurwitz(s, 1 - p) - hurwitz(s, 1 - q)
        found[deep] = hurwitz(s, p) + np.where(s % 2 == 0, below, -below)
        return found
    total, first = np.zeros_like(q), q
    done = np.isnan(q) | np.isnan(s)
    for n in range(-int(DEEP) + 12):
        rest = ~done & ((q < 10) | (n < 10))
        if not rest.any():
            break
        term = np.where(rest, q ** -s, 0.0)
        total = total + term
        done = done | (rest & (q > 0) & (q > -first) & (np.abs(term) < EPSILON / 4 * np.abs(total)))
        q = np.where(rest, q + 1, q)
    tail = q ** -s * (q / (s - 1) + 0.5)
    term = s * q ** -(s + 1)
    for j, b in enumerate(BERNOULLI, 1):
        tail = tail + b * term / math.factorial(2 * j)
        term = term * ((s + 2 * j - 1) / q * ((s + 2 * j) / q))
    return np.where(np.isnan(first), np.nan, total + np.where(done, 0.0, tail))


# ---- Bessel functions ----------------------------------------------------------------------------------------


def bessel(x, order, scaled=False):
    """I₀ or I₁ of |x|, or e^-|x| times it"""
    x = np.abs(np.asarray(x, np.float64))
    near = x <= 20
    quarter = np.where(near, x * x / 4, 0.0)
    term = np.ones_like(x)
    total = np.ones_like(x)
    for k in range(1, 60):
        term = term * (quarter / (k * (k + order)))
        total = total + term
    far = np.where(near, 20.0, x)
    part, series = np.ones_like(x), np.ones_like(x)
    for k in range(1, 38):
        part = part * (((2 * k - 1) ** 2 - 4 * order) / (8 * k * far))
        series = series + part
    root = np.sqrt(2 * math.pi * far)
    total = total * np.where(near, x / 2, 0.0) ** order
    if scaled:
        return np.where(near, total * np.exp(np.where(near, -x, 0.0)), series / root)
    half = np.exp(far / 2)      # e^x may overflow where the result does not
    return np.where(x == np.inf, np.inf, np.where(near, total, half / root * series * half))


@quiet
def i0(x):
    x = np.asarray(x)
    return np.asarray(bessel(x, 0), x.dtype)


@quiet
def i1(x):
    x = np.asarray(x)
    return np.asarray(np.copysign(bessel(x, 1), x), x.dtype)


@quiet
def i0e(x):
    return np.asarray(bessel(x, 0, True), x.dtype)


@quiet
def i1e(x):
    return np.asarray(np.copysign(bessel(x, 1, True), x), x.dtype)


# ---- how numbers are represented ------------------------------------------------------------------------------


@quiet
def nextafter(x, y):
    return np.asarray(np.nextafter(x, y))


@quiet
def frexp(x):
    mantissa, exponent = np.frexp(x)
    return np.asarray(mantissa), np.asarray(np.where(np.isfinite(x), exponent, 0), np.int32)
