"""The Dirichlet distribution. Mirrors ``torch/distributions/dirichlet.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions._implicit import sample_dirichlet
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution, whose samples are probabilities of k classes. Mirrors ``torch.distributions.Dirichlet``.

        log p(x) = Σ_i (α_i - 1) log x_i + log Γ(Σ_i α_i) - Σ_i log Γ(α_i)

    Samples have implicit gradients.

    Args:
        concentration (Tensor): the α_i > 0, (..., k). The event has the shape (k).

    Raises:
        ValueError: `concentration` has no dimension, or an α_i is not positive.

    >>> d = mg.distributions.Dirichlet(mg.tensor([1., 1., 2.]))
    >>> d.mean, d.sample().shape
    (tensor([0.2500, 0.2500, 0.5000]), minigrad.Size([3]))
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parameters = {"concentration": 1}
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        check_tensors("Dirichlet", concentration=concentration)
        if concentration.ndim < 1:
            raise TensorValueError("MG-E373", "`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        """(α - 1) / Σ (α - 1); if all α are below 1, the corner of the largest."""
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        spread = (self.concentration < 1).all(-1, keepdim=True)
        k = self.concentration.shape[-1]
        corner = mg.nn.functional.one_hot(self.concentration.argmax(-1), k).to(mode.dtype)
        return mg.where(spread, corner, mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total ** 2 * (total + 1))

    def rsample(self, sample_shape=()):
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (mg.xlogy(self.concentration - 1, value).sum(-1) + mg.lgamma(self.concentration.sum(-1))
                - mg.lgamma(self.concentration).sum(-1))

    def entropy(self):
        k, total = self.concentration.shape[-1], self.concentration.sum(-1)
        return (mg.lgamma(self.concentration).sum(-1) - mg.lgamma(total) - (k - total) * mg.digamma(total)
                - ((self.concentration - 1) * mg.digamma(self.concentration)).sum(-1))

    @property
    def _natural_params(self):
        return (self.concentration - 1,)

    def _log_normalizer(self, *natural_params):
        a = natural_params[0] + 1
        return a.lgamma().sum(-1) - mg.lgamma(a.sum(-1))
