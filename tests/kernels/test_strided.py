"""Elementwise kernels on operands that broadcast, repeat or go through memory by columns, against NumPy: values and strides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels import CPU, numpy_ref
from minigrad.kernels.contract import CONTRACT

BINARY = ["add", "sub", "rsub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"]


@st.composite
def operand(draw, shape, dtype):
    """An array that broadcasts to `shape`, in one of several layouts, or a number."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([2, -1.5, 0.0, float("inf"), float("nan"), 3]))
    own = [1 if draw(st.booleans()) else size for size in shape[draw(st.integers(0, len(shape))):]]
    x = np.random.default_rng(draw(st.integers(0, 9))).standard_normal(own).astype(dtype)
    layout = draw(st.sampled_from(["rows", "expanded", "columns", "gaps", "reversed"]))
    if layout == "expanded":
        return np.broadcast_to(x, shape)
    if layout == "columns":
        return np.asfortranarray(x)
    if layout == "gaps" and x.ndim:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if layout == "reversed" and x.ndim:
        return x[::-1]
    return x


@settings(max_examples=400)
@given(st.data(), st.lists(st.sampled_from([0, 1, 1, 2, 3, 5]), max_size=5), st.sampled_from(["f4", "f8"]), st.sampled_from(BINARY))
def test_two_operands(data, shape, dtype, name):
    x, y = data.draw(operand(shape, dtype)), data.draw(operand(shape, dtype))
    if not isinstance(x, np.ndarray) and not isinstance(y, np.ndarray):
        return
    with np.errstate(all="ignore"):
        found, expected = getattr(CPU, name)(x, y), getattr(numpy_ref, name)(x, y)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert np.array_equal(found, expected, equal_nan=True)
    if found.size > 1:
        assert [s for s, n in zip(found.strides, found.shape) if n > 1] == [s for s, n in zip(expected.strides, found.shape) if n > 1]


@settings(max_examples=100)
@given(st.data(), st.lists(st.sampled_from([1, 2, 3]), max_size=4), st.sampled_from(["f4", "f8"]))
def test_neg(data, shape, dtype):
    x = data.draw(operand(shape, dtype))
    if isinstance(x, np.ndarray):
        assert np.array_equal(CPU.neg(x), numpy_ref.neg(x)) and np.array_equal(np.signbit(CPU.neg(x)), np.signbit(-x))


@settings(max_examples=100)
@given(st.data(), st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4), st.sampled_from(["f4", "f8"]), st.sampled_from(["abs", "sigmoid", "exp"]))
def test_one_operand(data, shape, dtype, name):
    x = data.draw(operand(shape, dtype))
    if isinstance(x, np.ndarray):
        found, expected = getattr(CPU, name)(x), getattr(numpy_ref, name)(x)
        assert found.flags.writeable and found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("x", [np.zeros((3, 2), "f4"), np.zeros((3, 2), "f8", order="F"), np.zeros((), "f4")])
def test_accumulate(x):
    """Into an array of its own memory: rows, columns, and an expanded gradient, which has the elements of one number."""
    layouts = [np.ones_like(x), np.asfortranarray(np.ones_like(x)), np.broadcast_to(x.dtype.type(1), x.shape)]
    for y in layouts:
        before = x.copy()
        added = CPU.accumulate(x, y)
        assert np.array_equal(x, before + added)
    assert CPU.accumulate(x, np.ones_like(x))
    assert not CPU.accumulate(x[:1] if x.ndim else x[...], np.ones_like(x[:1] if x.ndim else x)), "a view shares its memory"


def test_many_dimensions():
    """More than C has room for: NumPy does it."""
    x = np.arange(2.0).reshape([1] * 11 + [2])
    assert np.array_equal(CPU.add(x, np.ones([3] + [1] * 11)), x + np.ones([3] + [1] * 11))


@pytest.mark.parametrize("number", [2 ** 24 + 1, 10 ** 30, -(2 ** 70)])
def test_comparison_with_a_large_integer(number):
    x = np.array([float(number), 0.0], np.float32)
    for name in ("eq", "lt", "ge"):
        assert np.array_equal(getattr(CPU, name)(x, number), getattr(numpy_ref, name)(x, number))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("x, y", [((3, 4, 5, 6), (1, 4, 1, 1)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((2, 0), (1, 1)), ((3, 1, 5), (1, 1, 5)),
                                  ((2, 3), (3,)), ((2, 3), ()), ((2, 1, 1, 1, 1, 1, 1, 1, 2, 3), (3,))])
def test_add_in_place_spreads_the_second_operand(x, y, dtype):
    a, b = [np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype) for shape in (x, y)]
    expected = a + b
    CPU.add_(a, b)
    np.testing.assert_array_equal(a, expected)
    if IN_PLACE:        # compiled
        CPU.sub.in_place(a, b, a)
        np.testing.assert_array_equal(a, expected - b)
        columns = np.empty(a.shape[::-1], dtype).T
        CPU.mul.in_place(a, b, columns)
        np.testing.assert_array_equal(columns, a * b)


def test_add_in_place_of_a_part_of_itself():
    a = np.arange(6.0).reshape(2, 3)
    CPU.add_(a, a[:1])
    assert a.tolist() == [[0, 2, 4], [3, 5, 7]]


@pytest.mark.parametrize("x, y", [((2, 3), (3, 3)), ((1, 3), (2, 3))])
def test_add_in_place_keeps_the_shape(x, y):
    with pytest.raises(ValueError):
        CPU.add_(np.ones(x), np.ones(y))


# ---- results in given memory ---------------------------------------------------------------------------------

IN_PLACE = [name for name, signature in CONTRACT.items() if getattr(getattr(CPU, name), "in_place", None) is not None]


def places(shape, dtype):
    """(x, y, out) of one shape: apart, in the same memory, overlapping in part, with gaps, by columns."""
    def numbers():
        return np.random.default_rng(0).uniform(0.1, 0.9, shape).astype(dtype)
    yield numbers(), numbers() / 2, numbers()
    x, y = numbers(), numbers() / 2
    yield x, y, x
    x, y = numbers(), numbers() / 2
    yield x, y, y
    x = numbers()
    yield x, x, x
    long = np.concatenate([numbers(), numbers() / 2])
    n = len(long) // 2
    yield long[:n], long[1:n + 1], long[2:n + 2]
    yield long[2:n + 2], long[1:n + 1], long[:n]
    wide = np.repeat(numbers(), 2, axis=-1)
    yield wide[..., ::2], numbers(), wide[..., ::2]
    x = np.asfortranarray(numbers())
    yield x, numbers(), x


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_results_in_given_memory(name, dtype):
    """They are those in new memory, also if `out` is an operand or overlaps one in part. Other layouts have other last digits."""
    kernel, rtol = getattr(CPU, name), {"float16": 4e-3, "float32": 4e-6, "float64": 1e-13}[dtype]
    for shape in ((4,), (3, 5), (40, 3), (70000,)):
        for x, y, out in places(shape, dtype):
            args = [(x,), (x, y), (x, y, 0.3) if name == "lerp" else (x, 0.2, 0.6), (x, y, x, 0.3)][CONTRACT[name].arguments.count(",")]
            expected = kernel(*[np.array(a) for a in args])
            kernel.in_place(*args, out)
            np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol / 10)
        if name in BINARY:
            x = np.array(args[0])
            expected = kernel(np.array(x), 0.5)
            kernel.in_place(x, 0.5, x)
            np.testing.assert_allclose(x, expected, rtol=rtol, atol=rtol / 10)


def test_read_only_memory_is_not_written_to():
    x = np.ones(3, np.float32)
    x.flags.writeable = False
    for name in {"mul", "neg", "exp"} & set(IN_PLACE):
        with pytest.raises(ValueError):
            getattr(CPU, name).in_place(*(np.ones(3, np.float32),) * (1 + (name == "mul")), x)


@pytest.mark.parametrize("dtype", ["?", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape, axis", [((), None), ((1,), 0), ((5, 1), 1), ((1, 5), 0), ((5, 1, 3), 1), ((1, 5, 1), 2), ((40, 1), 1)], ids=str)
def test_copies_of_expanded_arrays(shape, axis, dtype):
    """Rows that are one number, and columns of neighbours that repeat."""
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    wide = np.broadcast_to(x, (7, *[70 if i == axis else size for i, size in enumerate(shape)]))
    for y in (wide, wide.T, wide[::2], wide[..., ::3] if shape else wide):
        found = CPU.copy(y)
        assert found.flags.c_contiguous and found.dtype == y.dtype
        np.testing.assert_array_equal(found, y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", ["expanded", "rows repeated", "columns"])
def test_gradients_of_sums(layout, dtype):
    """A gradient that repeats one number, or one row, or goes by columns: the same numbers as from a row-major copy."""
    rng = np.random.default_rng(0)

    def gradient(*shape):
        g = rng.standard_normal(shape).astype(dtype)
        if layout == "columns":
            return np.asfortranarray(g)
        return np.broadcast_to(g[(0,) * g.ndim] if layout == "expanded" else g[-1:], shape)

    def numbers(*shape):
        return rng.standard_normal(shape).astype(dtype)
    mask, index = rng.random((4, 6)) > 0.5, rng.integers(0, 20, (2, 3, 2, 3))
    x, w, rows = numbers(4, 6), numbers(6), numbers(4, 1)
    for name, make in [("where", lambda g: (mask, g, 0.0)), ("where", lambda g: (mask, 0.0, g)), ("where", lambda g: (mask, g, x)),
                       ("where", lambda g: (mask, g, g)), ("layer_norm_backward", lambda g: (g, x, w, rows, rows ** 2, 1)),
                       ("glu_backward", lambda g: (g, np.concatenate([x, x]), 0)),
                       ("recurrence", lambda g: (g, x, 1, True))]:
        g = gradient(4, 6)
        found, expected = getattr(CPU, name)(*make(g)), getattr(CPU, name)(*make(g.copy(order="C")))
        for a, b in zip(found if isinstance(found, tuple) else (found,), expected if isinstance(expected, tuple) else (expected,)):
            assert np.array_equal(a, b) and a.strides == b.strides and a.flags.writeable
    g = gradient(2, 3, 2, 3)
    found, expected = [CPU.max_pool_backward(a, index, (2, 3, 4, 5), 2) for a in (g, g.copy(order="C"))]
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
def test_where_of_all_shapes(dtype):
    """Masks and operands that broadcast, repeat elements, are single or are numbers."""
    rng = np.random.default_rng(0)
    sizes = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (4, 2, 3), (4, 1, 1), (0, 3), (0, 1)]
    arrays = [(rng.standard_normal(size) * 5).astype(dtype) for size in sizes]
    arrays += [np.broadcast_to(np.ones((), dtype), size) for size in ((3,), (2, 3), (4, 2, 3))]
    arrays += [arrays[3].T.copy().T, arrays[6][:, ::2], np.broadcast_to(arrays[2], (2, 3))]
    masks = [np.asarray(rng.random(size) > 0.5) for size in sizes] + [np.broadcast_to(True, (2, 3)), np.asfortranarray(rng.random((2, 3)) > 0.5)]
    for mask in masks:
        for x in arrays:
            for y in [*arrays, 1]:
                try:
                    expected = np.where(mask, x, np.asarray(y, dtype))
                except ValueError:
                    with pytest.raises(ValueError):
                        CPU.where(mask, x, y)
                    continue
                found = CPU.where(mask, x, y)
                assert found.dtype == expected.dtype and np.array_equal(found, expected), (mask.shape, x.shape, x.strides, np.shape(y))
