"""The categorical distribution. Mirrors ``torch/distributions/categorical.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions._probability import check_one
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The categorical distribution: the index of one of k classes. Mirrors ``torch.distributions.Categorical``.

        log p(x) = log probs[x]

    Samples are int64. For the gradient of an expected reward use `log_prob`: ``-(d.log_prob(action) * reward).mean()``.

    Args:
        probs (Tensor): weights of the classes, not negative, (..., k). They are divided by their sum.
        logits (Tensor): logarithms of the weights, instead of `probs`.

    Raises:
        ValueError: neither or both are given, they have no dimension, or a weight is negative.

    >>> d = mg.distributions.Categorical(mg.tensor([1., 1., 2.]))
    >>> d.probs, d.log_prob(mg.tensor(2)), d.entropy()
    (tensor([0.2500, 0.2500, 0.5000]), tensor(-0.6931), tensor(1.0397))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _parameters = {"probs": 1, "logits": 1}

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        self._is_logits = logits is not None
        if probs is not None:
            check_dims("probs", probs)
            self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            check_dims("logits", logits)
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        """The logarithms of `probs`."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        """The probabilities, which add up to 1."""
        return logits_to_probs(self.logits)

    @property
    def _param(self):
        return self.logits if self._is_logits else self.probs

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.shape

    @property
    def mean(self):
        """nan: the classes have no order."""
        return self._undefined()

    @property
    def mode(self):
        return self.probs.argmax(-1)

    @property
    def variance(self):
        """nan: the classes have no order."""
        return self._undefined()

    def _undefined(self):
        return mg.full(tuple(self._batch_shape), mg.nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape=()):
        rows = self.probs.detach().reshape(-1, self._num_events)
        drawn = mg.multinomial(rows, mg.Size(sample_shape).numel(), True)
        return drawn.T.reshape(tuple(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        index, logits = mg.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=mg.finfo(self.logits.dtype).min)     # 0 · log 0 is 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerated(mg.arange(self._num_events, dtype=mg.int64, device=self._param.device), expand)


def check_dims(name, weights):
    """Raise unless the weights are a tensor with a dimension or more."""
    check_tensors("Categorical", **{name: weights})
    if weights.ndim < 1:
        raise TensorValueError("MG-E373", f"`{name}` parameter must be at least one-dimensional.")
