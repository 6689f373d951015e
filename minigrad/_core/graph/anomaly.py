"""Anomaly mode: where in the forward pass the node was made that fails in the backward.

    node made while it is on      metadata["traceback_"]  the stack of the forward call
                                  metadata["parent_"]     the node that was running, in a double backward
    node fails while it is on     a warning with that stack, and with those of its parents
    results while it is on        a NaN in one of them is an error, if `check_nan` is set

The switch is global, as in PyTorch: it is one field of one object, so that an op which makes a node reads it
at the price of a load. The public contexts are in ``autograd/anomaly_mode.py``.

Mirrors ``torch/csrc/autograd/anomaly_mode.{h,cpp}`` and ``python_anomaly_mode.cpp``.
"""

import os
import traceback
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
    """The switch."""

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
    """Note on a new node where it was made; in anomaly mode with the whole stack, and the node that was running, if any.

    Recorders are told of it, and leave no trace on the node. Inside a stream of a GPU that is noted, too: streams.py.
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
    frames = traceback.extract_stack()
    while len(frames) > 1 and frames[-1].filename.startswith(OURS):     # how we got here is of no interest
        frames.pop()
    metadata["traceback_"] = traceback.format_list(frames)
    if state.node is not None:
        metadata["parent_"] = state.node


def report(node, error):
    """Warn about the node that has just failed with `error`: what made it, and what made that.

    Where warnings are errors, the report becomes a note on `error`, which it does not replace.
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
    """Raise if a gradient that `node` has computed has a NaN."""
    i: cython.Py_ssize_t
    for i in range(node.edges):
        if results[i] is None:
            continue
        array = cython.cast(TensorBase, results[i])._array
        if bool(cython.cast(TensorBase, results[i])._meta.backend.kernels.ne(array, array).any()):
            raise AutogradError(
                "MG-E124", f"Function '{node.name()}' returned nan values in its {i}th output.", node=node.name(),
                fix="look for 0/0, inf - inf, or the log or root of a negative number; the warning above names the forward "
                    "call, if it ran under detect_anomaly() too")
