"""The logistic-normal distribution. Mirrors ``torch/distributions/logistic_normal.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.distributions import constraints
from minigrad.distributions.normal import Normal
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import StickBreakingTransform

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """The logistic-normal distribution: probabilities of k classes from k - 1 normal variables.

    Mirrors ``torch.distributions.LogisticNormal``.

    Args:
        loc (Tensor): the means, (..., k - 1).
        scale (Tensor or float): the standard deviations, > 0. The event has the shape (k).

    Raises:
        ValueError: `scale` is not positive, or `loc` has no dimension.

    >>> mg.distributions.LogisticNormal(mg.zeros(2), mg.ones(2)).sample().shape
    minigrad.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _parameters = {}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, validate_args=validate_args)
        if not normal.batch_shape:
            normal = normal.expand([1])
        super().__init__(normal, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self):
        """The means of the normal variables."""
        return self.base_dist.base_dist.loc      # pyright: ignore[reportAttributeAccessIssue]

    @property
    def scale(self):
        """The standard deviations of the normal variables."""
        return self.base_dist.base_dist.scale    # pyright: ignore[reportAttributeAccessIssue]
