"""Trees of containers: the types of nodes, the order of leaves, and the rebuilt trees; the same as PyTorch's."""

import collections
import subprocess
import sys

import pytest

from tests.core.engine_tools import ours

Point = collections.namedtuple("Point", "x y")


class Names(list):
    """A subclass of a container is a leaf."""


TREES = [
    1, None, (), [], {}, (1, 2), [1, [2, (3,)]], {"b": 1, "a": {"c": None}}, Point(1, [2]), collections.OrderedDict(z=1, y=2),
    collections.defaultdict(list, k=[1]), collections.deque([1, 2]), Names([1, 2]), [(), None, {}], {1, 2},
]


def pytree(m):
    """The module of the library `m`."""
    return __import__(f"{m.__name__}.utils._pytree", fromlist=["_"])


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_leaves_and_back(m, tree):
    p = pytree(m)
    leaves, spec = p.tree_flatten(tree)
    assert p.tree_leaves(tree) == leaves and p.tree_structure(tree) == spec
    back = p.tree_unflatten(leaves, spec)
    assert back == tree and type(back) is type(tree)


@ours
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_leaves_are_those_of_torch(m, tree):
    theirs = pytest.importorskip("torch.utils._pytree")
    assert pytree(m).tree_leaves(tree) == theirs.tree_leaves(tree)


def test_a_dict_keeps_its_order(m):
    p = pytree(m)
    assert p.tree_leaves({"b": 1, "a": 2}) == [1, 2]
    mapped = p.tree_map(lambda x, y: (x, y), {"b": 1, "a": 2}, {"a": 20, "b": 10})
    assert list(mapped.items()) == [("b", (1, 10)), ("a", (2, 20))]


def test_is_leaf(m):
    p = pytree(m)
    assert p.tree_leaves([(1, 2), [3]], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert p.tree_map(len, [(1, 2), [(3,)]], is_leaf=lambda x: isinstance(x, tuple)) == [2, [1]]


def test_map_in_place(m):
    tree = {"a": [m.ones(2)]}
    assert pytree(m).tree_map_(lambda x: x.mul_(3), tree) is tree
    assert tree["a"][0].tolist() == [3, 3]


def test_any_and_all(m):
    p = pytree(m)
    assert p.tree_any(lambda x: x is None, [1, None]) and not p.tree_any(lambda x: x is None, [1, 2])
    assert p.tree_all(lambda x: x, [1, (2,)]) and not p.tree_all(lambda x: x, [1, (0,)])
    assert p.tree_all(lambda x: x, []) and not p.tree_any(lambda x: x, [])


@pytest.mark.parametrize("wrong", [
    lambda p: p.tree_map(lambda x, y: x, (1, 2), (1, 2, 3)),
    lambda p: p.tree_map(lambda x, y: x, (1, 2), 3),
    lambda p: p.tree_unflatten([1], p.tree_structure([1, 2])),
    lambda p: p.tree_unflatten([1, 2, 3], p.tree_structure([1, 2])),
    lambda p: p.register_pytree_node(dict, lambda d: (list(d), None), lambda children, _: children),
])
def test_errors(m, wrong):
    with pytest.raises(ValueError):
        wrong(pytree(m))


def test_a_registered_class(m):
    class Pair:
        def __init__(self, a, b, name):
            self.a, self.b, self.name = a, b, name

    p = pytree(m)
    assert len(p.tree_leaves(Pair(1, 2, "n"))) == 1
    p.register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], pair.name), lambda children, name: Pair(*children, name))
    assert p.tree_leaves([Pair(1, (2, 3), "n")]) == [1, 2, 3]
    back = p.tree_map(lambda x: 10 * x, Pair(1, (2, 3), "n"))
    assert (back.a, back.b, back.name) == (10, (20, 30), "n")
    with pytest.raises(ValueError):
        p.register_pytree_node(Pair, lambda pair: ([], None), lambda children, name: children)


def test_tensors_are_leaves_and_sizes_are_tuples(m):
    x = m.ones(2, 3)
    leaves, spec = pytree(m).tree_flatten({"x": x, "shape": x.shape, "max": x.max(0)})
    assert leaves[0] is x and leaves[1:3] == [2, 3] and [y.tolist() for y in leaves[3:]] == [[1, 1, 1], [0, 0, 0]]
    back = pytree(m).tree_unflatten(leaves, spec)
    assert type(back["shape"]) is tuple and back["shape"] == x.shape and back["max"].values is leaves[3]


@ours
def test_import_does_not_wait_for_optree():
    code = "import sys, minigrad; print('optree' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
