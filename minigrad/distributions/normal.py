"""The normal distribution. Mirrors ``torch/distributions/normal.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import broadcast_all, standard_normal

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Normal"]

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


class Normal(ExponentialFamily):
    """The normal (Gaussian) distribution. Mirrors ``torch.distributions.Normal``.

        log p(x) = -(x - loc)² / (2 scale²) - log(scale) - ½ log(2π)

    A sample is loc + scale · ε with ε standard normal, so it has a gradient with respect to both.

    Args:
        loc (Tensor or float): the mean μ.
        scale (Tensor or float): the standard deviation σ > 0. The two broadcast to the batch shape.

    Raises:
        ValueError: `scale` is not positive.

    >>> d = mg.distributions.Normal(mg.tensor([0., 1.]), 1.)
    >>> d.log_prob(mg.tensor(1.))
    tensor([-1.4189, -0.9189])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0}
    _mean_carrier_measure = 0

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self.scale ** 2

    @property
    def stddev(self):
        return self.scale

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * standard_normal(self._extended_shape(sample_shape), self.loc)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) / self.scale) ** 2 / 2 - self.scale.log() - LOG_SQRT_2PI

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * mg.erfc((self.loc - value) / (self.scale * math.sqrt(2)))

    def icdf(self, value):
        check_tensors("Normal.icdf", value=value)
        return self.loc + self.scale * mg.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + LOG_SQRT_2PI + self.scale.log()

    @property
    def _natural_params(self):
        return self.loc / self.scale ** 2, -0.5 / self.scale ** 2

    def _log_normalizer(self, *natural_params):
        x, y = natural_params
        return -0.25 * x ** 2 / y + 0.5 * mg.log(-math.pi / y)
