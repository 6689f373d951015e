"""Exponential families: p(x) = h(x) exp(⟨η, T(x)⟩ - A(η)), with natural parameters η and log normalizer A.

    mean of T(X)     ∇A(η)                       which autograd computes
    entropy          A(η) - ⟨η, ∇A(η)⟩ - E[log h(X)]
    KL(p || q)       A(η_q) - A(η_p) - ⟨η_q - η_p, ∇A(η_p)⟩        a Bregman divergence: see ``kl.py``

Mirrors ``torch/distributions/exp_family.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import sum_rightmost

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base of the exponential families, which computes their entropy with autograd.

    Mirrors ``torch.distributions.ExponentialFamily``.

    A subclass defines the property `_natural_params` (a tuple of tensors), the function `_log_normalizer` of them, and
    `_mean_carrier_measure`, the mean of log h(X).

    >>> d = mg.distributions.Exponential(2.)
    >>> mg.distributions.ExponentialFamily.entropy(d), d.entropy()      # 1 - log 2
    (tensor(0.3069), tensor(0.3069))
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._missing("_natural_params")

    def _log_normalizer(self, *natural_params):
        raise self._missing("_log_normalizer")

    if TYPE_CHECKING:
        _mean_carrier_measure: Any
    else:
        @property
        def _mean_carrier_measure(self):
            raise self._missing("_mean_carrier_measure")

    def entropy(self):
        carrier = self._mean_carrier_measure
        natural = self._natural_params
        constant = not any(p.requires_grad for p in natural)
        with mg.enable_grad():
            params = [p if p.requires_grad else p.detach().requires_grad_() for p in natural]
            normalizer = self._log_normalizer(*params)
            means = mg.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - carrier
        for p, mean in zip(params, means, strict=True):
            result = result - sum_rightmost(p * mean, p.ndim - len(self._batch_shape))
        return result.detach() if constant else result
