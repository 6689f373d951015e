"""What a task must know of a node before it may run: how many gradients it waits for, and whether it is needed.

    count     walk over all edges behind the root once; for every edge that leads to a node, one dependency more
    select    the same walk, depth first, for a run with ``inputs=``: a node is needed if a path leads from it
              to a requested node

Edges are counted, not nodes: in ``a * a`` two lead from the product to a. Both walks keep their own stack.

Note [Scratch on the node]
    The count and the buffer of a node lie in fields of the node, stamped with the number of the task, so
    that the hot loop touches no dict: nothing has to be cleared between tasks, since a stale stamp is as
    good as none. If another *live* task has stamped the node (a backward inside a hook, or in another
    thread), this task keeps its own `Scratch` for it in `others`.

Mirrors compute_dependencies and GraphTask::init_to_execute of ``torch/csrc/autograd/engine.cpp``.
Read next: ``graph_task.py``.
"""

import os
import threading

import cython

from minigrad._core.graph.node import Node
from minigrad.errors import AutogradError

# What a requested or intermediate node is needed for, with `inputs=`.
NEEDED = cython.declare(cython.int, 1)      # it runs: a path leads from it to a requested node

live = {}                                   # number -> task, of those running in any thread
_live = cython.declare(dict, live)
# Interpreted, two threads might stamp one node at the same time. Reentrant, because a walk allocates, and the garbage
# collector may then run a user's finalizer that itself calls backward.
claiming = threading.RLock()
if hasattr(os, "register_at_fork"):     # a thread that holds it does not exist in the child, and would never let go
    os.register_at_fork(after_in_child=claiming._at_fork_reinit)


@cython.binding(False)
@cython.cclass
class Scratch:
    """A task's notes on a node that another task has stamped."""

    def __init__(self):
        self.grad = None
        self.dependencies = 0
        self.needed = 0


@cython.binding(False)
@cython.cclass
class Dependencies:
    """A task's notes on the nodes that it may run: how many gradients each waits for, and whether it is needed."""

    def claim(self, node):
        """Make notes on `node` possible. False if they were so already."""
        if node.task == self.id:
            return False
        if node.task != 0 and len(_live) > 1 and node.task in _live:
            if node in self.others:
                return False
            self.others[node] = Scratch()
        else:
            if self.others and node in self.others:
                return False
            node.task = self.id
            node.dependencies = 0
            node.grad = None
            node.needed = 0
        return True

    def scratch(self, node):
        """Our notes on a node that carries another task's stamp."""
        found = self.others.get(node)
        if found is None:
            raise AutogradError("MG-E105", f"dependency not found for {node.name()}", node=node.name(),
                                fix="do not change the graph (`next_functions`) while a backward runs on it")
        return found

    def depend(self, node):
        """One more edge leads to `node`. True if it is the first."""
        first: cython.bint = self.claim(node)
        if node.task == self.id:
            node.dependencies += 1
        else:
            scratch = self.scratch(node)
            scratch.dependencies += 1
        return first

    def count(self, root):
        """Count the dependencies of every node behind `root`.

        The stack is a list whose top we keep ourselves: popping from a list that is nearly empty gives its
        memory back each time, which for a chain is at every node.
        """
        stack: list = [root]
        top: cython.Py_ssize_t = 1
        node: Node
        following: Node
        i: cython.Py_ssize_t
        self.claim(root)
        while top > 0:
            top -= 1
            node = cython.cast(Node, stack[top])
            for i in range(node.edges):
                following = node.next_node(i)
                if following is None:
                    continue
                if following.task == self.id:
                    following.dependencies += 1
                elif self.depend(following):
                    if top == len(stack):
                        stack.append(following)
                    else:
                        stack[top] = following
                    top += 1
        return None

    def select(self, root):
        """`count`, and decide which nodes are needed: those from which a requested one is reached.

        When a node is left, all that lies behind it has been decided; a node met a second time has been left
        already, since there are no cycles.
        """
        path: list = [root]
        position: list = [0]
        node: Node
        i: cython.Py_ssize_t
        self.claim(root)
        self.need(root, self.requested.get(root, 0))
        while path:
            node = cython.cast(Node, path[-1])
            i = position[-1]
            if i == node.edges:
                path.pop()
                position.pop()
                if path and self.needed(node) != 0:
                    self.need(path[-1], NEEDED)
                continue
            position[-1] = i + 1
            following = node.next_node(i)
            if following is None:
                continue
            if self.depend(following):
                self.need(following, self.requested.get(following, 0))
                path.append(following)
                position.append(0)
            elif self.needed(following) != 0:
                self.need(node, NEEDED)
        return None

    def need(self, node: Node, what: cython.int):
        """Note what `node` is needed for."""
        if node.task == self.id:
            node.needed |= what
        else:
            scratch = self.scratch(node)
            scratch.needed |= what

    def needed(self, node):
        return node.needed if node.task == self.id else self.scratch(node).needed

    def forget(self, root):
        """After an error: empty the buffers that this task has left behind on nodes."""
        stack: list = [root, *self.others]
        node: Node
        while stack:
            node = cython.cast(Node, stack.pop())
            if node.task == self.id:
                node.task = 0
                node.grad = None
            elif self.others.pop(node, None) is None:
                continue
            stack.extend([n for n in node.next_nodes() if n is not None])
        return None
