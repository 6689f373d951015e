"""The Kullback-Leibler divergence KL(p || q) = E_p[log p(X) - log q(X)], by rules for pairs of families.

    @register_kl(Normal, Normal)
    def _kl_normal_normal(p, q): ...

``kl_divergence(p, q)`` calls the rule that is registered for the nearest classes of both. The rules are in ``_kl_same.py`` (both of
one family) and ``_kl_mixed.py`` (two families).

Mirrors ``torch/distributions/kl.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad.distributions.distribution import Distribution
from minigrad.errors import AutogradNotImplementedError, AutogradTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["kl_divergence", "register_kl"]

RULES: dict[Any, Any] = {}      # (class of p, class of q) -> rule
FOUND: dict[Any, Any] = {}      # the same for the pairs that have been asked for


def register_kl(type_p: type, type_q: type) -> Callable:
    """Register a function of (p, q) as the rule for a pair of families. A decorator. Mirrors ``torch.distributions.register_kl``.

    Args:
        type_p (class): a subclass of `Distribution`.
        type_q (class): a subclass of `Distribution`.

    Raises:
        TypeError: an argument is no such class.

    >>> from minigrad.distributions import Normal, register_kl, kl_divergence
    >>> class Mine(Normal):
    ...     pass
    >>> @register_kl(Mine, Mine)
    ... def rule(p, q):
    ...     return "my rule"
    >>> kl_divergence(Mine(0., 1.), Mine(0., 1.))
    'my rule'
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(cls, type) and issubclass(cls, Distribution)):
            raise AutogradTypeError("MG-E373", f"Expected {name} to be a subclass of Distribution but got {cls!r}")

    def decorate(rule):
        RULES[type_p, type_q] = rule
        FOUND.clear()
        return rule
    return decorate


def find(type_p, type_q):
    """The rule of the nearest classes, or None; a warning if p and q disagree on which is nearest."""
    order_p, order_q = type_p.__mro__, type_q.__mro__
    pairs = [(order_p.index(p), order_q.index(q), rule) for (p, q), rule in RULES.items() if p in order_p and q in order_q]
    if not pairs:
        return None
    by_p, by_q = min(pairs, key=lambda m: m[:2])[2], min(pairs, key=lambda m: (m[1], m[0]))[2]
    if by_p is not by_q:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl for this pair of classes",
                      RuntimeWarning, stacklevel=3)
    return by_p


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return KL(p || q) = E_p[log p(X) - log q(X)], in the shape of the batch. Mirrors ``torch.distributions.kl_divergence``.

    It is infinite if q is 0 where p is not.

    Args:
        p (Distribution): the distribution of the expectation.
        q (Distribution): the other one.

    Raises:
        NotImplementedError: no rule is registered for the two families.

    >>> from minigrad.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0., 1.), Normal(1., 1.))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in FOUND:
        FOUND[key] = find(*key)
    rule = FOUND[key]
    if rule is None:
        raise AutogradNotImplementedError("MG-E372", f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
                                          f"{type(q).__name__}", fix="estimate it: (p.log_prob(x) - q.log_prob(x)).mean() for "
                                          "x = p.sample((1000,)); or define it with register_kl")
    return rule(p, q)
