"""The continuous Bernoulli distribution. Mirrors ``torch/distributions/continuous_bernoulli.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_numbers
from minigrad.distributions._probability import Probability, check_one, cross_entropy
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import broadcast_all, clamp_probs, uniform
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Probability, ExponentialFamily):
    """The density on [0, 1] that is proportional to p^x (1 - p)^(1 - x) (Loaiza-Ganem and Cunningham, 2019).

    Mirrors ``torch.distributions.ContinuousBernoulli``.

        log p(x) = x log p + (1 - x) log(1 - p) + log C(p),    C(p) = 2 artanh(1 - 2p) / (1 - 2p)

    Near p = ½ the formulas are 0 / 0, and Taylor series replace them.

    Args:
        probs (Tensor or float): p, in (0, 1). It is not the mean.
        logits (Tensor or float): log(p / (1 - p)), instead of `probs`.
        lims (pair of floats): between them the series are used.

    Raises:
        ValueError: neither or both are given, or p lies outside (0, 1).

    >>> d = mg.distributions.ContinuousBernoulli(0.5)       # uniform
    >>> d.mean, d.log_prob(mg.tensor(0.3))
    (tensor(0.5000), tensor(0.))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = {"probs": 0, "logits": 0}
    _mean_carrier_measure = 0

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        self._is_logits, self._lims = logits is not None, lims
        if self._is_logits:
            self.logits, = broadcast_all(logits)    # pyright: ignore[reportArgumentType]
        else:
            given, = broadcast_all(probs)           # pyright: ignore[reportArgumentType]
            if validate_args and not bool(self.arg_constraints["probs"].check(given).all()):
                raise TensorValueError("MG-E370", "Expected parameter probs to satisfy the constraint "
                                       f"{constraints.unit_interval!r}, but found invalid values:\n{given}")
            self.probs = clamp_probs(given)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _far(self):
        """Where the formulas are used, not the series."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self):
        """p, but where the series are used a number far enough from ½."""
        return mg.where(self._far(), self.probs, self._lims[0])

    def _log_norm(self):
        """log C(p)."""
        p, x = self._cut(), (self.probs - 0.5) ** 2
        exact = mg.log(mg.abs(mg.log1p(-p) - mg.log(p))) - mg.log(mg.abs(1 - 2 * p))
        return mg.where(self._far(), exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self):
        p, x = self._cut(), self.probs - 0.5
        exact = p / (2 * p - 1) + 1 / (mg.log1p(-p) - mg.log(p))
        return mg.where(self._far(), exact, 0.5 + (1 / 3 + 16 / 45 * x ** 2) * x)

    @property
    def variance(self):
        p, x = self._cut(), (self.probs - 0.5) ** 2
        exact = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (mg.log1p(-p) - mg.log(p)) ** 2
        return mg.where(self._far(), exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape=()):
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -cross_entropy(*broadcast_all(self.logits, value)) + self._log_norm()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut()
        exact = (p ** value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        return mg.where(self._far(), exact, value).clamp(min=0, max=1)

    def icdf(self, value):
        check_numbers("ContinuousBernoulli.icdf", value=value)
        p = self._cut()
        exact = (mg.log1p(-p + value * (2 * p - 1)) - mg.log1p(-p)) / (mg.log(p) - mg.log1p(-p))
        return mg.where(self._far(), exact, value)

    def entropy(self):
        log0, log1 = mg.log1p(-self.probs), mg.log(self.probs)
        return self.mean * (log0 - log1) - self._log_norm() - log0

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, *natural_params):
        """log((e^x - 1) / x), by its series near 0."""
        x = natural_params[0]
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = mg.where(far, x, self._lims[0] - 0.5)
        exact = mg.log(mg.abs(mg.expm1(cut))) - mg.log(mg.abs(cut))
        return mg.where(far, exact, 0.5 * x + x ** 2 / 24 - x ** 4 / 2880)
