"""The error for operands that do not broadcast.

A kernel notices it first, but its message may name other shapes than the user's. So we raise again, with the tensors' shapes.
"""

from typing import Any

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import ShapeError

__all__ = ["call_broadcasting", "explain_misfit"]


def explain_misfit(run, op, *args) -> Any:
    """Return ``run(op, *args)``. If it fails because the operands do not broadcast, raise an error that names their shapes.

    `args` is (operands,), or (target, other operands) for an in-place write.
    """
    try:
        return run(op, *args)
    except (ValueError, ShapeError):
        operands = args[0] if len(args) == 1 else (args[0], *args[1])
        broadcast_shape([x._meta for x in operands if isinstance(x, TensorBase)])
        raise


def call_broadcasting(op, operands) -> Any:
    """Return ``call(op, operands)``. If the operands do not broadcast, raise an error that names their shapes."""
    return explain_misfit(call, op, operands)
