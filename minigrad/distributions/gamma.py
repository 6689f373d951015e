"""The gamma distribution. Mirrors ``torch/distributions/gamma.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._implicit import standard_gamma
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution. For an integer shape n it is the waiting time for n events that come at a constant rate.

    Mirrors ``torch.distributions.Gamma``.

        log p(x) = α log β + (α - 1) log x - β x - log Γ(α),    x > 0

    Samples have implicit gradients with respect to both parameters.

    Args:
        concentration (Tensor or float): the shape α > 0.
        rate (Tensor or float): the rate β > 0, which is 1 / scale.

    Raises:
        ValueError: a parameter is not positive.

    >>> a = mg.tensor(2., requires_grad=True)
    >>> d = mg.distributions.Gamma(a, 1.)
    >>> d.mean, d.log_prob(mg.tensor(1.))
    (tensor(2., grad_fn=<DivBackward0>), tensor(-1., grad_fn=<SubBackward0>))
    >>> d.rsample().backward()
    >>> bool(a.grad > 0)        # a larger shape gives larger samples
    True
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _parameters = {"concentration": 0, "rate": 0}
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate ** 2

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        x.detach().clamp_(min=mg.finfo(x.dtype).tiny)       # written into x, without a trace in the graph
        return x

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (mg.xlogy(self.concentration, self.rate) + mg.xlogy(self.concentration - 1, value) - self.rate * value
                - mg.lgamma(self.concentration))

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return mg.igamma(self.concentration, self.rate * value)

    def entropy(self):
        return (self.concentration - mg.log(self.rate) + mg.lgamma(self.concentration)
                + (1 - self.concentration) * mg.digamma(self.concentration))

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params):
        x, y = natural_params
        return mg.lgamma(x + 1) - (x + 1) * mg.log(-y)
