"""KL divergences of two distributions of one family.

Mirrors the first part of ``torch/distributions/kl.py``. Read next: ``_kl_mixed.py``.
"""

from __future__ import annotations

import math

import minigrad as mg
from minigrad.distributions._matrices import half_log_det, mahalanobis, solve_lower, trace_of_square
from minigrad.distributions.bernoulli import Bernoulli
from minigrad.distributions.beta import Beta
from minigrad.distributions.binomial import Binomial
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.cauchy import Cauchy
from minigrad.distributions.continuous_bernoulli import ContinuousBernoulli
from minigrad.distributions.dirichlet import Dirichlet
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.exponential import Exponential
from minigrad.distributions.gamma import Gamma
from minigrad.distributions.geometric import Geometric
from minigrad.distributions.gumbel import Gumbel
from minigrad.distributions.half_normal import HalfNormal
from minigrad.distributions.independent import Independent
from minigrad.distributions.kl import kl_divergence, register_kl
from minigrad.distributions.laplace import Laplace
from minigrad.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal, low_rank_mahalanobis
from minigrad.distributions.multivariate_normal import MultivariateNormal
from minigrad.distributions.normal import Normal
from minigrad.distributions.one_hot_categorical import OneHotCategorical
from minigrad.distributions.pareto import Pareto
from minigrad.distributions.poisson import Poisson
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.uniform import Uniform
from minigrad.distributions.utils import EULER_CONSTANT, sum_rightmost
from minigrad.errors import AutogradNotImplementedError, TensorValueError
from minigrad.nn.functional import logsigmoid

__all__ = ["infinite_where"]


def infinite_where(mask, value):
    """`value`, but infinite where `mask` holds."""
    mask, value = mg.broadcast_tensors(mask, value)
    return value.masked_fill(mask, math.inf)


def not_same(message):
    return AutogradNotImplementedError("MG-E372", message)


# ---- of one number --------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    """p log(p / q) + (1 - p) log((1 - p) / (1 - q)); each term is 0 if its p is 0."""
    yes = p.probs * (logsigmoid(p.logits) - logsigmoid(q.logits))
    no = (1 - p.probs) * (logsigmoid(-p.logits) - logsigmoid(-q.logits))
    yes = infinite_where(q.probs == 0, yes).masked_fill(p.probs == 0, 0)
    return yes + infinite_where(q.probs == 1, no).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    """n KL of the two coins; infinite if p has more trials than q."""
    if bool((p.total_count < q.total_count).any()):
        raise not_same("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + logsigmoid(-p.logits) - logsigmoid(-q.logits))
    return infinite_where(p.total_count > q.total_count, kl)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    """Σ_i p_i (log p_i - log q_i)."""
    terms = infinite_where(q.probs == 0, p.probs * (p.logits - q.logits))
    return terms.masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    """log(((s + s')² + (m - m')²) / (4 s s')) (Chyzak and Nielsen, 2019)."""
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    return (p.mean * (p.logits - q.logits) + p._log_norm() - q._log_norm() + logsigmoid(-p.logits) - logsigmoid(-q.logits))


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    """r - 1 - log r with r = rate_q / rate_p."""
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + mg.lgamma(b) - mg.lgamma(a) + (a - b) * mg.digamma(a)
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - mg.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    """With r = scale_p / scale_q and d = (loc_p - loc_q) / scale_q: -log r + d + γ r + e^-d Γ(1 + r) - 1 - γ."""
    ratio, d = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + d + ratio * EULER_CONSTANT + mg.exp(mg.lgamma(1 + ratio) - d) - (1 + EULER_CONSTANT)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * mg.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    """½ (r² + d² - 1 - log r²) with r = scale_p / scale_q, d = (loc_p - loc_q) / scale_q."""
    squared = (p.scale / q.scale) ** 2
    return 0.5 * (squared + ((p.loc - q.loc) / q.scale) ** 2 - 1 - squared.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return infinite_where(p.scale < q.scale, kl)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    return infinite_where((q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log())


# ---- of vectors -----------------------------------------------------------------------------------------------


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    """log Γ(Σa) - log Γ(Σb) - Σ (log Γ(a_i) - log Γ(b_i)) + Σ (a_i - b_i)(ψ(a_i) - ψ(Σa))."""
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    normalizers = mg.lgamma(total) - mg.lgamma(b.sum(-1)) - (mg.lgamma(a) - mg.lgamma(b)).sum(-1)
    return normalizers + ((a - b) * (mg.digamma(a) - mg.digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


def check_events(p, q):
    """Raise unless the two distributions have events of one shape."""
    if p.event_shape != q.event_shape:
        raise TensorValueError("MG-E373", "KL-divergence between two Multivariate Normals with different event shapes cannot be "
                               "computed", found=f"{p.event_shape} and {q.event_shape}")


def log_det_of(p):
    """log det of the covariance of either kind of normal distribution."""
    return 2 * half_log_det(p._unbroadcasted_scale_tril) if isinstance(p, MultivariateNormal) else p._log_det()


def roots(p):
    """Matrices R with Σ R Rᵀ = covariance."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    return [p._unbroadcasted_cov_factor, mg.diag_embed(p._unbroadcasted_cov_diag.sqrt())]


def distance(q, x):
    """xᵀ Σ_q⁻¹ x."""
    if isinstance(q, MultivariateNormal):
        return mahalanobis(q._unbroadcasted_scale_tril, x)
    return low_rank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, x, q._capacitance_tril)


def trace(q, root):
    """tr(Σ_q⁻¹ R Rᵀ); for a covariance of low rank by the formula of Woodbury."""
    if isinstance(q, MultivariateNormal):
        return trace_of_square(q._unbroadcasted_scale_tril, root)
    diagonal = q._unbroadcasted_cov_diag.unsqueeze(-1)
    whole = (root ** 2 / diagonal).sum((-2, -1))
    return whole - (solve_lower(q._capacitance_tril, q._unbroadcasted_cov_factor.mT @ (root / diagonal)) ** 2).sum((-2, -1))


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal(p, q):
    """½ (tr(Σ_q⁻¹ Σ_p) + dᵀ Σ_q⁻¹ d - k + log det Σ_q - log det Σ_p) with d = loc_q - loc_p."""
    check_events(p, q)
    traces = sum([trace(q, root) for root in roots(p)])
    return 0.5 * (traces + distance(q, q.loc - p.loc) - p.event_shape[0] + log_det_of(q) - log_det_of(p))


# ---- of whole classes -----------------------------------------------------------------------------------------


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """A(η_q) - A(η_p) - ⟨η_q - η_p, ∇A(η_p)⟩, the Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise not_same("The cross KL-divergence between different exponential families cannot be computed using Bregman "
                       "divergences")
    constant = not any(n.requires_grad for n in (*p._natural_params, *q._natural_params))
    with mg.enable_grad():
        params = [n if n.requires_grad else n.detach().requires_grad_() for n in p._natural_params]
        normalizer = p._log_normalizer(*params)
        means = mg.autograd.grad(normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for np, nq, mean in zip(params, q._natural_params, means, strict=True):
        term = (nq - np) * mean
        result = result - sum_rightmost(term, len(q.event_shape))
    return result.detach() if constant else result


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise not_same("KL between Independent distributions with different reinterpreted_batch_ndims is not implemented")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    """A bijection that both share changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise not_same("KL between TransformedDistributions with different transforms or event shapes is not implemented")
    return kl_divergence(p.base_dist, q.base_dist)
