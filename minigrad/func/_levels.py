"""Levels: each call of a transform has its own variables, and its results have no history that leads to them.

    grad(lambda x: grad(lambda y: x * y * y)(x))(x0)

        outer level     x0 requires no gradient     x = a new leaf with the value of x0
        inner level     x requires a gradient       y = x.view_as(x): gradients can stop at y, or go on to x
                        the gradient is 2 x y       a path leads to x, which is outside: the gradient keeps its history
        outer level     the gradient is 4 x         all paths lead to x, which is inside: the gradient is detached

PyTorch wraps the tensors of each level, so that every op knows on which levels to record. minigrad has one graph, and searches it
after the call: does a path lead from the result to a leaf outside of the level? Only then it records the backward
(create_graph), and the result keeps its history. The search costs a walk over the nodes of the function, if no argument
requires a gradient. To record a backward that nothing needs would cost more.

Note [Leaves of ended levels]
    A result with a path to an outer variable keeps its history. It may also have paths to new leaves of its own level, which has
    ended. For the levels around, these leaves must not count as leaves outside. So `_ended` has all leaves of ended levels,
    as long as they live.

Unlike PyTorch, minigrad raises no error if the function writes to a captured tensor, or calls ``backward()``.

Mirrors ``torch/_functorch/eager_transforms.py`` and ``aten/src/ATen/functorch/TensorWrapper.h``.
"""

import weakref
from typing import Any

from minigrad._core.graph.accumulate_grad import AccumulateGrad
from minigrad._core.record.forward_ad import tangent_of
from minigrad.autograd.forward_ad import make_dual
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_map

_ended = {}     # id -> weak reference. A dict with tensors as keys would compare them, element by element


class Level:
    """The variables of one call, from `make_variable` to `end`. Create it before you enable gradients for the function."""

    def __init__(self):
        self.recording = is_grad_enabled()      # around the call: may its results be differentiated?
        self.fresh = []
        self.views = []                         # pairs (view, its grad_fn)
        self.inside = set()                     # nodes without a path to a leaf outside

    def make_variable(self, x):
        """Return a variable of this level with the value of `x`, and with its tangent if `x` has one."""
        if self.recording and x.requires_grad:
            y = x.view_as(x)
            self.views.append((y, y.grad_fn))
            return y
        y = x.clone() if x.is_inference() else x.detach()
        tangent: Any = tangent_of(x)
        if tangent is not None:
            y = make_dual(y, tangent)
        y.requires_grad_()
        self.fresh.append(y)
        return y

    def end(self):
        """End the level, after the function has returned. See Note [Leaves of ended levels].

        Raises:
            RuntimeError: the function has written to a variable that is a view. (A write to a new leaf raises immediately.) The
                gradient of the variable would not be the gradient of the argument.
        """
        for y, node in self.views:
            if y.grad_fn is not node:
                raise AutogradError("MG-E121", "a leaf Variable that requires grad is being used in an in-place operation.",
                                    where="in the function that a transform differentiates: it writes to its argument",
                                    fix="begin with x = x.clone(), or use an out-of-place op")
        self.views.clear()
        for y in self.fresh:
            key = id(y)
            _ended[key] = weakref.ref(y, lambda _, key=key: _ended.pop(key, None))
        self.fresh.clear()

    def leads_outside(self, x):
        """Whether a path leads from `x`, or from its tangent, to a leaf outside of this level."""
        tangent = tangent_of(x)
        return self._history_leads_outside(x) or (tangent is not None and self._history_leads_outside(tangent))

    def _history_leads_outside(self, x):
        if not (self.recording and x.requires_grad):
            return False
        if x.is_leaf:
            return id(x) not in _ended
        walked, waiting = set(), [x.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is None or node in walked or node in self.inside:
                continue
            walked.add(node)
            if isinstance(node, AccumulateGrad):
                leaf = node.variable        # pyright: ignore[reportAttributeAccessIssue]
                if id(leaf) not in _ended:
                    return True
            waiting += [following for following, _ in node.next_functions]
        self.inside |= walked
        return False

    def detach_results(self, tree):
        """Detach the tensors of `tree` without a path to a leaf outside of this level."""
        return tree_map(self._detach_result, tree)

    def _detach_result(self, x):
        if not isinstance(x, Tensor) or not x.requires_grad or self._history_leads_outside(x):
            return x
        if x.is_leaf and id(x) not in _ended:           # a leaf of the program, under no_grad
            return x
        tangent = tangent_of(x)
        return x.detach() if tangent is None else make_dual(x.detach(), self._detach_result(tangent))
