"""Parameters that a layer has only if a flag is set, such as `bias`."""

from minigrad.creation import empty
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.arguments import truth

__all__ = ["flag_of", "register_optional"]


def flag_of(module, name, value):
    """Return the truth of `value`, the argument `name` of a layer. Raise `TypeError` for an array or tensor of several elements."""
    return truth(value, name, type(module).__name__)


def register_optional(module, name, wanted, shape, device, dtype):
    """Register an uninitialized parameter of `shape`, or None if it is not `wanted`."""
    module.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None)
