"""A list between brackets: read as a tuple where it holds more than numbers, with PyTorch's warning."""

import warnings

import numpy as np
import pytest

import minigrad as mg

torch = pytest.importorskip("torch")

INDICES = {
    "list": lambda m: [[0, 1]], "two lists": lambda m: [[0, 1], [1, 0]], "tensor": lambda m: [m.tensor([0, 1])], "slice": lambda m: [slice(0, 1)],
    "None": lambda m: [None], "ellipsis": lambda m: [Ellipsis], "number and slice": lambda m: [0, slice(0, 2)],
    "number and list": lambda m: [0, [1, 2]], "ragged": lambda m: [[0, 1], [1]], "list of one": lambda m: [[0]], "tuple": lambda m: [(0, 1)],
    "numbers": lambda m: [0, 1], "bools": lambda m: [True, False, True], "list of bools": lambda m: [[True, False, True]],
    "0-d": lambda m: [m.tensor(1)], "two 0-d": lambda m: [m.tensor(1), m.tensor(0)], "deep": lambda m: [[[0, 1]]],
    "deep pairs": lambda m: [[[0, 1], [1, 2]]], "nothing": lambda m: [], "list of nothing": lambda m: [[]], "array": lambda m: [np.array([0, 1])],
    "long": lambda m: [[0]] * 33, "31 lists": lambda m: [[0]] * 31, "long numbers": lambda m: [0] * 40, "range": lambda m: [range(2)],
    "NumPy number": lambda m: [np.int64(1)], "slices": lambda m: [slice(None)] * 2, "many slices": lambda m: [slice(None)] * 33,
    "number and None": lambda m: [0, None], "list in a tuple": lambda m: ([[0, 1]],), "tensors in a tuple": lambda m: ([m.tensor(0), m.tensor(1)],),
    "set": lambda m: [{1}], "str": lambda m: ["a"], "wrong mask": lambda m: [True], "out of range": lambda m: [[0, 7]], "range alone": lambda m: range(2),
    "too many": lambda m: [[0], [0], [0]],
}


def read(m, index):
    return m.arange(9.0).reshape(3, 3)[index(m)]


def written(m, index):
    x = m.zeros(3, 3)
    x[index(m)] = 1.0
    return x


def gradient(m, index):
    x = m.zeros(3, 3, requires_grad=True)
    x[index(m)].sum().backward()
    return x.grad


def outcome(m, action, index):
    """What an action gives: (shape and numbers, or the class of the error; whether it warned)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = action(m, index)
            found = tuple(result.shape), result.tolist()
        except Exception as error:
            found = next(c.__qualname__ for c in type(error).__mro__ if c.__module__ == "builtins")
    texts = [str(w.message) for w in caught if w.category is UserWarning]
    return found, any(t.startswith("Using a non-tuple sequence for multidimensional indexing is deprecated") for t in texts)


@pytest.mark.parametrize("action", [read, written, gradient])
@pytest.mark.parametrize("name", INDICES)
def test_as_pytorch(name, action):
    """differences/S-06."""
    assert outcome(mg, action, INDICES[name]) == outcome(torch, action, INDICES[name])


def test_the_warning_names_this_line():
    """differences/S-06."""
    x = mg.zeros(3, 3)
    with pytest.warns(UserWarning, match="non-tuple sequence") as caught:
        x[[slice(0, 1)]]
        x[[slice(0, 1)]] = 1.0
    assert [w.filename for w in caught] == [__file__] * 2
