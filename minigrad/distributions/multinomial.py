"""The multinomial distribution. Mirrors ``torch/distributions/multinomial.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.binomial import Binomial
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all
from minigrad.errors import AutogradNotImplementedError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The multinomial distribution: how often each of k classes comes in n draws. Mirrors ``torch.distributions.Multinomial``.

        log p(x) = log n! - Σ_i log x_i! + Σ_i x_i log probs[i]

    Args:
        total_count (int): the number of draws n, the same for the whole batch.
        probs (Tensor): weights of the classes, (..., k). The event has the shape (k).
        logits (Tensor): logarithms of the weights, instead of `probs`.

    Raises:
        NotImplementedError: `total_count` is no int.
        ValueError: neither or both are given, or a weight is negative.

    >>> d = mg.distributions.Multinomial(2, mg.tensor([1., 1.]))
    >>> d.log_prob(mg.tensor([1., 1.])).exp()
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parameters = {}
    total_count: int

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise AutogradNotImplementedError("MG-E372", "inhomogeneous total_count is not supported",
                                              found=type(total_count).__name__, fix="pass an int")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        """The probabilities, which add up to 1."""
        return self._categorical.probs

    @property
    def logits(self):
        """The logarithms of `probs`."""
        return self._categorical.logits

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *mg.Size(sample_shape))).movedim(0, -1)
        counts = drawn.new_zeros(tuple(self._extended_shape(sample_shape)))
        return counts.scatter_add_(-1, drawn, mg.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -mg.inf), 0)      # 0 · log 0 is 0
        return mg.lgamma(value.sum(-1) + 1) - mg.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        """n H(probs) - log n! + Σ_i E[log X_i!], where each X_i is binomial."""
        n = mg.tensor(self.total_count, dtype=self._param.dtype, device=self._param.device)
        counts = Binomial(self.total_count, self.probs, validate_args=False)
        values = counts.enumerate_support(expand=False)[1:]
        expected = (mg.exp(counts.log_prob(values)) * mg.lgamma(values + 1)).sum((0, -1))
        return n * self._categorical.entropy() - mg.lgamma(n + 1) + expected
