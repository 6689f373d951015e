"""Trees of Python containers: lists, dicts and tuples of tensors, nested in each other.

    {"w": a, "b": [b, None]}   --tree_flatten-->   [a, b, None]  +  a spec, the shape of the tree
                               <--tree_unflatten--

The nodes of a tree are tuples, sizes, lists, dicts, OrderedDicts, defaultdicts, deques, named tuples, and objects of registered
classes. Every other object is a leaf, also None. The leaves of a dict are in the order in which its keys were inserted, so two
equal dicts may have their leaves in different orders. `tree_map` matches two dicts by their keys.

The library optree does the work, in C++; this file gives its functions PyTorch's names. optree is imported when the first tree is
flattened, so that `import minigrad` is fast.

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
    """Import optree, and configure it once: dicts have insertion order in our namespace, and a `Size` is a node."""
    import optree
    # The inverse makes a tuple, not a Size: the new leaves need not be integers.
    optree.register_pytree_node(Size, lambda size: (size, None), lambda context, children: tuple(children), namespace=NAMESPACE)
    order = optree.dict_insertion_ordered(True, namespace=NAMESPACE)
    order.__enter__()
    atexit.register(order.__exit__, None, None, None)       # the setting lasts until the end of the program
    return optree


def tree_flatten(tree, is_leaf=None):
    """Return ``(leaves, spec)``: the leaves of a tree from left to right, and its structure, which `tree_unflatten` takes.

    Args:
        tree: any object.
        is_leaf (Callable, optional): takes a node, and returns whether it counts as a leaf.

    Returns:
        tuple: a list, and a spec. You can compare specs.

    Raises:
        RuntimeError: the tree is nested too deeply, or contains itself.

    Mirrors ``torch.utils._pytree.tree_flatten``.

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
        raise ArgumentError("MG-E258", "tree_flatten(): argument 'tree' is nested too deeply, or contains itself") from None


def tree_unflatten(leaves, treespec):
    """Return the tree of the structure `treespec` with these leaves: the inverse of `tree_flatten`.

    Args:
        leaves (iterable): the leaves, from left to right.
        treespec: a spec from `tree_flatten` or `tree_structure`.

    Returns:
        The tree.

    Raises:
        ValueError: the number of leaves is wrong.

    Mirrors ``torch.utils._pytree.tree_unflatten``.

    >>> from minigrad.utils._pytree import tree_structure, tree_unflatten
    >>> tree_unflatten("ab", tree_structure((1, [2])))
    ('a', ['b'])
    """
    return _optree().tree_unflatten(treespec, leaves)


def tree_structure(tree, is_leaf=None):
    """Return the structure of a tree. You can compare two structures with ``==``.

    Args:
        tree, is_leaf: as for `tree_flatten`.

    Returns:
        The spec.

    Mirrors ``torch.utils._pytree.tree_structure``.

    >>> from minigrad.utils._pytree import tree_structure
    >>> tree_structure([1, (2,)]) == tree_structure([3, (4,)])
    True
    """
    return _optree().tree_structure(tree, is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_leaves(tree, is_leaf=None):
    """Return the list of the leaves of a tree, from left to right.

    Args:
        tree, is_leaf: as for `tree_flatten`.

    Returns:
        list: the leaves.

    Mirrors ``torch.utils._pytree.tree_leaves``.

    >>> from minigrad.utils._pytree import tree_leaves
    >>> tree_leaves(([1, 2], {"a": 3}))
    [1, 2, 3]
    """
    return _optree().tree_leaves(tree, is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_map(func, tree, *rests, is_leaf=None):
    """Call `func` on each leaf, and return the tree of the results.

    Args:
        func (Callable): takes one leaf from each tree.
        tree: any object.
        *rests: trees of the same structure.
        is_leaf (Callable, optional): as for `tree_flatten`.

    Returns:
        A tree with the structure of `tree`.

    Raises:
        ValueError: the structure of one of `rests` differs.

    Mirrors ``torch.utils._pytree.tree_map``.

    >>> from minigrad.utils._pytree import tree_map
    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"b": (20,), "a": 10})
    {'a': 11, 'b': (22,)}
    """
    return _optree().tree_map(func, tree, *rests, is_leaf=is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call `func` on each leaf, and return `tree` itself: for functions that write to their argument.

    Args:
        func, tree, *rests, is_leaf: as for `tree_map`.

    Returns:
        The argument `tree`.

    Mirrors ``torch.utils._pytree.tree_map_``.

    >>> from minigrad.utils._pytree import tree_map_
    >>> tree_map_(lambda x: x.zero_(), [mg.ones(2)])
    [tensor([0., 0.])]
    """
    return _optree().tree_map_(func, tree, *rests, is_leaf=is_leaf, none_is_leaf=True, namespace=NAMESPACE)


def tree_any(pred, tree, is_leaf=None):
    """Return whether `pred` is true for a leaf. It stops at the first such leaf.

    Args:
        pred (Callable): takes a leaf, and returns a bool.
        tree, is_leaf: as for `tree_flatten`.

    Returns:
        bool: True if a leaf is found.

    Mirrors ``torch.utils._pytree.tree_any``.

    >>> from minigrad.utils._pytree import tree_any
    >>> tree_any(lambda x: x is None, [1, (None,)])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all(pred, tree, is_leaf=None):
    """Return whether `pred` is true for all leaves. It stops at the first leaf for which it is false.

    Args:
        pred (Callable): takes a leaf, and returns a bool.
        tree, is_leaf: as for `tree_flatten`.

    Returns:
        bool: False if there is a leaf for which `pred` is false.

    Mirrors ``torch.utils._pytree.tree_all``.

    >>> from minigrad.utils._pytree import tree_all
    >>> tree_all(lambda x: x > 0, [1, (2, 3)])
    True
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def register_pytree_node(cls, flatten_fn, unflatten_fn):
    """Register a class: its objects are nodes of a tree, and no longer leaves.

    Args:
        cls (type): the class. Its subclasses are not registered.
        flatten_fn (Callable): takes an object, and returns ``(children, context)``. The context is any object that `unflatten_fn`
            needs besides the children.
        unflatten_fn (Callable): takes ``(children, context)``, and returns an object of the class.

    Raises:
        ValueError: `cls` is registered already.

    Mirrors ``torch.utils._pytree.register_pytree_node``.

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
