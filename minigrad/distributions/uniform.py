"""The uniform distribution. Mirrors ``torch/distributions/uniform.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_numbers
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on [low, high). Mirrors ``torch.distributions.Uniform``.

        log p(x) = -log(high - low),    low ≤ x < high

    Args:
        low (Tensor or float): the lower end, included.
        high (Tensor or float): the upper end, excluded.

    Raises:
        ValueError: `low` is not less than `high`.

    >>> mg.distributions.Uniform(0., 4.).cdf(mg.tensor([1., 2.]))
    tensor([0.2500, 0.5000])
    """

    has_rsample = True
    _parameters = {"low": 0, "high": 0}

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return mg.full_like(self.high, mg.nan)

    @property
    def variance(self):
        return (self.high - self.low) ** 2 / 12

    @property
    def stddev(self):
        return (self.high - self.low) / 12 ** 0.5

    def rsample(self, sample_shape=()):
        u = mg.rand(tuple(self._extended_shape(sample_shape)), dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        inside = ((self.low <= value) & (self.high > value)).type_as(self.low)
        return mg.log(inside) - mg.log(self.high - self.low)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        check_numbers("Uniform.icdf", value=value)
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return mg.log(self.high - self.low)
