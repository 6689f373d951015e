"""Helpers for the tests of transforms."""

import numpy as np


def d(m, *values):
    """A tensor of float64: 0-d for one value."""
    return m.tensor(values[0] if len(values) == 1 else list(values), dtype=m.float64)


def numbers(tree):
    """A tree with lists of numbers in the place of tensors."""
    if isinstance(tree, dict):
        return {k: numbers(x) for k, x in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*map(numbers, tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)(map(numbers, tree))
    return tree.tolist() if hasattr(tree, "tolist") else tree


def close(found, expected):
    """Whether two trees have the same structure, and numbers that agree."""
    if isinstance(expected, dict):
        assert isinstance(found, dict) and list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, (tuple, list)) and not (expected and all(isinstance(x, float) for x in expected)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for a, b in zip(found, expected):
            close(a, b)
    else:
        np.testing.assert_allclose(np.array(found.tolist()), np.array(numbers(expected)), rtol=1e-12, atol=1e-12)
        assert tuple(found.shape) == np.array(numbers(expected)).shape
