"""The derivative of samples from gamma and beta distributions with respect to their parameters.

A sample x of shape a is x = F⁻¹(u; a) for a uniform u, though the sampler computes it in another way. Differentiating F(x; a) = u
gives its derivative without inverting F (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018):

    dx/da = -(∂F/∂a) / p(x)

The derivative of log p(t; a) with respect to a is a score s(t), with mean 0. So ∂F/∂a is the integral of s(t) p(t) below x, or
minus the integral above x:

    gamma    s(t) = log t - ψ(a)                p(t) ∝ t^(a-1) e^-t
    beta     s(t) = log t - ψ(a) + ψ(a + b)     p(t) ∝ t^(a-1) (1 - t)^(b-1)

The score grows with t. Left of its zero we integrate below x, right of it above x. Then the integrand has one sign, and no digits
are lost by subtraction, not even in the tails. With t = x e^-v below, and t = x e^v above, the integrand falls quickly for large a.
For small a the part below falls as slowly as e^-av. Integrated by parts it falls as e^-(1+a)v, and the terms in 1/a², which cancel,
are gone. The rule of Gauss and Legendre integrates up to the v where the integrand has fallen by e^-40.

Everything is float64. Mirrors ``aten/src/ATen/native/Distributions.h``, which approximates these integrals by polynomials.
"""

from __future__ import annotations

import functools

import numpy as np

from minigrad.kernels.numpy_ref.special import digamma

__all__ = ["dirichlet_gradient", "gamma_gradient"]

POINTS = 64
FALL = 40.0
STEPS = 8           # of Newton's method for the end of the integral
POWER = 3           # v = end · y³ puts more points near 0


@functools.cache
def rule():
    """The points and weights for an integral from 0 to 1, denser near 0."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    y = (points + 1) / 2
    return list(zip(y ** POWER, weights / 2 * POWER * y ** (POWER - 1), strict=True))


def integrate(integrand, end):
    """∫ integrand(v) dv from 0 to `end`, elementwise."""
    total = np.zeros_like(end)
    for point, weight in rule():
        total += weight * integrand(end * point)
    return total * end


def where_fallen(fall, slope, guess):
    """Return the v with fall(v) = 40, by Newton's method from above, for a convex function `fall` with derivative `slope`."""
    v = guess
    for _ in range(STEPS):
        v = np.clip(v - (fall(v) - FALL) / np.maximum(slope(v), 1e-30), 0, v)
    return v


def on_parts(function, masks, *arrays):
    """Return an array with function[i](*arrays) where masks[i] holds."""
    result = np.full(arrays[0].shape, np.nan)
    for f, mask in zip(function, masks, strict=True):
        if mask.any():
            result[mask] = f(*[a[mask] for a in arrays])
    return result


# ---- gamma ----------------------------------------------------------------------------------------------------


def gamma_gradient(x, a):
    """dx/da for samples `x` from the gamma distribution of shape `a` and rate 1: float64 arrays of one shape."""
    x, a = np.maximum(x, np.finfo(np.float64).tiny), np.asarray(a)
    with np.errstate(all="ignore"):
        below = np.log(x) < digamma(1 + a)
        return on_parts((gamma_below, gamma_above), (below, ~below), x, a)


def gamma_below(x, a):
    """x/a · [s + ∫ (s + v) x e^(x(1 - e^-v) - (1 + a) v) dv] with s = ψ(1 + a) - log x."""
    s = digamma(1 + a) - np.log(x)
    end = where_fallen(lambda v: (1 + a) * v + x * np.expm1(-v), lambda v: 1 + a - x * np.exp(-v),
                       np.minimum(FALL / np.maximum(1 + a - x, 1e-9), FALL / (1 + a) * 2 + np.sqrt(4 * FALL / (1 + a)) + 1))
    return x / a * (s + integrate(lambda v: (s + v) * x * np.exp(-x * np.expm1(-v) - (1 + a) * v), end))


def gamma_above(x, a):
    """x ∫ (s + v) e^(-x(e^v - 1) + a v) dv with s = log x - ψ(a)."""
    s = np.log(x) - digamma(a)
    guess = np.minimum(np.sqrt(2 * FALL / x), np.maximum(2, np.log1p(2 * FALL / x)))
    end = where_fallen(lambda v: x * np.expm1(v) - a * v, lambda v: x * np.exp(v) - a, guess)
    return x * integrate(lambda v: (s + v) * np.exp(-x * np.expm1(v) + a * v), end)


# ---- beta -----------------------------------------------------------------------------------------------------


def dirichlet_gradient(x, a, total):
    """(dx/da) / (1 - x) for coordinates `x` of Dirichlet samples, with concentrations `a` of the sum `total`.

    A coordinate has the beta distribution of a and b = total - a. The other coordinates shrink when x grows, by the factor
    (1 - x - dx) / (1 - x): hence the quotient.
    """
    x = np.clip(x, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)
    b = np.maximum(total - a, np.finfo(np.float64).tiny)
    with np.errstate(all="ignore"):
        c, c1 = digamma(a) - digamma(a + b), digamma(1 + a) - digamma(a + b)
        log_x = np.log(x)
        wide = b >= 1
        below_by_parts = np.where(wide, log_x < c1, (a < 1) & (x <= 0.5))
        below = ~wide & (a >= 1) & (log_x < c)
        above = wide & ~below_by_parts
        above_by_parts = ~(below_by_parts | below | above)
        return on_parts((beta_below_by_parts, beta_below, beta_above, beta_above_by_parts),
                        (below_by_parts, below, above, above_by_parts), x, a, b, c, c1)


def end_of(fall, rate):
    """Where `fall`, which grows at least like `rate` · v far out, reaches 40: by bisection, since it need not be convex."""
    low, high = np.zeros_like(rate), 2 * FALL / rate
    for _ in range(4):      # until it has fallen far enough
        high = np.where(fall(high) < FALL, 4 * high, high)
    for _ in range(24):
        middle = (low + high) / 2
        short = fall(middle) < FALL
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


def beta_below_by_parts(x, a, b, c, c1):
    """x/a · [s + ∫ (s + v) e^-av G'(v) dv], s = ψ(1 + a) - ψ(a + b) - log x, G = ((1 - x e^-v) / (1 - x))^(b-1)."""
    s = c1 - np.log(x)

    def log_ratio(v):           # log (1 - x e^-v) / (1 - x)
        return np.log1p(-x * np.expm1(-v) / (1 - x))
    end = end_of(lambda v: (1 + a) * v - (b - 1) * log_ratio(v), 1 + a)

    def integrand(v):
        return (s + v) * (b - 1) * x * np.exp(-(1 + a) * v + (b - 2) * log_ratio(v)) / (1 - x)
    return x / (a * (1 - x)) * (s + integrate(integrand, end))


def beta_below(x, a, b, c, c1):
    """x ∫ (s + v) e^-av ((1 - x e^-v) / (1 - x))^(b-1) dv, s = ψ(a) - ψ(a + b) - log x."""
    s = c - np.log(x)

    def exponent(v):
        return -a * v + (b - 1) * np.log1p(-x * np.expm1(-v) / (1 - x))
    return x / (1 - x) * integrate(lambda v: (s + v) * np.exp(exponent(v)), end_of(lambda v: -exponent(v), a))


def beta_above(x, a, b, c, c1):
    """(1 - x) ∫ (log t - ψ(a) + ψ(a + b)) e^-bw (t/x)^(a-1) dw, t = 1 - (1 - x) e^-w."""
    def log_ratio(w):           # log t/x
        return np.log1p(-(1 - x) * np.expm1(-w) / x)
    end = end_of(lambda w: b * w - (a - 1) * log_ratio(w), b)
    s = np.log(x) - c
    return integrate(lambda w: (s + log_ratio(w)) * np.exp(-b * w + (a - 1) * log_ratio(w)), end)


def beta_above_by_parts(x, a, b, c, c1):
    """The same, by parts: (1 - x)/b · [s + ∫ e^-bw (1 - t)/t (t/x)^(a-1) (1 + (a - 1)(log t - ψ(a) + ψ(a + b))) dw]."""
    s = np.log(x) - c

    def log_ratio(w):
        return np.log1p(-(1 - x) * np.expm1(-w) / x)
    end = end_of(lambda w: (1 + b) * w - (a - 2) * log_ratio(w), 1 + b)

    def integrand(w):
        ratio = log_ratio(w)
        return (1 - x) / x * np.exp(-(1 + b) * w + (a - 2) * ratio) * (1 + (a - 1) * (s + ratio))
    return (s + integrate(integrand, end)) / b
