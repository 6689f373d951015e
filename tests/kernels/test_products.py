"""Matrix products by our own loops: each path, in each layout, is right to the last digits of a sum in the same dtype."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.kernels import CPU, numpy_ref

SIZES = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 48, 70, 130, 300])
LAYOUTS = ["rows", "columns", "gaps", "reversed", "one row", "part", "unaligned"]


def matrix(rng, shape, dtype, layout):
    """A matrix, or a batch of matrices, of random numbers."""
    x = rng.standard_normal(shape).astype(dtype)
    if layout == "columns":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "gaps":
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if layout == "reversed":
        return x[..., ::-1, ::-1]
    if layout == "one row":
        return np.broadcast_to(x[..., :1, :], shape)
    if layout == "part":
        return np.concatenate([x, x], -1)[..., :shape[-1]]
    if layout == "unaligned":
        held = np.zeros(x.nbytes + 1, np.uint8)[1:].view(dtype).reshape(shape)
        held[:] = x
        return held
    return x


def check(z, x, y, dtype):
    """Compare with a product in more digits. The error is relative to the sum of the sizes of the terms."""
    exact = np.matmul(x.astype(np.longdouble), y.astype(np.longdouble))
    sizes = np.matmul(np.abs(x).astype(np.float64), np.abs(y).astype(np.float64))
    assert z.dtype == np.dtype(dtype) and z.shape == exact.shape
    assert (np.abs(z - exact) <= 4 * np.finfo(dtype).eps * sizes).all()


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 99), SIZES, SIZES, SIZES, st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), st.sampled_from(["f4", "f8"]))
def test_of_two_matrices(seed, m, k, n, of_x, of_y, dtype):
    rng = np.random.default_rng(seed)
    x, y, b = matrix(rng, (m, k), dtype, of_x), matrix(rng, (k, n), dtype, of_y), matrix(rng, (n,), dtype, "rows")
    z = CPU.matmul(x, y)
    check(z, x, y, dtype)
    np.testing.assert_array_equal(CPU.addmm(b, x, y), z + b)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 99), st.lists(st.integers(0, 3), min_size=1, max_size=3), SIZES, SIZES, SIZES, st.sampled_from(LAYOUTS),
       st.sampled_from(LAYOUTS), st.booleans(), st.sampled_from(["f4", "f8"]))
def test_of_batches(seed, batch, m, k, n, of_x, of_y, swapped, dtype):
    rng = np.random.default_rng(seed)
    x, y = matrix(rng, (*batch, m, k), dtype, of_x), matrix(rng, (*batch, k, n), dtype, of_y)
    if swapped:                 # as the heads of attention are
        x, y = [np.ascontiguousarray(a.swapaxes(0, -2)).swapaxes(0, -2) for a in (x, y)]
    check(CPU.matmul(x, y), x, y, dtype)


@pytest.mark.skipif(CPU.origin["matmul"] == numpy_ref.__name__, reason="a product of BLAS, which adds in another order on each processor")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_long_sum_keeps_its_last_digits(layout, dtype):
    """Positive numbers, whose sum grows all the time: added one after the other, 2,000 of them would lose a digit."""
    rng = np.random.default_rng(0)
    x, y = [np.abs(matrix(rng, shape, dtype, layout)) for shape in ((8, 2000), (2000, 16))]
    check(CPU.matmul(x, y), x, y, dtype)


@pytest.mark.parametrize("n", [1, 3, 4, 10, 40])
def test_infinities_and_nans_go_where_they_belong(n):
    """0 times infinity is nan, in its row and its column alone, although vectors overlap and tiles share loads."""
    x, y = np.ones((9, 5), "f4"), np.zeros((5, n), "f4")
    x[2, 1], x[7, 0], y[3, n - 1] = np.inf, np.nan, -np.inf
    z = CPU.matmul(x, y)
    expected = np.zeros((9, n), "f4")
    expected[:, n - 1] = -np.inf
    expected[2] = expected[7] = np.nan
    np.testing.assert_array_equal(z, expected)


def test_more_threads_leave_larger_products_to_blas():
    x, y = np.random.default_rng(0).standard_normal((2, 90, 90)).astype("f4")
    before = mg.get_num_threads()
    try:
        for threads in (1, 2):
            mg.set_num_threads(threads)
            check(CPU.matmul(x, y), x, y, "f4")
    finally:
        mg.set_num_threads(before)
