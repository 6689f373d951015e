"""The relaxed categorical distribution. Mirrors ``torch/distributions/relaxed_categorical.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_numbers
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import ExpTransform
from minigrad.distributions.utils import broadcast_all, clamp_probs, uniform

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed one-hot variable. Mirrors ``torch.distributions.relaxed_categorical.ExpRelaxedCategorical``.

        log p(y) = log (k - 1)! + (k - 1) log t + Σ_i s_i - k logsumexp(s),    s = logits - t y

    Args:
        temperature (Tensor): t > 0.
        probs (Tensor): weights of the k classes, (..., k).
        logits (Tensor): logarithms of the weights, instead of `probs`.

    >>> d = mg.distributions.relaxed_categorical.ExpRelaxedCategorical(mg.tensor(1.), mg.tensor([1., 1.]))
    >>> d.log_prob(mg.tensor([0.5, 0.5]).log()).exp()       # the density of x itself is 1: d log x = dx / x twice
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector       # of its vectors those with Σ e^y = 1, which no check enforces
    has_rsample = True
    _parameters = {}

    def __init__(self, temperature: Tensor | float, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        check_numbers("ExpRelaxedCategorical", temperature=temperature)
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def logits(self):
        """The logarithms of `probs`."""
        return self._categorical.logits

    @property
    def probs(self):
        """The probabilities, which add up to 1."""
        return self._categorical.probs

    def rsample(self, sample_shape=()):
        u = clamp_probs(uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature        # Gumbel noise
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        k = self._event_shape[-1]
        logits, value = broadcast_all(self.logits, value)
        temperature = self.temperature if isinstance(self.temperature, mg.Tensor) else logits.new_tensor(self.temperature)
        score = mg.log_softmax(logits - value * temperature, -1).sum(-1)
        return score + (k - 1) * temperature.log() + mg.lgamma(logits.new_tensor(float(k)))


class RelaxedOneHotCategorical(TransformedDistribution):
    """A one-hot variable made continuous, so that it has a gradient: the Gumbel-softmax distribution.

    Mirrors ``torch.distributions.RelaxedOneHotCategorical``.

    A sample is softmax((logits + Gumbel noise) / temperature), which tends to a one-hot vector as the temperature tends to 0.

    Args:
        temperature (Tensor): t > 0.
        probs (Tensor): weights of the k classes, (..., k). The event has the shape (k).
        logits (Tensor): logarithms of the weights, instead of `probs`.

    Raises:
        ValueError: neither or both are given, or a weight is negative.

    >>> mg.distributions.RelaxedOneHotCategorical(mg.tensor(0.5), mg.ones(3)).rsample().shape
    minigrad.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _parameters = {}

    def __init__(self, temperature: Tensor | float, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self):
        """t."""
        return self.base_dist.temperature

    @property
    def logits(self):
        """The logarithms of `probs`."""
        return self.base_dist.logits

    @property
    def probs(self):
        """The probabilities, which add up to 1."""
        return self.base_dist.probs
