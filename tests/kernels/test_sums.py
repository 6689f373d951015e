"""Sums along rows and down columns: their last digits, and what they do not depend on."""

import math

import numpy as np
import pytest

from minigrad.kernels import CPU, NUMPY, numpy_ref

LENGTHS = [1, 3, 7, 8, 9, 31, 33, 64, 511, 512, 513, 1000, 2048, 2050, 5003]


def numbers(shape, dtype, seed=0):
    """Numbers of both signs, from 1e-3 to 1e3 in size."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 10 ** rng.uniform(-3, 3, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", LENGTHS)
def test_sums_are_right_to_the_last_digits(n, axis, dtype):
    """The error is small beside the sum of the absolute values, whatever their order."""
    x = numbers((6, n) if axis == 1 else (n, 6), dtype)
    z = CPU.sum(x, (axis,), False)
    right = np.apply_along_axis(math.fsum, axis, x.astype(float))
    assert np.all(np.abs(z - right) <= 4 * np.finfo(dtype).eps * np.abs(x.astype(float)).sum(axis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_the_sum_of_a_row_does_not_depend_on_the_other_rows(n, dtype):
    x = numbers((7, n), dtype)
    together = CPU.sum(x, (1,), False)
    for row, z in zip(x, together):
        assert CPU.sum(row.copy(), (0,), False).tobytes() == z.tobytes()


ROWS = {
    "softmax": lambda x: CPU.softmax(x, 1), "log_softmax": lambda x: CPU.log_softmax(x, 1),
    "softmax_backward": lambda x: CPU.softmax_backward(x, x, 1), "log_softmax_backward": lambda x: CPU.log_softmax_backward(x, -x * x, 1),
    "logsumexp": lambda x: CPU.logsumexp(x, (1,), True), "var": lambda x: CPU.var(x, (1,), 1, True),
    "prod": lambda x: CPU.prod(x, (1,), True)}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 7, 31, 32, 33, 200])
@pytest.mark.parametrize("name", ROWS)
def test_a_short_row_does_not_depend_on_the_other_rows(name, n, dtype):
    """Short rows are turned into columns, 64 at a time."""
    x = np.random.default_rng(n).standard_normal((150, n)).astype(dtype)
    together = ROWS[name](x)
    for rows in (slice(0, 1), slice(63, 65), slice(100, 150)):
        np.testing.assert_array_equal(ROWS[name](x[rows].copy()), together[rows])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 2, 3, 8, 9, 31, 33, 64, 100])
@pytest.mark.parametrize("n", [1, 2, 40, 129, 3001])
def test_few_columns_and_many(n, columns, dtype):
    """Of few columns, several rows are reduced side by side."""
    x = (np.random.default_rng(n).standard_normal((2, n, columns)) * 3 + 10).astype(dtype)
    wide, tolerance = x.astype(np.longdouble), 1e-6 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(CPU.sum(x, (1,), False), wide.sum(1), rtol=tolerance)
    np.testing.assert_allclose(CPU.var(x, (1,), 0, False), wide.var(1), rtol=10 * tolerance)
    np.testing.assert_allclose(CPU.logsumexp(x, (1,), False), np.log(np.exp(wide - 10).sum(1)) + 10, rtol=tolerance)
    signs = np.sign(x - 10) * (1 + (x - 10) / 1000)
    np.testing.assert_allclose(CPU.prod(signs, (1,), False), signs.astype(np.longdouble).prod(1), rtol=10 * tolerance)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", LENGTHS)
def test_infinity_and_nan_reach_only_their_own_sum(n, axis):
    x = np.zeros((9, n), np.float32)
    x[2, n // 2], x[5, n - 1], x[8, 0] = np.inf, np.nan, -np.inf
    z = CPU.sum(x if axis == 1 else np.ascontiguousarray(x.T), (axis,), False)
    np.testing.assert_array_equal(z, [0, 0, np.inf, 0, 0, np.nan, 0, 0, -np.inf])


def test_a_long_sum_of_equal_numbers():
    """In float32 alone, a million additions of 0.1 would give 100,958."""
    x = np.full(1_000_001, 0.1, np.float32)
    assert float(CPU.sum(x, (0,), False)) == pytest.approx(math.fsum(x.tolist()), rel=3e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 64, 65, 256, 257, 3000])
def test_gradients_of_layer_norm_over_many_rows(rows, dtype):
    """dw = Σ g y and db = Σ g over the rows, for gradients from 1e-3 to 1e3 in size."""
    x, g = numbers((rows, 5), dtype, seed=1), numbers((rows, 5), dtype, seed=2)
    w = np.ones(5, dtype)
    y, mean, rstd = CPU.layer_norm(x, w, None, 1, 1e-5)
    _, dw, db = CPU.layer_norm_backward(g, x, w, mean, rstd, 1)
    for found, terms in ((dw, g.astype(float) * y), (db, g.astype(float))):
        right = np.apply_along_axis(math.fsum, 0, terms)
        assert np.all(np.abs(found - right) <= 8 * np.finfo(dtype).eps * np.abs(terms).sum(0))


@pytest.mark.parametrize("name, args, limit", [("softmax", (0,), 4e-7), ("sigmoid", (), 4e-7), ("logsumexp", ((0,), False), 1e-7)])
def test_exponentials_in_float32(name, args, limit):
    """Against float64, over all of the range in which e^x is a normal number."""
    for x in (np.linspace(-87, 0, 8001, dtype="f4"), np.linspace(-1, 1, 8001, dtype="f4"), -np.geomspace(1e-30, 87, 999, dtype="f4")):
        expected = getattr(numpy_ref, name)(x.astype("f8"), *args)
        normal = expected > np.finfo("f4").tiny
        np.testing.assert_allclose(getattr(CPU, name)(x, *args)[normal], expected[normal], rtol=limit)


def test_dimensions_that_are_not_there():
    """As in numpy_ref, and without a crash: the sum over the first and last dimensions is made of two."""
    x = np.ones((2, 3, 4), np.float32)
    for dims in ((0, 2, 3), (0, 3), (0, 2, 2), (0, 1, 2, 3)):
        for kernels in (CPU, NUMPY):
            with pytest.raises((ValueError, IndexError)):
                kernels.sum(x, dims, False)
