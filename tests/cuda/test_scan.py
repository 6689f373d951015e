"""Scans on a GPU, beyond the comparison with their twins: rows cut into parts, columns, ties and nan."""

import numpy as np
import pytest

import minigrad as mg
from tests.cuda.test_kernels import CUDA, on_gpu
from tests.cuda.test_reduction import agree

RNG = np.random.default_rng(0)
ROWS = [((67,), 0), ((2, 67), 1), ((67, 3), 0), ((2, 35, 3), 1), ((5, 3), 1), ((0, 3), 0), ((3, 0), 1)]


@pytest.mark.parametrize("shape, dim", ROWS)
def test_parts(shape, dim):
    x = RNG.standard_normal(shape)
    agree("cumsum", x, dim, False)
    agree("cumsum", x, dim, True)
    agree("recurrence", np.where(x > 1, 0, x), x[::-1], dim, False)
    agree("recurrence", x.astype(np.float32), x.astype(np.float32), dim, True)
    agree("cumprod", (x + 1j * x[::-1]).astype(np.complex64), dim)
    agree("logcumsumexp", x * 100, dim)
    for y in (np.round(x), np.where(x > 1, np.nan, x), x > 0, np.round(x).astype(np.int8)):
        agree("cumextremum", y, dim, True)
        agree("cumextremum", y, dim, False)
    agree("cumsum", (x * 50).astype(np.int8), dim, False)
    agree("cumprod", x > -1, dim)


def test_infinities():
    for x in ([-np.inf, -np.inf, 1, 2], [np.inf, 1, np.inf], [1, np.nan, np.inf], [-1e300, 1e300, -np.inf]):
        agree("logcumsumexp", np.array(x * 5), 0)


def test_complex_numbers_have_no_order():
    with pytest.raises(NotImplementedError, match=r"cummax.*complex64"):
        CUDA.cumextremum(on_gpu(np.ones(3, np.complex64)), 0, True)


def test_gradients():
    x = mg.tensor([[0.5, 2.0, -1.0, 3.0], [1.5, 0.1, 4.0, -2.0]])
    results = []
    for device in ("cpu", "cuda"):
        y = x.to(device).detach().requires_grad_()
        (y.cumsum(1) * y.cumsum(0)).sum().backward()
        results.append(y.grad.cpu().numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5)
