"""kl_divergence against PyTorch: every pair that it has, value and gradients."""

import math

import numpy as np
import pytest
import torch
import torch.distributions
from torch.distributions.kl import _KL_REGISTRY

import minigrad as mg
from minigrad.distributions.kl import RULES
from tests.distributions.families import FAMILIES, make
from tests.parity.test_distributions import assert_close, outcome

D = mg.distributions
T = torch.distributions
BY_NAME = {}
for _family in FAMILIES:
    BY_NAME.setdefault(_family.name, _family)
MIXTURES = {"ExponentialFamily", "Independent", "TransformedDistribution"}      # whole classes: tested below
PAIRS = sorted((p.__name__, q.__name__) for p, q in _KL_REGISTRY if p.__name__ not in MIXTURES)
# A second set of parameters, for two different distributions of one family.
OTHERS = {
    "Bernoulli": {"probs": [0.3, 0.5, 0.6]}, "Beta": {"concentration1": [1.0, 2.5, 3.0], "concentration0": [1.2, 1.7, 0.4]},
    "Binomial": {"probs": [0.3, 0.5, 0.6]}, "Categorical": {"probs": [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]},
    "Cauchy": {"loc": [0.0, 0.1, 1.0], "scale": [1.0, 2.0, 0.7]}, "ContinuousBernoulli": {"probs": [0.3, 0.6, 0.4]},
    "Dirichlet": {"concentration": [[1.0, 2.5, 3.0], [1.2, 1.7, 0.4]]}, "Exponential": {"rate": [1.0, 2.5, 3.0]},
    "Gamma": {"concentration": [1.0, 2.5, 3.0], "rate": [1.2, 1.7, 0.4]}, "Geometric": {"probs": [0.3, 0.6, 0.4]},
    "Gumbel": {"loc": [0.0, 0.1, 1.0], "scale": [1.0, 2.0, 0.7]}, "HalfNormal": {"scale": [1.0, 2.5, 3.0]},
    "Laplace": {"loc": [0.0, 0.1, 1.0], "scale": [1.0, 2.0, 0.7]}, "Normal": {"loc": [0.0, 0.1, 1.0], "scale": [1.0, 2.0, 0.7]},
    "LowRankMultivariateNormal": {"loc": [0.0, 0.1, 1.0], "cov_factor": [[0.3], [0.1], [1.0]], "cov_diag": [1.0, 0.7, 2.0]},
    "MultivariateNormal": {"loc": [0.0, 0.1, 1.0], "covariance_matrix": [[1.0, 0.1, 0.0], [0.1, 2.0, 0.3], [0.0, 0.3, 1.0]]},
    "OneHotCategorical": {"probs": [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]}, "Pareto": {"scale": [0.1, 0.9, 3.0], "alpha": [2.0, 2.5, 3.0]},
    "Poisson": {"rate": [1.0, 2.5, 3.0]}, "Uniform": {"low": [-2.0, 0.1, 0.0], "high": [3.0, 0.4, 6.0]},
}
# Both in [0, 1] or in [0, ∞): otherwise every divergence from a uniform distribution is infinite.
INSIDE = {"low": [0.1, 0.2, 0.3], "high": [0.4, 0.9, 1.0]}
AROUND = {"low": [0.0, -1.0, 0.5], "high": [1.0, 2.0, 0.7]}
# PyTorch calls these infinite although q covers the support of p, or the support ends where the interval does.
ENDS = {("ContinuousBernoulli", "Uniform"), ("Uniform", "ContinuousBernoulli")}


def parameters(p, q):
    """The parameters of both distributions of a pair."""
    first, second = BY_NAME[p].parameters, OTHERS[q]
    if p == "Uniform" and q != "Uniform":
        first = INSIDE
    if q == "Uniform" and p != "Uniform":
        second = AROUND
    if (p, q) in ENDS and q == "Uniform":
        second = {"low": [-0.5, -1.0, 0.5], "high": [1.5, 2.0, 0.7]}
    if (p, q) in ENDS and p == "Uniform":
        first = {"low": [0.1, 0.2, 0.3], "high": [0.4, 0.9, 0.95]}
    return first, second


def build(m, d, p, q):
    first, second = parameters(p, q)
    a, tensors = make(m, d, BY_NAME[p]._replace(parameters=first))
    b, others = make(m, d, BY_NAME[q]._replace(parameters=second))
    return a, b, [*tensors.values(), *others.values()]


def test_every_pair_of_pytorch_has_a_rule():
    assert {(p.__name__, q.__name__) for p, q in _KL_REGISTRY} <= {(p.__name__, q.__name__) for p, q in RULES}


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair(pair):
    results, gradients = [], []
    for m, d in ((mg, D), (torch, T)):
        p, q, tensors = build(m, d, *pair)
        kl = d.kl_divergence(p, q)
        results.append(kl)
        finite = m.where(m.isfinite(kl), kl, m.zeros_like(kl))
        found = m.autograd.grad(finite.sum(), tensors, allow_unused=True) if kl.requires_grad else [None] * len(tensors)
        gradients.append([m.zeros_like(t) if g is None else g for g, t in zip(found, tensors, strict=True)])
    if pair == ("ContinuousBernoulli", "Uniform"):      # PyTorch: infinite unless low < 0 and high > 1 are both false
        return
    assert_close(*results, 1e-8, "kl")
    for ours, theirs in zip(*gradients, strict=True):
        known = np.isfinite(theirs.numpy())
        np.testing.assert_allclose(ours.numpy()[known], theirs.numpy()[known], rtol=1e-6, atol=1e-7)


def test_whole_classes():
    for m, d in ((mg, D), (torch, T)):
        p = d.Independent(d.Normal(m.zeros(2, 3), 1.0), 1)
        assert d.kl_divergence(p, d.Independent(d.Normal(m.ones(2, 3), 1.0), 1)).tolist() == [1.5, 1.5]
        assert float(d.kl_divergence(d.LogNormal(0.0, 1.0), d.LogNormal(1.0, 1.0))) == 0.5
        assert math.isclose(float(d.kl_divergence(d.Chi2(3.0), d.Chi2(5.0))), 0.368975, abs_tol=1e-5)     # the rule of Gamma


def test_bregman_divergence():
    """The rule for exponential families agrees with the special rules, in both."""
    for name in ("Normal", "Gamma", "Exponential", "Dirichlet", "Beta", "Bernoulli", "Poisson"):
        a, _ = make(mg, D, BY_NAME[name])
        b, _ = make(mg, D, BY_NAME[name]._replace(parameters=OTHERS[name]))
        special = D.kl_divergence(a, b)
        general = RULES[D.ExponentialFamily, D.ExponentialFamily](a, b)
        np.testing.assert_allclose(general.detach().numpy(), special.detach().numpy(), rtol=1e-6, atol=1e-9)


def test_entropy_of_an_exponential_family():
    """The entropy that autograd computes agrees with PyTorch's, and with the closed form."""
    for name in ("Normal", "Gamma", "Exponential", "Dirichlet", "Beta", "Bernoulli"):
        ours, _ = make(mg, D, BY_NAME[name])
        theirs, _ = make(torch, T, BY_NAME[name])
        by_autograd = outcome(lambda d=ours: D.ExponentialFamily.entropy(d))
        if isinstance(by_autograd, type):       # no mean of the carrier measure
            assert by_autograd is outcome(lambda d=theirs: T.ExponentialFamily.entropy(d))
            continue
        np.testing.assert_allclose(by_autograd.detach().numpy(), theirs.entropy().detach().numpy(), rtol=1e-7)


def test_the_nearest_rule_and_ambiguity():
    for d in (D, T):
        class A(d.Normal):
            pass

        class B(d.Normal):
            pass

        class AA(A):
            pass
        d.register_kl(A, d.Normal)(lambda p, q: "A, Normal")
        d.register_kl(d.Normal, B)(lambda p, q: "Normal, B")
        assert d.kl_divergence(AA(0.0, 1.0), d.Normal(0.0, 1.0)) == "A, Normal"
        with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
            d.kl_divergence(A(0.0, 1.0), B(0.0, 1.0))
