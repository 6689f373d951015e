"""The exponential distribution. Mirrors ``torch/distributions/exponential.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The exponential distribution: the time until an event that comes at a constant rate.

    Mirrors ``torch.distributions.Exponential``.

        log p(x) = log(rate) - rate · x,    x ≥ 0

    Args:
        rate (Tensor or float): the rate > 0, which is 1 / mean.

    Raises:
        ValueError: `rate` is not positive.

    >>> mg.distributions.Exponential(2.).log_prob(mg.tensor(0.))
    tensor(0.6931)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _parameters = {"rate": 0}
    _mean_carrier_measure = 0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return 1 / self.rate

    @property
    def mode(self):
        return mg.zeros_like(self.rate)

    @property
    def variance(self):
        return self.rate ** -2

    @property
    def stddev(self):
        return 1 / self.rate

    def rsample(self, sample_shape=()):
        return self.rate.new_empty(tuple(self._extended_shape(sample_shape))).exponential_() / self.rate

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -mg.expm1(-self.rate * value)

    def icdf(self, value):
        check_tensors("Exponential.icdf", value=value)
        return -mg.log1p(-value) / self.rate

    def entropy(self):
        return 1 - mg.log(self.rate)

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, *natural_params):
        return -mg.log(-natural_params[0])
