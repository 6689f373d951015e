"""The distributions against PyTorch: densities, moments, entropies, quantiles, with their gradients; shapes, texts and errors."""

import builtins
import functools

import numpy as np
import pytest
import torch
import torch.distributions

import minigrad as mg
from tests.distributions.families import FAMILIES, make

pytestmark = pytest.mark.filterwarnings("ignore:Singular sample")      # PyTorch says it of every sample of Wishart
D = mg.distributions
T = torch.distributions
TOLERANCE = {"float64": 1e-8, "float32": 3e-4}
# PyTorch's own error: polynomials for the Bessel functions; a float32 log n!; a mix of float32 and float64 that fails in float64.
COARSE = {"VonMises": 2e-6, "Multinomial": 1e-6, "GeneralizedPareto": 1e-5}
IDS = [f"{family.name}-{'-'.join(family.parameters)}" for family in FAMILIES]
UNLIKE = {       # family, method: what is right here and wrong in PyTorch; tests/distributions checks ours
    ("Kumaraswamy", "mode"): "nan",
    ("Multinomial", "entropy of the expanded"): "AttributeError",
}
every_family = pytest.mark.parametrize("family", FAMILIES, ids=IDS)


def array(x):
    return np.asarray(x.detach().numpy())


def assert_close(ours, theirs, tolerance, what):
    assert tuple(ours.shape) == tuple(theirs.shape), what
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
    np.testing.assert_allclose(array(ours), array(theirs), rtol=tolerance, atol=tolerance, err_msg=what)


def outcome(function):
    """The result of a call, or the builtin class of its error."""
    try:
        return function()
    except Exception as error:
        return next(cls for cls in type(error).__mro__ if getattr(builtins, cls.__name__, None) is cls)


def compare(pairs, function, tolerance, what):
    """Value and gradients with respect to all parameters of function(distribution)."""
    if (type(pairs[0][1]).__name__, what) in UNLIKE:
        return
    tolerance = max(tolerance, COARSE.get(type(pairs[0][1]).__name__, 0))
    results = [outcome(lambda d=d, library=library: function(d, library)) for library, d, _ in pairs]
    if isinstance(results[1], type):
        assert results[0] is results[1], f"{what}: {results}"
        return
    assert not isinstance(results[0], type), f"{what}: {results[0]}"
    assert_close(*results, tolerance, what)
    if results[1].requires_grad and pairs[0][2]:
        gradients = []
        for (library, _, tensors), result in zip(pairs, results, strict=True):
            weights = library.tensor(np.cos(np.arange(result.numel())).reshape(tuple(result.shape)).tolist(), dtype=result.dtype)
            finite = library.where(library.isfinite(result), result, library.zeros_like(result))
            gradients.append(outcome(functools.partial(library.autograd.grad, (finite * weights).sum(), list(tensors.values()),
                                                       allow_unused=True, retain_graph=True)))
        if isinstance(gradients[1], type):      # igamma has no derivative with respect to the shape
            assert gradients[0] is gradients[1], f"gradient of {what}: {gradients}"
            return
        for name, ours, theirs in zip(pairs[0][2], *gradients, strict=True):
            ours, theirs = [0 * t if g is None else g for t, g in ((pairs[0][2][name], ours), (pairs[1][2][name], theirs))]
            if name == "scale_tril":        # only the triangle counts
                ours, theirs = ours.tril(), theirs.tril()
            if bool(torch.isfinite(theirs).all()):
                assert_close(ours, theirs, 10 * tolerance, f"gradient of {what} with respect to {name}")


def first_parameter(pairs, library):
    """A parameter of the distribution of this library."""
    return next(next(iter(tensors.values())) for m, _, tensors in pairs if m is library)


def both(family, dtype="float64"):
    dtype = "float32" if family.name == "GeneralizedPareto" else dtype
    return [(library, *make(library, distributions, family, dtype)) for library, distributions in ((mg, D), (torch, T))]


@every_family
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_log_prob_and_cdf(family, dtype):
    pairs = both(family, dtype)
    for value in family.values:
        for method in ("log_prob", "cdf"):
            def evaluate(d, library, method=method, value=value):
                return getattr(d, method)(library.tensor(value, dtype=first_parameter(pairs, library).dtype))
            compare(pairs, evaluate, TOLERANCE[dtype], f"{method}({value})")


@every_family
def test_gradient_of_the_value(family):
    for value in family.values:
        gradients = []
        for library, d, tensors in both(family):
            x = library.tensor(value, dtype=next(iter(tensors.values())).dtype, requires_grad=True)
            log_prob = d.log_prob(x)
            gradients.append(library.autograd.grad(log_prob.sum(), x, allow_unused=True)[0] if log_prob.requires_grad else None)
        assert (gradients[0] is None) == (gradients[1] is None)
        if gradients[0] is not None:
            if family.name == "Wishart":        # a gradient with respect to a symmetric matrix is known up to what is antisymmetric
                gradients = [g + g.mT for g in gradients]
            assert_close(*gradients, max(1e-7, COARSE.get(family.name, 0)), f"gradient of log_prob({value})")


@every_family
def test_moments_and_entropy(family):
    pairs = both(family)
    compare([(m, d, {}) for m, d, _ in pairs], lambda d, library: d.mode, 1e-8, "mode")
    for name in ("mean", "variance", "stddev"):
        compare(pairs, lambda d, library, name=name: getattr(d, name), 1e-8, name)
    for name in ("entropy", "perplexity"):
        compare(pairs, lambda d, library, name=name: getattr(d, name)(), 1e-8, name)


@every_family
def test_icdf(family):
    pairs = both(family)
    for u in (0.01, 0.5, 0.93):
        compare(pairs, lambda d, library, u=u: d.icdf(library.tensor(u, dtype=first_parameter(pairs, library).dtype)), 1e-8, f"icdf({u})")


@every_family
@pytest.mark.parametrize("expand", [True, False])
def test_enumerate_support(family, expand):
    pairs = both(family)
    assert pairs[0][1].has_enumerate_support == pairs[1][1].has_enumerate_support
    compare(pairs, lambda d, library: d.enumerate_support(expand), 1e-12, "enumerate_support")


@every_family
def test_shapes_and_texts(family):
    (_, ours, _), (_, theirs, _) = both(family)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert tuple(ours.sample((4, 2)).shape) == tuple(theirs.sample((4, 2)).shape)
    assert str(ours.sample().dtype).split(".")[-1] == str(theirs.sample().dtype).split(".")[-1]
    assert repr(ours) == repr(theirs).replace("torch.Size", "minigrad.Size").replace(", dtype=torch.float64", "")
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    assert repr(type(ours.support)) is not None and set(ours.arg_constraints) == set(theirs.arg_constraints)


@every_family
def test_expand(family):
    (_, ours, _), (_, theirs, _) = both(family)
    shape = (2, *tuple(theirs.batch_shape))
    a, b = ours.expand(shape), theirs.expand(shape)
    assert type(a) is type(ours)
    assert tuple(a.batch_shape) == tuple(b.batch_shape) == shape
    assert tuple(a.event_shape) == tuple(b.event_shape)
    for value in family.values:
        compare([(mg, a, {}), (torch, b, {})], lambda d, m, value=value: d.log_prob(m.tensor(value, dtype=d.sample().dtype)), 1e-8,
                "log_prob of the expanded")
    assert tuple(a.sample((3,)).shape) == tuple(b.sample((3,)).shape)
    compare([(mg, a, {}), (torch, b, {})], lambda d, library: d.mean, 1e-8, "mean of the expanded")
    compare([(mg, a, {}), (torch, b, {})], lambda d, library: d.entropy(), 1e-8, "entropy of the expanded")


CASES = {       # what raises, or does not, in both libraries
    "a scale below 0": lambda m, d: d.Normal(0.0, -1.0),
    "a parameter that is no number": lambda m, d: d.Normal("a", 1.0),
    "shapes that do not broadcast": lambda m, d: d.Normal(m.zeros(2), m.ones(3)),
    "a value that is no tensor": lambda m, d: d.Normal(0.0, 1.0).log_prob(1.0),
    "a value of the wrong shape": lambda m, d: d.Normal(m.zeros(2), 1.0).log_prob(m.zeros(3)),
    "a value of the wrong event shape": lambda m, d: d.Dirichlet(m.ones(2)).log_prob(m.ones(3) / 3),
    "a value outside the support": lambda m, d: d.Exponential(1.0).log_prob(m.tensor(-1.0)),
    "nan": lambda m, d: d.Normal(0.0, 1.0).log_prob(m.tensor(float("nan"))),
    "no check": lambda m, d: d.Normal(0.0, -1.0, validate_args=False),
    "no dimension for Dirichlet": lambda m, d: d.Dirichlet(m.tensor(1.0)),
    "no dimension for Categorical": lambda m, d: d.Categorical(m.tensor(1.0)),
    "neither probs nor logits": lambda m, d: d.Bernoulli(),
    "both probs and logits": lambda m, d: d.Bernoulli(0.5, 0.5),
    "probs above 1": lambda m, d: d.Bernoulli(1.5),
    "probs 0 of Geometric": lambda m, d: d.Geometric(0.0),
    "an empty interval": lambda m, d: d.Uniform(1.0, 0.0),
    "no entropy": lambda m, d: d.Poisson(1.0).entropy(),
    "no rsample": lambda m, d: d.Bernoulli(0.5).rsample(),
    "no enumerate_support": lambda m, d: d.Normal(0.0, 1.0).enumerate_support(),
    "no mean": lambda m, d: d.Distribution(validate_args=False).mean,
    "a default that is no bool": lambda m, d: d.Distribution.set_default_validate_args(3),
    "an unknown pair": lambda m, d: d.kl_divergence(d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0)),
    "a count that is a tensor": lambda m, d: d.Multinomial(m.tensor(3), m.ones(2)),
    "no matrix": lambda m, d: d.MultivariateNormal(m.zeros(2)),
    "two matrices": lambda m, d: d.MultivariateNormal(m.zeros(2), m.eye(2), m.eye(2)),
    "a matrix that is a vector": lambda m, d: d.MultivariateNormal(m.zeros(2), scale_tril=m.ones(2)),
    "a matrix that is not positive definite": lambda m, d: d.MultivariateNormal(m.zeros(2), -m.eye(2)),
    "a loc without a dimension": lambda m, d: d.MultivariateNormal(m.tensor(0.0), m.eye(2)),
    "a low-rank factor of the wrong size": lambda m, d: d.LowRankMultivariateNormal(m.zeros(2), m.ones(3, 1), m.ones(2)),
    "a low-rank factor that is a vector": lambda m, d: d.LowRankMultivariateNormal(m.zeros(2), m.ones(2), m.ones(2)),
    "a diagonal of the wrong size": lambda m, d: d.LowRankMultivariateNormal(m.zeros(2), m.ones(2, 1), m.ones(3)),
    "a low-rank loc without a dimension": lambda m, d: d.LowRankMultivariateNormal(m.tensor(0.0), m.ones(2, 1), m.ones(2)),
    "batches that do not fit": lambda m, d: d.LowRankMultivariateNormal(m.zeros(3, 2), m.ones(2, 2, 1), m.ones(2)),
    "too many dimensions to reinterpret": lambda m, d: d.Independent(d.Normal(0.0, 1.0), 1),
    "a mixture of normals": lambda m, d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
    "components that are no distribution": lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(2)), 1),
    "too few components": lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(2)), d.Normal(m.zeros(3), 1.0)),
    "batches of a mixture": lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(3, 2)), d.Normal(m.zeros(2, 2), 1.0)),
    "a transform that is a number": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "a transform in a list that is a number": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    "a base without events": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    "different counts": lambda m, d: d.Binomial(m.tensor([3, 2]), m.tensor(0.5)).enumerate_support(),
    "entropy of different counts": lambda m, d: d.Binomial(m.tensor([3, 2]), m.tensor(0.5)).entropy(),
    "a small matrix": lambda m, d: d.LKJCholesky(1),
    "too few degrees of freedom": lambda m, d: d.Wishart(m.tensor(1.0), m.eye(3)),
    "kl of different events": lambda m, d: d.kl_divergence(d.MultivariateNormal(m.zeros(2), m.eye(2)),
                                                           d.MultivariateNormal(m.zeros(3), m.eye(3))),
    "kl of different counts": lambda m, d: d.kl_divergence(d.Binomial(2, m.tensor(0.5)), d.Binomial(3, m.tensor(0.5))),
    "kl of other dimensions": lambda m, d: d.kl_divergence(d.Independent(d.Normal(m.zeros(2, 2), 1.0), 1),
                                                           d.Independent(d.Normal(m.zeros(2, 2), 1.0), 2)),
    "kl of other transforms": lambda m, d: d.kl_divergence(d.LogNormal(0.0, 1.0), d.HalfCauchy(1.0)),
    "a pair of numbers": lambda m, d: d.register_kl(1, 2),
    "a cache of two": lambda m, d: d.ExpTransform(cache_size=2),
    "other numbers of elements": lambda m, d: d.ReshapeTransform((2,), (3,)),
    "another shape to reshape": lambda m, d: d.ReshapeTransform((2,), (1, 2))(m.zeros(3)),
    "no matrix of this size": lambda m, d: d.CorrCholeskyTransform().forward_shape((2,)),
    "not square": lambda m, d: d.CorrCholeskyTransform().inverse_shape((2, 3)),
    "too few dimensions": lambda m, d: d.SoftmaxTransform().forward_shape(()),
    "other event dimensions": lambda m, d: d.ReshapeTransform((2,), (1, 2)).event_dim,
    "no Jacobian determinant": lambda m, d: d.SoftmaxTransform().log_abs_det_jacobian(m.zeros(2), m.zeros(2)),
    "a part that is no transform": lambda m, d: d.CatTransform([1]),
    "a slice that is no transform": lambda m, d: d.StackTransform([1]),
    "too few lengths": lambda m, d: d.CatTransform([d.ExpTransform()], 0, [1, 2]),
    "a dependent constraint": lambda m, d: d.transform_to(d.constraints.dependent),
    "a discrete constraint": lambda m, d: d.biject_to(d.constraints.boolean),
    "a class that is no constraint": lambda m, d: d.biject_to.register(int, None)(None),
    "to check a dependent constraint": lambda m, d: d.constraints.dependent.check(m.zeros(1)),
    "unknown event dimensions": lambda m, d: d.constraints.dependent.event_dim,
    "a diagonal that is not there": lambda m, d: d.utils.tril_matrix_to_vec(m.eye(2), 5),
    "not the entries of a triangle": lambda m, d: d.utils.vec_to_tril_matrix(m.zeros(2)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_errors(case):
    ours, theirs = outcome(lambda: CASES[case](mg, D)), outcome(lambda: CASES[case](torch, T))
    kinds = [x if isinstance(x, type) else "no error" for x in (ours, theirs)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("case", ["a scale below 0", "a value outside the support", "a value of the wrong shape", "a value that is no tensor",
                                  "a matrix that is not positive definite", "both probs and logits", "an unknown pair"])
def test_words(case):
    """The first line of a message is PyTorch's."""
    texts = []
    for m, d in ((mg, D), (torch, T)):
        with pytest.raises(Exception) as raised:
            CASES[case](m, d)
        texts.append(str(raised.value).splitlines()[0].replace("torch.Size", "minigrad.Size"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("subclass_has_expand", [True, False])
def test_expand_of_a_subclass_with_its_own_init(subclass_has_expand):
    def attempt(d):
        class Ours(d.Normal):
            def __init__(self):
                super().__init__(0.0, 1.0)
        if subclass_has_expand:
            Ours.expand = lambda self, shape, _instance=None: d.Normal.expand(self, shape, self._get_checked_instance(d.Normal, self))
        return Ours().expand((2,)).batch_shape
    ours, theirs = outcome(lambda: attempt(D)), outcome(lambda: attempt(T))
    assert ours is theirs if isinstance(theirs, type) else tuple(ours) == tuple(theirs)
