"""Operands as a kernel takes them, and the errors for those that do not fit: on another device, of another shape, or too large."""

import cython
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.op_node import contains_tensor
from cython.cimports.minigrad._core.record.view_base import requires_grad

from minigrad._core.graph.tensor import TensorBase
from minigrad.errors import (
    AutogradError,
    DeviceError,
    MinigradError,
    NumberOverflowError,
    OutOfMemoryError,
    ShapeError,
    TensorTypeError,
)

__all__ = ["check_same_device", "has_history_error", "not_a_tensor_error", "to_constant_argument", "to_constant_arguments",
           "to_kernel_argument", "translate_kernel_error"]

# The beginnings of NumPy's messages for a shape that no array can have, however much memory there is.
TOO_BIG = ("array is too big", "an array of shape", "Maximum allowed dimension", "Maximum allowed size")
TOO_MANY_DIMENSIONS = ("maximum supported dimension", "an array has at most", "number of dimensions must be within")
NO_BROADCAST = ("operands could not be broadcast", "shape mismatch", "could not broadcast")


def to_kernel_argument(argument):
    """An argument as the kernel takes it: tensors, also those in a tuple, are replaced by their arrays."""
    if isinstance(argument, TensorBase):
        return cython.cast(TensorBase, argument)._array
    if type(argument) is tuple and argument and contains_tensor(argument):
        return tuple([to_kernel_argument(x) for x in argument])
    return argument


def to_constant_arguments(op, args):
    """`args`, with all but the first as the kernel takes them."""
    i: cython.Py_ssize_t
    for i in range(1, len(args)):
        if isinstance(args[i], TensorBase) or (type(args[i]) is tuple and contains_tensor(args[i])):
            return tuple([args[k] if k == 0 else to_constant_argument(op, k, args[k]) for k in range(len(args))])
    return args


def to_constant_argument(op, i, argument):
    """`to_kernel_argument` for an argument without a derivative, such as a mask. Raises if it requires a gradient."""
    if isinstance(argument, TensorBase):
        tensor = cython.cast(TensorBase, argument)
        if tensor._meta.dtype.differentiable and requires_grad(tensor) and current().grad_enabled:
            raise has_history_error(op, i, tensor)
    return to_kernel_argument(argument)


def check_same_device(op, first, tensor):
    """Raise if `first` and `tensor` are on different devices. Returns `first`, or `tensor` if `first` is None."""
    if first is not None and first._meta.device is not tensor._meta.device and first._meta.device != tensor._meta.device:
        raise DeviceError(
            "MG-E202", "Expected all tensors to be on the same device, but found at least two devices, "
            f"{first._meta.device} and {tensor._meta.device}, in {op.name}().",
            fix="move one of the tensors: x.to(y.device)")
    return tensor if first is None else first


def not_a_tensor_error(op, x):
    """The error for an argument `x` of `op` that should be a tensor."""
    return TensorTypeError("MG-E201", f"{op.name}(): argument must be Tensor, not {type(x).__name__}",
                           fix="convert it with minigrad.tensor(...)")


def has_history_error(op, i, x):
    """The error for argument `i` of `op`: it requires a gradient, but the op has no derivative with respect to it."""
    name = op.rule.torch_names.get(op.params[i], op.params[i])
    return AutogradError("MG-E307", f"The function '{op.name}' is not differentiable with respect to argument '{name}'. This input "
                         "cannot have requires_grad True.", tensor=f"{x._meta.dtype.name} {list(x._meta.shape)}",
                         fix=f"{name}.detach(), if it is a constant")


def translate_kernel_error(name, error):
    """The error that the function `name` should raise for `error`, which its kernel raised.

    One of ours if the operands do not fit or the result is too large, else `error` itself.
    """
    if isinstance(error, MinigradError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemoryError("MG-E311", f"{name}(): can't allocate memory", found=str(error) or None,
                                fix="use a smaller batch, del tensors that are no longer needed, or run it under no_grad()")
    if isinstance(error, OverflowError):
        return NumberOverflowError("MG-E302", f"{name}(): a number is too large to convert", found=str(error))
    if str(error).startswith(TOO_BIG):
        return ShapeError("MG-E206", f"{name}(): Storage size calculation overflowed", found=str(error))
    if str(error).startswith(TOO_MANY_DIMENSIONS):
        return ShapeError("MG-E205", f"{name}(): a tensor has at most 64 dimensions", found=str(error))
    if str(error).startswith(NO_BROADCAST):
        return ShapeError("MG-E204", f"{name}(): The size of tensor a must match the size of tensor b at every dimension "
                          "where neither is 1", found=str(error))
    return error
