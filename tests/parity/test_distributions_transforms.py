"""Transforms, constraints and their registries against PyTorch."""

import numpy as np
import pytest
import torch
import torch.distributions

import minigrad as mg
from tests.parity.test_distributions import assert_close, outcome

D = mg.distributions
T = torch.distributions
NUMBERS = [[-1.3, 0.2, 0.9], [2.1, -0.4, 0.05]]
POSITIVE = [[1.3, 0.2, 0.9], [2.1, 0.4, 0.05]]
SQUARE = [[0.3, 0.1, -0.2], [0.5, -0.4, 0.7], [1.0, 0.2, 0.1]]

TRANSFORMS = {
    "abs": (lambda m, d: d.AbsTransform(), NUMBERS),
    "affine": (lambda m, d: d.AffineTransform(m.tensor([1.0, 2.0, 3.0], dtype=m.float64), m.tensor(-2.0, dtype=m.float64)), NUMBERS),
    "affine with numbers": (lambda m, d: d.AffineTransform(1.0, -2.0), NUMBERS),
    "affine of vectors": (lambda m, d: d.AffineTransform(1.0, m.tensor([1.0, 2.0, 3.0], dtype=m.float64), event_dim=1), NUMBERS),
    "cat": (lambda m, d: d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 2]), NUMBERS),
    "chain": (lambda m, d: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.SigmoidTransform()]), NUMBERS),
    "chain to a simplex": (lambda m, d: d.ComposeTransform([d.TanhTransform(), d.StickBreakingTransform()]), NUMBERS),
    "chain of nothing": (lambda m, d: d.identity_transform, NUMBERS),
    "correlation": (lambda m, d: d.CorrCholeskyTransform(), NUMBERS),
    "cdf": (lambda m, d: d.CumulativeDistributionTransform(d.Normal(m.tensor(0.1, dtype=m.float64), m.tensor(2.0, dtype=m.float64))), NUMBERS),
    "exp": (lambda m, d: d.ExpTransform(), NUMBERS),
    "independent": (lambda m, d: d.IndependentTransform(d.ExpTransform(), 1), NUMBERS),
    "lower Cholesky": (lambda m, d: d.LowerCholeskyTransform(), SQUARE),
    "positive definite": (lambda m, d: d.PositiveDefiniteTransform(), SQUARE),
    "power": (lambda m, d: d.PowerTransform(m.tensor(2.5, dtype=m.float64)), POSITIVE),
    "negative power": (lambda m, d: d.PowerTransform(m.tensor(-1.0, dtype=m.float64)), POSITIVE),
    "reshape": (lambda m, d: d.ReshapeTransform((3,), (3, 1)), NUMBERS),
    "sigmoid": (lambda m, d: d.SigmoidTransform(), NUMBERS),
    "softmax": (lambda m, d: d.SoftmaxTransform(), NUMBERS),
    "softplus": (lambda m, d: d.SoftplusTransform(), NUMBERS),
    "stack": (lambda m, d: d.StackTransform([d.ExpTransform(), d.TanhTransform()], dim=0), NUMBERS),
    "stick breaking": (lambda m, d: d.StickBreakingTransform(), NUMBERS),
    "tanh": (lambda m, d: d.TanhTransform(), NUMBERS),
    "inverse of exp": (lambda m, d: d.ExpTransform().inv, POSITIVE),
}
every_transform = pytest.mark.parametrize("name", TRANSFORMS)


def apply(m, d, name):
    """What a transform does with its numbers: (x, y, x from y, log |det|), each a tensor or the class of an error."""
    make, numbers = TRANSFORMS[name]
    t, x = make(m, d), m.tensor(numbers, dtype=m.float64, requires_grad=True)
    y = t(x)
    return t, x, y, outcome(lambda: t.inv(y)), outcome(lambda: t.log_abs_det_jacobian(x, y))


@every_transform
def test_values_and_gradients(name):
    results = [apply(m, d, name) for m, d in ((mg, D), (torch, T))]
    for ours, theirs, what in zip(results[0][2:], results[1][2:], ("y", "inverse", "log_abs_det_jacobian"), strict=True):
        if isinstance(theirs, type):
            assert ours is theirs, what
            continue
        assert_close(ours, theirs, 1e-9, what)
        if theirs.requires_grad and what != "inverse":
            gradients = [m.autograd.grad((r * m.cos(r.detach())).sum(), x, retain_graph=True)[0]
                         for m, r, x in ((mg, ours, results[0][1]), (torch, theirs, results[1][1]))]
            assert_close(*gradients, 1e-7, f"gradient of {what}")


@every_transform
def test_properties(name):
    make, numbers = TRANSFORMS[name]
    ours, theirs = make(mg, D), make(torch, T)
    shape = np.shape(numbers)
    for what in ("bijective", "event_dim", "sign"):
        a, b = outcome(lambda w=what: getattr(ours, w)), outcome(lambda w=what: getattr(theirs, w))
        if isinstance(b, type):
            assert a is b, what
        else:
            assert np.array_equal(np.asarray(a), np.asarray(b)), what
    for what in ("domain", "codomain"):
        assert getattr(ours, what).event_dim == getattr(theirs, what).event_dim, what
    out = theirs.forward_shape(shape)
    assert tuple(ours.forward_shape(shape)) == tuple(out)
    assert tuple(ours.inverse_shape(tuple(out))) == tuple(theirs.inverse_shape(tuple(out)))
    assert ours.inv.inv is ours
    assert (ours == make(mg, D)) == (theirs == make(torch, T)) or name == "correlation"
    assert (repr(ours) == repr(theirs)) or name in ("affine", "affine of vectors", "cdf")


@every_transform
def test_cache(name):
    """With a cache the inverse of the latest output is the input itself."""
    make, numbers = TRANSFORMS[name]
    if name == "chain of nothing":
        return
    for m, d in ((mg, D), (torch, T)):
        t = outcome(lambda d=d, m=m: make(m, d).with_cache(1))
        if isinstance(t, type):
            continue            # PyTorch lacks it for some
        x = m.tensor(numbers, dtype=m.float64)
        assert t.inv(t(x)) is x
        assert t.with_cache(1) is t


def test_numbers_far_out():
    """log |dy/dx| stays exact where y has no digits left: in PyTorch softplus is linear from 20 on, here it is not."""
    x = mg.tensor([-40.0, 40.0], dtype=mg.float64)
    t = D.SigmoidTransform()
    np.testing.assert_allclose(t.log_abs_det_jacobian(x, t(x)).numpy(), [-40.0, -40.0], rtol=1e-12)
    t = D.SoftplusTransform()
    np.testing.assert_allclose(t.log_abs_det_jacobian(x, t(x)).numpy(), [-40.0, -np.log1p(np.exp(-40))], rtol=1e-10)
    t = D.TanhTransform()
    np.testing.assert_allclose(t.log_abs_det_jacobian(x, t(x)).numpy(), [np.log(4) - 80] * 2, rtol=1e-12)


CONSTRAINTS = {
    "boolean": (lambda c, m: c.boolean, [0.0, 1.0, 2.0]),
    "one_hot": (lambda c, m: c.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.0, 0.5]]),
    "real": (lambda c, m: c.real, [0.0, float("nan"), float("inf")]),
    "real_vector": (lambda c, m: c.real_vector, [[0.0, float("nan")], [1.0, 2.0]]),
    "positive": (lambda c, m: c.positive, [0.0, 1.0, -1.0]),
    "nonnegative": (lambda c, m: c.nonnegative, [0.0, 1.0, -1.0]),
    "nonnegative_integer": (lambda c, m: c.nonnegative_integer, [0.0, 1.5, -1.0]),
    "positive_integer": (lambda c, m: c.positive_integer, [0.0, 1.0, 1.5]),
    "unit_interval": (lambda c, m: c.unit_interval, [0.0, 1.0, 1.5]),
    "half_open_interval": (lambda c, m: c.half_open_interval(0.0, 1.0), [0.0, 1.0, 0.5]),
    "interval": (lambda c, m: c.interval(m.tensor(0.0), 1.0), [0.0, 1.0, 1.5]),
    "integer_interval": (lambda c, m: c.integer_interval(0, 2), [0.0, 1.5, 3.0]),
    "less_than": (lambda c, m: c.less_than(1.0), [0.0, 1.0, 3.0]),
    "greater_than": (lambda c, m: c.greater_than(1.0), [0.0, 1.0, 3.0]),
    "greater_than_eq": (lambda c, m: c.greater_than_eq(1.0), [0.0, 1.0, 3.0]),
    "simplex": (lambda c, m: c.simplex, [[0.2, 0.8], [0.2, 0.9], [-0.2, 1.2]]),
    "multinomial": (lambda c, m: c.multinomial(3), [[1.0, 2.0], [3.0, 2.0], [-1.0, 1.0]]),
    "lower_triangular": (lambda c, m: c.lower_triangular, [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 1.0], [2.0, 1.0]]]),
    "lower_cholesky": (lambda c, m: c.lower_cholesky, [[[1.0, 0.0], [2.0, 1.0]], [[-1.0, 0.0], [2.0, 1.0]]]),
    "corr_cholesky": (lambda c, m: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [2.0, 1.0]]]),
    "square": (lambda c, m: c.square, [[[1.0, 0.0], [2.0, 1.0]]]),
    "not square": (lambda c, m: c.square, [[1.0, 0.0, 3.0], [2.0, 1.0, 3.0]]),
    "symmetric": (lambda c, m: c.symmetric, [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [2.0, 1.0]]]),
    "positive_definite": (lambda c, m: c.positive_definite, [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    "positive_semidefinite": (lambda c, m: c.positive_semidefinite, [[[2.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    "independent": (lambda c, m: c.independent(c.positive, 1), [[1.0, 2.0], [1.0, -2.0]]),
    "cat": (lambda c, m: c.cat([c.positive, c.real], 0, [1, 2]), [-1.0, -1.0, 1.0]),
    "stack": (lambda c, m: c.stack([c.positive, c.real], 0), [[-1.0, 1.0], [-1.0, 1.0]]),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name):
    make, values = CONSTRAINTS[name]
    ours, theirs = make(D.constraints, mg), make(T.constraints, torch)
    a, b = ours.check(mg.tensor(values)), theirs.check(torch.tensor(values))
    assert tuple(a.shape) == tuple(b.shape) and a.tolist() == b.tolist()
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)
    assert repr(ours).split("(")[0] == repr(theirs).split("(")[0]


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries(registry, name):
    """The same transform for each constraint; what it returns satisfies the constraint."""
    make, _ = CONSTRAINTS[name]
    constraint = make(D.constraints, mg)
    ours = outcome(lambda: getattr(D, registry)(constraint))
    theirs = outcome(lambda: getattr(T, registry)(make(T.constraints, torch)))
    if isinstance(theirs, type):
        assert ours is theirs
        return
    if name not in ("positive", "nonnegative", "independent"):      # in PyTorch with the affine transform of 0 and 1
        assert type(ours).__name__ == type(theirs).__name__
    shape = (3, 3) if "definite" in name or "cholesky" in name else (3,)
    if name == "stack":
        shape = (2, 3)
    x = mg.tensor(np.random.default_rng(0).normal(size=shape).tolist(), dtype=mg.float64)
    y = ours(x)
    assert bool(constraint.check(y).all())


def test_a_transform_of_our_own():
    for m, d in ((mg, D), (torch, T)):
        class Ours(d.constraints.Constraint):
            pass
        d.biject_to.register(Ours, lambda constraint, d=d: d.ExpTransform())
        assert repr(d.biject_to(Ours())) == "ExpTransform()"
        assert outcome(lambda d=d, C=Ours, m=m: C().check(m.zeros(1))) is NotImplementedError
        assert d.constraints.is_dependent(d.Uniform.support) and not d.constraints.is_dependent(d.constraints.real)
