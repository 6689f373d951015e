"""The half-Cauchy distribution. Mirrors ``torch/distributions/half_cauchy.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions.cauchy import Cauchy
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import AbsTransform
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The half-Cauchy distribution: |X| for a Cauchy variable X with median 0. Mirrors ``torch.distributions.HalfCauchy``.

        log p(x) = log 2 - log(π scale) - log(1 + (x / scale)²),    x ≥ 0

    Args:
        scale (Tensor or float): the median, > 0.

    Raises:
        ValueError: `scale` is not positive.

    >>> mg.distributions.HalfCauchy(1.).cdf(mg.tensor(1.))
    tensor(0.5000)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _parameters = {}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The median."""
        return self.base_dist.scale

    @property
    def mean(self):
        """Infinite."""
        return mg.full_like(self.scale, math.inf)

    @property
    def mode(self):
        return mg.zeros_like(self.scale)

    @property
    def variance(self):
        return self.base_dist.variance

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, _ = broadcast_all(value, self.scale)
        return (self.base_dist.log_prob(value) + math.log(2)).masked_fill(value < 0, -mg.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 2 * mg.atan(value / self.scale) / math.pi

    def icdf(self, value):
        check_tensors("HalfCauchy.icdf", value=value)
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
