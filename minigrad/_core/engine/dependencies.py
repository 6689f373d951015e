"""The walks over the graph before a task runs: how many gradients each node waits for, and which nodes are needed.

    compute_dependencies    follow every edge behind the root once; add one dependency to the node that the edge leads to
    select_nodes            the same walk, depth first, for a run with ``inputs=``: a node is needed if a path leads
                            from it to a requested node
    clear_buffers           after an error: drop the gradients that the task has left on nodes

We count edges and not nodes: in ``a * a`` two edges lead from the product to a. Each walk has its own stack, so a deep
graph does not exhaust Python's.

Note [Scratch on the node]
    A node has fields for its count and its buffer, and a field for the number of the task that they belong to. So the
    hot loop needs no dict, and nothing has to be cleared between tasks: a task ignores the fields of a node that has
    another number. If the number is that of another *live* task (a backward inside a hook, or in another thread), this
    task leaves the fields alone. It keeps a `Scratch` for the node in its dict `others` instead.

Mirrors compute_dependencies and GraphTask::init_to_execute of ``torch/csrc/autograd/engine.cpp``.
Read next: ``graph_task.py``.
"""

import cython

from minigrad._core.engine.graph_task import GraphTask, Scratch
from minigrad._core.graph.locks import new_lock
from minigrad._core.graph.node import NEEDED as _NEEDED
from minigrad._core.graph.node import Node

NEEDED = cython.declare(cython.int, _NEEDED)
live = {}       # number -> task, for the tasks that run in any thread
_live = cython.declare(dict, live)
# Interpreted, two threads might claim one node at the same time. The lock is reentrant: a walk allocates memory, so the
# garbage collector may run, and with it a finalizer that calls backward.
claiming = new_lock()


def count_dependencies(task, root):
    """The walk that `task` needs."""
    return select_nodes(task, root) if task.selective else compute_dependencies(task, root)


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.nonecheck(False)
def compute_dependencies(task, root):
    """Count the dependencies of every node behind `root`.

    The stack is a list that we never shrink; `top` is its length in use. Popping would return memory whenever the list
    is nearly empty, and on a chain that is at every node.
    """
    stack: list = [root]
    top: cython.Py_ssize_t = 1
    number: cython.ulonglong = task.id
    node: Node
    following: Node
    i: cython.Py_ssize_t
    claim(task, root)
    while top > 0:
        top -= 1
        node = cython.cast(Node, stack[top])
        for i in range(node.edges):
            following = node.next0 if i == 0 else node.next1 if i == 1 else node.next_more[i - 2]     # next_node, without a call
            if following is None:
                continue
            if following.task == number:
                following.dependencies += 1
            elif add_dependency(task, following):
                if top == len(stack):
                    stack.append(following)
                else:
                    stack[top] = following
                top += 1
    return None


def select_nodes(task, root):
    """`compute_dependencies`, and mark the needed nodes: those from which a path leads to a requested node.

    When the walk leaves a node, it has decided about every node behind it. The graph has no cycles, so the walk has already
    left each node that it meets a second time.
    """
    path: list = [root]     # not shrunk, as the stack above
    position: list = [0]
    last: cython.Py_ssize_t = 0
    node: Node
    following: Node
    i: cython.Py_ssize_t
    claim(task, root)
    mark(task, root, task.requested.get(root, 0))
    while last >= 0:
        node = cython.cast(Node, path[last])
        i = position[last]
        if i == node.edges:
            last -= 1
            if last >= 0 and task.needed(node) != 0:
                mark(task, path[last], NEEDED)
            continue
        position[last] = i + 1
        following = node.next_node(i)
        if following is None:
            continue
        if add_dependency(task, following):
            mark(task, following, task.requested.get(following, 0))
            last += 1
            if last == len(path):
                path.append(following)
                position.append(0)
            else:
                path[last] = following
                position[last] = 0
        elif task.needed(following) != 0:
            mark(task, node, NEEDED)
    return None


def clear_buffers(task, root):
    """After an error: drop the gradients that `task` has left on nodes."""
    stack: list = [root, *task.others]
    node: Node
    while stack:
        node = cython.cast(Node, stack.pop())
        if node.task == task.id:
            node.task = 0
            node.grad = None
        elif task.others.pop(node, None) is None:
            continue
        stack.extend([n for n in node.next_nodes() if n is not None])
    return None


@cython.nonecheck(False)
@cython.cfunc
def claim(task: GraphTask, node: Node) -> cython.bint:
    """Prepare the scratch of `node` for `task`. Returns False if that was done before."""
    if node.task == task.id:
        return False
    if (node.task != 0 and len(_live) > 1) or task.others:
        if node in task.others:
            return False
        if node.task in _live:
            task.others[node] = Scratch()
            return True
    node.task = task.id
    node.dependencies = 0
    node.grad = None
    node.needed = 0
    return True


@cython.nonecheck(False)
@cython.cfunc
def add_dependency(task: GraphTask, node: Node) -> cython.bint:
    """Count one more edge that leads to `node`. Returns True for the first edge."""
    first: cython.bint = claim(task, node)
    if node.task == task.id:
        node.dependencies += 1
    else:
        scratch = task.scratch(node)
        scratch.dependencies += 1
    return first


@cython.cfunc
def mark(task: GraphTask, node: Node, flags: cython.int) -> object:
    """Add `flags` to what `task` needs `node` for."""
    if node.task == task.id:
        node.needed |= flags
    else:
        scratch = task.scratch(node)
        scratch.needed |= flags
    return None
