"""The von Mises distribution, on the circle. Mirrors ``torch/distributions/von_mises.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all, draw

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["VonMises"]

LARGE = 30.0        # from here on Hankel's expansion of I₀ and I₁ has full precision
TERMS = 20


def log_scaled_bessel(x, order):
    """log(e^-x I_order(x)) for x > 0 and the orders 0 and 1. Without the factor e^-x it would overflow, and lose digits.

    Hankel's expansion for large x: I_n(x) ≈ e^x / √(2πx) · Σ_k (-1)^k a_k / x^k, a_k = Π_{j=1..k} (4n² - (2j - 1)²) / (8 j).
    """
    small = x.clamp(max=LARGE)
    large = x.clamp(min=LARGE)
    near = mg.log(mg.special.i1(small) if order else mg.special.i0(small)) - small
    total = term = mg.ones_like(large)
    for j in range(1, TERMS):
        term = -term * (4 * order ** 2 - (2 * j - 1) ** 2) / (8 * j * large)
        total = total + term
    far = mg.log(total) - 0.5 * mg.log(2 * math.pi * large)
    return mg.where(x < LARGE, near, far)


class VonMises(Distribution):
    """The von Mises distribution: a normal distribution wrapped around the circle. Mirrors ``torch.distributions.VonMises``.

        log p(x) = concentration · cos(x - loc) - log(2π I₀(concentration))

    There is no `rsample`.

    Args:
        loc (Tensor or float): the mean angle, in radians.
        concentration (Tensor or float): κ > 0; for large κ the variance is about 1/κ.

    Raises:
        ValueError: `concentration` is not positive.

    >>> d = mg.distributions.VonMises(0., 1.)
    >>> d.log_prob(mg.tensor(0.)), d.variance
    (tensor(-1.0738), tensor(0.5536))
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    _parameters = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        below_mode = -2 * self.concentration * mg.sin((value - self.loc) / 2) ** 2      # κ (cos(x - loc) - 1)
        return below_mode - math.log(2 * math.pi) - log_scaled_bessel(self.concentration, 0)

    def sample(self, sample_shape=()):
        angle = draw("VonMises.sample", lambda numbers, shape, k: numbers.vonmises(0.0, k, shape),
                     self._extended_shape(sample_shape), self.loc, self.concentration)
        x = self.loc.detach() + angle
        return (x + math.pi) % (2 * math.pi) - math.pi

    @property
    def mean(self):
        """The mean angle."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        """The circular variance 1 - I₁(κ) / I₀(κ)."""
        return -mg.expm1(log_scaled_bessel(self.concentration, 1) - log_scaled_bessel(self.concentration, 0))
