"""Broadcasting: random shapes that fit, and that do not, through every kind of op with several operands, with gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg

BINARY = {
    "add": lambda m, x, y: x + y, "sub": lambda m, x, y: x - y, "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / (y * y + 1),
    "maximum": lambda m, x, y: m.maximum(x, y), "where": lambda m, x, y: m.where(x > 0, x, y),
    "alpha": lambda m, x, y: m.add(x, y, alpha=3),
    "clamp": lambda m, x, y: m.clamp(x, min=y), "mse_loss": lambda m, x, y: m.nn.functional.mse_loss(x, y, reduction="none"),
}
# The same in NumPy.
EXPECTED = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": lambda x, y: x / (y * y + 1), "maximum": np.maximum,
    "where": lambda x, y: np.where(x > 0, x, y), "alpha": lambda x, y: x + 3 * y, "clamp": np.maximum,
    "mse_loss": lambda x, y: (x - y) ** 2,
}


@st.composite
def fitting(draw, count=2):
    """Shapes that broadcast together."""
    full = draw(st.lists(st.integers(0, 3), max_size=4))
    shapes = []
    for _ in range(count):
        kept = full[draw(st.integers(0, len(full))):]
        shapes.append(tuple([1 if draw(st.booleans()) else n for n in kept]))
    return shapes


def numbers(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def summed_to(g, shape):
    """`g` summed over the dimensions that broadcasting has repeated."""
    g = g.sum(tuple(range(g.ndim - len(shape))))
    return g.sum(tuple([d for d, n in enumerate(shape) if n == 1]), keepdims=True).reshape(shape)


@settings(max_examples=150, deadline=None)
@given(fitting(), st.sampled_from(sorted(BINARY)), st.sampled_from([np.float32, np.float64]))
def test_values_and_gradients(shapes, name, dtype):
    """The value equals NumPy's. The gradient of an operand is the gradient without broadcasting, summed over the repeats."""
    a, b = [numbers(s, i).astype(dtype) for i, s in enumerate(shapes)]
    x, y = mg.tensor(a, requires_grad=True), mg.tensor(b, requires_grad=True)
    z = BINARY[name](mg, x, y)
    expected = EXPECTED[name](a, b)
    assert tuple(z.shape) == expected.shape and z.numpy(force=True).dtype == dtype
    np.testing.assert_allclose(z.numpy(force=True), expected, rtol=1e-5)

    weights = np.cos(np.arange(expected.size)).reshape(expected.shape).astype(dtype)
    z.backward(mg.tensor(weights))
    wide = [mg.tensor(np.broadcast_to(v, expected.shape).copy(), requires_grad=True) for v in (a, b)]
    BINARY[name](mg, *wide).backward(mg.tensor(weights))
    for narrow, w, shape in zip((x, y), wide, shapes):
        assert tuple(narrow.grad.shape) == shape and narrow.grad.dtype is narrow.dtype
        np.testing.assert_allclose(narrow.grad.numpy(), summed_to(w.grad.numpy(), shape), rtol=2e-4, atol=1e-5)


@settings(max_examples=100, deadline=None)
@given(fitting(), st.sampled_from(["add_", "sub_", "mul_", "div_", "copy_"]))
def test_in_place(shapes, name):
    """The target must have the full shape; then it gets the value of the out-of-place op."""
    a, b = numbers(shapes[0], 0), numbers(shapes[1], 1)
    x, y = mg.tensor(a), mg.tensor(b)
    whole = np.broadcast_shapes(*shapes)
    if whole != shapes[0]:
        with pytest.raises(RuntimeError, match=r"doesn't match the broadcast shape|expand"):
            getattr(x, name)(y)
        np.testing.assert_array_equal(x.numpy(), a)
        assert x._version == 0
        return
    assert getattr(x, name)(y) is x
    op = {"add_": np.add, "sub_": np.subtract, "mul_": np.multiply, "div_": np.true_divide,
          "copy_": lambda a, b: np.broadcast_to(b, a.shape)}[name]
    np.testing.assert_allclose(x.numpy(), op(a, b))
    assert x._version == 1


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=3).map(tuple), st.lists(st.integers(0, 3), max_size=3).map(tuple),
       st.sampled_from(sorted(BINARY)))
def test_what_does_not_fit(a, b, name):
    """A RuntimeError that names the sizes, exactly where NumPy raises."""
    x, y = mg.zeros(a), mg.zeros(b)
    try:
        whole = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(RuntimeError,
                           match=r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) at non-singleton"):
            BINARY[name](mg, x, y)
    else:
        assert tuple(BINARY[name](mg, x, y).shape) == whole


@settings(max_examples=100, deadline=None)
@given(fitting(3))
def test_three_operands(shapes):
    """where with a condition of its own shape."""
    a, b, c = [numbers(s, i) for i, s in enumerate(shapes)]
    x, y = mg.tensor(a, requires_grad=True), mg.tensor(b, requires_grad=True)
    z = mg.where(mg.tensor(c > 0), x, y)
    np.testing.assert_array_equal(z.numpy(force=True), np.where(c > 0, a, b))
    z.sum().backward()
    chosen = np.broadcast_to(c > 0, tuple(z.shape)).astype(float)
    np.testing.assert_allclose(x.grad.numpy(), summed_to(chosen, shapes[0]))
    np.testing.assert_allclose(y.grad.numpy(), summed_to(1 - chosen, shapes[1]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 3), max_size=2), st.lists(st.booleans(), min_size=2, max_size=2), st.integers(0, 3),
       st.integers(0, 3), st.integers(0, 3))
def test_matmul_batches(batch, ones, n, m, p):
    """The batch dimensions of matmul broadcast, the matrices do not."""
    other = [1 if one else size for size, one in zip(batch, ones)]
    a, b = numbers((*batch, n, m), 0), numbers((*other, m, p), 1)
    x, y = mg.tensor(a, requires_grad=True), mg.tensor(b, requires_grad=True)
    z = x @ y
    np.testing.assert_allclose(z.numpy(force=True), a @ b, atol=1e-12)
    z.sum().backward()
    g = np.ones(z.shape)
    np.testing.assert_allclose(x.grad.numpy(), summed_to(g @ np.swapaxes(b, -1, -2), a.shape), atol=1e-12)
    np.testing.assert_allclose(y.grad.numpy(), summed_to(np.swapaxes(a, -1, -2) @ g, b.shape), atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(fitting(1), st.lists(st.integers(0, 3), max_size=2))
def test_expand(shapes, lead):
    """expand repeats without memory, its gradient sums."""
    shape, = shapes
    whole = (*lead, *[4 if n == 1 else n for n in shape])
    x = mg.tensor(numbers(shape, 0), requires_grad=True)
    z = x.expand(whole)
    np.testing.assert_array_equal(z.numpy(force=True), np.broadcast_to(x.numpy(force=True), whole))
    assert z.data_ptr() == (x.data_ptr() if z.numel() else 0) and z._base is x
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), summed_to(np.ones(whole), shape))


def test_double_backward_through_broadcasting():
    x, y = mg.tensor([[1.0], [2.0]], requires_grad=True), mg.tensor([3.0, 4.0, 5.0], requires_grad=True)
    gx, = mg.autograd.grad((x * y * y).sum(), x, create_graph=True)
    assert gx.tolist() == [[50.0], [50.0]]
    gx.sum().backward()
    assert y.grad.tolist() == [12.0, 16.0, 20.0]
