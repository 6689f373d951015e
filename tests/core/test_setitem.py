"""``x[index] = value`` for every kind of index and value: numbers, history, gradients."""

import pytest

from tests.core.engine_tools import leaf, raises

SHAPE = (2, 3, 4)
# name -> the index
INDICES = {
    "number": lambda m: 1, "negative": lambda m: -1, "numbers": lambda m: (1, 2), "all numbers": lambda m: (1, 2, 3),
    "slice": lambda m: slice(1, None), "step": lambda m: (slice(None), slice(None, None, 2)), "everything": lambda m: slice(None),
    "ellipsis": lambda m: ..., "ellipsis and number": lambda m: (..., 1), "none": lambda m: None, "none inside": lambda m: (0, None, 1),
    "empty tuple": lambda m: (), "empty slice": lambda m: slice(0, 0),
    "index": lambda m: m.tensor([1, 0]), "list": lambda m: [1, 0], "index of one": lambda m: m.tensor(1),
    "negative index": lambda m: m.tensor([-1]), "index at 1": lambda m: (slice(None), m.tensor([2, 0])),
    "two together": lambda m: (m.tensor([0, 1]), m.tensor([2, 0])), "two apart": lambda m: (m.tensor([0, 1]), slice(None), m.tensor([3, 0])),
    "broadcast": lambda m: (m.tensor([[0], [1]]), m.tensor([2, 0])), "number and index": lambda m: (0, m.tensor([2, 0])),
    "index and number": lambda m: (m.tensor([1, 0]), 2), "slice and index": lambda m: (slice(0, 1), slice(1, 3), m.tensor([0, 3])),
    "matrix": lambda m: m.tensor([[0, 1], [1, 0]])[:1], "ellipsis and index": lambda m: (..., m.tensor([3, 1])),
    "none and index": lambda m: (None, m.tensor([1, 0])),
    "mask": lambda m: m.arange(24).reshape(SHAPE) % 3 == 0, "mask of rows": lambda m: m.tensor([True, False]),
    "mask at 1": lambda m: (slice(None), m.tensor([True, False, True])), "mask of two": lambda m: m.tensor([[True, False, True]] * 2),
    "number and mask": lambda m: (1, m.tensor([True, False, True])), "mask and index": lambda m: (m.tensor([True, True]), m.tensor([0, 2])),
    "empty mask": lambda m: m.tensor([False, False]), "True": lambda m: True,
    "empty index": lambda m: m.tensor([], dtype=m.int64),
}
# name -> the value, for the shape of the replaced part
VALUES = {
    "number": lambda m, shape: 5.0, "0-d": lambda m, shape: m.tensor(5.0, requires_grad=True),
    "whole": lambda m, shape: m.arange(1.0, 1 + m.zeros(shape).numel()).reshape(shape).requires_grad_(),
    "row": lambda m, shape: m.arange(1.0, 1 + (shape or (1,))[-1]).reshape(shape[-1:]).requires_grad_(),
    "leading ones": lambda m, shape: m.ones((1, 1, *shape)).requires_grad_(),
}


def outcome(m, index, value, place):
    """[numbers, gradient of x, gradient of the value] of a write to x, or to a transposed view of it, by index or one by one."""
    x = m.arange(24.0).reshape(SHAPE).clone().requires_grad_()
    base = x * 2
    z = base if place == "base" else base.view(3, 2, 4).transpose(0, 1)
    found = INDICES[index](m)
    v = VALUES[value](m, tuple(z.detach()[found].shape))
    z[found] = v
    assert base._version == 1
    weights = m.arange(24.0).reshape(SHAPE)
    (base * weights).sum().backward()
    return x, v, base, found


@pytest.mark.parametrize("place", ["base", "view"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("index", INDICES)
def test_setitem(m, index, value, place):
    """saved_and_versions/T-02, saved_and_versions/W-20, saved_and_versions/W-27: each place gets its number, and gives its gradient."""
    x, v, base, found = outcome(m, index, value, place)
    number = m.arange(24).reshape(SHAPE)
    places = number if place == "base" else number.view(3, 2, 4).transpose(0, 1)
    names = places[found].reshape(-1).tolist()
    values = v if value == "number" else v.detach().expand(places[found].shape) if value != "leading ones" else v.detach()
    values = [v] * len(names) if value == "number" else values.reshape(-1).tolist()
    expected = [2.0 * n for n in range(24)]
    gradient = [2.0 * n for n in range(24)]
    for n, new in zip(names, values):
        expected[n], gradient[n] = new, 0.0
    assert base.reshape(-1).tolist() == expected and x.grad.reshape(-1).tolist() == gradient
    if value != "number":
        assert v.grad is not None or not names
        if v.grad is not None:
            assert v.grad.sum().item() == sum(names)
            if value == "whole":
                assert v.grad.reshape(-1).tolist() == names


@pytest.mark.parametrize("index", INDICES)
def test_base_without_a_history_gets_one(m, index):
    """saved_and_versions/W-27, saved_and_versions/I-05."""
    x, v = m.zeros(SHAPE), leaf(m, 2.0)
    x[INDICES[index](m)] = v
    assert x.requires_grad and x._version == 1
    (x * 3).sum().backward()
    assert v.grad.item() == 3 * m.zeros(SHAPE)[INDICES[index](m)].numel()


@pytest.mark.parametrize("index", INDICES)
def test_leaf_is_not_written_to(m, index):
    """saved_and_versions/I-02, saved_and_versions/I-03, saved_and_versions/T-10."""
    x = m.zeros(SHAPE, requires_grad=True)
    with raises(RuntimeError, "a leaf Variable that requires grad"):
        x[INDICES[index](m)] = 1.0
    assert x._version == 0 and not x.any()
    with m.no_grad():
        x[INDICES[index](m)] = 1.0
    assert x._version == 1 and x.is_leaf


def test_nowhere(m):
    """``x[False] = y`` is not even a write."""
    x = m.ones(2, requires_grad=True)
    x[False] = 5.0
    assert x.tolist() == [1, 1] and x._version == 0


@pytest.mark.parametrize("index, value", [
    (0, lambda m: m.ones(5)), (slice(None), lambda m: m.ones(5)), ([0, 1], lambda m: m.ones(5)), (2, lambda m: 1.0), ([2], lambda m: 1.0),
    ((0, 0, 0, 0), lambda m: 1.0), ([0], lambda m: m.ones(3, 4).double())])
def test_refused_values(m, index, value):
    """saved_and_versions/T-10."""
    x = leaf(m, 1., 2.) * 1
    z = x.reshape(2, 1, 1).expand(2, 3, 4).clone()
    node = z.grad_fn
    with pytest.raises((RuntimeError, IndexError)):
        z[index] = value(m)
    assert z._version == 0 and z.grad_fn is node
