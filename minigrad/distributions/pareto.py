"""The Pareto distribution. Mirrors ``torch/distributions/pareto.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.distributions import constraints
from minigrad.distributions.exponential import Exponential
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import AffineTransform, ExpTransform
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto distribution, with a tail that falls like a power: scale · e^E for E ~ Exponential(alpha).

    Mirrors ``torch.distributions.Pareto``.

        log p(x) = log α + α log(scale) - (α + 1) log x,    x ≥ scale

    Args:
        scale (Tensor or float): the smallest value, > 0.
        alpha (Tensor or float): the power α > 0.

    Raises:
        ValueError: a parameter is not positive.

    >>> mg.distributions.Pareto(1., 3.).mean
    tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = {"scale": 0, "alpha": 0}

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        """α scale / (α - 1); infinite for α ≤ 1."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self):
        return self.scale

    @property
    def variance(self):
        """scale² α / ((α - 1)² (α - 2)); infinite for α ≤ 2."""
        alpha = self.alpha.clamp(min=2)
        return self.scale ** 2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + 1 / self.alpha)
