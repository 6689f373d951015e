"""``checkpoint(debug=True)``: which ops ran in the forward, which in the recomputation, and where they part.

Mirrors ``_get_debug_context_and_cb`` of ``torch/utils/checkpoint.py``.
"""

import os
import sys

from minigrad._core.graph.tensor import TensorBase
from minigrad.utils._python_dispatch import TorchDispatchMode

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


class OperatorLog(TorchDispatchMode):
    """Notes each op that runs inside, and the line of the program that called for it."""

    def __init__(self):
        self.lines = []     # of the last run: pairs (operation, place)

    def __enter__(self):
        self.lines = []
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args)
        self.lines.append((f"{func}({', '.join(map(described, args))}) -> {described(out)}", place()))
        return out

    def __str__(self):
        return "\n".join([f"  {i:>3}. {operation}    {where}" for i, (operation, where) in enumerate(self.lines, 1)]) or "  none"


class Debug:
    """The logs of one checkpointed call, and the error that shows them."""

    def __init__(self):
        self.forward = OperatorLog()
        self.again = OperatorLog()

    def contexts(self):
        """For ``context_fn``."""
        return self.forward, self.again

    def explain(self, error):
        """The error `error`, with the logs."""
        return type(error)(
            error.code, "An error happened while unpacking tensors; here are the operations of both runs. You are seeing this "
            "error because you passed `debug=True` to checkpoint().\n"
            f"Operations of the original forward:\n{self.forward}\n"
            f"Operations of the recomputation (which ends early once all is there that the forward saved):\n{self.again}\n"
            f"{self.parting()}\n{error.what}", fix="make the function do the same each time")

    def parting(self):
        """Where the two runs part."""
        for i, ((a, _), (b, _)) in enumerate(zip(self.forward.lines, self.again.lines), 1):
            if a != b:
                return f"They part at operation {i}."
        return f"Their first {min(len(self.forward.lines), len(self.again.lines))} operations are the same."


def described(x):
    """An argument or result in a few letters."""
    if isinstance(x, TensorBase):
        return f"{x._meta.dtype.name}{list(x._meta.shape)}"
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(described, x))})"
    text = repr(x)
    return text if len(text) <= 40 else type(x).__name__


def place():
    """File, line and function of the innermost caller outside of minigrad."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
