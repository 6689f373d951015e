"""The GPU stream of each node.

    with mg.cuda.stream(s):
        y = x * w               MulBackward0 belongs to s                       noted[node] == (s,)
    z = y + 1                   AddBackward0 belongs to the default stream      not in `noted`

    z.backward()                AddBackward0 runs on the default stream; MulBackward0 runs on s, which first waits for it

A node runs on the stream that was current when the node was made. This also holds for the accumulator of a leaf. So ops that
ran side by side in the forward pass also run side by side in the backward. Only nodes made on a stream other than the default
one are in the table `noted`. A node has no field for its stream, so all other nodes cost nothing.

This file does not depend on a GPU. When a GPU is first used, minigrad/cuda calls `use_queues` and supplies the functions that
make a stream current (kernels/cuda/runtime/streams.py).

Mirrors ``Node::stream`` of ``torch/csrc/autograd/node.h``. Read next: ``engine/stream_task.py``, a run of the engine on streams.
"""

import warnings
import weakref
from typing import Any

from minigrad._core.graph.switches import switches

# Node -> the streams that were current when it was made: at most one for each GPU, and no default streams.
noted = weakref.WeakKeyDictionary()
queues: Any = None  # the module kernels/cuda/runtime/streams.py, after a GPU was first used
warns = True        # set_warn_on_accumulate_grad_stream_mismatch()


def use_queues(module):
    """Supply ``current_stream(device)``, ``default_stream(device)``, ``set_stream(stream)`` and ``other_streams()``."""
    global queues
    queues = module


def set_warns(enabled):
    """Set whether `warn_of_mismatch` warns."""
    global warns
    warns = enabled


def note_streams(node):
    """Add a new node to `noted` if a stream other than the default one is current."""
    others = queues.other_streams()
    if others:
        noted[node] = others


def streaming():
    """Whether a backward must handle streams: a thread is inside a stream context, or a live node was made in one."""
    return switches.streams > 0 or len(noted) > 0


def stream_of(node):
    """The stream that `node` runs on, or None for a node on the CPU: it needs no stream."""
    for meta in node._input_metadata:
        if meta is not None and meta.device.type != "cpu":
            for stream in noted.get(node, ()):
                if stream.device is meta.device:
                    return stream
            return queues.default_stream(meta.device)
    return None


def warn_of_mismatch(leaf, found):
    """Warn if warnings are on: the gradient was computed on stream `found`, but the leaf's accumulator runs on stream `leaf`."""
    if warns:
        warnings.warn(
            f"The gradient of a leaf was computed on {found}, but its AccumulateGrad node belongs to {leaf}, which was current "
            f"when that node was made. {leaf} has to wait for {found}, which may cost time. The node is older than this forward "
            "pass: a graph that is still alive holds it, for example through a loss. Delete the references to that graph, or run "
            "the first forward pass on the same stream as the later ones. If you want two streams, "
            "minigrad.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False) turns this warning off.",
            UserWarning, stacklevel=2)


class carried:
    """Context manager for a thread that works for this thread: it makes this thread's streams current in that thread too."""

    def __init__(self):
        self.streams = queues.other_streams() if switches.streams > 0 else ()
        self.before = []

    def __enter__(self):
        self.before = [queues.set_stream(stream) for stream in self.streams]

    def __exit__(self, *exc_info):
        for stream in self.before:
            queues.set_stream(stream)
