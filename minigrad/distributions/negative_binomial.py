"""The negative binomial distribution. Mirrors ``torch/distributions/negative_binomial.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._probability import Probability, check_one
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.gamma import Gamma
from minigrad.distributions.utils import broadcast_all
from minigrad.nn.functional import logsigmoid

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Probability, Distribution):
    """The negative binomial distribution: how many trials succeed before n trials fail.

    Mirrors ``torch.distributions.NegativeBinomial``.

        log p(x) = log Γ(n + x) - log Γ(n) - log x! + n log(1 - p) + x log p

    A sample is a Poisson count whose rate is a gamma variable.

    Args:
        total_count (Tensor or float): the number of failures n ≥ 0; it need not be an integer.
        probs (Tensor): the probability p of success, in [0, 1).
        logits (Tensor): log(p / (1 - p)), instead of `probs`.

    Raises:
        ValueError: neither or both are given, or a value violates its constraint.

    >>> d = mg.distributions.NegativeBinomial(3., mg.tensor(0.5))
    >>> d.mean, d.variance
    (tensor(3.), tensor(6.))
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count: Tensor | float, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        self._is_logits = logits is not None
        if logits is not None:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self.total_count = self.total_count.type_as(self.logits)
        elif probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self.total_count = self.total_count.type_as(self.probs)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * mg.exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self):
        return self.mean / mg.sigmoid(-self.logits)

    def sample(self, sample_shape=()):
        with mg.no_grad():
            rate = Gamma(self.total_count, mg.exp(-self.logits), validate_args=False).sample(sample_shape)
            return mg.poisson(rate)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        unnormalized = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        count = mg.lgamma(self.total_count + value) - mg.lgamma(1 + value) - mg.lgamma(self.total_count)
        return unnormalized + count.masked_fill(self.total_count + value == 0, 0)
