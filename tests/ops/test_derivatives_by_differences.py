"""Derivatives of complex functions on all their branches, and next to integers of every dtype, by finite differences.

The cases of `cases.py` have numbers of one quadrant, and operands that all have derivatives. Here are the four quadrants, the axes
where a branch is cut, from both of its sides, and each function of two operands with one of them an integer.
"""

import math

import numpy as np
import pytest

import minigrad as mg

STEP = 1e-6
QUADRANTS = [complex(x, y) for x in (-1.7, -0.6, 0.6, 1.7) for y in (-1.3, -0.4, 0.4, 1.3)]
# Next to the axes, on both of their sides: sqrt and log are cut to the left, asin and acos beyond 1, atan and asinh beyond i.
SIDES = [point + side for point in (-1.5, -0.5, 0.5, 1.5) for side in (1e-3j, -1e-3j)] + \
        [point * 1j + side for point in (-1.5, -0.5, 0.5, 1.5) for side in (1e-3, -1e-3)]
POINTS = QUADRANTS + SIDES

FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "square", "reciprocal", "sin", "cos", "tan", "sinh", "cosh",
             "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sigmoid", "sinc", "sgn", "abs", "angle", "neg"]
POWERS = [("x ** 2.5", lambda x: x ** 2.5), ("x ** -1.5", lambda x: x ** -1.5), ("x ** (.5+.3j)", lambda x: x ** (.5 + .3j)),
          ("2 ** x", lambda x: 2 ** x), ("(-2) ** x", lambda x: (-2) ** x), ("(1-2j) ** x", lambda x: (1 - 2j) ** x),
          ("x ** x", lambda x: x ** x), ("x / (1+x)", lambda x: x / (1 + x)), ("silu", lambda x: mg.nn.functional.silu(x)),
          ("conj", lambda x: x.conj()), ("tanhshrink", lambda x: mg.nn.functional.tanhshrink(x))]


def differences(run, points, v):
    """The derivatives of the real part of Σ conj(v) run(x), along the real and the imaginary axis, as a complex number."""
    def total(points):
        z = np.array(run(mg.tensor(points, dtype=mg.complex128)).tolist(), dtype=complex)
        return (np.conj(v) * z).real
    points = np.array(points)
    return sum(axis * (total(points + STEP * axis) - total(points - STEP * axis)) / (2 * STEP) for axis in (1, 1j))


@pytest.mark.parametrize("run", [pytest.param(lambda x, f=f: getattr(mg, f)(x), id=f) for f in FUNCTIONS]
                         + [pytest.param(run, id=name) for name, run in POWERS])
def test_complex_functions_on_all_branches(run):
    """differences/A-08, A-12: gradients and tangents, in all quadrants and on both sides of the axes"""
    rng = np.random.default_rng(0)
    x = mg.tensor(POINTS, dtype=mg.complex128, requires_grad=True)
    z = run(x)
    v = rng.standard_normal(len(POINTS)) + (1j * rng.standard_normal(len(POINTS)) if z.is_complex() else 0)
    right = differences(run, POINTS, v)
    found, = mg.autograd.grad(z, x, mg.tensor(v, dtype=z.dtype))
    assert np.abs(np.array(found.tolist()) - right).max() < 1e-5 * max(1, np.abs(right).max())
    t = np.exp(1j * rng.uniform(0, 6, len(POINTS)))
    with mg.autograd.forward_ad.dual_level():
        dual = mg.autograd.forward_ad.make_dual(x.detach(), mg.tensor(t, dtype=mg.complex128))
        tangent = mg.autograd.forward_ad.unpack_dual(run(dual)).tangent
    moved = [np.array(run(mg.tensor(np.array(POINTS) + h * t, dtype=mg.complex128)).tolist()) for h in (STEP, -STEP)]
    right = (moved[0] - moved[1]) / (2 * STEP)
    assert np.abs(np.array(tangent.tolist()) - right).max() < 1e-5 * max(1, np.abs(right).max())


# ---- integers ----------------------------------------------------------------------------------------------

DTYPES = ["uint8", "int8", "int16", "int32", "int64"]
OF_TWO = {"add": mg.add, "sub": mg.sub, "mul": mg.mul, "div": mg.div, "pow": mg.pow, "float_power": mg.float_power, "atan2": mg.atan2,
          "hypot": lambda x, y: mg.hypot(x * 1.0, y * 1.0), "maximum": mg.maximum, "minimum": mg.minimum, "fmax": mg.fmax, "fmin": mg.fmin,
          "fmod": mg.fmod, "remainder": mg.remainder, "xlogy": mg.xlogy, "where": lambda x, y: mg.where(x > y, x, y),
          "logaddexp": lambda x, y: mg.logaddexp(x * 1.0, y * 1.0), "copysign": mg.copysign, "true_divide": mg.true_divide}


@pytest.mark.differs(
    what="The derivative of `atan2` with an operand of 8-bit integers",
    there="It is wrong: squares of the integers wrap.",
    here="It is computed in floating point.")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_TWO)
def test_beside_integers(name, dtype):
    """differences/A-14: either operand may be the integers 100 and 11; int8 cannot hold their squares and products"""
    whole, numbers = mg.tensor([100, 11, 3], dtype=getattr(mg, dtype)), np.array([1.37, 2.41, 0.83])
    for run in (lambda x: OF_TWO[name](x, whole), lambda x: OF_TWO[name](whole, x)):
        def value(numbers, run=run):
            return np.array(run(mg.tensor(numbers, dtype=mg.float64)).tolist())
        try:
            value(numbers)
        except (RuntimeError, TypeError):
            continue
        x = mg.tensor(numbers, dtype=mg.float64, requires_grad=True)
        z = run(x)
        found, = mg.autograd.grad(z.sum(), x)
        right = (value(numbers + STEP) - value(numbers - STEP)) / (2 * STEP)
        assert np.array(found.tolist()) == pytest.approx(right, rel=1e-5, abs=1e-4 * max(1, math.sqrt(np.abs(value(numbers)).max())))
