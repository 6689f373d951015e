"""A run of the engine on several streams of a GPU. ``graph/streams.py`` says on which stream a node runs.

    MulBackward0 on s  ──g──>  AddBackward0 on the default stream          the default stream waits for s
    MulBackward0 on s  ──g──>  ExpBackward0 on s                           nothing waits

    around a node       its stream is current: for its hooks, its formula, and the sum of the gradients that reach it
    on an edge          if its two nodes run on different streams, the second stream waits for the first one
    at the start        the root's stream waits for the caller's stream, on which the gradient was made
    at the end          the caller's stream waits for the streams of the results and of the leaves that got gradients

So for the caller the backward is like one op on the current stream, even if its parts run on other streams. Only the GPU
waits; the CPU goes on.

Note [A gradient that changes streams]
    Freed GPU memory goes back to the stream that allocated it, in the order of that stream. A gradient that was computed
    on stream s may be freed while another stream still reads it, and s would give its memory to the next op. So we hold
    the memory block of such a gradient until the end of the run, when s waits for the reader. (PyTorch calls
    ``record_stream``, and its allocator checks again and again whether the reader is done.) We hold the block and not the
    tensor, because a further reference to the tensor would prevent adding in place. See Note [Adding in place].

If there is only the default stream, `execute` makes a `GraphTask` instead. So an ordinary run has nothing to check.

Mirrors ``evaluate_function``, ``input_buffer.cpp`` and ``exec_post_processing`` of ``torch/csrc/autograd``.
Read next: ``observe/recording_task.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.accumulate_grad import AccumulateGrad
from cython.cimports.minigrad._core.graph.capi import check_signals
from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.engine.graph_task import GraphTask
from minigrad._core.graph import streams
from minigrad._core.graph.node import Node


@cython.binding(False)
@cython.cclass
class StreamTask(GraphTask):
    """A `GraphTask` whose nodes run on their own GPU streams and wait for each other's results."""

    def __init__(self, number, keep_graph, create_graph, selective, outer):
        GraphTask.__init__(self, number, keep_graph, create_graph, selective, outer)
        self.guided = streams.streaming()       # False for a `RecordingTask` without streams
        self.last = []          # streams on which leaves and results were reached
        self.crossed = []       # (stream of a gradient, stream that reads it, its block)

    def run(self, root, state):
        """Run all nodes, each through `run_watched`."""
        node: Node
        self.push(root)
        try:
            while True:
                node = self.pop()
                if node is None:
                    break
                check_signals()
                while len(self.results) < node.edges:
                    self.results.append(None)
                state.node = node
                self.run_watched(node)
        finally:
            self.join()
        return None

    def run_watched(self, node):
        stream = streams.stream_of(node) if self.guided else None
        if stream is None:
            return GraphTask.run_watched(self, node)
        before = streams.queues.set_stream(stream)
        try:
            GraphTask.run_watched(self, node)
        finally:
            streams.queues.set_stream(before)
        if (node.edges == 0 or node in self.captures) and stream not in self.last:
            self.last.append(stream)
        return None

    def deliver(self, node, checked):
        self.meet(node)
        return GraphTask.deliver(self, node, checked)

    def receive(self, node, number, grad):
        """Add to a buffer on the stream of the node that will read it."""
        stream = streams.stream_of(node) if self.guided else None
        if stream is None:
            return GraphTask.receive(self, node, number, grad)
        if node is self.root:
            self.cross(stream, grad)
        before = streams.queues.set_stream(stream)
        try:
            GraphTask.receive(self, node, number, grad)
        finally:
            streams.queues.set_stream(before)
        return None

    def meet(self, node):
        """Make the streams of the nodes behind `node` wait for the current stream, if `node` has a gradient for them."""
        following: Node
        i: cython.Py_ssize_t
        if not self.guided:
            return None
        for i in range(node.edges):
            following = node.next_node(i)
            if following is None or self.results[i] is None or (self.selective and self.needed(following) == 0):
                continue
            stream = streams.stream_of(following)
            if stream is not None and self.cross(stream, self.results[i]) and isinstance(following, AccumulateGrad):
                streams.warn_of_mismatch(stream, streams.queues.current_stream(stream.device))
        return None

    def cross(self, stream, grad):
        """Make `stream` wait for the current stream before it reads `grad`. Returns False if the two are the same."""
        current = streams.queues.current_stream(stream.device)
        if current is stream:
            return False
        stream.wait_stream(current)
        if isinstance(grad, TensorBase):        # See Note [A gradient that changes streams]
            self.crossed.append((current, stream, getattr(cython.cast(TensorBase, grad)._array, "block", None)))
        return True

    def join(self):
        """Make the caller's stream wait for the streams on which the run ended, and drop the memory blocks."""
        pairs = []
        for stream in self.last:
            pairs.append((streams.queues.current_stream(stream.device), stream))
        for first, second, _ in self.crossed:
            pairs.append((first, second))
        for first, second in dict.fromkeys(pairs):
            if first is not second:
                first.wait_stream(second)
        self.last.clear()
        self.crossed.clear()
        return None
