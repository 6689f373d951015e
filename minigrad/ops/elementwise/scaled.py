"""Special functions scaled so that they neither overflow nor vanish: erfcx, log_ndtr, i0e, i1e. Only in `minigrad.special`.

    erfcx(x) = e^(x²) erfc(x)           log_ndtr(x) = log P(a standard normal number is below x)
    i0e(x) = e^-|x| I₀(x)               i1e(x) = e^-|x| I₁(x)

erfcx and log_ndtr are composed of other ops, in float64, so their derivatives are those of the ops. i0e and i1e are kernels. In
each part of the axis there is a form without a large number times a small one, or a difference of nearly equal numbers:

    erfcx       up to -6, where erfc(x) is 2, as 2 e^(x²): e^(x²) may be infinite, and times the derivative of erfc it would be nan;
                up to 3.5 by its formula; above by Laplace's continued fraction, 1/√π / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...
    i0e'        up to 500 i1e(x) - sign(x) i0e(x); above by Hankel's series in 1/x, of which 7 terms are exact to float64 there

Mirrors ``aten/src/ATen/native/Math.h`` (``calc_erfcx``, ``calc_i0e``) and ``c10/util/MathConstants.h``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad._core.record.apply import unary
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import FLOAT64, op
from minigrad.ops.elementwise.functions import exp, log, log1p, sqrt
from minigrad.ops.elementwise.selection import abs as absolute
from minigrad.ops.elementwise.selection import sign, where
from minigrad.ops.elementwise.special import Special, convert_to_floating, erfc
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import Tensor

SMALL, LARGE, TERMS = -6.0, 3.5, 60

def hankel(order):
    """The coefficients of Hankel's series of √(2πx) e^-x Iᵥ(x) in 1/x: 1, -(μ - 1)/8, (μ - 1)(μ - 9)/(2! 8²), ..., with μ = 4ν²"""
    found = [1.0]
    for k in range(1, 8):
        found.append(found[-1] * ((2 * k - 1) ** 2 - 4 * order) / (8 * k))
    return found


DIFFERENCE = [b - a for a, b in zip(hankel(0), hankel(1))][1:]       # of I₁ - I₀. The first terms, 1, cancel


def scaled_erfc(x):
    """erfcx of a float64 tensor. Each form gets an argument that it can compute: `where` multiplies the other's gradient by 0."""
    small = where(x < SMALL, x, 0.0)
    middle = where((x >= SMALL) & (x < LARGE), x, 0.0)
    large = where(x < LARGE, LARGE, x)
    fraction = large
    for k in range(TERMS, 0, -1):
        fraction = large + (k / 2) / fraction
    product = exp(middle * middle) * erfc(middle)
    return where(x < SMALL, 2 * exp(small * small), where(x < LARGE, product, 1 / (math.sqrt(math.pi) * fraction)))


def slope_of_i0e(x):
    """The derivative of e^-|x| I₀(x) for a float64 tensor; 0 at 0, as in PyTorch."""
    size = absolute(x)
    small = where(size < 500, x, 0.0)
    large = where(size < 500, 500.0, size)
    series = 0.0
    for term in reversed(DIFFERENCE):
        series = (term + series) / large
    return where(size < 500, i1e(small) - sign(small) * i0e(small), series * sign(x) / sqrt(2 * math.pi * large))


def i1e_over(x):
    """e^-|x| I₁(x) / x for a float64 tensor. The derivative of the quotient would cancel near 0; there we use the power series."""
    near = absolute(x) < 0.02
    z = where(near, x, 0.0) ** 2 / 4
    series = exp(-absolute(x)) * (1 + z * (1 / 2 + z * (1 / 12 + z / 144))) / 2
    return where(near, series, i1e(x) / where(near, 1.0, x))


@op("special_i0e", "SpecialI0E0")
class I0e(Special):
    """z = e^-|x| I₀(x)"""

    kernel = "i0e"

    def vjp_x(g, x):
        return cast(g * slope_of_i0e(cast(x, FLOAT64)), x.dtype)


@op("special_i1e", "SpecialI1E0")
class I1e(Special):
    """z = e^-|x| I₁(x)"""

    kernel = "i1e"

    def vjp_x(g, x):            # dx = g (e^-|x| (I₀(x) - I₁(x) / x) - sign(x) z), g/2 at 0
        y = cast(x, FLOAT64)
        return cast(g * where(y == 0, 0.5, -(sign(y) * slope_of_i0e(y) + i1e_over(y))), x.dtype)


def in_float64(name, function, input):
    """The result of `function` on `input` in float64, in the dtype of `input`; integers give the default dtype."""
    x = convert_to_floating(tensor_argument(name, input))
    return cast(function(cast(x, FLOAT64)), x.dtype)


def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = e^(x²) erfc(x). Mirrors ``torch.special.erfcx``.

    >>> mg.special.erfcx(mg.tensor([0., 1., 100.]))
    tensor([1.0000, 0.4276, 0.0056])
    """
    return into(out, erfcx, input) if out is not None else in_float64("erfcx", scaled_erfc, input)


def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = log of the probability that a standard normal number is below x. Mirrors ``torch.special.log_ndtr``.

    >>> mg.special.log_ndtr(mg.tensor([0., -30.]))
    tensor([  -0.6931, -454.3213])
    """
    def function(x):
        low, high = where(x < -1, x, -1.0), where(x < -1, 0.0, x)
        return where(x < -1, log(scaled_erfc(low * -math.sqrt(0.5)) / 2) - low * low / 2, log1p(erfc(high * math.sqrt(0.5)) / -2))
    return into(out, log_ndtr, input) if out is not None else in_float64("log_ndtr", function, input)


def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = e^-|x| I₀(x). Mirrors ``torch.special.i0e``.

    >>> mg.special.i0e(mg.tensor([0., 1., 1000.]))
    tensor([1.0000, 0.4658, 0.0126])
    """
    return into(out, i0e, input) if out is not None else unary(I0e.op, tensor_argument("i0e", input))


def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = e^-|x| I₁(x). Mirrors ``torch.special.i1e``.

    >>> mg.special.i1e(mg.tensor([0., 1., 1000.]))
    tensor([0.0000, 0.2079, 0.0126])
    """
    return into(out, i1e, input) if out is not None else unary(I1e.op, tensor_argument("i1e", input))
