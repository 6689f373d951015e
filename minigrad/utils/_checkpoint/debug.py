"""``checkpoint(debug=True)``: the lists of the ops of the forward and of the recomputation, and where they differ.

Mirrors ``_get_debug_context_and_cb`` of ``torch/utils/checkpoint.py``.
"""

import os
import sys

from minigrad._core.graph.tensor import TensorBase
from minigrad.utils._python_dispatch import TorchDispatchMode

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


class OperatorLog(TorchDispatchMode):
    """Records each op that runs inside, and the line of the program that called it."""

    def __init__(self):
        self.lines = []     # pairs (operation, place) of the last run

    def __enter__(self):
        self.lines = []
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args)
        self.lines.append((f"{func}({', '.join(map(describe, args))}) -> {describe(out)}", find_caller()))
        return out

    def __str__(self):
        return "\n".join([f"  {i:>3}. {operation}    {where}" for i, (operation, where) in enumerate(self.lines, 1)]) or "  none"


class Debug:
    """The logs of one checkpointed call. `explain` adds them to an error."""

    def __init__(self):
        self.forward = OperatorLog()
        self.again = OperatorLog()

    def make_contexts(self):
        """Return the two logs, as ``context_fn``."""
        return self.forward, self.again

    def explain(self, error):
        """Return the error with the logs in its message."""
        return type(error)(
            error.code, "An error happened while unpacking tensors; here are the operations of both runs. You are seeing this "
            "error because you passed `debug=True` to checkpoint().\n"
            f"Operations of the original forward:\n{self.forward}\n"
            f"Operations of the recomputation (which stops when it has all tensors that the forward saved):\n{self.again}\n"
            f"{self.compare()}\n{error.what}", fix="make the function do the same each time")

    def compare(self):
        """Return a sentence: the first operation that differs."""
        for i, ((a, _), (b, _)) in enumerate(zip(self.forward.lines, self.again.lines), 1):
            if a != b:
                return f"The runs differ from operation {i} on."
        return f"The first {min(len(self.forward.lines), len(self.again.lines))} operations of the runs are the same."


def describe(x):
    """Describe an argument or result: ``float32[2, 3]``."""
    if isinstance(x, TensorBase):
        return f"{x._meta.dtype.name}{list(x._meta.shape)}"
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(describe, x))})"
    text = repr(x)
    return text if len(text) <= 40 else type(x).__name__


def find_caller():
    """Return file, line and function of the innermost caller outside of minigrad."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
