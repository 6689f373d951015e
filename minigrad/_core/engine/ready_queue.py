# cython: boundscheck=False, wraparound=False
"""The ready queue: of the ready nodes, the node that was created last runs first.

It is a heap on the sequence number, in a list. Leaf accumulators have the largest sequence number. So they run as soon as
they are ready, and their buffers are freed. Only accumulators have equal numbers. Their order is that of libstdc++'s heap,
whose algorithm we follow (``push_heap``, ``pop_heap``): PyTorch has this order, and hooks can see it.

Note [The node that runs next]
    Most graphs need the heap for few of their nodes: in a chain one node is ready at a time, and the accumulator of a leaf runs as
    soon as it is ready. So a task has a field, `ready`, for one node that was created after all nodes in its heap, and such a node
    goes in and out without the heap. Only nodes with equal numbers must all be in the heap, where they have PyTorch's order: the
    second one sends the first there too. (Which nodes with smaller numbers are in the heap, or where, does not change that order.)

Mirrors ReadyQueue of ``torch/csrc/autograd/engine.h``. Read next: ``graph_task.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.capi import pop_last

from minigrad._core.graph.node import Node


def push_ready(heap, node):
    """Put `node` into the heap."""
    heap.append(node)
    sift_up(heap, len(heap) - 1, node)


@cython.nonecheck(False)
def pop_ready(heap):
    """Remove the node that runs first from the heap, which must not be empty, and return it."""
    top = cython.cast(Node, heap[0])
    last = cython.cast(Node, pop_last(heap))
    n: cython.Py_ssize_t = len(heap)
    if n == 0:
        return top
    hole: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t = 0
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if cython.cast(Node, heap[child]).sequence < cython.cast(Node, heap[child - 1]).sequence:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if n & 1 == 0 and child == (n - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    sift_up(heap, hole, last)
    return top


@cython.nonecheck(False)
@cython.cfunc
def sift_up(heap: list, hole: cython.Py_ssize_t, node: Node) -> object:
    """Put `node` into the hole of the heap, or move it further up."""
    parent: cython.Py_ssize_t
    while hole > 0:
        parent = (hole - 1) // 2
        if not cython.cast(Node, heap[parent]).sequence < node.sequence:
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = node
    return None
