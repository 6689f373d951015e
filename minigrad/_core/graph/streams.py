"""On which stream of a GPU a node runs.

    with mg.cuda.stream(s):
        y = x * w               MulBackward0 is noted: s          noted[node] == (s,)
    z = y + 1                   AddBackward0 is not: the default stream

    z.backward()                AddBackward0 runs on the default stream, MulBackward0 on s, which first waits for the other

A node runs on the stream that was current when it was made, the accumulator of a leaf too: so what ran side by side in the
forward pass does so in the backward. Only nodes that were made inside another stream than the default one are noted, in a
table beside them: the others, and all nodes of the CPU, have no field for it and cost nothing.

This file knows of no GPU. The functions that make a stream the current one (kernels/cuda/runtime/streams.py) are brought by
minigrad/cuda when a GPU is first used (`use_queues`).

Mirrors ``Node::stream`` of ``torch/csrc/autograd/node.h``. Read next: ``stream_task.py``, a run of the engine on streams.
"""

import warnings
import weakref

from minigrad._core.graph.switches import switches

# Node -> the streams that were current when it was made, one per GPU at most, without default ones.
noted = weakref.WeakKeyDictionary()
queues = None       # kernels/cuda/runtime/streams.py, once a GPU is in use
warns = True        # set_warn_on_accumulate_grad_stream_mismatch()


def use_queues(module):
    """Supply ``current_stream(device)``, ``default_stream(device)``, ``set_stream(stream)`` and ``other_streams()``."""
    global queues
    queues = module


def set_warns(enabled):
    """Whether `warn_of_mismatch` does."""
    global warns
    warns = enabled


def note_streams(node):
    """Note on a new node the streams that are current, if there are any but the default one."""
    others = queues.other_streams()
    if others:
        noted[node] = others


def streaming():
    """Whether a backward has to mind streams: this or another thread is inside of one, or a node was made inside of one."""
    return switches.streams > 0 or len(noted) > 0


def stream_of(node):
    """The stream that `node` runs on; None for a node of the CPU, which runs on whatever is current."""
    for meta in node._input_metadata:
        if meta is not None and meta.device.type != "cpu":
            for stream in noted.get(node, ()):
                if stream.device is meta.device:
                    return stream
            return queues.default_stream(meta.device)
    return None


def warn_of_mismatch(leaf, found):
    """Warn that `leaf`, the stream of an accumulator, is not `found`, the stream on which the gradient was computed."""
    if warns:
        warnings.warn(
            f"The gradient of a leaf was computed on {found}, but its AccumulateGrad node belongs to {leaf}, which was current "
            "when that node was made: the one has to wait for the other, which may cost time. The node is older than this forward "
            "pass: a graph that is still alive holds it, by its loss, say. Drop what holds that graph, or run the first forward "
            "pass on the same stream as the later ones; if it is meant to be so, "
            "minigrad.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False) turns this warning off.",
            UserWarning, stacklevel=2)


class carried:
    """Context manager for a thread that works for this one: this thread's current streams are current there too."""

    def __init__(self):
        self.streams = queues.other_streams() if switches.streams > 0 else ()
        self.before = []

    def __enter__(self):
        self.before = [queues.set_stream(stream) for stream in self.streams]

    def __exit__(self, *exc_info):
        for stream in self.before:
            queues.set_stream(stream)
