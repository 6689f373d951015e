"""The Bernoulli distribution. Mirrors ``torch/distributions/bernoulli.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._probability import Probability, check_one, cross_entropy
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(Probability, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability p, else 0. Mirrors ``torch.distributions.Bernoulli``.

        log p(x) = x log p + (1 - x) log(1 - p)

    Args:
        probs (Tensor or float): the probability p of 1.
        logits (Tensor or float): log(p / (1 - p)), instead of `probs`.

    Raises:
        ValueError: neither or both are given, or a probability lies outside [0, 1].

    >>> d = mg.distributions.Bernoulli(mg.tensor([0.25, 1.]))
    >>> d.mean, d.log_prob(mg.tensor([0., 1.])).exp()
    (tensor([0.2500, 1.0000]), tensor([0.7500, 1.0000]))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _parameters = {"probs": 0, "logits": 0}
    _mean_carrier_measure = 0

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        self._is_logits = logits is not None
        if self._is_logits:
            self.logits, = broadcast_all(logits)    # pyright: ignore[reportArgumentType]
        else:
            self.probs, = broadcast_all(probs)      # pyright: ignore[reportArgumentType]
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        """The more probable value; nan if p = ½."""
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, mg.nan)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        with mg.no_grad():
            return mg.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -cross_entropy(*broadcast_all(self.logits, value))

    def entropy(self):
        return cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand=True):
        return self._enumerated(mg.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self):
        return (mg.logit(self.probs),)

    def _log_normalizer(self, *natural_params):
        return mg.log1p(mg.exp(natural_params[0]))
