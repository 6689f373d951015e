"""The half-normal distribution. Mirrors ``torch/distributions/half_normal.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions.normal import Normal
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import AbsTransform
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """The half-normal distribution: |X| for a normal X with mean 0. Mirrors ``torch.distributions.HalfNormal``.

        log p(x) = log 2 - x² / (2 scale²) - log(scale) - ½ log(2π),    x ≥ 0

    Args:
        scale (Tensor or float): the standard deviation of X, > 0.

    Raises:
        ValueError: `scale` is not positive.

    >>> mg.distributions.HalfNormal(1.).mean        # √(2/π)
    tensor(0.7979)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _parameters = {}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The standard deviation of X."""
        return self.base_dist.scale

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self):
        return mg.zeros_like(self.scale)

    @property
    def variance(self):
        return self.scale ** 2 * (1 - 2 / math.pi)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, _ = broadcast_all(value, self.scale)
        return (self.base_dist.log_prob(value) + math.log(2)).masked_fill(value < 0, -mg.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return mg.erf(value / (self.scale * math.sqrt(2)))

    def icdf(self, value):
        check_tensors("HalfNormal.icdf", value=value)
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
