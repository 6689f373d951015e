"""What an op says whose operands do not broadcast: their shapes, which the kernel that noticed does not know as the user does."""

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import ShapeError

__all__ = ["call_broadcasting", "explain_misfit"]


def explain_misfit(run, op, *args):
    """``run(op, *args)``, with the error of broadcasting where the operands do not fit.

    `args` are (operands,), or the target of a write in place and the other operands.
    """
    try:
        return run(op, *args)
    except (ValueError, ShapeError):
        operands = args[0] if len(args) == 1 else (args[0], *args[1])
        broadcast_shape([x._meta for x in operands if isinstance(x, TensorBase)])
        raise


def call_broadcasting(op, operands):
    """`call`, with the error of broadcasting where the operands do not fit."""
    return explain_misfit(call, op, operands)
