"""The inverse gamma distribution. Mirrors ``torch/distributions/inverse_gamma.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.gamma import Gamma
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import PowerTransform

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The inverse gamma distribution: 1 / X for a gamma variable X. Mirrors ``torch.distributions.InverseGamma``.

        log p(x) = α log β - (α + 1) log x - β / x - log Γ(α),    x > 0

    Args:
        concentration (Tensor or float): α > 0.
        rate (Tensor or float): β > 0, the rate of X and the scale of 1 / X.

    Raises:
        ValueError: a parameter is not positive.

    >>> mg.distributions.InverseGamma(3., 1.).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = {}

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self):
        """α."""
        return self.base_dist.concentration

    @property
    def rate(self):
        """β."""
        return self.base_dist.rate

    @property
    def mean(self):
        """β / (α - 1); infinite for α ≤ 1."""
        return mg.where(self.concentration > 1, self.rate / (self.concentration - 1), mg.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        """β² / ((α - 1)² (α - 2)); infinite for α ≤ 2."""
        a = self.concentration
        return mg.where(a > 2, self.rate ** 2 / ((a - 1) ** 2 * (a - 2)), mg.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + mg.lgamma(a) - (1 + a) * mg.digamma(a)
