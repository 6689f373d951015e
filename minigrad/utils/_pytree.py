"""Trees of Python containers: a function that takes tensors may take lists, dicts and tuples of them just as well.

    {"w": a, "b": [b, None]}   --tree_flatten-->   [a, b, None]  +  a spec, the shape of the tree
                               <--tree_unflatten--

Nodes are tuples, sizes, lists, dicts, OrderedDicts, defaultdicts, deques, named tuples, and classes that were registered;
all else is a leaf, None too. A dict is walked in the order of its keys' insertion, so the leaves of two equal dicts
may stand in different order; two trees are matched by key.

The walking is optree's, which does it in C++; here are the names that PyTorch gives it. optree is imported when the first
tree is flattened: `import minigrad` does not wait for it.

Mirrors ``torch/utils/_pytree.py``.
"""

import atexit
import functools

from minigrad._core.graph.metadata import Size
from minigrad.errors import ArgumentError

__all__ = ["register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map", "tree_map_",
           "tree_structure", "tree_unflatten"]

NAMESPACE = "minigrad"


@functools.cache
def _optree():
    """The library, told once that dicts keep their order in our namespace, and what a `Size` is."""
    import optree
    # Leaves that are put back need not be integers any more: a tuple can hold them.
    optree.register_pytree_node(Size, lambda size: (size, None), lambda context, children: tuple(children), namespace=NAMESPACE)
    order = optree.dict_insertion_ordered(True, namespace=NAMESPACE)
    order.__enter__()
    atexit.register(order.__exit__, None, None, None)       # until then it holds
    return optree


def tree_flatten(tree, is_leaf=None):
    """``(leaves, spec)``: the leaves of a tree, from left to right, and the shape that `tree_unflatten` puts them back into.

    `is_leaf`, if given, is asked of each node whether to stop there.

    >>> from minigrad.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"w": 1, "b": [2, None]})
    >>> leaves
    [1, 2, None]
    >>> tree_unflatten([10, 20, 30], spec)
    {'w': 10, 'b': [20, 30]}
    """
    try:
        return _optree().tree_flatten(tree, is_leaf, none_is_leaf=True, namespace=NAMESPACE)
    except RecursionError:
        raise ArgumentError("MG-E258", "tree_flatten(): argument 'tree' is nested too deeply, or holds itself") from None


def tree_unflatten(leaves, treespec):
    """The tree of the shape `treespec` with these leaves: the inverse of `tree_flatten`.

    Raises:
        ValueError: more or fewer leaves than the tree has.

    >>> from minigrad.utils._pytree import tree_structure, tree_unflatten
    >>> tree_unflatten("ab", tree_structure((1, [2])))
    ('a', ['b'])
    """
    return _optree().tree_unflatten(treespec, leaves)


def tree_structure(tree, is_leaf=None):
    """The shape of a tree alone. Specs can be compared.

    >>> from minigrad.utils._pytree import tree_structure
    >>> tree_structure([1, (2,)]) == tree_structure([3, (4,)])
    True
    """
    return _optree().tree_structure(tree, is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree, from left to right.

    >>> from minigrad.utils._pytree import tree_leaves
    >>> tree_leaves(([1, 2], {"a": 3}))
    [1, 2, 3]
    """
    return _optree().tree_leaves(tree, is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of what `func` returns for each leaf, and the leaves of `rests` in its place.

    Raises:
        ValueError: one of `rests` is of another shape.

    >>> from minigrad.utils._pytree import tree_map
    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"b": (20,), "a": 10})
    {'a': 11, 'b': (22,)}
    """
    return _optree().tree_map(func, tree, *rests, is_leaf=is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call `func` on each leaf, and return the tree as it was: for functions that write to their argument.

    >>> from minigrad.utils._pytree import tree_map_
    >>> tree_map_(lambda x: x.zero_(), [mg.ones(2)])
    [tensor([0., 0.])]
    """
    return _optree().tree_map_(func, tree, *rests, is_leaf=is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` holds for a leaf. It stops at the first.

    >>> from minigrad.utils._pytree import tree_any
    >>> tree_any(lambda x: x is None, [1, (None,)])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` holds for all leaves. It stops at the first for which it does not.

    >>> from minigrad.utils._pytree import tree_all
    >>> tree_all(lambda x: x > 0, [1, (2, 3)])
    True
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def register_pytree_node(cls, flatten_fn, unflatten_fn):
    """Make the objects of `cls` nodes, no longer leaves.

    Args:
        cls (type): exactly this class; a subclass is registered by itself.
        flatten_fn: object -> ``(children, context)``, where the context is what else it takes to make the object.
        unflatten_fn: ``(children, context)`` -> object.

    Raises:
        ValueError: `cls` is registered already.

    >>> from minigrad.utils._pytree import register_pytree_node, tree_map
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, context: Pair(*children))
    >>> tree_map(lambda x: 10 * x, Pair(1, 2)).b
    20
    """
    _optree().register_pytree_node(cls, flatten_fn, lambda context, children: unflatten_fn(children, context),
                                   namespace=NAMESPACE)
