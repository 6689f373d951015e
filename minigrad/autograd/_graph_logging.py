"""What a backward runs, in the log: one record per node, with what reaches it.

    logging.basicConfig(level=logging.DEBUG)        or for the logger "minigrad.autograd.graph" alone
    y.backward()
        DEBUG:minigrad.autograd.graph:running <MulBackward0 object at 0x...> on [f32[3]]
        DEBUG:minigrad.autograd.graph:running <AccumulateGrad object at 0x...> on [f32[3]]

Above that level nothing is done but to ask for it. At that level each node behind the roots gets a pre-hook for the
time of the backward. Of nested or concurrent backwards over one graph each has put its own hook on a node, and every
hook sees all of them; so what has been told is noted by task.

Mirrors ``_register_logging_hooks_on_whole_graph`` of ``torch/autograd/graph.py``.
"""

import logging
import weakref
from collections import deque

from minigrad._core.engine import execute

__all__ = ["logged"]

_log = logging.getLogger("minigrad.autograd.graph")
_told = weakref.WeakKeyDictionary()     # task -> the nodes that it has run


def logged(nodes):
    """Put the hooks on all nodes behind `nodes`. Returns a function that takes them away."""
    handles = [node.register_prehook(tell) for node in behind(nodes)]

    def remove():
        for handle in handles:
            handle.remove()
    return remove


def behind(nodes):
    """These nodes and all that they lead to, each once, the nearest first."""
    seen = set()
    queue = deque(nodes)
    while queue:
        node = queue.popleft()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            queue.extend([following for following, _ in node.next_functions])


def tell(grads):
    """The pre-hook."""
    node = execute.current_node()
    told = _told.setdefault(execute.current_task(), set())
    if node not in told:
        told.add(node)
        _log.debug("running %r on [%s]", node, ",".join([shown(g) for g in grads]))


def shown(grad):
    """A gradient as ``f32[2, 3]``, or ``None``."""
    return "None" if grad is None else f"{grad.dtype.name[0]}{8 * grad.dtype.itemsize}[{', '.join(map(str, grad.shape))}]"
