"""isnan, isclose, equal and their like against torch: values, dtypes, shapes and errors."""

import math

import pytest

import minigrad as mg

torch = pytest.importorskip("torch")

NAN, INF = math.nan, math.inf
NUMBERS = {
    "float32": [1.5, -0.0, 0.0, NAN, INF, -INF, -2.0], "float64": [1.5, -0.0, NAN, INF], "float16": [1.5, -0.0, NAN, INF],
    "int64": [1, 0, -2], "uint8": [1, 0, 255], "bool": [True, False],
    "complex64": [1 + 1j, 2, complex(NAN, 1), complex(1, INF), complex(-INF, NAN), 0],
}
ONE = ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit")


def outcome(function):
    """The dtype and numbers of a result, or the class of the error."""
    try:
        z = function()
    except Exception as error:
        return next(c for c in (TypeError, RuntimeError) if isinstance(error, c))
    return (str(z.dtype).split(".")[-1], tuple(z.shape), z.tolist()) if hasattr(z, "dtype") else z


def both(function):
    ours, theirs = outcome(lambda: function(mg)), outcome(lambda: function(torch))
    assert ours == theirs
    return ours


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_of_one_number(name, dtype):
    def make(m):
        return m.tensor(NUMBERS[dtype], dtype=getattr(m, dtype))
    both(lambda m: getattr(m, name)(make(m)))
    both(lambda m: getattr(make(m), name)())
    both(lambda m: getattr(m, name)(make(m)[::2]))
    both(lambda m: getattr(m, name)(make(m)[0]))
    both(lambda m: getattr(m, name)(make(m)[:0].reshape(0, 2)))


@pytest.mark.parametrize("name", ONE)
def test_has_no_derivative(name):
    assert not getattr(mg, name)(mg.ones(2, requires_grad=True)).requires_grad


@pytest.mark.parametrize("name", [*ONE, "equal", "is_nonzero", "numel", "is_complex", "is_floating_point"])
def test_no_tensor(name):
    others = (2.0,) if name == "equal" else ()
    assert both(lambda m: getattr(m, name)(2.0, *others)) is TypeError


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose(dtype, equal_nan):
    def close(m):
        x = m.tensor(NUMBERS[dtype], dtype=getattr(m, dtype))
        return m.isclose(x.unsqueeze(1), x, equal_nan=equal_nan)
    assert both(close)[0] == "bool"


@pytest.mark.parametrize("options", [{}, {"rtol": 0.1}, {"atol": 0.1}, {"rtol": 0, "atol": 0}, {"rtol": -1.0}, {"atol": -1.0},
                                     {"rtol": 1, "atol": 1}, {"equal_nan": True}])
def test_tolerances(options):
    def near(m):
        return m.tensor([1.0, 1.00001, 1.05, 0.0]), m.tensor([1.0, 1.0, 1.0, 0.05])
    both(lambda m: m.isclose(*near(m), **options))
    both(lambda m: m.allclose(*near(m), **options))
    both(lambda m: near(m)[0].long().isclose(near(m)[1].long(), **options))


def test_allclose_of_nothing():
    assert both(lambda m: m.allclose(m.zeros(0), m.zeros(0))) is True


@pytest.mark.parametrize("function", [
    lambda m: m.isclose(m.zeros(2), m.zeros(2, dtype=m.float64)), lambda m: m.allclose(m.zeros(2), m.zeros(2, dtype=m.int64)),
    lambda m: m.isclose(m.zeros(2), m.zeros(3)), lambda m: m.isclose(m.zeros(2), 0.0), lambda m: m.is_nonzero(m.zeros(0)),
    lambda m: m.is_nonzero(m.zeros(2)), lambda m: m.equal(m.zeros(2), None)])
def test_refused(function):
    assert both(function) in (TypeError, RuntimeError)


@pytest.mark.parametrize("x, y", [([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0], [1, 2]), ([1.0], [[1.0]]), ([1.0], [1.0, 1.0]), ([NAN], [NAN]),
                                  ([], []), ([True], [1]), ([1j], [1.0]), ([-0.0], [0.0]), (1.0, 1.0)])
def test_equal(x, y):
    assert both(lambda m: m.equal(m.tensor(x), m.tensor(y))) is both(lambda m: m.tensor(x).equal(m.tensor(y)))


def test_of_the_tensor():
    both(lambda m: m.is_nonzero(m.tensor([[2.0]])))
    both(lambda m: m.tensor(0).is_nonzero())
    both(lambda m: (m.numel(m.zeros(2, 3)), m.is_tensor(m.ones(1)), m.is_tensor(1.0)))
    both(lambda m: [f(m.zeros(1, dtype=d)) for f in (m.is_complex, m.is_floating_point) for d in (m.complex64, m.float16, m.int64)])


def test_a_gradient_does_not_disturb():
    """Neither records anything, nor leaves a trace on the tensors."""
    x = mg.ones(2, requires_grad=True)
    assert mg.allclose(x, x.detach()) and mg.equal(x * 1, x) and not mg.isclose(x, x.detach()).requires_grad
