"""One hook for several tensors: called once per backward, when all their gradients are there, or the first.

    register_multi_grad_hook([a, b, c], fn)         in this backward c is not reached: two gradients to wait for
        a arrives       [ga, None, None]            one
        b arrives       [ga, gb, None]              none: fn([ga, gb, None])

It registers a tensor hook on each of them. The gradients that have arrived are stored per task of the engine, in a table with
weak references to the tasks. So nothing is carried over to the next backward, even after an error, and nested backwards do
not mix. The gradients are dropped when the task is. Only one thread at a time runs a task, so no lock is needed.

Nodes and leaves are referenced weakly too: they hold the hooks, and a strong reference back would be a cycle.

Mirrors ``register_multi_grad_hook`` of ``torch/autograd/graph.py``, which counts the expected gradients once for all running
tasks, and keeps a flag for every backward.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING

from minigrad._core.engine import execute
from minigrad._core.graph.accumulate_grad import find_accumulator, grad_accumulator
from minigrad._core.graph.handle import RemovableHandle
from minigrad.errors import AutogradAssertionError, AutogradTypeError, TensorValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from minigrad.types import Tensor

__all__ = ["register_multi_grad_hook"]

MODES = ("all", "any")


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *,
                             mode: Literal['all', 'any'] = "all") -> RemovableHandle:
    """Call `fn` once per backward with the gradients of several tensors.

    Args:
        tensors (sequence of Tensor): leaves or not. With ``mode="all"`` each must require a gradient; with "any"
            those that do not are skipped.
        fn (callable): its result is ignored. It must not write to the gradients.
        mode (str): "all": ``fn(grads)`` when the last gradient has arrived, with a list in the order of `tensors`; None
            for a tensor that this backward does not reach, or whose gradient is undefined. "any": ``fn(grad)``
            with the first one that arrives.

    Returns:
        RemovableHandle: ``handle.remove()`` removes all hooks, and so does the end of a ``with handle:`` block.

    Raises:
        ValueError: there is no such mode.
        AssertionError: ``mode="all"``, and one of `tensors` requires no gradient.
        TypeError: `fn` cannot be called.

    The hooks are tensor hooks: they see a gradient after the hooks registered before them, and belong to the values
    that the tensors have now. Mirrors ``torch.autograd.graph.register_multi_grad_hook``.

    >>> a, b, c = (mg.tensor(v, requires_grad=True) for v in (2., 3., 4.))
    >>> handle = mg.autograd.graph.register_multi_grad_hook([a, b, c], print)
    >>> (a * b).backward()
    [tensor(3.), tensor(2.), None]
    """
    if mode not in MODES:
        raise TensorValueError("MG-E190", f"Expects mode to be one of {MODES} but got {mode}")
    if not callable(fn):
        raise AutogradTypeError("MG-E190", f"a hook must be callable, but got {type(fn).__name__}")
    if mode == "any":
        hook = First(fn).arrived
        return _MultiHandle([x.register_hook(hook) for x in tensors if x.requires_grad])
    tensors = list(tensors)
    gathered = Gathered(fn, [node_of(x, i) for i, x in enumerate(tensors)])
    return _MultiHandle([x.register_hook(functools.partial(gathered.arrived, i)) for i, x in enumerate(tensors)])


class _MultiHandle(RemovableHandle):
    """Several handles as one. Mirrors ``torch.autograd.graph._MultiHandle``."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


class First:
    """``mode="any"``: the first gradient of each task."""

    def __init__(self, fn):
        self.fn = fn
        self.called = weakref.WeakSet()     # the tasks in which fn was called

    def arrived(self, grad):
        task = running_task()
        if task not in self.called:
            self.called.add(task)
            self.fn(grad)


class Gathered:
    """``mode="all"``: the gradients of each task, until they are complete."""

    def __init__(self, fn, nodes):
        self.fn = fn
        self.nodes = nodes
        self.rounds = weakref.WeakKeyDictionary()   # task -> Round

    def arrived(self, index, grad):
        task = running_task()
        this = self.rounds.get(task)
        if this is None:
            this = self.rounds[task] = Round(self.expected())
        this.grads[index] = grad
        this.missing -= 1
        if this.missing == 0:
            grads, this.grads = this.grads, [None] * len(this.grads)    # from here only fn holds the gradients
            self.fn(grads)

    def expected(self):
        """For each tensor, whether the current task computes its gradient."""
        found = [node() for node in self.nodes]
        return [node is not None and execute.will_execute(node) for node in found]


class Round:
    """The gradients that have arrived in one task so far."""

    def __init__(self, expected):
        self.grads = [None] * len(expected)
        self.missing = sum(expected)


def node_of(x, index):
    """A function that returns the node that holds the hooks of `x`, or None if that node no longer exists."""
    node = x.grad_fn
    if node is not None:
        return weakref.ref(node)
    if not x.requires_grad or grad_accumulator(x) is None:
        raise AutogradAssertionError("MG-E190", f"Expected gradient function to be set: tensor {index} requires no gradient, and "
                                     "none will arrive", fix="x.requires_grad_() on a leaf; or mode=\"any\", which passes over it")
    leaf = weakref.ref(x)       # its accumulator lives only as long as a graph uses it
    return lambda: None if leaf() is None else find_accumulator(leaf())


def running_task():
    """The task that runs this hook; raise outside of a backward."""
    task = execute.current_task()
    if task is None:
        raise AutogradAssertionError("MG-E190", "expected this hook to be called inside a backward call",
                                     fix="leave it to the engine to call it")
    return task
