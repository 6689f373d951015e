"""float16 against PyTorch on a CPU: every number for functions of one, and the cases of test_bfloat16."""

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_bfloat16 import CASES, compute

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FUNCTIONS = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "erfinv",
    "exp", "exp2", "expm1", "floor", "frac", "log", "log10", "log1p", "log2", "nan_to_num", "neg",
    "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan",
    "tanh", "trunc"]


def position(x):
    """The place of float16 numbers in their order: neighbours differ by 1."""
    bits = x.view(np.uint16).astype(np.int64)
    return np.where(bits & 0x8000, 0x8000 - bits, bits)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number(name):
    """PyTorch's result or a better one; at most 4 of 65536 are neighbours that are farther from the exact result."""
    found, expected = [getattr(m, name)(m.tensor(EVERY)).numpy() for m in (mg, torch)]
    exact = getattr(torch, name)(torch.tensor(EVERY.astype(np.float64))).numpy()
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.isnan(found), ~numbers)
    found, expected, exact = found[numbers], expected[numbers], exact[numbers]
    farther = np.abs(found - exact) > np.abs(expected - exact)
    assert np.abs(position(found) - position(expected))[farther].max(initial=0) <= 1
    assert farther.sum() <= (0 if name == "nan_to_num" else 4)


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case):
    """PyTorch's numbers, or such that are nearer to those in float64."""
    mine, here, found = compute(mg, case, "float16")
    facts, there, gradients = compute(torch, case, "float16")
    exact = compute(torch, case, "float64")
    assert mine == facts and found.keys() == gradients.keys()
    for a, b, c in [(here + 0., there + 0., exact[1]), *[(found[n][1], gradients[n][1], exact[2][n][1]) for n in found]]:
        near = np.isclose(a, b, rtol=2e-3, atol=2e-3, equal_nan=True)
        assert (near | (np.abs(a - c) <= np.abs(b - c))).all(), (a, b, c)
