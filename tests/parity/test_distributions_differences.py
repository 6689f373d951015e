"""What the distributions do otherwise than PyTorch on purpose: where its result is wrong, or less exact."""

import numpy as np
import pytest
import torch
import torch.distributions

import minigrad as mg

D = mg.distributions
T = torch.distributions


@pytest.mark.differs(
    what="`Kumaraswamy.mode`",
    there="nan where the mode exists.",
    here="The value where the density is largest.")
def test_mode_of_kumaraswamy():
    d = D.Kumaraswamy(mg.tensor(1.5, dtype=mg.float64), mg.tensor(1.7, dtype=mg.float64))
    x = mg.tensor(np.linspace(0.001, 0.999, 9999).tolist(), dtype=mg.float64)
    assert abs(float(x[d.log_prob(x).argmax()]) - float(d.mode)) < 2e-4
    assert bool(torch.isnan(T.Kumaraswamy(1.5, 1.7).mode))


@pytest.mark.differs(
    what="`LKJCholesky.sample` of 3 x 3 matrices and larger ones",
    there="The correlations after the second row are too large.",
    here="All correlations have the variance 1 / (2 concentration + n - 1).")
def test_correlations_have_one_variance():
    """The row i + 1 of the onion has Beta(i / 2, ...), where PyTorch 2.13 takes Beta(i - 1/2, ...)."""
    mg.manual_seed(0)
    torch.manual_seed(0)
    below = tuple(np.tril_indices(3, -1))
    variances = []
    for d in (D, T):
        lower = d.LKJCholesky(3, 1.0).sample((4000,))
        variances.append((lower @ lower.mT).numpy()[:, below[0], below[1]].var(0))
    np.testing.assert_allclose(variances[0], 0.25, rtol=0.1)
    assert variances[1].max() > 0.28


@pytest.mark.differs(
    what="`kl_divergence` from a continuous Bernoulli to a uniform distribution on [0, 1], and back",
    there="Infinite.",
    here="Finite, since both have the same support.")
def test_divergence_on_one_support():
    p, q = D.ContinuousBernoulli(mg.tensor(0.3)), D.Uniform(0.0, 1.0)
    x = mg.tensor(np.linspace(0, 1, 20001)[:-1].tolist())
    weights = p.log_prob(x).exp()
    np.testing.assert_allclose(float(D.kl_divergence(p, q)), float((weights * p.log_prob(x)).mean()), rtol=1e-3)
    np.testing.assert_allclose(float(D.kl_divergence(q, p)), -float(p.log_prob(x).mean()), rtol=1e-3)
    assert float(T.kl_divergence(T.ContinuousBernoulli(0.3), T.Uniform(0.0, 1.0))) == np.inf


@pytest.mark.differs(
    what="`SigmoidTransform`, `SoftplusTransform` and `TanhTransform` far from 0",
    there="softplus is linear from 20 on, so digits are lost.",
    here="The logarithm of the derivative is exact everywhere.")
def test_jacobians_far_out():
    x = [21.0]
    values = []
    for m, d in ((mg, D), (torch, T)):
        t, at = d.SoftplusTransform(), m.tensor(x, dtype=m.float64)
        values.append(float((t(at) - at)[0]))
    np.testing.assert_allclose(values[0], np.log1p(np.exp(-21.0)), rtol=1e-5)
    assert values[1] == 0


@pytest.mark.differs(
    what="The gradients of samples of `Gamma`, `Beta`, `Dirichlet`, `Chi2` and `StudentT`",
    there="Approximations, with errors up to a few percent.",
    here="Integrals, exact to about 11 digits.")
def test_gradient_of_a_gamma_sample():
    """At the shape 1 the derivative at x is known: ∫ between 0 and x in closed form, here from mpmath."""
    from minigrad.distributions._gamma_gradients import gamma_gradient
    assert abs(gamma_gradient(np.array([1.0]), np.array([1.0]))[0] - 1.1735630272247268) < 1e-13
    a, x = 0.05, 1e-9
    theirs = float(torch._standard_gamma_grad(torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)))
    assert abs(gamma_gradient(np.array([x]), np.array([a]))[0] / 4.045084173163175e-07 - 1) < 1e-12
    assert abs(theirs / 4.045084173163175e-07 - 1) < 1e-2
