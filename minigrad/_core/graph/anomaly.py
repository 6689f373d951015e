"""Anomaly mode: if a node fails in the backward, show where in the forward pass it was made.

While the mode is on:

    a node is made          metadata["traceback_"]  the stack of the forward call
                            metadata["parent_"]     the node that was running, in a double backward
    a node fails            a warning shows that stack, and the stacks of its parents
    a node has run          a NaN in one of its results is an error, if `check_nan` is set

The switch is global, as in PyTorch. It is one field of one object, so an op that makes a node reads it with one load.
The public contexts are in ``autograd/anomaly_mode.py``.

Mirrors ``torch/csrc/autograd/anomaly_mode.{h,cpp}`` and ``python_anomaly_mode.cpp``.
"""

import os
import warnings

import cython
from cython.cimports.minigrad._core.graph.switches import user_location
from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.graph.streams import note_streams
from minigrad._core.graph.switches import switches
from minigrad.errors import AutogradError


@cython.binding(False)
@cython.cclass
class Anomaly:
    """The switch of anomaly mode."""

    def __init__(self):
        self.enabled = False
        self.check_nan = True

    def switch(self, enabled, check_nan):
        """Set both flags."""
        self.enabled, self.check_nan = enabled, check_nan
        switches.anomaly = enabled
        switches.update_derived()


anomaly = Anomaly()
CORE = os.path.dirname(os.path.dirname(__file__))
OURS = (CORE, os.path.join(os.path.dirname(CORE), "ops"))


def note_creation(node, state):
    """Note on a new node where it was made; in anomaly mode also the whole stack, and the running node if there is one.

    Also tell the recorders of the node. Inside a GPU stream, note that stream too: streams.py.
    """
    if switches.streams > 0:
        note_streams(node)
    if switches.recording:
        switches.note("made", node, {"by": state.node})
    if not switches.notes_locations:
        return
    node.extras().place = user_location()
    if not anomaly.enabled:
        return
    metadata = node.metadata
    import traceback  # 2 million instructions that few programs need
    frames = traceback.extract_stack()
    while len(frames) > 1 and frames[-1].filename.startswith(OURS):     # leave out our own frames
        frames.pop()
    metadata["traceback_"] = traceback.format_list(frames)
    if state.node is not None:
        metadata["parent_"] = state.node


def report(node, error):
    """Warn that `node` has failed with `error`: show the forward call that made it, and those of its parents.

    If warnings are errors, add the text to `error` as a note instead.
    """
    text = f"Error detected in {node.name()}."
    while True:
        metadata = node.metadata
        trace = metadata.get("traceback_")
        if trace is None:
            text += " No forward pass information available. Enable detect anomaly during forward pass for more information."
        else:
            text += " Traceback of forward call that caused the error:\n" + "".join(trace)
        try:
            warnings.warn(text, UserWarning, stacklevel=2)
        except Warning:
            error.add_note(text)
        node = metadata.get("parent_")
        if node is None:
            return
        text = f"\n\nPrevious calculation was induced by {node.name()}."


def check_results(node, results):
    """Raise if one of the gradients that `node` has computed contains a NaN."""
    i: cython.Py_ssize_t
    for i in range(node.edges):
        if results[i] is None:
            continue
        array = cython.cast(TensorBase, results[i])._array
        if bool(cython.cast(TensorBase, results[i])._meta.backend.kernels.ne(array, array).any()):
            raise AutogradError(
                "MG-E124", f"Function '{node.name()}' returned nan values in its {i}th output.", node=node.name(),
                fix="look for 0/0, inf - inf, or the log or root of a negative number. If the forward ran under "
                    "detect_anomaly() too, the warning above names the forward call")
