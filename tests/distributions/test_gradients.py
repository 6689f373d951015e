"""Gradients through samples: against the cdf, against high precision, against the derivatives of moments."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.distributions._gamma_gradients import dirichlet_gradient, gamma_gradient
from tests.distributions.families import FAMILIES, make

D = mg.distributions
IDS = [f"{family.name}-{'-'.join(family.parameters)}" for family in FAMILIES]


@pytest.fixture(autouse=True)
def seed():
    mg.manual_seed(3)


def reparameterised():
    for family, name in zip(FAMILIES, IDS, strict=True):
        d, _ = make(mg, D, family)
        if d.has_rsample and family.name not in ("Gamma", "Chi2", "InverseGamma"):      # igamma lacks the other derivative
            try:
                d.cdf(d.sample())
            except NotImplementedError:
                continue
            yield pytest.param(family, id=name)


@pytest.mark.parametrize("family", list(reparameterised()))
def test_gradient_is_implicit(family):
    """dx/dθ = -(∂F/∂θ) / p(x), whichever way the sample was computed."""
    d, tensors = make(mg, D, family)
    x = d.rsample()
    explicit = mg.autograd.grad(x.sum(), list(tensors.values()), allow_unused=True, retain_graph=True)
    at = x.detach()
    implicit = mg.autograd.grad(-(d.cdf(at) / d.log_prob(at).exp().detach()).sum(), list(tensors.values()), allow_unused=True)
    for name, a, b in zip(tensors, explicit, implicit, strict=True):
        a, b = (np.zeros(tensors[name].shape) if g is None else g.numpy() for g in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_every_rsample_has_gradients(family):
    d, tensors = make(mg, D, family)
    if not d.has_rsample:
        assert not d.sample().requires_grad
        return
    x = d.rsample((2,))
    assert x.shape == d.sample((2,)).shape and not d.sample().requires_grad
    (x * mg.randn(x.shape, dtype=x.dtype)).sum().backward()
    for name, tensor in tensors.items():
        assert tensor.grad is not None and bool(mg.isfinite(tensor.grad).all()), name
        assert bool((tensor.grad != 0).any()), name


# (a, x, dx/da) from mpmath with 40 digits: -diff(P(a, x), a) / p(x)
GAMMA = [
    (0.001, 1e-30, 6.850198085801108e-26),
    (0.001, 0.3, 367.1215248780466),
    (0.001, 5.0, 854.2292769651125),
    (0.05, 1e-09, 4.045084173163175e-07),
    (0.5, 0.02, 0.16042347626224593),
    (0.5, 0.6, 1.4692574162804537),
    (0.5, 7.0, 3.7885497879033796),
    (1.0, 1e-06, 1.4238302262212699e-05),
    (1.0, 1.0, 1.1735630272247268),
    (1.0, 20.0, 3.6206664839514846),
    (3.7, 0.1, 0.1033966378932513),
    (3.7, 3.5, 1.0172246411918435),
    (3.7, 30.0, 2.4852720529717733),
    (25.0, 5.0, 0.4048301824525842),
    (25.0, 25.0, 1.0066927150450473),
    (25.0, 90.0, 1.784879980495889),
    (1000.0, 700.0, 0.8323796684433714),
    (1000.0, 1000.0, 1.0001666833238059),
    (1000.0, 1200.0, 1.0941114803500787),
    (10000.0, 9500.0, 0.974588834973852),
    (10000.0, 10000.0, 1.000016666833324),
    (10000.0, 10600.0, 1.0294345320481624),
]
# (a, b, x, (dx/da) / (1 - x))
BETA = [
    (0.001, 0.001, 0.5, 250346.81347747162),
    (0.01, 2.0, 1e-20, 4.506160284997992e-17),
    (0.01, 2.0, 0.7, 44.46807276059846),
    (0.3, 0.4, 0.01, 0.18943674266635918),
    (0.3, 0.4, 0.99, 5.670493970448583),
    (0.5, 8.0, 0.001, 0.00978990476134966),
    (0.5, 8.0, 0.5, 0.41007650533069684),
    (1.0, 1.0, 0.5, 0.6931471805599453),
    (2.0, 3.0, 0.05, 0.06605588144021969),
    (2.0, 3.0, 0.4, 0.23232000008444886),
    (2.0, 3.0, 0.97, 0.356264815369687),
    (5.0, 0.1, 0.3, 0.1108628400426187),
    (5.0, 0.1, 0.999, 0.21880554658420573),
    (40.0, 60.0, 0.2, 0.0069793627082881254),
    (40.0, 60.0, 0.4, 0.010075327566016267),
    (40.0, 60.0, 0.65, 0.012723233773502604),
    (300.0, 2.0, 0.97, 0.003277400179668671),
    (2.0, 300.0, 0.03, 0.006961562264701005),
]


@pytest.mark.parametrize("a, x, expected", GAMMA)
def test_gamma_against_high_precision(a, x, expected):
    np.testing.assert_allclose(gamma_gradient(np.array([x]), np.array([a])), expected, rtol=1e-11)


@pytest.mark.parametrize("a, b, x, expected", BETA)
def test_beta_against_high_precision(a, b, x, expected):
    np.testing.assert_allclose(dirichlet_gradient(np.array([x]), np.array([a]), np.array([a + b])), expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [mg.float32, mg.float64])
def test_gamma_gradients_far_out_are_finite_and_positive(dtype):
    """Shapes from 1e-3 to 1e6, x from the smallest number to far above the mean: x grows with the shape everywhere."""
    a = np.repeat(np.logspace(-3, 6, 40), 60)
    x = np.concatenate([np.concatenate([np.logspace(-37, 0, 30) * (b + 1), np.linspace(0.1, 3, 30) * (b + 1)]) for b in a[::60]])
    gradient = gamma_gradient(x, a)
    assert np.isfinite(gradient).all() and (gradient >= 0).all()
    tensor = mg.tensor([1e-3, 1.0, 1e4], dtype=dtype, requires_grad=True)
    D.Gamma(tensor, 1.0).rsample((50,)).sum().backward()
    assert tensor.grad.dtype == dtype and bool(mg.isfinite(tensor.grad).all())


def test_beta_gradients_far_out_are_finite_and_positive():
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-3, 4, (2, 3000))
    x = np.clip(rng.beta(a, b), 1e-300, 1 - 1e-16)
    x[:1000] = rng.uniform(size=1000)
    gradient = dirichlet_gradient(x, a, a + b)
    assert np.isfinite(gradient).all() and (gradient >= 0).all()


N = 20000


@pytest.mark.parametrize("name, make_d, moment, expected", [
    ("gamma", lambda a: D.Gamma(a, 2.0), lambda x: x ** 2, lambda a: a * (a + 1) / 4),
    ("beta", lambda a: D.Beta(a, 3.0), lambda x: x, lambda a: a / (a + 3)),
    ("dirichlet", lambda a: D.Dirichlet(mg.stack([a, a * 0 + 1.5, a * 0 + 0.5])), lambda x: x[..., 1] ** 2,
     lambda a: 1.5 * 2.5 / ((a + 2) * (a + 3))),
    ("student", lambda a: D.StudentT(a + 8), lambda x: x ** 2, lambda a: (a + 8) / (a + 6)),
    ("chi2", lambda a: D.Chi2(a), lambda x: x, lambda a: a),
    ("f", lambda a: D.FisherSnedecor(4.0, a + 8), lambda x: x, lambda a: (a + 8) / (a + 6)),
    ("wishart", lambda a: D.Wishart(a + 3, mg.eye(2, dtype=mg.float64)), lambda x: x[..., 0, 0], lambda a: a + 3),
])
def test_mean_of_the_gradient_is_the_gradient_of_the_mean(name, make_d, moment, expected):
    a = mg.tensor(1.3, dtype=mg.float64, requires_grad=True)
    many = a.expand((N,)) if name != "dirichlet" else a
    if name == "dirichlet":
        x = make_d(a).rsample((N,))
        estimate = float(mg.autograd.grad(moment(x).mean(), a)[0])
        tolerance = 0.03
    else:
        each, = mg.autograd.grad(moment(make_d(many).rsample()).sum(), many)
        each = each.numpy()
        estimate, tolerance = each.mean(), 5 * each.std() / np.sqrt(N)
    true, = mg.autograd.grad(expected(a), a)
    assert abs(estimate - float(true)) < tolerance


def test_second_derivatives_through_samples_are_refused():
    """The implicit gradient is a number that no formula of ours differentiates."""
    a = mg.tensor(2.0, requires_grad=True)
    first, = mg.autograd.grad(D.Gamma(a, 1.0).rsample() ** 2, a, create_graph=True)
    with pytest.raises(RuntimeError):
        first.backward()


def test_straight_through():
    w = mg.tensor([0.2, 0.8], requires_grad=True)
    x = D.OneHotCategoricalStraightThrough(w).rsample()
    assert sorted(x.detach().tolist()) == [0.0, 1.0]
    x[0].backward()
    np.testing.assert_allclose(w.grad.numpy(), [0.8, -0.2], rtol=1e-5)


def test_score_function_and_reparameterisation_agree():
    """Both estimate the derivative of E[X²] = μ² + σ²."""
    mu = mg.tensor(1.5, dtype=mg.float64, requires_grad=True)
    d = D.Normal(mu, 0.7)
    pathwise, = mg.autograd.grad((d.rsample((N,)) ** 2).mean(), mu)
    x = d.sample((N,))
    score, = mg.autograd.grad((d.log_prob(x) * (x ** 2 - 2.74)).mean(), mu)
    np.testing.assert_allclose([float(pathwise), float(score)], 3.0, atol=0.15)
