"""The error of a failed stage. It shows the shapes of the stage's arguments, which tell the stages of a pipeline apart.

Mirrors ``torch/distributed/pipelining/_debug.py``.
"""

import reprlib

from minigrad.errors import AutogradError
from minigrad.tensor import Tensor


def stage_error(what, outputs, gradients, inputs):
    """Return the error to raise instead of the error of a stage. It names the shapes of the stage's arguments."""
    shapes = [f"\n  {name}: {describe_value(value)}"
              for name, value in (("Stage output", outputs), ("Output gradient", gradients), ("Input", inputs))]
    return AutogradError("MG-E230", f"Failed to run {what}:{''.join(shapes)}", fix="see the error that caused this one, above")


def describe_value(value):
    """Return `value` as text. Of a tensor, the text has the shape, requires_grad and the dtype, but no numbers."""
    if isinstance(value, Tensor):
        return f"Tensor({list(value.shape)}, grad={value.requires_grad}, dtype={value.dtype.name})"
    if isinstance(value, dict):
        return "{" + ", ".join([f"{key!r}: {describe_value(v)}" for key, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([describe_value(v) for v in value]) + "]"
    return reprlib.repr(value)
