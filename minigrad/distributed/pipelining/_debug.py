"""How an error tells which stage of a pipeline it comes from: by the shapes of what the stage was given.

Mirrors ``torch/distributed/pipelining/_debug.py``.
"""

import reprlib

from minigrad.errors import AutogradError
from minigrad.tensor import Tensor


def failed(what, outputs, gradients, inputs):
    """The error in which others arrive: which stage it was can be seen from its shapes."""
    return AutogradError("MG-E230", f"Failed to run {what}:\n  Stage output: {described(outputs)}\n  Output gradient: "
                         f"{described(gradients)}\n  Input: {described(inputs)}", fix="see the error that caused this one, above")


def described(value):
    """`value` with tensors as shape, whether they require a gradient, and dtype: no data."""
    if isinstance(value, Tensor):
        return f"Tensor({list(value.shape)}, grad={value.requires_grad}, dtype={value.dtype.name})"
    if isinstance(value, dict):
        return "{" + ", ".join([f"{key!r}: {described(v)}" for key, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([described(v) for v in value]) + "]"
    return reprlib.repr(value)
