"""Checks of the arguments of convolutions and pooling: each function raises an error with PyTorch's text, or returns.

    operands        check_image_dims, check_operands        the shapes and dtypes of input, weight and bias
    options         sizes, window_options, transposed_options       stride, padding, ..., as tuples of ints
    results         check_room, check_result        whether the result has elements

Read first: ``convolution.py``. Mirrors the checks in ``aten/src/ATen/native/Convolution.cpp``.
"""

from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.rule import integer, tensor_argument

# ---- operands -------------------------------------------------------------------------------------------------


def check_image_dims(function, input, n):
    """Raise unless `input` has a dimension of channels and n more, perhaps after a batch dimension."""
    tensor_argument(function, input)
    if input.ndim not in (n + 1, n + 2):
        raise ShapeError("MG-E210", f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {function}, but got input of "
                         f"size: {list(input.shape)}")


def check_operands(function, n, input, weight, bias, transposed, groups):
    """Return `groups` as an int. Raise unless the shapes and dtypes of `input`, `weight` and `bias` fit."""
    if bias is not None:
        tensor_argument(function, bias, "bias", 3)
    groups = integer(groups, "groups", function)
    check_image_dims(function, input, n)
    tensor_argument(function, weight, "weight", 2)
    if weight.ndim != n + 2:
        raise ShapeError("MG-E210", f"{function}(): expected a {n + 2}D weight, but got weight of size {list(weight.shape)}")
    channels = input.shape[-n - 1]
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    if groups <= 0 or weight.shape[0] % groups or weight.shape[0] < groups:
        raise ShapeError("MG-E210", f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, and "
                         f"divisible by it, but got weight of size {list(weight.shape)} instead")
    if channels != wanted:
        raise ShapeError("MG-E210", f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size "
                         f"{list(weight.shape)}, expected input{list(input.shape)} to have {wanted} channels, but got {channels} "
                         "channels instead")
    if input.dtype is not weight.dtype or (bias is not None and bias.dtype is not weight.dtype):
        raise DtypeError("MG-E203", f"Input type ({input.dtype.name}) and weight type ({weight.dtype.name}) should be the same, "
                         f"and bias too, in {function}()")
    out = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(bias.shape) != (out,):
        raise ShapeError("MG-E210", f"Given {'transposed=1, ' if transposed else ''}weight of size {list(weight.shape)}, "
                         f"expected bias to be 1-dimensional with {out} elements, but got bias of size {list(bias.shape)} "
                         "instead")
    if 0 in weight.shape[2:] or (transposed and 0 in weight.shape):
        raise ShapeError("MG-E210", f"kernel size should be greater than zero, but got weight of size {list(weight.shape)}, in "
                         f"{function}()")
    if 0 in input.shape[-n:]:
        raise ShapeError("MG-E210", "Only zero batch or zero channel inputs are supported, but got input shape: "
                         f"{list(input.shape)}")
    return groups


# ---- options --------------------------------------------------------------------------------------------------


def sizes(value, n, name, function):
    """Return `value`, one int or one for each of n dimensions, as a tuple of n ints."""
    if isinstance(value, (tuple, list)):
        found = tuple([integer(v, name, function) for v in value])
        if len(found) not in (1, n):
            raise ShapeError("MG-E210", f"{function}(): expected {name} to be a single integer value or a list of {n} values to "
                             f"match the dimensions, but got {name}={list(found)}")
        return found if len(found) == n else found * n
    return (integer(value, name, function),) * n


def check_at_least(least, value, what, function):
    """Raise unless all numbers of `value` are at least `least`, which is 0 or 1."""
    if min(value) < least:
        raise ShapeError("MG-E210", f"{'negative' if least == 0 else 'non-positive'} {what} is not supported, in {function}()",
                         found=str(value))


def window_options(function, n, stride, padding, dilation):
    """Return (stride, padding, dilation) of a convolution as tuples of n ints, after checks. A padding of "same" stays."""
    stride, dilation = sizes(stride, n, "stride", function), sizes(dilation, n, "dilation", function)
    check_at_least(1, stride, "stride", function)
    check_at_least(1, dilation, "dilation", function)
    if not isinstance(padding, str):
        padding = sizes(padding, n, "padding", function)
        check_at_least(0, padding, "padding", function)
    elif padding == "valid":
        padding = (0,) * n
    elif padding != "same":
        raise ShapeError("MG-E210", f"Invalid padding string: {padding!r}", expected="'valid' or 'same'")
    elif max(stride) > 1:
        raise ShapeError("MG-E210", "padding='same' is not supported for strided convolutions")
    return stride, padding, dilation


def transposed_options(function, n, stride, padding, dilation, output_padding):
    """Return (stride, padding, dilation, output_padding) of a transposed convolution as tuples of n ints, after checks."""
    stride, dilation = sizes(stride, n, "stride", function), sizes(dilation, n, "dilation", function)
    padding, more = sizes(padding, n, "padding", function), sizes(output_padding, n, "output_padding", function)
    check_at_least(1, stride, "stride", function)
    check_at_least(1, dilation, "dilation", function)
    check_at_least(0, padding, "padding", function)
    check_at_least(0, more, "output_padding", function)
    for i in range(n):
        if more[i] >= stride[i] and more[i] >= dilation[i]:
            raise ShapeError("MG-E350", f"output padding must be smaller than either stride or dilation, but got output_padding: "
                             f"{more[i]}, stride: {stride[i]}, dilation: {dilation[i]}, in {function}()")
    return stride, padding, dilation, more


# ---- results --------------------------------------------------------------------------------------------------


def check_room(x, weight, padding, dilation):
    """Raise unless the padded `x` has room for the kernel."""
    sizes, kernel = x.shape, weight.shape
    for i in range(len(padding)):
        if sizes[i + 2] + 2 * padding[i] < dilation[i] * (kernel[i + 2] - 1) + 1:
            room = [size + 2 * p for size, p in zip(sizes[2:], padding)]
            need = [d * (size - 1) + 1 for size, d in zip(kernel[2:], dilation)]
            raise ShapeError("MG-E210", f"Calculated padded input size per channel: ({' x '.join(map(str, room))}). Kernel size: "
                             f"({' x '.join(map(str, need))}). Kernel size can't be greater than actual input size")


def check_result(x, shape):
    """Raise unless `shape`, the result of a transposed convolution of `x`, has positive sizes."""
    if min(shape[2:]) <= 0:
        raise ShapeError("MG-E350", f"Given input size per channel: ({' x '.join(map(str, x.shape[2:]))}). Calculated output "
                         f"size per channel: ({' x '.join(map(str, shape[2:]))}). Output size is too small")
