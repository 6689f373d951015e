"""The generalized Pareto distribution. Mirrors ``torch/distributions/generalized_pareto.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all, uniform

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution, of the excess over a threshold. Mirrors ``torch.distributions.GeneralizedPareto``.

        log p(x) = -log(scale) - (1 + 1/c) log(1 + c z),    z = (x - loc) / scale ≥ 0

    For c = 0 it is exponential, for c < 0 it ends at loc - scale / c.

    Args:
        loc (Tensor or float): the threshold.
        scale (Tensor or float): the scale, > 0.
        concentration (Tensor or float): the shape c.

    Raises:
        ValueError: `scale` is not positive.

    >>> mg.distributions.GeneralizedPareto(0., 1., 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, concentration: Tensor | float,
                 validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = mg.where(self.concentration < 0, self.loc - self.scale / self.concentration, mg.inf)
        return constraints.interval(self.loc, end)

    def _shape(self):
        """(whether c is so near 0 that it counts as 0, c or else a number that gives no 0 / 0)."""
        exponential = self.concentration.abs() <= 1e-8
        return exponential, mg.where(exponential, 1.0, self.concentration)

    @property
    def mean(self):
        """loc + scale / (1 - c); nan for c ≥ 1."""
        c = self.concentration
        return mg.where(c < 1, self.loc + self.scale / (1 - c), mg.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        """scale² / ((1 - c)² (1 - 2c)); nan for c ≥ ½."""
        c = self.concentration
        return mg.where(c < 0.5, self.scale ** 2 / ((1 - c) ** 2 * (1 - 2 * c)), mg.nan)

    def rsample(self, sample_shape=()):
        return self.icdf(uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, (exponential, c) = (value - self.loc) / self.scale, self._shape()
        return mg.where(exponential, -z, -(1 + 1 / c) * mg.log1p(c * z)) - self.scale.log()

    def log_survival_function(self, value):
        """Return log P(X > value)."""
        if self._validate_args:
            self._validate_sample(value)
        z, (exponential, c) = (value - self.loc) / self.scale, self._shape()
        return mg.where(exponential, -z, -mg.log1p(c * z) / c)

    def log_cdf(self, value):
        """Return log P(X ≤ value)."""
        return mg.log1p(-mg.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return -mg.expm1(self.log_survival_function(value))

    def icdf(self, value):
        check_tensors("GeneralizedPareto.icdf", value=value)
        exponential, c = self._shape()
        log_rest = mg.log1p(-value)
        return self.loc + self.scale * mg.where(exponential, -log_rest, mg.expm1(-c * log_rest) / c)

    def entropy(self):
        return mg.log(self.scale) + self.concentration + 1
