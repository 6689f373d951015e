"""The geometric distribution. Mirrors ``torch/distributions/geometric.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._probability import Probability, check_one, cross_entropy
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all, uniform
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Geometric"]


class Geometric(Probability, Distribution):
    """The geometric distribution: how many trials fail before the first success. Mirrors ``torch.distributions.Geometric``.

        log p(x) = x log(1 - p) + log p,    x = 0, 1, 2, ...

    ``Tensor.geometric_`` counts the successful trial too, so its numbers are larger by 1.

    Args:
        probs (Tensor or float): the probability p > 0 of success.
        logits (Tensor or float): log(p / (1 - p)), instead of `probs`.

    Raises:
        ValueError: neither or both are given, or a probability lies outside (0, 1].

    >>> mg.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        self._is_logits = logits is not None
        if self._is_logits:
            self.logits, = broadcast_all(logits)    # pyright: ignore[reportArgumentType]
        else:
            self.probs, = broadcast_all(probs)      # pyright: ignore[reportArgumentType]
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and not self._is_logits and not bool((self.probs > 0).all()):
            raise TensorValueError("MG-E370", f"Expected parameter probs ({type(self.probs).__name__} of shape "
                                   f"{tuple(self.probs.shape)}) of distribution {self!r} to be positive but found invalid values:\n"
                                   f"{self.probs}")

    @property
    def mean(self):
        return 1 / self.probs - 1

    @property
    def mode(self):
        return mg.zeros_like(self.probs)

    @property
    def variance(self):
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape=()):
        with mg.no_grad():
            u = uniform(self._extended_shape(sample_shape), self.probs)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)     # 0 · log 0 is 0
        return value * (-failing).log1p() + probs.log()

    def entropy(self):
        return cross_entropy(self.logits, self.probs) / self.probs
