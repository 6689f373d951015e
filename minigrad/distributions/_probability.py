"""What the distributions of a probability share: `probs` or `logits` is given, and the other computed when it is needed.

Mirrors the common parts of ``torch/distributions/bernoulli.py``, ``binomial.py``, ``geometric.py`` and ``negative_binomial.py``.
"""

from __future__ import annotations

from minigrad.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from minigrad.errors import TensorValueError
from minigrad.nn.functional import logsigmoid

__all__ = ["Probability", "check_one", "cross_entropy"]


def check_one(probs, logits):
    """Raise unless exactly one of the two is given."""
    if (probs is None) == (logits is None):
        raise TensorValueError("MG-E373", "Either `probs` or `logits` must be specified, but not both.",
                               found="neither" if probs is None else "both")


class Probability:
    """A mixin: the properties `probs` and `logits`, of which `__init__` has stored one, with the flag `_is_logits`."""

    _is_logits = False

    @lazy_property
    def logits(self):
        """log(p / (1 - p))."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probability of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self):
        """What `__init__` was given."""
        return self.logits if self._is_logits else self.probs

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.shape


def cross_entropy(logits, value):
    """-value · log σ(logits) - (1 - value) · log σ(-logits)."""
    return -(value * logsigmoid(logits) + (1 - value) * logsigmoid(-logits))
