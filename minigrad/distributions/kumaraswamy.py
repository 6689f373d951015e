"""The Kumaraswamy distribution. Mirrors ``torch/distributions/kumaraswamy.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import AffineTransform, PowerTransform
from minigrad.distributions.uniform import Uniform
from minigrad.distributions.utils import EULER_CONSTANT, broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Kumaraswamy"]


def moment(a, b, n):
    """E[Xⁿ] = b B(1 + n/a, b)."""
    first = 1 + n / a
    return b * mg.exp(mg.lgamma(first) + mg.lgamma(b) - mg.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution, on the interval from 0 to 1. It resembles the beta distribution, with a simpler cdf.

    Mirrors ``torch.distributions.Kumaraswamy``.

        log p(x) = log(a b) + (a - 1) log x + (b - 1) log(1 - x^a),    cdf(x) = 1 - (1 - x^a)^b

    Args:
        concentration1 (Tensor or float): a > 0.
        concentration0 (Tensor or float): b > 0.

    Raises:
        ValueError: a parameter is not positive.

    >>> mg.distributions.Kumaraswamy(1., 1.).mean       # uniform
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(mg.zeros_like(self.concentration0), mg.ones_like(self.concentration0), validate_args=validate_args)
        transforms = [PowerTransform(1 / self.concentration0), AffineTransform(1.0, -1.0), PowerTransform(1 / self.concentration1)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self):
        return moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self):
        """((a - 1) / (a b - 1))^(1/a); nan if a or b is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = (mg.log1p(-1 / a) - mg.log1p(-1 / (a * b)) - b.log()) / a
        return log_mode.masked_fill((a < 1) | (b < 1), mg.nan).exp()

    @property
    def variance(self):
        return moment(self.concentration1, self.concentration0, 2) - self.mean ** 2

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = mg.digamma(b + 1) + EULER_CONSTANT
        return 1 - 1 / b + (1 - 1 / a) * harmonic - mg.log(a) - mg.log(b)
