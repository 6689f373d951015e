"""The F-distribution. Mirrors ``torch/distributions/fishersnedecor.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.gamma import Gamma
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F-distribution: the quotient of two chi-squared variables, each divided by its degrees of freedom.

    Mirrors ``torch.distributions.FisherSnedecor``.

        log p(x) = (d₁/2) log r + (d₁/2 - 1) log x - (d₁ + d₂)/2 · log(1 + r x) - log B(d₁/2, d₂/2),    r = d₁ / d₂

    Args:
        df1 (Tensor or float): the degrees of freedom d₁ > 0 above.
        df2 (Tensor or float): the degrees of freedom d₂ > 0 below.

    Raises:
        ValueError: a parameter is not positive.

    >>> mg.distributions.FisherSnedecor(2., 4.).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = {"df1": 0, "df2": 0}

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self):
        """d₂ / (d₂ - 2); nan unless d₂ > 2."""
        df2 = mg.where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self):
        """(d₁ - 2) / d₁ · d₂ / (d₂ + 2); nan unless d₁ > 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mg.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self):
        """2 d₂² (d₁ + d₂ - 2) / (d₁ (d₂ - 2)² (d₂ - 4)); nan unless d₂ > 4."""
        df2 = mg.where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2 ** 2 * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2) ** 2 * (df2 - 4))

    def rsample(self, sample_shape=()):
        tiny = mg.finfo(self.df1.dtype).tiny
        above = Gamma(self.df1 * 0.5, self.df1, validate_args=False).rsample(sample_shape)
        below = Gamma(self.df2 * 0.5, self.df2, validate_args=False).rsample(sample_shape)
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        return (half1 * ratio.log() + (half1 - 1) * value.log() - (half1 + half2) * mg.log1p(ratio * value)
                + mg.lgamma(half1 + half2) - mg.lgamma(half1) - mg.lgamma(half2))
