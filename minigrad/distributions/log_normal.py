"""The log-normal distribution. Mirrors ``torch/distributions/log_normal.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.normal import Normal
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import ExpTransform

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The log-normal distribution: e^X for a normal X. Mirrors ``torch.distributions.LogNormal``.

        log p(y) = -(log y - loc)² / (2 scale²) - log(y scale) - ½ log(2π)

    Args:
        loc (Tensor or float): the mean of log Y.
        scale (Tensor or float): the standard deviation of log Y, > 0.

    Raises:
        ValueError: `scale` is not positive.

    >>> mg.distributions.LogNormal(0., 1.).mean         # e^½
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = {}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale), ExpTransform(), validate_args=validate_args)

    @property
    def loc(self):
        """The mean of log Y."""
        return self.base_dist.loc

    @property
    def scale(self):
        """The standard deviation of log Y."""
        return self.base_dist.scale

    @property
    def mean(self):
        return (self.loc + self.scale ** 2 / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale ** 2).exp()

    @property
    def variance(self):
        return mg.expm1(self.scale ** 2) * (2 * self.loc + self.scale ** 2).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc
