"""The random graphs that checks use: what they are made of, and their errors."""

import random

import pytest

import minigrad as mg
from minigrad.grading.oracles import random_graph


def test_a_graph_follows_its_seed():
    (leaves, y), (_, again) = random_graph(random.Random(3)), random_graph(random.Random(3))
    assert len(leaves) == 3 and y.shape == () and y.item() == again.item()
    assert len(random_graph(random.Random(3), roots=2)[1]) == 2
    assert mg.autograd.grad(random_graph(random.Random(0), 0)[1], leaves, allow_unused=True) == (None, None, None)


@pytest.mark.parametrize("arguments, error, words", [
    ({"rng": 0}, TypeError, "argument 'rng' must be random.Random, not int"), ({"steps": "8"}, TypeError, "argument 'steps' must be int"),
    ({"steps": -1}, ValueError, "'steps' must be at least 0, but got -1"), ({"leaves": 1}, ValueError, "'leaves' must be at least 2"),
    ({"roots": 0}, ValueError, "'roots' must be at least 1")], ids=str)
def test_wrong_arguments_are_explained(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        random_graph(**{"rng": random.Random(0), **arguments})
    assert "MG-E" in str(caught.value)
