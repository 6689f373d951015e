"""The Gumbel distribution. Mirrors ``torch/distributions/gumbel.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import AffineTransform, ExpTransform
from minigrad.distributions.uniform import Uniform
from minigrad.distributions.utils import EULER_CONSTANT, broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, of maxima: loc - scale · log(-log U) for a uniform U. Mirrors ``torch.distributions.Gumbel``.

        log p(x) = y - e^y - log(scale),    y = (loc - x) / scale

    Args:
        loc (Tensor or float): the mode.
        scale (Tensor or float): the width, > 0.

    Raises:
        ValueError: `scale` is not positive.

    >>> mg.distributions.Gumbel(0., 1.).mean        # Euler's constant
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = mg.finfo(self.loc.dtype)
        base = Uniform(mg.full_like(self.loc, info.tiny), mg.full_like(self.loc, 1 - info.eps), validate_args=False)
        transforms = [ExpTransform().inv, AffineTransform(0, -mg.ones_like(self.scale)), ExpTransform().inv,
                      AffineTransform(self.loc, -self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc + self.scale * EULER_CONSTANT

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev ** 2

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + EULER_CONSTANT)
