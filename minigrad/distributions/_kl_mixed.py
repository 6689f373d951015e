"""KL divergences of distributions of two families.

    KL(p || q) = -H(p) - E_p[log q(X)]

The logarithm of each density below is a sum of simple functions of x. So E_p[log q(X)] needs only a few expectations of p: the
mean, the variance, E[log X], E[e^-tX]. There is one formula for each q, and a table of the pairs.

If p has mass where q has none, the divergence is infinite.

Mirrors the second part of ``torch/distributions/kl.py``, which has a formula for each pair.
"""

from __future__ import annotations

import math

import minigrad as mg
from minigrad.distributions._kl_same import infinite_where
from minigrad.distributions.bernoulli import Bernoulli
from minigrad.distributions.beta import Beta
from minigrad.distributions.binomial import Binomial
from minigrad.distributions.continuous_bernoulli import ContinuousBernoulli
from minigrad.distributions.exponential import Exponential
from minigrad.distributions.gamma import Gamma
from minigrad.distributions.gumbel import Gumbel
from minigrad.distributions.kl import register_kl
from minigrad.distributions.laplace import Laplace
from minigrad.distributions.normal import Normal
from minigrad.distributions.pareto import Pareto
from minigrad.distributions.poisson import Poisson
from minigrad.distributions.uniform import Uniform
from minigrad.distributions.utils import EULER_CONSTANT
from minigrad.nn.functional import logsigmoid

__all__ = []


# ---- expectations of p ----------------------------------------------------------------------------------------


def mean_log_between(low, high):
    """E[log X] of a uniform variable."""
    return (mg.xlogy(high, high) - mg.xlogy(low, low)) / (high - low) - 1


MEAN_LOG = {       # E[log X]
    Beta: lambda p: mg.digamma(p.concentration1) - mg.digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -EULER_CONSTANT - p.rate.log(),
    Gamma: lambda p: mg.digamma(p.concentration) - p.rate.log(),
    Pareto: lambda p: p.scale.log() + 1 / p.alpha,
    Uniform: lambda p: mean_log_between(p.low, p.high),
}
LAPLACE_TRANSFORM = {       # E[e^-tX]
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (1 + t / p.rate) ** -p.concentration,
    Normal: lambda p, t: mg.exp(-t * p.loc + (t * p.scale) ** 2 / 2),
    Uniform: lambda p, t: (mg.exp(-t * p.low) - mg.exp(-t * p.high)) / (t * (p.high - p.low)),
}


def of(table, p):
    """The entry of a table for the class of p, or for the nearest class that it derives from."""
    return next(table[cls] for cls in type(p).__mro__ if cls in table)


# ---- E_p[log q(X)] for each q ---------------------------------------------------------------------------------


def log_exponential(p, q):
    return q.rate.log() - q.rate * p.mean


def log_normal(p, q):
    return (-0.5 * math.log(2 * math.pi) - q.scale.log() - (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale ** 2))


def log_gamma(p, q):
    return (q.concentration * q.rate.log() - mg.lgamma(q.concentration) + (q.concentration - 1) * of(MEAN_LOG, p)(p)
            - q.rate * p.mean)


def log_gumbel(p, q):
    t = 1 / q.scale
    return t * (q.loc - p.mean) - mg.exp(t * q.loc) * of(LAPLACE_TRANSFORM, p)(p, t) - q.scale.log()


def log_continuous_bernoulli(p, q):
    return p.mean * q.logits + logsigmoid(-q.logits) + q._log_norm()


def log_uniform(p, q):
    return -(q.high - q.low).log()


def log_pareto(p, q):
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * of(MEAN_LOG, p)(p)


def log_beta(p, q):     # of a uniform p
    a, b = q.concentration1, q.concentration0
    return ((a - 1) * mean_log_between(p.low, p.high) + (b - 1) * mean_log_between(1 - p.high, 1 - p.low)
            + mg.lgamma(a + b) - mg.lgamma(a) - mg.lgamma(b))


def log_laplace(p, q):      # of a normal p: E|X - m| = s √(2/π) e^(-d²/2) + (loc - m) erf(d / √2), d = (loc - m) / s
    gap = p.loc - q.loc
    d = gap / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * mg.exp(-0.5 * d ** 2) + gap * mg.erf(d / math.sqrt(2))
    return -distance / q.scale - mg.log(2 * q.scale)


def with_moments(p, n):
    """A Pareto distribution with n finite moments instead of p, where p has fewer: then no gradient is 0 · ∞."""
    return Pareto(p.scale, mg.where(p.alpha > n, p.alpha, n + 1.0), validate_args=False)


# (p, q) -> E_p[log q(X)], and where the divergence is infinite.
PAIRS = {
    (Beta, ContinuousBernoulli): (log_continuous_bernoulli, None),
    (Beta, Exponential): (log_exponential, None),
    (Beta, Gamma): (log_gamma, None),
    (Beta, Normal): (log_normal, None),
    (Beta, Uniform): (log_uniform, lambda p, q: (q.low > 0) | (q.high < 1)),
    (ContinuousBernoulli, Exponential): (log_exponential, None),
    (ContinuousBernoulli, Normal): (log_normal, None),
    (ContinuousBernoulli, Uniform): (log_uniform, lambda p, q: (q.low > 0) | (q.high < 1)),
    (Exponential, Gamma): (log_gamma, None),
    (Exponential, Gumbel): (log_gumbel, None),
    (Exponential, Normal): (log_normal, None),
    (Gamma, Exponential): (log_exponential, None),
    (Gamma, Gumbel): (log_gumbel, None),
    (Gamma, Normal): (log_normal, None),
    (Gumbel, Normal): (log_normal, None),
    (Laplace, Normal): (log_normal, None),
    (Normal, Gumbel): (log_gumbel, None),
    (Normal, Laplace): (log_laplace, None),
    (Pareto, Exponential): (lambda p, q: log_exponential(with_moments(p, 1), q), lambda p, q: p.alpha <= 1),
    (Pareto, Gamma): (lambda p, q: log_gamma(with_moments(p, 1), q), lambda p, q: p.alpha <= 1),
    (Pareto, Normal): (lambda p, q: log_normal(with_moments(p, 2), q), lambda p, q: p.alpha <= 2),
    (Uniform, Beta): (log_beta, lambda p, q: (p.high > 1) | (p.low < 0)),
    (Uniform, ContinuousBernoulli): (log_continuous_bernoulli, lambda p, q: (p.high > 1) | (p.low < 0)),
    (Uniform, Exponential): (log_exponential, lambda p, q: p.low < 0),
    (Uniform, Gamma): (log_gamma, lambda p, q: p.low < 0),
    (Uniform, Gumbel): (log_gumbel, None),
    (Uniform, Normal): (log_normal, None),
    (Uniform, Pareto): (log_pareto, lambda p, q: p.low < q.scale),
}


def make_rule(mean_log_density, infinite):
    """The rule of a pair."""
    def rule(p, q):
        kl = -p.entropy() - mean_log_density(p, q)
        return kl if infinite is None else infinite_where(infinite(p, q), kl)
    return rule


for _pair, _how in PAIRS.items():
    register_kl(*_pair)(make_rule(*_how))


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    """x! is 1 for both values of x."""
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# ---- infinite -------------------------------------------------------------------------------------------------


def _kl_infinite(p, q):
    """p has mass where q has none, whatever the parameters."""
    shape = mg.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    mean = p.mean
    return mg.full(tuple(shape), math.inf, dtype=mean.dtype, device=mean.device)


BOUNDED = (Beta, ContinuousBernoulli, Uniform, Pareto)
INFINITE = {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Exponential: BOUNDED, Gamma: BOUNDED,
    Gumbel: (*BOUNDED, Exponential, Gamma), Laplace: (*BOUNDED, Exponential, Gamma), Normal: (*BOUNDED, Exponential, Gamma),
    Pareto: (Beta, ContinuousBernoulli, Uniform), Poisson: (Bernoulli, Binomial),
}
for _p, _qs in INFINITE.items():
    for _q in _qs:
        register_kl(_p, _q)(_kl_infinite)
