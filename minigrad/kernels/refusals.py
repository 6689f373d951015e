"""The errors that kernels raise for arguments that do not fit each other. The ops, the reference and the C loops share them.

The ops check most arguments. They cannot know what happens to an array afterwards. Between forward and backward, a program may
write to an index in a way that counts no version, such as ``index.numpy()``. Between two steps of an optimiser, a parameter may
get other data.
"""

import functools

from minigrad.errors import DeviceError, DtypeError, NumberOverflowError, OutOfRangeError, ShapeError

__all__ = ["check_step", "no_such_class", "no_such_index", "not_complex", "too_long", "translate_index_errors"]


def no_such_class(target, classes, ignore_index):
    """The error for a target that is not a class."""
    return OutOfRangeError("MG-E301", f"Target {target} is out of bounds.",
                           expected=f"classes from 0 to {classes - 1}, or ignore_index={ignore_index}")


def no_such_index(index, size):
    """The error for an index into a dimension of `size` elements."""
    return OutOfRangeError("MG-E301", f"index {index} is out of bounds for a dimension with size {size}")


def not_complex(dtype):
    """The error for `view_as_real` of a real array: each pair would take in the next element."""
    return DtypeError("MG-E203", "view_as_real is only supported for complex tensors", found=str(dtype))


def too_long(value):
    """The error for a Python integer that does not fit in the 64 bits of the widest dtype."""
    return NumberOverflowError("MG-E302", "int too big to convert", expected="an integer of at most 64 bits",
                               found=f"an integer of {value.bit_length()} bits")


def translate_index_errors(kernel):
    """Wrap `kernel`, which indexes with NumPy: an index out of range raises our error."""
    @functools.wraps(kernel)
    def checked(*args):
        try:
            return kernel(*args)
        except IndexError as error:
            raise OutOfRangeError("MG-E301", str(error).replace("for axis", "for dimension")) from None
    return checked


def check_step(param, **others):
    """Raise unless all arrays of an optimiser step have the device, shape and dtype of the parameter.

    Args:
        param (array): the parameter.
        **others: the gradient and the state, by the names that an error should show. None is skipped.
    """
    for name, x in others.items():
        if x is None:
            continue
        if type(x) is not type(param):
            raise DeviceError("MG-E202", f"Expected all tensors to be on the same device, but the {name} is not on the device of "
                              "its parameter", fix="move the model before making the optimiser; load_state_dict() moves a state")
        if x.shape != param.shape:
            dim = next((d for d in range(-1, -1 - min(x.ndim, param.ndim), -1) if x.shape[d] != param.shape[d]), None)
            what = (f"The size of tensor a ({param.shape[dim]}) must match the size of tensor b ({x.shape[dim]}) at non-singleton "
                    f"dimension {dim % param.ndim}" if dim is not None else
                    f"The size of tensor a {list(param.shape)} must match the size of tensor b {list(x.shape)}")
            raise ShapeError("MG-E204", f"{what}: the {name} of a parameter in a step", expected=f"shape {list(param.shape)}",
                             found=f"shape {list(x.shape)}",
                             fix="load the state of the same model; after param.data = ... make a new optimiser and new gradients")
        if x.dtype != param.dtype:
            raise DtypeError("MG-E203", f"the {name} has another dtype than its parameter in a step", expected=str(param.dtype),
                             found=str(x.dtype), fix="convert the model before making the optimiser")
