"""The relaxed Bernoulli distribution. Mirrors ``torch/distributions/relaxed_bernoulli.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_numbers
from minigrad.distributions._probability import Probability, check_one
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.transforms import SigmoidTransform
from minigrad.distributions.utils import broadcast_all, clamp_probs, uniform
from minigrad.nn.functional import logsigmoid

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Probability, Distribution):
    """The logit of a relaxed Bernoulli variable: a logistic variable around `logits`, divided by the temperature.

    Mirrors ``torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli``.

        log p(y) = log t + d - 2 log(1 + e^d),    d = logits - t y

    Args:
        temperature (Tensor): t > 0.
        probs (Tensor or float): the probability of 1.
        logits (Tensor or float): log(p / (1 - p)), instead of `probs`.

    >>> d = mg.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(mg.tensor(1.), 0.5)
    >>> d.log_prob(mg.tensor(0.))
    tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        check_numbers("LogitRelaxedBernoulli", temperature=temperature)
        self.temperature, self._is_logits = temperature, logits is not None
        if self._is_logits:
            self.logits, = broadcast_all(logits)    # pyright: ignore[reportArgumentType]
        else:
            self.probs, = broadcast_all(probs)      # pyright: ignore[reportArgumentType]
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(uniform(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        d = logits - value * self.temperature
        temperature = self.temperature if isinstance(self.temperature, mg.Tensor) else d.new_tensor(self.temperature)
        return temperature.log() + logsigmoid(d) + logsigmoid(-d)


class RelaxedBernoulli(TransformedDistribution):
    """A Bernoulli variable made continuous, so that it has a gradient (Maddison et al., 2017; Jang et al., 2017).

    Mirrors ``torch.distributions.RelaxedBernoulli``.

    A sample is σ((log(u / (1 - u)) + logits) / temperature), which tends to 0 or 1 as the temperature tends to 0.

    Args:
        temperature (Tensor): t > 0.
        probs (Tensor or float): the probability of 1.
        logits (Tensor or float): log(p / (1 - p)), instead of `probs`.

    Raises:
        ValueError: neither or both are given, or a probability lies outside [0, 1].

    >>> p = mg.tensor([0.3], requires_grad=True)
    >>> mg.distributions.RelaxedBernoulli(mg.tensor(0.5), p).rsample().backward()
    >>> bool(p.grad > 0)
    True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = {}

    def __init__(self, temperature: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self):
        """t."""
        return self.base_dist.temperature

    @property
    def logits(self):
        """log(p / (1 - p))."""
        return self.base_dist.logits

    @property
    def probs(self):
        """The probability of 1."""
        return self.base_dist.probs
