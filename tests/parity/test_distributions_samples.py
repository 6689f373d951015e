"""Gradients through samples against PyTorch, at the same sample or from the same noise."""

import numpy as np
import pytest
import torch
import torch.distributions

import minigrad as mg
from minigrad.distributions._gamma_gradients import dirichlet_gradient, gamma_gradient
from tests.distributions.families import FAMILIES, make

D = mg.distributions
T = torch.distributions
BY_NAME = {}
for _family in FAMILIES:
    BY_NAME.setdefault(_family.name, []).append(_family)


def weights(shape):
    return np.cos(np.arange(np.prod(shape))).reshape(shape).tolist()


def pull_back(m, x, tensors):
    """The gradients of a weighted sum of a sample."""
    found = m.autograd.grad((x * m.tensor(weights(tuple(x.shape)), dtype=x.dtype)).sum(), list(tensors.values()), allow_unused=True,
                            retain_graph=True)
    return [np.zeros(tuple(t.shape)) if g is None else g.numpy() for g, t in zip(found, tensors.values(), strict=True)]


def check(ours, theirs, names, rtol=1e-8):
    for name, a, b in zip(names, ours, theirs, strict=True):
        if name == "scale_tril":
            a, b = np.tril(a), np.tril(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=name)


WITH_CDF = ("Cauchy", "ContinuousBernoulli", "Exponential", "Gumbel", "HalfCauchy", "HalfNormal", "Kumaraswamy", "Laplace", "LogNormal",
            "Normal", "Pareto", "Uniform", "Weibull")


@pytest.mark.parametrize("name", WITH_CDF)
def test_at_the_same_sample(name):
    """Our gradient of a sample, and PyTorch's -(∂F/∂θ) / p at this sample."""
    for family in BY_NAME[name]:
        d, tensors = make(mg, D, family)
        mg.manual_seed(1)
        x = d.rsample()
        theirs, their_tensors = make(torch, T, family)
        at = torch.tensor(x.detach().numpy())
        w = torch.tensor(weights(tuple(at.shape)), dtype=torch.float64)
        implicit = -(w * theirs.cdf(at) / theirs.log_prob(at).exp().detach()).sum()
        found = torch.autograd.grad(implicit, list(their_tensors.values()), allow_unused=True)
        check(pull_back(mg, x, tensors), [np.zeros(tuple(t.shape)) if g is None else g.numpy()
                                          for g, t in zip(found, their_tensors.values(), strict=True)], tensors, 1e-6)


@pytest.mark.parametrize("family", BY_NAME["MultivariateNormal"], ids=lambda f: "-".join(f.parameters))
def test_multivariate_normal_from_the_same_noise(family):
    d, tensors = make(mg, D, family)
    mg.manual_seed(1)
    x = d.rsample((3,))
    theirs, their_tensors = make(torch, T, family)
    noise = torch.linalg.solve_triangular(theirs.scale_tril, (torch.tensor(x.detach().numpy()) - theirs.loc).unsqueeze(-1), upper=False)
    y = theirs.loc + (theirs.scale_tril @ noise.detach()).squeeze(-1)
    ours, expected = pull_back(mg, x, tensors), pull_back(torch, y, their_tensors)
    for name, a, b in zip(tensors, ours, expected, strict=True):
        if name != "scale_tril" and a.ndim > 1 and a.shape[-1] == a.shape[-2]:      # known up to what is antisymmetric
            a, b = a + a.swapaxes(-1, -2), b + b.swapaxes(-1, -2)
        check([a], [b], [name], 1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_over_a_wide_range(dtype):
    """PyTorch approximates: half of its gradients are within 1e-6 in float64, nearly all within 1%. Ours are compared with 40 digits
    in tests/distributions/test_gradients.py."""
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-3, 4, 2000)
    x = np.maximum(rng.gamma(a), 1e-37)
    x[:500] *= rng.uniform(0.5, 1.5, 500)
    kind = getattr(torch, dtype)
    a, x = torch.tensor(a, dtype=kind), torch.tensor(x, dtype=kind)
    theirs = torch._standard_gamma_grad(a, x).double().numpy()
    ours = gamma_gradient(x.double().numpy(), a.double().numpy())
    error = np.abs(theirs - ours) / ours
    assert np.percentile(error, 50) < 2e-6 and np.percentile(error, 99) < 0.02 and error.max() < 0.2


def test_dirichlet_over_a_wide_range():
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-2, 3, (2, 2000))
    x = rng.beta(a, b)
    usable = (x > 1e-30) & (x < 1 - 1e-12)
    a, b, x = a[usable], b[usable], x[usable]
    theirs = torch._dirichlet_grad(torch.tensor(x), torch.tensor(a), torch.tensor(a + b)).numpy()
    error = np.abs(theirs - dirichlet_gradient(x, a, a + b)) / np.abs(theirs)
    assert np.percentile(error, 50) < 1e-9 and error.max() < 5e-3


def test_gradients_of_gamma_and_dirichlet_samples():
    """The gradient that rsample sends to its parameters is the formula at the sample."""
    mg.manual_seed(2)
    for name in ("Gamma", "Dirichlet", "Beta"):
        family = BY_NAME[name][0]
        d, tensors = make(mg, D, family)
        x = d.rsample()
        at = torch.tensor(x.detach().numpy())
        w = torch.tensor(weights(tuple(at.shape)), dtype=torch.float64)
        _, theirs = make(torch, T, family)
        if name == "Gamma":
            a, rate = theirs.values()
            expected = [w * torch._standard_gamma_grad(a.detach(), at * rate.detach()) / rate.detach(), -w * at / rate.detach()]
        else:
            a = torch.stack(list(theirs.values()), -1) if name == "Beta" else theirs["concentration"]
            y = torch.stack([at, 1 - at], -1) if name == "Beta" else at
            g = torch.stack([w, 0 * w], -1) if name == "Beta" else w
            grad = torch._dirichlet_grad(y, a.detach(), a.detach().sum(-1, True).expand_as(a)) * (g - (y * g).sum(-1, True))
            expected = list(grad.unbind(-1)) if name == "Beta" else [grad]
        check(pull_back(mg, x, tensors), [e.detach().numpy() for e in expected], tensors, 1e-3)
