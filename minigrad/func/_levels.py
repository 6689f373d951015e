"""One call of a transform is a level: it has variables of its own, and what it returns knows nothing of them.

    grad(lambda x: grad(lambda y: x * y * y)(x))(x0)

        outer level     x0 is plain            x = a fresh leaf with the value of x0
        inner level     x requires a gradient  y = x.view_as(x): a new end for gradients, and a way on to x
                        2 x y comes out        it leads to x: the outer level goes on with it
        outer level     4 x comes out          it leads to nothing but a leaf of our own: history off

PyTorch wraps the tensors of each level, so that every op knows on which levels to record. We have one graph, and ask afterwards:
does a path lead from the result to a leaf outside? Only if so is the backward recorded (create_graph), and does the result keep
its history. The question costs a walk over the nodes of the function, when no argument required a gradient to begin with;
recording a backward in vain would cost more.

Note [Leaves of ended levels]
    A result that keeps its history because of an outer variable may also lead to fresh leaves of the level that made it. Those must
    not count as outside for the levels around. So a leaf is remembered when its level ends, for as long as it lives.

Differs from PyTorch: a write to a captured tensor, and a call of ``backward()`` inside of the function, are not refused.

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
    """The variables of one call, from `variable` until `end`. Make it before gradients are enabled for the function."""

    def __init__(self):
        self.recording = is_grad_enabled()      # around the call: does anybody want the derivatives of its results?
        self.fresh = []
        self.views = []                         # with the nodes that made them
        self.inside = set()                     # nodes from which no path leads outside

    def variable(self, x):
        """A variable of this level with the value of `x`, and its tangent if it has one."""
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
        """The function has returned: from now on our variables are nobody's. See Note [Leaves of ended levels].

        Raises:
            RuntimeError: it has written to a variable, whose gradient is then no longer that of the argument. A write to a fresh
                leaf fails at once.
        """
        for y, node in self.views:
            if y.grad_fn is not node:
                raise AutogradError("MG-E121", "a leaf Variable that requires grad is being used in an in-place operation.",
                                    where="in the function that is differentiated: its argument has been written to",
                                    fix="begin with x = x.clone(), or use an out-of-place op")
        self.views.clear()
        for y in self.fresh:
            key = id(y)
            _ended[key] = weakref.ref(y, lambda _, key=key: _ended.pop(key, None))
        self.fresh.clear()

    def leads_outside(self, x):
        """Whether somebody around this level may want to differentiate `x`, or its tangent."""
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

    def released(self, tree):
        """What the level returns: without history if that is ours alone."""
        return tree_map(self._released, tree)

    def _released(self, x):
        if not isinstance(x, Tensor) or not x.requires_grad or self._history_leads_outside(x):
            return x
        if x.is_leaf and id(x) not in _ended:           # the user's leaf, under no_grad
            return x
        tangent = tangent_of(x)
        return x.detach() if tangent is None else make_dual(x.detach(), self._released(tangent))
