"""Infinities and NaNs are results, not warnings, also where NumPy calls BLAS for us."""

import pytest

import minigrad as mg

pytestmark = pytest.mark.filterwarnings("error")
BIG = {mg.float32: 1e30, mg.float64: 1e300}


@pytest.mark.parametrize("dtype", BIG)
@pytest.mark.parametrize("size", [1, 2, 64])
def test_products_that_overflow(dtype, size):
    x = mg.full((size, size), BIG[dtype], dtype=dtype, requires_grad=True)
    y = mg.nn.functional.linear(x, x, x[0])
    y.sum().backward()
    assert y[0, 0].item() == (x @ x)[0, 0].item() == float("inf") and x.grad.isfinite().all()


@pytest.mark.parametrize("dtype", BIG)
def test_a_sum_of_two_infinities(dtype):
    x = mg.full((64, 64), BIG[dtype], dtype=dtype)
    assert mg.nn.functional.linear(x, x, mg.full((64,), -float("inf"), dtype=dtype)).isnan().all()


@pytest.mark.parametrize("dtype", BIG)
def test_convolutions_that_overflow(dtype):
    x = mg.full((2, 3, 9, 9), BIG[dtype], dtype=dtype, requires_grad=True)
    w = mg.full((4, 3, 3, 3), BIG[dtype], dtype=dtype, requires_grad=True)
    z = mg.nn.functional.conv2d(x, w)
    z.sum().backward()
    assert z.isinf().all() and w.grad.isfinite().all() and x.grad.isfinite().all()


def test_sums_and_products_by_index_that_have_no_number():
    """inf - inf and inf · 0 are nan."""
    x, zero = mg.tensor([float("inf")]), mg.tensor([0])
    for dtype in (mg.float32, mg.float16):
        y = x.to(dtype)
        for z in (y.scatter_add(0, zero, -y), y.index_add(0, zero, -y), y.put(zero, -y, True), y.scatter_reduce(0, zero, mg.zeros(1, dtype=dtype), "prod")):
            assert z.isnan().all()
