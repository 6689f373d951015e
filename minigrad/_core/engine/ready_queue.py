# cython: boundscheck=False, wraparound=False
"""The ready queue: of the ready nodes, the node that was created last runs first.

`ready` has one node that was created after all others in the queue, `row` has nodes in the order in which they run, and `heap`
has the rest. Most graphs need the first two only.

    y = f(g(h(x)))          one node is ready at a time            ready
    y = p1 + p2 + p3        each product was created before        ready: the sum of p1 and p2
                            those that wait already                row:   p3's node, later p2's and p1's

Leaf accumulators have the largest sequence number. So they run as soon as they are ready, and their buffers are freed. Only
accumulators have equal numbers. Their order is that of libstdc++'s heap, whose algorithm we follow (``push_heap``, ``pop_heap``):
PyTorch has this order, and hooks can see it. It depends on the number of nodes in the heap (and not on which these are, if they
have smaller numbers). So while two accumulators are ready, all nodes are in the heap.

Note [The node that runs next]
    The engine goes back through the graph. So a node that becomes ready was usually created before all nodes that wait: its
    place is the end of the row. The inputs of one node become ready in the order in which they were created, so each goes a few
    places further up than the one before. Only a node that would go further than `NEAR` places goes into the heap: each place
    costs as much as a step down the heap. To take a node out of the row is one step. In a heap of n nodes it is log n steps,
    and each looks at a distant node: in a tree of a million nodes, they took half the time of the backward.

Mirrors ReadyQueue of ``torch/csrc/autograd/engine.h``. Read next: ``graph_task.py``.
"""

import cython

from minigrad._core.graph.accumulate_grad import LAST as _LAST
from minigrad._core.graph.node import Node

LAST = cython.declare(cython.ulonglong, _LAST)      # the sequence number of accumulators
NEAR = cython.declare(cython.Py_ssize_t, 16)


@cython.binding(False)
@cython.cclass
class ReadyQueue:
    """Nodes of which the one that was created last comes out first."""

    def __init__(self):
        self.ready = None           # a node that was created after all others in the queue
        self.row = []               # latest first, in the places from `first` to `end`; the other places have None
        self.first = self.end = 0
        self.heap = []

    @cython.nonecheck(False)
    def push(self, node):
        """Put `node` into the queue."""
        before = self.ready
        if before is None:
            if (not self.heap or cython.cast(Node, self.heap[0]).sequence < node.sequence) \
                    and (self.first == self.end or cython.cast(Node, self.row[self.first]).sequence < node.sequence):
                self.ready = node
                return None
        elif before.sequence < node.sequence:
            self.ready = node
            node = before
        elif before.sequence == node.sequence:      # two accumulators
            self.ready = None
            while self.first < self.end:
                push_ready(self.heap, self.take_first())
            push_ready(self.heap, before)
        if (self.heap and cython.cast(Node, self.heap[0]).sequence == LAST) or not self.insert(node):
            push_ready(self.heap, node)
        return None

    @cython.nonecheck(False)
    def pop(self):
        """Take the node that runs next out of the queue. None if the queue is empty."""
        node = self.ready
        if node is not None:
            self.ready = None
            return node
        if self.first < self.end:
            node = cython.cast(Node, self.row[self.first])
        if self.heap and (node is None or node.sequence < cython.cast(Node, self.heap[0]).sequence):
            return pop_ready(self.heap)
        return node if node is None else self.take_first()

    def take_first(self):
        """Take the first node out of the row."""
        node = self.row[self.first]
        self.row[self.first] = None
        self.first += 1
        if self.first == self.end:
            self.first = self.end = 0
        return node

    @cython.nonecheck(False)
    def insert(self, node):
        """Put `node` into its place in the row, if that is near one of the ends. Returns whether it is."""
        row = self.row
        if 0 < self.first < self.end and cython.cast(Node, row[self.first]).sequence < node.sequence:
            self.first -= 1
            row[self.first] = node
            return True
        place: cython.Py_ssize_t = self.end
        while place > self.first and cython.cast(Node, row[place - 1]).sequence < node.sequence:
            place -= 1
            if self.end - place > NEAR:
                return False
        if self.end == len(row):
            row.append(None)
        i: cython.Py_ssize_t
        for i in range(self.end, place, -1):
            row[i] = row[i - 1]
        row[place] = node
        self.end += 1
        return True

    def waiting_nodes(self):
        """The nodes in the queue."""
        return [*self.row[self.first:self.end], *self.heap, *([] if self.ready is None else [self.ready])]


@cython.cfunc
def push_ready(heap: list, node: Node) -> object:
    """Put `node` into the heap."""
    heap.append(node)
    sift_up(heap, len(heap) - 1, node)
    return None


@cython.cfunc
def pop_ready(heap: list) -> Node:
    """Remove the node that runs first from the heap, which must not be empty, and return it."""
    top = cython.cast(Node, heap[0])
    last = cython.cast(Node, heap.pop())
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
