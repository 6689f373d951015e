"""fmod, remainder and floor_divide by a division and a fused multiply-add: bit for bit what NumPy computes with libm's fmod."""

import numpy as np
import pytest

from minigrad.kernels import CPU, NUMPY

KINDS = {
    "multiples": lambda y, rng: y * rng.integers(-2000, 2000, y.shape),
    "just below multiples": lambda y, rng: np.nextafter((y * rng.integers(-100000, 100000, y.shape)).astype(y.dtype), y.dtype.type(0)),
    "any": lambda y, rng: y * rng.standard_normal(y.shape) * 10.0 ** rng.integers(-6, 6),
    "far larger": lambda y, rng: y * rng.standard_normal(y.shape) * 1e9,
}
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -3e38]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_the_same_bits_as_numpy(name, kind, dtype):
    rng = np.random.default_rng(0)
    for trial in range(20):
        y = (rng.standard_normal(1000) * 10.0 ** rng.integers(-8, 8)).astype(dtype)
        x = KINDS[kind](y, rng).astype(dtype)
        if trial % 2:
            x[::97], y[::89] = rng.choice(ODD, len(x[::97])), rng.choice(ODD, len(y[::89]))
        for a, b in ((x, y), (x, float(y[1])), (x[1:2].reshape(()), y)):
            found, expected = getattr(CPU, name)(a, b), getattr(NUMPY, name)(a, b)
            np.testing.assert_array_equal(found, expected)
            real = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(expected[real]))


LIMITS = [-1 << 63, (-1 << 63) + 1, (1 << 63) - 1, -1 << 31, (1 << 31) - 1, 1 << 31, -1, 0, 1, 3, -3, (1 << 53) + 1]


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_integers_as_numpy(name):
    rng = np.random.default_rng(0)
    near, far = rng.integers(1 - (1 << 31), 1 << 31, 3000), rng.integers(-1 << 63, (1 << 63) - 1, 3000)
    few = rng.integers(-9, 10, 3000)
    every = np.array([(a, b) for a in LIMITS for b in LIMITS])
    multiples = few * rng.integers(-10000, 10000, 3000)
    for x, y in ((near, near[::-1].copy()), (near, few), (far, few), (few, far), (far, far[::-1].copy()), (multiples, few),
                 (multiples - 1, few), (every[:, 0].copy(), every[:, 1].copy()), (near[:0], few[:0])):
        for a, b in ((x, y), (x, 7), (x, -7), (x, 0), (-1 << 31, y), (1 << 62, y)):
            np.testing.assert_array_equal(getattr(CPU, name)(a, b), getattr(NUMPY, name)(a, b))
