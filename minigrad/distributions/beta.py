"""The beta distribution. Mirrors ``torch/distributions/beta.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.dirichlet import Dirichlet
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution, on the interval from 0 to 1. Mirrors ``torch.distributions.Beta``.

        log p(x) = (α - 1) log x + (β - 1) log(1 - x) - log B(α, β)

    It is the first coordinate of Dirichlet(α, β), and has implicit gradients too.

    Args:
        concentration1 (Tensor or float): α > 0.
        concentration0 (Tensor or float): β > 0.

    Raises:
        ValueError: a parameter is not positive.

    >>> d = mg.distributions.Beta(mg.tensor([2.]), mg.tensor([2.]))
    >>> d.log_prob(mg.tensor([0.5])).exp()
    tensor([1.5000])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = {}
    _mean_carrier_measure = 0

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None:
        self._dirichlet = Dirichlet(mg.stack(broadcast_all(concentration1, concentration0), -1), validate_args=False)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return new

    @property
    def concentration1(self):
        """α."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self):
        """β."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self):
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total ** 2 * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(mg.stack([value, 1 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def _natural_params(self):
        return self.concentration1 - 1, self.concentration0 - 1

    def _log_normalizer(self, *natural_params):
        x, y = natural_params
        return mg.lgamma(x + 1) + mg.lgamma(y + 1) - mg.lgamma(x + y + 2)
