"""The errors of kernels whose arguments do not go together: for the ops, the reference and the loops in C.

Most arguments have been checked by the ops. What they cannot know is what happens to an array afterwards: an index may be written
to between forward and backward by a way that counts no versions, such as ``index.numpy()``; a parameter may be given other data
between two steps of an optimiser.
"""

import functools

from minigrad.errors import NumberOverflowError, OutOfRangeError, ShapeError

__all__ = ["check_step", "indexed", "no_such_class", "no_such_index", "not_complex", "too_long"]


def no_such_class(target, classes, ignore_index):
    """The error for a target that is no class."""
    return OutOfRangeError("MG-E301", f"Target {target} is out of bounds.",
                           expected=f"classes from 0 to {classes - 1}, or ignore_index={ignore_index}")


def no_such_index(index, size):
    """The error for an index into a dimension of `size` elements."""
    return OutOfRangeError("MG-E301", f"index {index} is out of bounds for a dimension with size {size}")


def not_complex(dtype):
    """The error for pairs of numbers asked for of real ones, of which each would take the next."""
    return ShapeError("MG-E203", "view_as_real is only supported for complex tensors", found=str(dtype))


def too_long(value):
    """The error for an integer that would meet others of 64 bits at most."""
    return NumberOverflowError("MG-E302", "int too big to convert", expected="an integer of at most 64 bits",
                               found=f"one of {value.bit_length()} bits")


def indexed(kernel):
    """`kernel`, which indexes by NumPy, with an error of ours for an index that is not there."""
    @functools.wraps(kernel)
    def checked(*args):
        try:
            return kernel(*args)
        except IndexError as error:
            raise OutOfRangeError("MG-E301", str(error).replace("for axis", "for dimension")) from None
    return checked


def check_step(param, **others):
    """Raise unless the gradient and the state of a step have the device, shape and dtype of `param`. None stands for none."""
    for name, x in others.items():
        if x is None:
            continue
        if type(x) is not type(param):
            raise ShapeError("MG-E202", f"Expected all tensors to be on the same device, but the {name} is on another one than its "
                             "parameter", fix="move the model before making the optimiser; load_state_dict() moves a state")
        if x.shape != param.shape:
            dim = next((d for d in range(-1, -1 - min(x.ndim, param.ndim), -1) if x.shape[d] != param.shape[d]), None)
            what = (f"The size of tensor a ({param.shape[dim]}) must match the size of tensor b ({x.shape[dim]}) at non-singleton "
                    f"dimension {dim % param.ndim}" if dim is not None else
                    f"The size of tensor a {list(param.shape)} must match the size of tensor b {list(x.shape)}")
            raise ShapeError("MG-E204", f"{what}: the {name} of a parameter in a step", expected=f"shape {list(param.shape)}",
                             found=f"shape {list(x.shape)}",
                             fix="load the state of the same model; after param.data = ... make a new optimiser, and gradients")
        if x.dtype != param.dtype:
            raise ShapeError("MG-E203", f"the {name} of a parameter has another dtype in a step", expected=str(param.dtype),
                             found=str(x.dtype), fix="convert the model before making the optimiser")
