"""Checks of the arguments of convolutions and pooling: each function raises an error with PyTorch's text, or returns.

    operands        check_image_dims, check_operands        the dtypes and the numbers of dimensions
    options         sizes, window_options       stride, padding, ..., as tuples of ints
    shapes          check_shapes, check_transposed_shapes       whether shapes and options fit

The checks of shapes need no tensor, so their results are cached: a net asks for the same ones at each step.

Read first: ``convolution.py``. Mirrors the checks in ``aten/src/ATen/native/Convolution.cpp``.
"""

from functools import lru_cache

from minigrad.errors import DtypeError, ShapeError
from minigrad.kernels.resampling import CACHED
from minigrad.ops.base.arguments import integer, tensor_argument

# ---- operands -------------------------------------------------------------------------------------------------


def check_image_dims(function, input, n):
    """Raise unless `input` has a dimension of channels and n more, perhaps after a batch dimension."""
    tensor_argument(function, input)
    if input.ndim not in (n + 1, n + 2):
        raise ShapeError("MG-E210", f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {function}, but got input of "
                         f"size: {list(input.shape)}")


def check_operands(function, n, input, weight, bias):
    """Raise unless `input`, `weight` and `bias` (or None) are tensors of one dtype, with n dimensions besides those of channels."""
    if bias is not None:
        tensor_argument(function, bias, "bias", 3)
    check_image_dims(function, input, n)
    tensor_argument(function, weight, "weight", 2)
    if weight.ndim != n + 2:
        raise ShapeError("MG-E210", f"{function}(): expected a {n + 2}D weight, but got weight of size {list(weight.shape)}")
    if input.dtype is not weight.dtype or (bias is not None and bias.dtype is not weight.dtype):
        raise DtypeError("MG-E203", f"Input type ({input.dtype.name}) and weight type ({weight.dtype.name}) should be the same, "
                         f"and bias too, in {function}()")


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


def window_options(function, n, stride, padding, dilation, groups):
    """Return (stride, padding, dilation, groups): tuples of n ints, and an int. A padding of "same" stays."""
    if not isinstance(padding, str):
        padding = sizes(padding, n, "padding", function)
    elif padding == "valid":
        padding = (0,) * n
    elif padding != "same":
        raise ShapeError("MG-E210", f"Invalid padding string: {padding!r}", expected="'valid' or 'same'")
    return (sizes(stride, n, "stride", function), padding, sizes(dilation, n, "dilation", function),
            integer(groups, "groups", function))


# ---- shapes ---------------------------------------------------------------------------------------------------


@lru_cache(CACHED)
def check_shapes(function, input, weight, bias, stride, padding, dilation, groups):
    """Raise unless the shapes fit each other and the options of a convolution. `bias` may be None."""
    check_channels(function, input, weight, bias, False, groups)
    check_at_least(1, stride, "stride", function)
    check_at_least(1, dilation, "dilation", function)
    if padding == "same":
        if max(stride) > 1:
            raise ShapeError("MG-E210", "padding='same' is not supported for strided convolutions")
        return
    check_at_least(0, padding, "padding", function)
    n = len(stride)
    room = [size + 2 * p for size, p in zip(input[-n:], padding)]
    need = [d * (size - 1) + 1 for size, d in zip(weight[2:], dilation)]
    if any([size < least for size, least in zip(room, need)]):
        raise ShapeError("MG-E210", f"Calculated padded input size per channel: ({' x '.join(map(str, room))}). Kernel size: "
                         f"({' x '.join(map(str, need))}). Kernel size can't be greater than actual input size")


@lru_cache(CACHED)
def check_transposed_shapes(function, input, weight, bias, stride, padding, dilation, more, groups):
    """Raise unless the shapes fit each other and the options of a transposed convolution; `more` is the output padding."""
    check_channels(function, input, weight, bias, True, groups)
    check_at_least(1, stride, "stride", function)
    check_at_least(1, dilation, "dilation", function)
    check_at_least(0, padding, "padding", function)
    check_at_least(0, more, "output_padding", function)
    n = len(stride)
    for i in range(n):
        if more[i] >= stride[i] and more[i] >= dilation[i]:
            raise ShapeError("MG-E350", f"output padding must be smaller than either stride or dilation, but got output_padding: "
                             f"{more[i]}, stride: {stride[i]}, dilation: {dilation[i]}, in {function}()")
    result = transposed_sizes(input, weight, stride, padding, dilation, more)
    if min(result) <= 0:
        raise ShapeError("MG-E350", f"Given input size per channel: ({' x '.join(map(str, input[-n:]))}). Calculated output "
                         f"size per channel: ({' x '.join(map(str, result))}). Output size is too small")


def transposed_sizes(input, weight, stride, padding, dilation, more):
    """The sizes of the images that a transposed convolution makes."""
    n = len(stride)
    return [(input[i - n] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight[i + 2] - 1) + more[i] + 1 for i in range(n)]


def check_channels(function, input, weight, bias, transposed, groups):
    """Raise unless the shapes agree in their channels, and have elements where they must."""
    n = len(weight) - 2
    channels = input[-n - 1]
    wanted = weight[0] if transposed else weight[1] * groups
    if groups <= 0 or weight[0] % groups or weight[0] < groups:
        raise ShapeError("MG-E210", f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, and "
                         f"divisible by it, but got weight of size {list(weight)} instead")
    if channels != wanted:
        raise ShapeError("MG-E210", f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size "
                         f"{list(weight)}, expected input{list(input)} to have {wanted} channels, but got {channels} "
                         "channels instead")
    out = weight[1] * groups if transposed else weight[0]
    if bias is not None and bias != (out,):
        raise ShapeError("MG-E210", f"Given {'transposed=1, ' if transposed else ''}weight of size {list(weight)}, "
                         f"expected bias to be 1-dimensional with {out} elements, but got bias of size {list(bias)} "
                         "instead")
    if 0 in weight[2:] or (transposed and 0 in weight):
        raise ShapeError("MG-E210", f"kernel size should be greater than zero, but got weight of size {list(weight)}, in "
                         f"{function}()")
    if 0 in input[-n:]:
        raise ShapeError("MG-E210", "Only zero batch or zero channel inputs are supported, but got input shape: "
                         f"{list(input)}")


def check_at_least(least, value, what, function):
    """Raise unless all numbers of `value` are at least `least`, which is 0 or 1."""
    if min(value) < least:
        raise ShapeError("MG-E210", f"{'negative' if least == 0 else 'non-positive'} {what} is not supported, in {function}()",
                         found=str(value))
