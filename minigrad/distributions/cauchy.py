"""The Cauchy distribution. Mirrors ``torch/distributions/cauchy.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy distribution: the quotient of two normal variables. It has no mean. Mirrors ``torch.distributions.Cauchy``.

        log p(x) = -log(π scale) - log(1 + ((x - loc) / scale)²)

    Args:
        loc (Tensor or float): the median and mode.
        scale (Tensor or float): half the width at half the height, > 0.

    Raises:
        ValueError: `scale` is not positive.

    >>> mg.distributions.Cauchy(0., 1.).cdf(mg.tensor(1.))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return mg.full_like(self.loc, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return mg.full_like(self.loc, math.inf)

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * self.loc.new_empty(tuple(self._extended_shape(sample_shape))).cauchy_()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - mg.log1p(((value - self.loc) / self.scale) ** 2)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return mg.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        check_tensors("Cauchy.icdf", value=value)
        return mg.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
