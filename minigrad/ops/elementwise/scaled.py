"""Special functions scaled so that they neither overflow nor vanish: erfcx, log_ndtr, i0e, i1e. Only in `minigrad.special`.

    erfcx(x) = e^(x²) erfc(x)           log_ndtr(x) = log P(a standard normal number is below x)
    i0e(x) = e^-|x| I₀(x)               i1e(x) = e^-|x| I₁(x)

Each is composed of other ops, in float64, so its derivatives are theirs. In each part of the axis there is a form without a large
number times a small one:

    erfcx       up to -6, where erfc(x) is 2, as 2 e^(x²): e^(x²) may be infinite, and times the derivative of erfc it would be nan;
                up to 3.5 by its formula; above by Laplace's continued fraction, 1/√π / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...
    i0e, i1e    up to 500 by their formulas; above by Hankel's series in 1/x, of which 5 terms are exact to float64 there

Mirrors ``aten/src/ATen/native/Math.h`` (``calc_erfcx``, ``calc_i0e``) and ``c10/util/MathConstants.h``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import FLOAT64
from minigrad.ops.elementwise.functions import exp, log, log1p, sqrt
from minigrad.ops.elementwise.gamma_zeta import i0, i1
from minigrad.ops.elementwise.selection import abs as absolute
from minigrad.ops.elementwise.selection import sign, where
from minigrad.ops.elementwise.special import convert_to_floating, erfc
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import Tensor

SMALL, LARGE, TERMS = -6.0, 3.5, 60
# Hankel's series of √(2πx) e^-x Iᵥ(x): 1 - (μ - 1)/(8x) + (μ - 1)(μ - 9)/(2! (8x)²) - ..., with μ = 4ν²
HANKEL = {0: (1, 1 / 8, 9 / 128, 225 / 3072, 11025 / 98304), 1: (1, -3 / 8, -15 / 128, -315 / 3072, -14175 / 98304)}


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


def scaled_bessel(order, x):
    """e^-|x| I₀(x) or e^-|x| I₁(x) of a float64 tensor."""
    size = absolute(x)
    small = where(size < 500, x, 0.0)
    large = where(size < 500, 500.0, size)
    series = 0.0
    for term in reversed(HANKEL[order]):
        series = term + series / large
    series = series / sqrt(2 * math.pi * large)
    return where(size < 500, exp(-absolute(small)) * (i1(small) if order else i0(small)), series * sign(x) if order else series)


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
    return into(out, i0e, input) if out is not None else in_float64("i0e", lambda x: scaled_bessel(0, x), input)


def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = e^-|x| I₁(x). Mirrors ``torch.special.i1e``.

    >>> mg.special.i1e(mg.tensor([0., 1., 1000.]))
    tensor([0.0000, 0.2079, 0.0126])
    """
    return into(out, i1e, input) if out is not None else in_float64("i1e", lambda x: scaled_bessel(1, x), input)
