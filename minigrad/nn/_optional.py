"""Parameters that a layer has or has not, as its flags say."""

from minigrad.creation import empty
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.rule import truth

__all__ = ["flag_of", "register_optional"]


def flag_of(module, name, value):
    """Whether `value`, the argument `name` of a layer, is true. Raises `TypeError` for an array or a tensor of several numbers."""
    return truth(value, name, type(module).__name__)


def register_optional(module, name, wanted, shape, device, dtype):
    """Register a parameter of `shape`, whose numbers are not set yet, or None if it is not `wanted`."""
    module.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None)
