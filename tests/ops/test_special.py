"""Special functions: how exact they are, at the edges of their domains, of any dtype, and the namespace `mg.special`."""

import math

import numpy as np
import pytest

import minigrad as mg

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
EDGES = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5, 1e-30, -1e-300, 1e4, -1e4, 1e300, 26.9,
                  27.0, -27.0, 10.0, -2.0])


def compared(name, x, rtol=2e-12, atol=1e-15, *args):
    ours, theirs = getattr(mg, name)(*args, mg.tensor(x)).numpy(), getattr(torch, name)(*args, torch.tensor(x)).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name, x", [
    ("erf", RNG.uniform(-7, 7, 4000)), ("erf", RNG.normal(size=500) * 1e-5), ("erfc", RNG.uniform(-7, 27, 4000)),
    ("erfinv", RNG.uniform(-1, 1, 4000)), ("erfinv", 1 - 10.0 ** RNG.uniform(-15, -1, 500)), ("erfinv", 10.0 ** RNG.uniform(-20, -1, 500)),
    ("lgamma", RNG.uniform(0, 30, 4000)), ("lgamma", 1 + RNG.normal(size=500) * 1e-4), ("lgamma", 2 + RNG.normal(size=500) * 1e-4),
    ("lgamma", 10.0 ** RNG.uniform(-12, 12, 500)), ("lgamma", RNG.uniform(-20, 0, 2000)), ("digamma", RNG.uniform(0, 30, 4000)),
    ("digamma", RNG.uniform(-20, 0, 2000)), *[(name, EDGES) for name in ("erf", "erfc", "erfinv", "lgamma", "digamma")]])
def test_exact(name, x):
    compared(name, x, atol=2e-14 if name.endswith("gamma") and (x < 3).any() else 1e-300)


@pytest.mark.parametrize("n", range(6))
def test_polygamma(n):
    """PyTorch's own trigamma is good to 1e-9 only."""
    tolerance = 1e-9 if n == 1 else 2e-12
    compared("polygamma", RNG.uniform(0.01, 40, 2000), tolerance, 1e-13, n)
    compared("polygamma", RNG.uniform(-20, 0, 500), tolerance, 1e-9 if n == 1 else 1e-13, n)


def test_trigamma_is_exact():
    """ψ'(1) = π²/6, ψ'(1/2) = π²/2."""
    found = mg.polygamma(1, mg.tensor([1.0, 0.5], dtype=mg.float64)).tolist()
    assert found == pytest.approx([math.pi ** 2 / 6, math.pi ** 2 / 2], rel=1e-15)


FUNCTIONS = {
    **{name: lambda m, x, name=name: getattr(m, name)(x) for name in (
        "erf", "erfc", "erfinv", "lgamma", "digamma", "logit", "sinc", "sgn", "rad2deg", "deg2rad")},
    "polygamma": lambda m, x: m.polygamma(2, x), "logit eps": lambda m, x: m.logit(x, 0.1), "xlogy": lambda m, x: m.xlogy(x, x),
    "xlogy number": lambda m, x: m.xlogy(x, 2.5), "xlogy int": lambda m, x: m.xlogy(x, 2), "xlogy of number": lambda m, x: m.xlogy(2, x),
    "copysign": lambda m, x: m.copysign(x, -x if x.dtype != m.bool else x), "copysign int": lambda m, x: x.copysign(-1),
    "fmax": lambda m, x: m.fmax(x, m.tensor([1, 0])), "fmin": lambda m, x: m.fmin(x, m.tensor([1.0, math.nan])),
    "heaviside": lambda m, x: m.heaviside(x, x), "logaddexp": lambda m, x: m.logaddexp(x, x),
    "logaddexp2": lambda m, x: m.logaddexp2(x, m.tensor([0.5, 2.0])), "float_power": lambda m, x: m.float_power(x, 2),
    "float_power of number": lambda m, x: m.float_power(2, x), "entr": lambda m, x: m.special.entr(x),
    "xlog1py": lambda m, x: m.special.xlog1py(x, x), "xlog1py number": lambda m, x: m.special.xlog1py(x, 2.0),
    "ndtr": lambda m, x: m.special.ndtr(x), "positive": lambda m, x: m.positive(x), "mvlgamma": lambda m, x: m.mvlgamma(x, 2),
}
INPUTS = {"int64": [1, 2], "int32": [0, -1], "bool": [True, False], "float16": [0.5, 0.25], "float32": [0.25, 3.5], "float64": [0.5, -2.5],
          "complex64": [1 + 1j, 0]}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", INPUTS)
def test_dtypes(name, dtype):
    """The dtype of the result equals PyTorch's, and minigrad refuses the dtypes that PyTorch refuses."""
    def outcome(m):
        x = m.tensor(INPUTS[dtype], dtype=getattr(m, dtype))
        try:
            z = FUNCTIONS[name](m, x)
        except (RuntimeError, TypeError) as error:
            return TypeError if isinstance(error, TypeError) else RuntimeError, []
        return str(z.dtype).split(".")[-1], z.tolist()
    (ours, numbers), (theirs, expected) = outcome(mg), outcome(torch)
    assert ours == theirs
    np.testing.assert_allclose(numbers, expected, rtol=2e-3 if dtype == "float16" else 1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes(name):
    """0-d, empty, and not contiguous."""
    for make in (lambda m: m.tensor(0.5), lambda m: m.ones(0, 2), lambda m: m.tensor([[0.5, 1.5], [2.0, 0.25]]).t()):
        if name in ("fmax", "fmin", "logaddexp2") and make(mg).ndim == 0:
            continue
        ours, theirs = FUNCTIONS[name](mg, make(mg)), FUNCTIONS[name](torch, make(torch))
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name, x, expected", [
    ("entr", [0.0, 1.0, -1.0], [math.inf, -1.0, math.nan]), ("sinc", [0.0, 1.0], [0.0, -1.0]), ("logit", [0.5, 2.0], [4.0, math.nan])])
def test_gradients_at_the_edges(name, x, expected):
    for m in (mg, torch):
        y = m.tensor(x, requires_grad=True)
        getattr(m.special, name)(y).sum().backward()
        np.testing.assert_allclose(y.grad.tolist(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signs_of_zeros(name):
    """Where a result is 0, its sign is PyTorch's: `special.entr` gave -0 at 0, which prints."""
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0]
    if name in ("fmax", "fmin", "logaddexp2"):
        edges = edges[:2]
    ours, theirs = (np.array(FUNCTIONS[name](m, m.tensor(edges, dtype=m.float64)).tolist()) for m in (mg, torch))
    zero = (ours == 0) & (theirs == 0)
    np.testing.assert_array_equal(np.signbit(ours[zero]), np.signbit(theirs[zero]))


def test_xlogy_at_zero():
    for m in (mg, torch):
        x, y = (m.tensor(v, requires_grad=True) for v in ([0.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.5, math.nan]))
        z = m.xlogy(x, y)
        z.sum().backward()
        np.testing.assert_allclose(z.tolist(), [0, 0, 2 * math.log(0.5), math.nan], rtol=1e-6)
        np.testing.assert_allclose(x.grad.tolist(), [0, math.log(3), math.log(0.5), math.nan], rtol=1e-6)


@pytest.mark.differs(
    what="The second derivative of `sinc` at 0",
    there="It is nan.",
    here="It is -π²/3.")
def test_second_derivative_of_sinc_at_zero():
    """It is -π²/3; PyTorch has nan."""
    x = mg.tensor([0.0, 1e-4], dtype=mg.float64, requires_grad=True)
    (first,) = mg.autograd.grad(mg.sinc(x).sum(), x, create_graph=True)
    (second,) = mg.autograd.grad(first.sum(), x)
    assert second.tolist() == pytest.approx([-math.pi ** 2 / 3] * 2, rel=1e-7)


@pytest.mark.differs(
    what="The gradient of `logaddexp` of two equal infinities",
    there="It is nan.",
    here="It is 1/2, as for all equal numbers.")
def test_the_sum_of_infinities():
    """Each of two equal numbers has half the gradient, infinities too. PyTorch gives them nan."""
    x = mg.tensor([-math.inf, math.inf, 1.0], requires_grad=True)
    for function in (mg.logaddexp, mg.logaddexp2):
        assert mg.autograd.grad(function(x, x.detach()).sum(), x)[0].tolist() == [0.5, 0.5, 0.5]


def test_nan_is_overlooked():
    for m in (mg, torch):
        x, y = m.tensor([math.nan, 1.0, 1.0], requires_grad=True), m.tensor([1.0, math.nan, 1.0], requires_grad=True)
        for function in (m.fmax, m.fmin):
            assert function(x, y).tolist() == [1, 1, 1]
            gx, gy = m.autograd.grad(function(x, y).sum(), (x, y))
            assert (gx.tolist(), gy.tolist()) == ([0, 1, 1], [1, 0, 0])


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_heaviside(dtype):
    for m in (mg, torch):
        x, y = m.tensor([-1, 0, 2], dtype=getattr(m, dtype)), m.tensor([5], dtype=getattr(m, dtype))
        assert m.heaviside(x, y).tolist() == [0, 5, 1]
        assert x.heaviside_(y) is x and x.tolist() == [0, 5, 1]
        with pytest.raises(RuntimeError, match="different dtypes"):
            m.heaviside(x, y.double())


@pytest.mark.parametrize("function", [
    lambda m: m.polygamma(-1, m.ones(2)), lambda m: m.polygamma(1.5, m.ones(2)), lambda m: m.polygamma(1, 2.0),
    lambda m: m.logaddexp(m.ones(2), 1.0), lambda m: m.fmax(m.ones(2), 1.0), lambda m: m.copysign(m.ones(2), "x"),
    lambda m: m.xlogy(m.ones(2), "x"), lambda m: m.xlogy(2.0, 3.0), lambda m: m.mvlgamma(m.ones(2), 0), lambda m: m.erf(2.0),
    lambda m: m.tensor([1, 2]).erf_(), lambda m: m.ones(2).float_power_(2), lambda m: m.tensor([1, 2]).logit_(),
    lambda m: m.tensor([1, 2]).polygamma_(1), lambda m: m.tensor([1, 2]).mvlgamma_(1), lambda m: m.tensor([1, 2]).deg2rad_(), lambda m: m.logit(m.ones(2), "x"),
    lambda m: m.ones(2).xlogy_(m.ones(3)), lambda m: m.heaviside(m.ones(2), 1.0), lambda m: m.logaddexp(m.ones(2), m.ones(3))])
def test_refused(function):
    found = []
    for m in (mg, torch):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            function(m)
        found.append(TypeError if issubclass(caught.type, TypeError) else RuntimeError)
    assert found[0] is found[1]


@pytest.mark.parametrize("name, args", [("erfinv", ()), ("digamma", ()), ("polygamma", (2,)), ("mvlgamma", (1,)), ("sgn", ())])
@pytest.mark.parametrize("part", [slice(None), slice(1, None)])
def test_in_place(name, args, part):
    """As out of place; PyTorch's trigamma is less exact, and its sgn_ has no numbers to show."""
    x = mg.tensor([0.3, 0.5, 0.7], requires_grad=True)
    y = x * 1
    assert getattr(y[part], name + "_")(*args) is not None and y._version == 1
    z = mg.cat([x[:part.start or 0], getattr(x[part], name)(*args)])
    assert y.tolist() == z.tolist()
    assert mg.autograd.grad(y.sum(), x)[0].tolist() == mg.autograd.grad(z.sum(), x)[0].tolist()


def test_the_namespace():
    """Every name of the namespace is in PyTorch's, and gives the same values."""
    for name in mg.special.__all__:
        assert hasattr(torch.special, name)
    x = [0.25, 0.5]
    for name in ("expit", "logit", "erf", "erfc", "erfinv", "gammaln", "digamma", "psi", "log1p", "expm1", "exp2", "entr", "ndtr", "sinc"):
        np.testing.assert_allclose(getattr(mg.special, name)(mg.tensor(x)).tolist(), getattr(torch.special, name)(torch.tensor(x)).tolist(),
                                   rtol=1e-5)
    for name in ("softmax", "log_softmax", "logsumexp"):
        np.testing.assert_allclose(getattr(mg.special, name)(mg.tensor(x), 0).tolist(),
                                   getattr(torch.special, name)(torch.tensor(x), 0).tolist(), rtol=1e-6)


def test_out():
    for function in (lambda m, z: m.special.entr(m.ones(2), out=z), lambda m, z: m.polygamma(1, m.ones(2), out=z),
                     lambda m, z: m.fmax(m.ones(2), m.zeros(2), out=z), lambda m, z: m.xlogy(2.0, m.ones(2), out=z),
                     lambda m, z: m.float_power(m.ones(2), 2, out=z.double())):
        for m in (mg, torch):
            z = m.zeros(2)
            if function(m, z) is z:
                assert z.tolist() == pytest.approx(function(m, m.zeros(2)).tolist())
