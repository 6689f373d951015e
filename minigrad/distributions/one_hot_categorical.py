"""The categorical distribution of one-hot vectors. Mirrors ``torch/distributions/one_hot_categorical.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.distribution import Distribution
from minigrad.nn.functional import one_hot

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """The categorical distribution, whose samples are one-hot vectors. Mirrors ``torch.distributions.OneHotCategorical``.

        log p(x) = Σ_i x_i log probs[i]

    Args:
        probs (Tensor): weights of the classes, (..., k). The event has the shape (k).
        logits (Tensor): logarithms of the weights, instead of `probs`.

    Raises:
        ValueError: neither or both are given, or a weight is negative.

    >>> mg.distributions.OneHotCategorical(mg.tensor([0., 1., 0.])).sample()
    tensor([0., 1., 0.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _parameters = {}

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

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
        return self.probs

    @property
    def mode(self):
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def _one_hot(self, index):
        return one_hot(index, self._event_shape[-1]).to(self.probs.dtype)

    def sample(self, sample_shape=()):
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        k = self._event_shape[0]
        values = mg.eye(k, dtype=self._param.dtype, device=self._param.device).reshape(k, *[1] * len(self._batch_shape), k)
        return values.expand((k, *self._batch_shape, k)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradient is taken as the gradient of `probs` (Bengio et al., 2013).

    Mirrors ``torch.distributions.OneHotCategoricalStraightThrough``.

    rsample() = sample + probs - probs.detach(). The estimate is biased, but has a low variance.

    Args:
        probs (Tensor): weights of the classes, (..., k).
        logits (Tensor): logarithms of the weights, instead of `probs`.

    >>> w = mg.tensor([1., 1.], requires_grad=True)
    >>> x = mg.distributions.OneHotCategoricalStraightThrough(w).rsample()
    >>> x[0].backward()
    >>> w.grad
    tensor([ 0.2500, -0.2500])
    """

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
