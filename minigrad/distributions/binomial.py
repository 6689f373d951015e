"""The binomial distribution. Mirrors ``torch/distributions/binomial.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._probability import Probability, check_one
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all, draw
from minigrad.errors import AutogradNotImplementedError
from minigrad.nn.functional import logsigmoid

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Binomial"]


class Binomial(Probability, Distribution):
    """The binomial distribution: how many of n independent trials succeed. Mirrors ``torch.distributions.Binomial``.

        log p(x) = log C(n, x) + x log p + (n - x) log(1 - p)

    Args:
        total_count (Tensor or int): the number of trials n.
        probs (Tensor): the probability p of success.
        logits (Tensor): log(p / (1 - p)), instead of `probs`.

    Raises:
        ValueError: neither or both are given, or a value violates its constraint.

    >>> d = mg.distributions.Binomial(2, mg.tensor([0.5]))
    >>> d.log_prob(mg.tensor([1.])).exp()
    tensor([0.5000])
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count: Tensor | int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
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

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        return draw("Binomial.sample", lambda numbers, shape, n, p: numbers.binomial(n.astype("int64"), p, shape),
                    self._extended_shape(sample_shape), self._param, self.total_count, self.probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        rest = self.total_count - value
        count = mg.lgamma(self.total_count + 1) - mg.lgamma(value + 1) - mg.lgamma(rest + 1)
        return count + value * logsigmoid(self.logits) + rest * logsigmoid(-self.logits)

    def entropy(self):
        """Computed as the sum over the support, so all n must be equal."""
        total = self._common_count("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self._values(total, expand=False))
        return -(mg.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._values(self._common_count("Inhomogeneous total count not supported by `enumerate_support`."), expand)

    def _values(self, total, expand):
        return self._enumerated(mg.arange(1 + total, dtype=self._param.dtype, device=self._param.device), expand)

    def _common_count(self, message):
        """n as an int; raise unless it is the same for the whole batch."""
        total = int(self.total_count.max().item())
        if int(self.total_count.min().item()) != total:
            raise AutogradNotImplementedError("MG-E372", message, fix="make one distribution for each n")
        return total
