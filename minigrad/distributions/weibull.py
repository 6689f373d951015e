"""The Weibull distribution. Mirrors ``torch/distributions/weibull.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.exponential import Exponential
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import AffineTransform, PowerTransform
from minigrad.distributions.utils import EULER_CONSTANT, broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution, of life times: scale · E^(1/k) for E ~ Exponential(1). Mirrors ``torch.distributions.Weibull``.

        log p(x) = log(k / scale) + (k - 1) log(x / scale) - (x / scale)^k,    x > 0

    Args:
        scale (Tensor or float): the scale, > 0.
        concentration (Tensor or float): the shape k > 0; for k > 1 the risk grows with age.

    Raises:
        ValueError: a parameter is not positive.

    >>> mg.distributions.Weibull(2., 1.).mean       # for k = 1 it is exponential
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parameters = {"scale": 0, "concentration": 0}

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(mg.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self):
        return self.scale * mg.exp(mg.lgamma(1 + 1 / self.concentration))

    @property
    def mode(self):
        k = self.concentration
        return self.scale * ((k - 1) / k) ** (1 / k)

    @property
    def variance(self):
        inverse = 1 / self.concentration
        return self.scale ** 2 * (mg.exp(mg.lgamma(1 + 2 * inverse)) - mg.exp(2 * mg.lgamma(1 + inverse)))

    def entropy(self):
        inverse = 1 / self.concentration
        return EULER_CONSTANT * (1 - inverse) + mg.log(self.scale * inverse) + 1
