"""Samples follow their distribution: moments, the test of Kolmogorov and Smirnov, the chi-squared test; seeds are fixed.

A statistic is compared with its value at a tail probability of about 1e-6, so that a correct sampler passes for nearly every seed.
"""

import numpy as np
import pytest

import minigrad as mg
from tests.distributions.families import FAMILIES, make

D = mg.distributions
N = 4000
FAR = 5.2           # standard errors
KOLMOGOROV = 2.7    # of √N · the largest distance: P = 2 e^(-2 · 2.7²) = 1e-6
IDS = [f"{family.name}-{'-'.join(family.parameters)}" for family in FAMILIES]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=IDS)


@pytest.fixture(autouse=True)
def seed():
    mg.manual_seed(7)


def quiet(function):
    """The result of a call, or None if the family does not have it."""
    try:
        return function()
    except NotImplementedError:
        return None


def drawn(family, n=N):
    d, _ = make(mg, D, family, requires_grad=False)
    return d, d.sample((n,)).numpy()


@every_family
def test_samples_lie_in_the_support(family):
    d, x = drawn(family, 500)
    assert x.shape == (500, *d.batch_shape, *d.event_shape)
    if family.name in ("LogisticNormal", "RelaxedOneHotCategorical"):
        np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-6)
    else:
        assert bool(d.support.check(mg.tensor(x)).all())


@every_family
def test_moments(family):
    d, x = drawn(family)
    mean, variance = quiet(lambda: d.mean), quiet(lambda: d.variance)
    if mean is None or variance is None or family.name in ("Categorical", "VonMises"):
        return
    mean, variance = mean.numpy(), variance.numpy()
    error = np.sqrt(np.where(np.isfinite(variance), variance, np.nan) / N)
    known = np.isfinite(error) & np.isfinite(mean)
    assert (np.abs(x.mean(0) - mean)[known] <= FAR * error[known] + 1e-9).all()
    # The variance of the sample variance, from the fourth moment of the samples; heavy tails have none.
    centred = x - x.mean(0)
    spread = np.sqrt(((centred ** 4).mean(0) - centred.var(0) ** 2) / N)
    if family.name not in HEAVY:
        assert (np.abs(centred.var(0) - variance)[known] <= FAR * spread[known] + 1e-9).all()


HEAVY = {"FisherSnedecor", "GeneralizedPareto", "InverseGamma", "LogNormal", "Pareto", "StudentT"}


def with_cdf():
    for family, name in zip(FAMILIES, IDS, strict=True):
        d, _ = make(mg, D, family, requires_grad=False)
        if quiet(lambda d=d: d.cdf(d.sample())) is not None:
            yield pytest.param(family, id=name)


@pytest.mark.parametrize("family", list(with_cdf()))
def test_kolmogorov_and_smirnov(family):
    """The cdf of the samples is uniform."""
    d, x = drawn(family)
    u = np.sort(d.cdf(mg.tensor(x, dtype=mg.float64)).numpy(), 0)
    ranks = np.arange(N).reshape(-1, *[1] * (u.ndim - 1))
    distance = np.maximum(np.abs(u - ranks / N), np.abs(u - (ranks + 1) / N)).max(0)
    assert (np.sqrt(N) * distance < KOLMOGOROV).all(), distance


@pytest.mark.parametrize("family", list(with_cdf()))
def test_cdf_is_the_integral_of_the_density(family):
    """dF/dx = p(x), and icdf(cdf(x)) = x."""
    d, _ = make(mg, D, family, requires_grad=False)
    x = mg.tensor(family.values[0], dtype=mg.float64, requires_grad=True)
    cdf = d.cdf(x)
    slope, = mg.autograd.grad(cdf.sum(), x)
    np.testing.assert_allclose(slope.numpy(), d.log_prob(x).exp().detach().numpy(), rtol=1e-6)
    back = quiet(lambda: d.icdf(cdf.detach()))
    if back is not None:
        np.testing.assert_allclose(back.detach().numpy(), x.detach().numpy(), rtol=1e-6, atol=1e-9)


DISCRETE = [f for f in FAMILIES if f.name in ("Bernoulli", "Binomial", "Categorical", "Geometric", "NegativeBinomial", "Poisson")]


@pytest.mark.parametrize("family", DISCRETE, ids=lambda f: f"{f.name}-{'-'.join(f.parameters)}")
def test_chi_squared(family):
    """The counts of the values agree with the probabilities."""
    d, x = drawn(family)
    cells = 12
    values = mg.arange(cells, dtype=mg.float64)
    for column in range(d.batch_shape[0]):
        one = type(d)(**{name: mg.tensor(value, dtype=mg.float64)[column] for name, value in family.parameters.items()}, **family.fixed,
                      validate_args=False)
        highest = {"Bernoulli": 1, "Binomial": 5, "Categorical": 2}.get(family.name, cells - 1)
        expected = one.log_prob(values[:highest + 1]).exp().numpy() * N
        counts = np.array([(x[:, column] == value).sum() for value in range(highest + 1)])
        expected, counts = np.append(expected, N - expected.sum()), np.append(counts, N - counts.sum())
        enough = expected > 5
        statistic = ((counts - expected)[enough] ** 2 / expected[enough]).sum()
        degrees = enough.sum() - 1
        assert statistic < degrees + 7.5 * np.sqrt(2 * max(degrees, 1)) + 10, (column, counts, expected)


def test_von_mises_on_the_circle():
    d = D.VonMises(mg.tensor([0.0, 3.0], dtype=mg.float64), mg.tensor([2.0, 5.0], dtype=mg.float64))
    x = d.sample((N,)).numpy()
    assert (np.abs(x) <= np.pi).all()
    mean = np.angle(np.exp(1j * x).mean(0))
    np.testing.assert_allclose(mean, [0.0, 3.0], atol=0.08)
    np.testing.assert_allclose(1 - np.abs(np.exp(1j * x).mean(0)), d.variance.numpy(), atol=0.03)
    angles = mg.tensor(np.linspace(-np.pi, np.pi, 2001)[:-1].tolist(), dtype=mg.float64)
    density = d.log_prob(angles.unsqueeze(-1)).exp().numpy()
    np.testing.assert_allclose(density.mean(0) * 2 * np.pi, 1.0, rtol=1e-9)


@pytest.mark.parametrize("concentration", [1e-3, 0.1, 20.0, 31.0, 500.0, 1e5])
def test_von_mises_is_normalized_for_every_concentration(concentration):
    d = D.VonMises(mg.tensor(0.0, dtype=mg.float64), mg.tensor(concentration, dtype=mg.float64))
    width = min(np.pi, 12 / np.sqrt(concentration))
    angles = mg.tensor(np.linspace(-width, width, 4001)[:-1].tolist(), dtype=mg.float64)
    density = d.log_prob(angles).exp().numpy()
    np.testing.assert_allclose(density.mean() * 2 * width, 1.0, rtol=1e-9)
    circular = ((1 - np.cos(angles.numpy())) * density).mean() * 2 * width
    np.testing.assert_allclose(d.variance.numpy(), circular, rtol=1e-7)


def test_mixture():
    m = D.MixtureSameFamily(D.Categorical(mg.tensor([1.0, 3.0])), D.Normal(mg.tensor([-2.0, 1.0]), mg.tensor([0.5, 1.0])))
    x = m.sample((N,))
    u = np.sort(m.cdf(x).numpy())
    assert np.sqrt(N) * np.abs(u - (np.arange(N) + 0.5) / N).max() < KOLMOGOROV
    vectors = D.MixtureSameFamily(D.Categorical(mg.ones(2)), D.Independent(D.Normal(mg.tensor([[-5.0, 5.0], [5.0, -5.0]]), 0.1), 1))
    x = vectors.sample((50,))
    assert x.shape == (50, 2) and bool((x[:, 0] * x[:, 1] < 0).all())      # both coordinates come from one component
    assert vectors.expand((3,)).sample().shape == (3, 2)


def test_small_concentrations_do_not_underflow():
    for concentration in (1e-3, 1e-2):
        x = D.Dirichlet(mg.full((3,), concentration)).sample((2000,))
        assert bool(mg.isfinite(x).all())
        np.testing.assert_allclose(x.sum(-1).numpy(), 1, rtol=1e-5)
        np.testing.assert_allclose(x.mean(0).numpy(), 1 / 3, atol=0.06)
        gamma = D.Gamma(concentration, 1.0).sample((100,))
        assert bool((gamma > 0).all())


def test_correlation_matrices():
    d = D.LKJCholesky(4, mg.tensor([1.0, 50.0], dtype=mg.float64))
    lower = d.sample((N,))
    matrices = (lower @ lower.mT).numpy()
    np.testing.assert_allclose(np.diagonal(matrices, axis1=-2, axis2=-1), 1, rtol=1e-9)
    # Each correlation r has (r + 1)/2 ~ Beta(c, c) with c = concentration + (n - 2)/2, so the variance is 1/(2c + 1).
    below = matrices[..., np.tril_indices(4, -1)[0], np.tril_indices(4, -1)[1]]
    np.testing.assert_allclose(below.var(0), np.repeat([[1 / 5], [1 / 103]], 6, 1), rtol=0.15)
    assert np.abs(below.mean(0)).max() < 0.05


def test_generators_and_seeds():
    a = D.Gamma(2.0, 1.0).sample((3,)).tolist()
    mg.manual_seed(7)
    assert D.Gamma(2.0, 1.0).sample((3,)).tolist() == a
