"""The log of a backward: one record per node, with the gradients that reach it.

    logging.basicConfig(level=logging.DEBUG)        or for the logger "minigrad.autograd.graph" alone
    y.backward()
        DEBUG:minigrad.autograd.graph:running <MulBackward0 object at 0x...> on [f32[3]]
        DEBUG:minigrad.autograd.graph:running <AccumulateGrad object at 0x...> on [f32[3]]

Above level DEBUG a backward only asks for the level. At DEBUG, every node behind the roots has a pre-hook during the backward.
Nested or concurrent backwards over one graph each add a hook to the same node, and each hook is called in all of them. So we
store, for each task, the nodes that are logged already: a node is logged once per task.

Mirrors ``_register_logging_hooks_on_whole_graph`` of ``torch/autograd/graph.py``.
"""

from __future__ import annotations

import logging
import weakref
from collections import deque
from typing import TYPE_CHECKING

from minigrad._core.engine import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["log_nodes"]

_log = logging.getLogger("minigrad.autograd.graph")
_logged = weakref.WeakKeyDictionary()     # task -> the nodes that it has logged


def log_nodes(nodes: Iterable[Any]) -> Callable[[], None]:
    """Register the pre-hook on all nodes behind `nodes`. Return a function that removes it."""
    handles = [node.register_prehook(log_node) for node in behind(nodes)]

    def remove():
        for handle in handles:
            handle.remove()
    return remove


def behind(nodes):
    """Yield `nodes` and all nodes behind them, each once, breadth first."""
    seen = set()
    queue = deque(nodes)
    while queue:
        node = queue.popleft()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            queue.extend([following for following, _ in node.next_functions])


def log_node(grads):
    """The pre-hook: log the node that is about to run, with its gradients."""
    node = execute.current_node()
    logged_nodes = _logged.setdefault(execute.current_task(), set())
    if node not in logged_nodes:
        logged_nodes.add(node)
        _log.debug("running %r on [%s]", node, ",".join([describe(g) for g in grads]))


def describe(grad):
    """Describe a gradient as ``f32[2, 3]``, or ``None``."""
    return "None" if grad is None else f"{grad.dtype.name[0]}{8 * grad.dtype.itemsize}[{', '.join(map(str, grad.shape))}]"
