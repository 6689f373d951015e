"""The Laplace distribution. Mirrors ``torch/distributions/laplace.py``."""

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

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution, whose density falls exponentially on both sides. Mirrors ``torch.distributions.Laplace``.

        log p(x) = -|x - loc| / scale - log(2 scale)

    Args:
        loc (Tensor or float): the mean.
        scale (Tensor or float): the mean distance from `loc`, > 0.

    Raises:
        ValueError: `scale` is not positive.

    >>> mg.distributions.Laplace(0., 1.).log_prob(mg.tensor(1.))
    tensor(-1.6931)
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
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale ** 2

    @property
    def stddev(self):
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape=()):
        u = self.loc.new_empty(tuple(self._extended_shape(sample_shape))).uniform_(mg.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -mg.log(2 * self.scale) - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * mg.expm1(-z.abs())

    def icdf(self, value):
        check_tensors("Laplace.icdf", value=value)
        term = value - 0.5
        return self.loc - self.scale * term.sign() * mg.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + mg.log(2 * self.scale)
