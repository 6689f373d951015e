"""Student's t-distribution. Mirrors ``torch/distributions/studentT.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.chi2 import Chi2
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all, standard_normal

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution, with heavier tails than the normal distribution. Mirrors ``torch.distributions.StudentT``.

        log p(x) = -½ (df + 1) log(1 + y² / df) - log(scale) - ½ log(df) - log B(½, df / 2),    y = (x - loc) / scale

    A sample is loc + scale · ε / √(C / df), with ε normal and C ~ Chi2(df), which has implicit gradients.

    Args:
        df (Tensor or float): the degrees of freedom, > 0.
        loc (Tensor or float): the mean, if df > 1.
        scale (Tensor or float): the width, > 0.

    Raises:
        ValueError: `df` or `scale` is not positive.

    >>> mg.distributions.StudentT(3.).variance
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0,
                 validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        """`loc`; nan unless df > 1."""
        return mg.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        """scale² df / (df - 2); infinite for 1 < df ≤ 2, nan for smaller df."""
        finite = self.scale ** 2 * self.df / (mg.where(self.df > 2, self.df, 3.0) - 2)
        return mg.where(self.df > 2, finite, mg.where(self.df > 1, math.inf, math.nan).to(finite.dtype))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = standard_normal(shape, self.df)
        y = x * mg.rsqrt(Chi2(self.df, validate_args=False).rsample(sample_shape) / self.df)
        return self.loc + self.scale * y

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * mg.log1p(y ** 2 / self.df) - self._log_normalizer()

    def _log_normalizer(self):
        return (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + mg.lgamma(0.5 * self.df)
                - mg.lgamma(0.5 * (self.df + 1)))

    def entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        return more * (mg.digamma(more) - mg.digamma(half)) + self._log_normalizer()
