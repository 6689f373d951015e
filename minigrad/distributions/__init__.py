"""Probability distributions: sampling, densities, entropies, divergences, and gradients through samples.

    d = Normal(loc, scale)      d.rsample()         a sample with a gradient with respect to loc and scale
                                d.log_prob(x)       log p(x), for maximum likelihood and for the score function
                                kl_divergence(d, other)

Two estimators of the gradient of E[f(X)]:

    reparameterisation      f(d.rsample()).mean().backward()                        if f has a derivative and d.has_rsample
    score function          (d.log_prob(x) * f(x)).mean().backward(), x = d.sample()    for every distribution

Each family has a file of its own, with the formulas in its docstring. Read first: ``distribution.py`` (shapes), ``normal.py``,
``transformed_distribution.py``, ``_gamma_gradients.py`` (gradients of samples that no formula leads to), ``kl.py``.

Mirrors ``torch/distributions/__init__.py``.
"""

from minigrad.distributions import _kl_mixed, _kl_same, constraints, transforms, utils
from minigrad.distributions.bernoulli import Bernoulli
from minigrad.distributions.beta import Beta
from minigrad.distributions.binomial import Binomial
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.cauchy import Cauchy
from minigrad.distributions.chi2 import Chi2
from minigrad.distributions.constraint_registry import biject_to, transform_to
from minigrad.distributions.continuous_bernoulli import ContinuousBernoulli
from minigrad.distributions.dirichlet import Dirichlet
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.exponential import Exponential
from minigrad.distributions.fishersnedecor import FisherSnedecor
from minigrad.distributions.gamma import Gamma
from minigrad.distributions.generalized_pareto import GeneralizedPareto
from minigrad.distributions.geometric import Geometric
from minigrad.distributions.gumbel import Gumbel
from minigrad.distributions.half_cauchy import HalfCauchy
from minigrad.distributions.half_normal import HalfNormal
from minigrad.distributions.independent import Independent
from minigrad.distributions.inverse_gamma import InverseGamma
from minigrad.distributions.kl import kl_divergence, register_kl
from minigrad.distributions.kumaraswamy import Kumaraswamy
from minigrad.distributions.laplace import Laplace
from minigrad.distributions.lkj_cholesky import LKJCholesky
from minigrad.distributions.log_normal import LogNormal
from minigrad.distributions.logistic_normal import LogisticNormal
from minigrad.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from minigrad.distributions.mixture_same_family import MixtureSameFamily
from minigrad.distributions.multinomial import Multinomial
from minigrad.distributions.multivariate_normal import MultivariateNormal
from minigrad.distributions.negative_binomial import NegativeBinomial
from minigrad.distributions.normal import Normal
from minigrad.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from minigrad.distributions.pareto import Pareto
from minigrad.distributions.poisson import Poisson
from minigrad.distributions.relaxed_bernoulli import RelaxedBernoulli
from minigrad.distributions.relaxed_categorical import RelaxedOneHotCategorical
from minigrad.distributions.studentT import StudentT
from minigrad.distributions.transformed_distribution import TransformedDistribution
from minigrad.distributions.uniform import Uniform
from minigrad.distributions.von_mises import VonMises
from minigrad.distributions.weibull import Weibull
from minigrad.distributions.wishart import Wishart
from minigrad.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = ["AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
           "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
           "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto",
           "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma",
           "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal",
           "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
           "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform",
           "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform",
           "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform",
           "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
           "identity_transform", "kl_divergence", "register_kl", "transform_to"]
