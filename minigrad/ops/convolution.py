"""Convolution and pooling of images.

Mirrors ``aten/src/ATen/native/{Convolution,DilatedMaxPool2d,AveragePool2d}.cpp``.
"""

import cython

from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.base import Linear, Op, integer, op, tensor_argument
from minigrad.ops.joining import SliceBackward
from minigrad.ops.reduction import SumDim
from minigrad.ops.views import reshape, squeeze, unsqueeze

if not cython.compiled:
    from minigrad._core.apply import call
    from minigrad.ops.base import conj

__all__ = ["avg_pool2d", "conv2d", "max_pool2d"]


@op("conv2d", "Convolution0")
class Conv2d(Op):
    """z[n, o, y, x] = b[o] + Σ w[o, c, i, j] x[n, c, y s + i, x s + j]"""

    torch_names = {"x": "input", "w": "weight"}

    def forward(k, x, w, b, stride, padding, dilation, groups):
        z = k.conv2d(x, w, stride, padding, dilation, groups)
        return z if b is None else k.add(z, k.view(b, (1, b.shape[0], 1, 1)))

    def vjp_x(g, w, x_shape, stride, padding, dilation, groups):
        return call(Conv2dInput.op, (g, conj(w), x_shape, stride, padding, dilation, groups))

    def vjp_w(g, x, w_shape, stride, padding, dilation, groups):
        return call(Conv2dWeight.op, (g, conj(x), w_shape, stride, padding, dilation, groups))

    def vjp_b(g):
        return call(SumDim.op, (g, (0, 2, 3), False))

    def jvp(ts, x, w, b, stride, padding, dilation, groups):
        tx, tw, tb = ts
        total = None
        for first, second, bias in ((tx, w, None), (x, tw, None)):
            if first is not None and second is not None:
                part = call(Conv2d.op, (first, second, bias, stride, padding, dilation, groups))
                total = part if total is None else total + part
        if tb is not None:
            part = reshape(tb, 1, -1, 1, 1)
            if total is None:
                z = call(Conv2d.op, (x, w, None, stride, padding, dilation, groups))
                return part.expand(z.shape)
            total = total + part
        return total


@op("conv2d_input", "ConvolutionInput0")
class Conv2dInput(Linear):
    """The gradient of a convolution's input, where its own is g: bilinear in g and w"""

    def forward(k, g, w, shape, stride, padding, dilation, groups):
        return k.conv2d_input(g, w, shape, stride, padding, dilation, groups)

    def vjp_g(h, w, stride, padding, dilation, groups):
        return call(Conv2d.op, (h, conj(w), None, stride, padding, dilation, groups))

    def vjp_w(h, g, w_shape, stride, padding, dilation, groups):
        return call(Conv2dWeight.op, (conj(g), h, w_shape, stride, padding, dilation, groups))


@op("conv2d_weight", "ConvolutionWeight0")
class Conv2dWeight(Linear):
    """The gradient of a convolution's weight, where its own is g: bilinear in g and x"""

    def forward(k, g, x, shape, stride, padding, dilation, groups):
        return k.conv2d_weight(g, x, shape, stride, padding, dilation, groups)

    def vjp_g(h, x, stride, padding, dilation, groups):
        return call(Conv2d.op, (conj(x), h, None, stride, padding, dilation, groups))

    def vjp_x(h, g, x_shape, stride, padding, dilation, groups):
        return call(Conv2dInput.op, (conj(g), h, x_shape, stride, padding, dilation, groups))


def pair(value, name, function):
    """A size given as a number or as two, as a pair."""
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            value = (value[0], value[0])
        if len(value) != 2:
            raise ShapeError("MG-E210", f"{function}(): {name} must be an int or a pair of ints, got {value!r}")
        return integer(value[0], name, function), integer(value[1], name, function)
    return (integer(value, name, function),) * 2


def planes(function, input):
    """Raise unless `input` is (N, C, H, W) or (C, H, W)."""
    tensor_argument(function, input)
    if input.ndim not in (3, 4):
        raise ShapeError("MG-E210", f"Expected 3D (unbatched) or 4D (batched) input to {function}, but got input of size: "
                         f"{list(input.shape)}")


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A 2-d convolution (cross-correlation).

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        weight (Tensor): (O, C / groups, KH, KW)
        bias (Tensor, optional): (O)
        stride, dilation (int or pair)
        padding (int, pair, ``"valid"`` or ``"same"``): zeros on each side
        groups (int): input and output channels are divided into as many independent groups

    Returns:
        Tensor: (N, O, OH, OW) with OH = (H + 2 padding - dilation (KH - 1) - 1) // stride + 1

    Mirrors ``torch.nn.functional.conv2d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the kernel is larger than the padded input.

    >>> F.conv2d(mg.ones(1, 1, 3, 3), mg.ones(1, 1, 2, 2)).flatten()
    tensor([4., 4., 4., 4.])
    """
    planes("conv2d", input)
    unbatched = input.ndim == 3
    x = unsqueeze(input, 0) if unbatched else input
    tensor_argument("conv2d", weight, "weight", 2)
    if bias is not None:
        tensor_argument("conv2d", bias, "bias", 3)
    if weight.ndim != 4:
        raise ShapeError("MG-E210", f"conv2d(): expected a 4D weight, but got weight of size {list(weight.shape)}")
    stride, dilation = pair(stride, "stride", "conv2d"), pair(dilation, "dilation", "conv2d")
    if min(stride) <= 0 or min(dilation) <= 0:
        raise ShapeError("MG-E210", "non-positive stride or dilation is not supported, in conv2d()",
                         found=f"{stride} and {dilation}")
    if padding == "same":
        if stride != (1, 1):
            raise ShapeError("MG-E210", "padding='same' is not supported for strided convolutions")
        x, padding = same_padding(x, weight, dilation)
    if isinstance(padding, str) and padding != "valid":
        raise ShapeError("MG-E210", f"Invalid padding string: {padding!r}", expected="'valid' or 'same'")
    padding = (0, 0) if padding == "valid" else pair(padding, "padding", "conv2d")
    if min(padding) < 0:
        raise ShapeError("MG-E210", "negative padding is not supported, in conv2d()")
    if groups <= 0 or weight.shape[0] % groups or x.shape[1] != weight.shape[1] * groups:
        raise ShapeError("MG-E210", f"Given groups={groups}, weight of size {list(weight.shape)}, expected "
                         f"input{list(input.shape)} to have {weight.shape[1] * groups} channels, but got {x.shape[1]} channels "
                         "instead")
    if x.dtype is not weight.dtype or (bias is not None and bias.dtype is not weight.dtype):
        raise ShapeError("MG-E203", f"Input type ({x.dtype.name}) and weight type ({weight.dtype.name}) should be the same, and "
                         "bias too, in conv2d()")
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError("MG-E210", f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
                         f"{weight.shape[0]} elements, but got bias of size {list(bias.shape)} instead")
    for i in (0, 1):
        room, need = x.shape[2 + i] + 2 * padding[i], dilation[i] * (weight.shape[2 + i] - 1) + 1
        if room < need or weight.shape[2 + i] == 0:
            raise ShapeError("MG-E210", f"Calculated padded input size per channel: ({room}). Kernel size: ({need}). Kernel size "
                             "can't be greater than actual input size, or 0")
    z = call(Conv2d.op, (x, weight, bias, stride, padding, dilation, groups))
    return squeeze(z, 0) if unbatched else z


def same_padding(x, weight, dilation):
    """Zeros such that the result has the size of `x`; an odd one goes to the far side."""
    spans = [dilation[i] * (weight.shape[2 + i] - 1) for i in (0, 1)]
    if spans[0] % 2 or spans[1] % 2:
        shape = (*x.shape[:2], x.shape[2] + spans[0] % 2, x.shape[3] + spans[1] % 2)
        for dim in (2, 3):
            if shape[dim] != x.shape[dim]:
                grown = (*x.shape[:dim], shape[dim], *x.shape[dim + 1:])
                x = call(SliceBackward.op, (x, grown, dim, 0, x.shape[dim], 1))
    return x, (spans[0] // 2, spans[1] // 2)


def with_batch(k, x, kernel):
    """``kernel(x)`` for a kernel of (N, C, H, W), on an array that may lack the N."""
    if x.ndim == 4:
        return kernel(x)
    result = kernel(k.unsqueeze(x, 0))
    return tuple([k.select(z, 0, 0) for z in result]) if isinstance(result, tuple) else k.select(result, 0, 0)


@op("max_pool2d", "MaxPool2DWithIndices0")
class MaxPool2d(Op):
    """The largest of each window, and where in its plane it was"""

    inputs = 1
    outputs = ("z", "indices")

    def forward(k, x, size, stride, padding, dilation, ceil_mode):
        return with_batch(k, x, lambda x: k.max_pool2d(x, size, stride, padding, dilation, ceil_mode))

    def vjp(g, needs, x_shape, indices):
        return (call(MaxPool2dBackward.op, (g[0], indices, x_shape)),)

    def jvp(ts, indices):
        return (call(MaxPool2dSelect.op, (ts[0], indices)), None)


@op("max_pool2d_backward", "MaxPool2DWithIndicesBackward0")
class MaxPool2dBackward(Linear):
    """z = zeros, with x added where the largest were"""

    inputs = 1

    def forward(k, x, indices, shape):
        if len(shape) == 3:
            return k.select(k.max_pool2d_backward(k.unsqueeze(x, 0), k.unsqueeze(indices, 0), (1, *shape)), 0, 0)
        return k.max_pool2d_backward(x, indices, shape)

    def vjp_x(g, indices):
        return call(MaxPool2dSelect.op, (g, indices))


@op("max_pool2d_select", "MaxPool2DSelect0")
class MaxPool2dSelect(Linear):
    """z = x where the largest were"""

    inputs = 1

    def forward(k, x, indices):
        if x.ndim == 3:
            return k.select(k.max_pool2d_select(k.unsqueeze(x, 0), k.unsqueeze(indices, 0)), 0, 0)
        return k.max_pool2d_select(x, indices)

    def vjp_x(g, indices, x_shape):
        return call(MaxPool2dBackward.op, (g, indices, x_shape))


@op("avg_pool2d", "AvgPool2D0")
class AvgPool2d(Linear):
    """The mean of each window"""

    inputs = 1

    def forward(k, x, size, stride, padding, ceil_mode, count_include_pad, divisor):
        return with_batch(k, x, lambda x: k.avg_pool2d(x, size, stride, padding, ceil_mode, count_include_pad, divisor))

    def vjp_x(g, x_shape, size, stride, padding, ceil_mode, count_include_pad, divisor):
        return call(AvgPool2dBackward.op, (g, x_shape, size, stride, padding, ceil_mode, count_include_pad, divisor))


@op("avg_pool2d_backward", "AvgPool2DBackward0")
class AvgPool2dBackward(Linear):
    """z = x spread evenly over its windows"""

    inputs = 1

    def forward(k, x, shape, size, stride, padding, ceil_mode, count_include_pad, divisor):
        def spread(g):
            return k.avg_pool2d_backward(g, shape[-4:] if len(shape) == 4 else (1, *shape), size, stride, padding, ceil_mode,
                                         count_include_pad, divisor)
        return with_batch(k, x, spread)

    def vjp_x(g, size, stride, padding, ceil_mode, count_include_pad, divisor):
        return call(AvgPool2d.op, (g, size, stride, padding, ceil_mode, count_include_pad, divisor))


def pooling(function, input, kernel_size, stride, padding, dilation):
    """The common arguments of the poolings, checked."""
    planes(function, input)
    size = pair(kernel_size, "kernel_size", function)
    stride = size if stride is None or stride == [] or stride == () else pair(stride, "stride", function)
    padding, dilation = pair(padding, "padding", function), pair(dilation, "dilation", function)
    if min(size) <= 0 or min(stride) <= 0 or min(dilation) <= 0:
        raise ShapeError("MG-E210", f"{function}(): kernel size, stride and dilation should be greater than zero",
                         found=f"{size}, {stride} and {dilation}")
    for i in (0, 1):
        room = input.shape[i - 2]
        if not 0 <= padding[i] <= size[i] // 2:
            raise ShapeError("MG-E210", f"pad should be at most half of effective kernel size, but got pad={padding[i]}, "
                             f"kernel_size={size[i]}, in {function}()")
        if room + 2 * padding[i] < dilation[i] * (size[i] - 1) + 1:
            raise ShapeError("MG-E210", f"Given input size: {list(input.shape[-3:])}. Calculated output size: too small, in "
                             f"{function}()",
                             expected="a window no larger than the padded input")
    return size, stride, padding, dilation


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of each window.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        kernel_size, stride, padding, dilation (int or pair): `stride` is `kernel_size` by default; the padding
            counts as minus infinity.
        ceil_mode (bool): round the number of windows up instead of down.
        return_indices (bool): return also where in its plane each was found (int64).

    Mirrors ``torch.nn.functional.max_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.max_pool2d(mg.arange(16.).view(1, 1, 4, 4), 2).flatten()
    tensor([ 5.,  7., 13., 15.])
    """
    size, stride, padding, dilation = pooling("max_pool2d", input, kernel_size, stride, padding, dilation)
    z, indices = call(MaxPool2d.op, (input, size, stride, padding, dilation, bool(ceil_mode)))
    return (z, indices) if return_indices else z


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        kernel_size, stride, padding (int or pair): `stride` is `kernel_size` by default.
        ceil_mode (bool): round the number of windows up instead of down.
        count_include_pad (bool): the zeros of the padding count as elements.
        divisor_override (int, optional): divide by this instead.

    Mirrors ``torch.nn.functional.avg_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit, or the divisor is 0.

    >>> F.avg_pool2d(mg.arange(16.).view(1, 1, 4, 4), 2).flatten()
    tensor([ 2.5000,  4.5000, 10.5000, 12.5000])
    """
    size, stride, padding, _ = pooling("avg_pool2d", input, kernel_size, stride, padding, 1)
    if divisor_override == 0:
        raise ArgumentError("MG-E210", "divisor must be not zero")
    return call(AvgPool2d.op, (input, size, stride, padding, bool(ceil_mode), bool(count_include_pad), divisor_override))
