"""The Poisson distribution. Mirrors ``torch/distributions/poisson.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The Poisson distribution: how many events come in a time in which `rate` come on average.

    Mirrors ``torch.distributions.Poisson``.

        log p(x) = x log(rate) - rate - log x!

    Args:
        rate (Tensor or float): the mean and the variance, ≥ 0.

    Raises:
        ValueError: `rate` is negative.

    >>> mg.distributions.Poisson(1.).log_prob(mg.tensor([0., 1., 2.])).exp()
    tensor([0.3679, 0.3679, 0.1839])
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parameters = {"rate": 0}

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def sample(self, sample_shape=()):
        with mg.no_grad():
            return mg.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return mg.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (mg.log(self.rate),)

    def _log_normalizer(self, *natural_params):
        return mg.exp(natural_params[0])
