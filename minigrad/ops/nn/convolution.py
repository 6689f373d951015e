"""Convolutions and transposed convolutions over 1, 2 or 3 dimensions: one rule for all.

    z = x * w           each number of z is a sum over a window of x
    transposed          the adjoint of that: each number of x is spread over a window of z

A convolution is bilinear, and so there are three ways to contract it: `conv` gives z of x and w, `conv_input` x of z and w,
`conv_weight` w of z and x. They are each other's derivatives, and a transposed convolution is the second of them.

Mirrors ``aten/src/ATen/native/Convolution.cpp``.
"""

from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad.errors import ShapeError
from minigrad.ops.base.rule import Linear, Op, integer, op, tensor_argument
from minigrad.ops.reduce.reduction import SumDim
from minigrad.ops.shape.cat_split import SliceBackward, narrow
from minigrad.ops.shape.views import reshape, squeeze, unsqueeze

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


@op("convolution", "Convolution0")
class Convolution(Op):
    """z[n, o, y, x] = b[o] + Σ w[o, c, i, j] x[n, c, y s + i, x s + j], or the adjoint of that in x"""

    torch_names = {"x": "input", "w": "weight"}

    def forward(k, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
        if transposed:
            shape = transposed_shape(x.shape, w.shape, stride, padding, dilation, output_padding, groups)
            z = k.conv_input(x, w, shape, stride, padding, dilation, groups)
        else:
            z = k.conv(x, w, stride, padding, dilation, groups)
        if b is not None:
            k.add_(z, k.view(b, (1, b.shape[0], *[1] * len(stride))))
        return z

    def vjp_x(g, w, x_shape, stride, padding, dilation, transposed, groups):
        if not transposed:
            return call(ConvolutionInput.op, (g, conj(w), x_shape, stride, padding, dilation, groups))
        z = convolution(g, conj(w), stride, padding, dilation, groups)
        for dim in range(2, len(x_shape)):      # a window that lies in the output padding comes from no x
            if z.shape[dim] != x_shape[dim]:
                z = narrow(z, dim, 0, x_shape[dim])
        return z

    def vjp_w(g, x, w_shape, stride, padding, dilation, transposed, groups):
        first, second = (conj(x), g) if transposed else (g, conj(x))
        return call(ConvolutionWeight.op, (first, second, w_shape, stride, padding, dilation, groups))

    def vjp_b(g):
        planes = call(SumDim.op, (g, tuple(range(2, g.ndim)), False))     # in two steps: these dimensions lie side by side
        return call(SumDim.op, (planes, (0,), False))

    def jvp(ts, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
        tx, tw, tb = ts
        options = (stride, padding, dilation, transposed, output_padding, groups)
        total = None
        for first, second in ((tx, w), (x, tw)):
            if first is not None and second is not None:
                part = call(Convolution.op, (first, second, None, *options))
                total = part if total is None else total + part
        if tb is not None:
            part = reshape(tb, 1, -1, *[1] * len(stride))
            if total is None:
                return part.expand(call(Convolution.op, (x, w, None, *options)).shape)
            total = total + part
        return total


def convolution(x, w, stride, padding, dilation, groups):
    """The plain one, without a bias."""
    return call(Convolution.op, (x, w, None, stride, padding, dilation, False, (0,) * len(stride), groups))


def transposed_shape(x, w, stride, padding, dilation, output_padding, groups):
    """The shape of a transposed convolution."""
    sizes = [(x[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w[i + 2] - 1) + output_padding[i] + 1
             for i in range(len(stride))]
    return (x[0], w[1] * groups, *sizes)


@op("convolution_input", "ConvolutionInput0")
class ConvolutionInput(Linear):
    """The gradient of a convolution's input, where its own is g: bilinear in g and w"""

    def forward(k, g, w, shape, stride, padding, dilation, groups):
        return k.conv_input(g, w, shape, stride, padding, dilation, groups)

    def vjp_g(h, w, stride, padding, dilation, groups):
        return convolution(h, conj(w), stride, padding, dilation, groups)

    def vjp_w(h, g, w_shape, stride, padding, dilation, groups):
        return call(ConvolutionWeight.op, (conj(g), h, w_shape, stride, padding, dilation, groups))


@op("convolution_weight", "ConvolutionWeight0")
class ConvolutionWeight(Linear):
    """The gradient of a convolution's weight, where its own is g: bilinear in g and x"""

    def forward(k, g, x, shape, stride, padding, dilation, groups):
        return k.conv_weight(g, x, shape, stride, padding, dilation, groups)

    def vjp_g(h, x, g_shape, stride, padding, dilation, groups):
        z = convolution(conj(x), h, stride, padding, dilation, groups)
        for dim in range(2, len(g_shape)):
            if z.shape[dim] != g_shape[dim]:
                z = narrow(z, dim, 0, g_shape[dim])
        return z

    def vjp_x(h, g, x_shape, stride, padding, dilation, groups):
        return call(ConvolutionInput.op, (conj(g), h, x_shape, stride, padding, dilation, groups))


# ---- arguments ------------------------------------------------------------------------------------------------


def sizes(value, n, name, function):
    """A size given as one number, or as one for each of n dimensions, as a tuple."""
    if isinstance(value, (tuple, list)):
        found = tuple([integer(v, name, function) for v in value])
        if len(found) not in (1, n):
            raise ShapeError("MG-E210", f"{function}(): expected {name} to be a single integer value or a list of {n} values to "
                             f"match the dimensions, but got {name}={list(found)}")
        return found if len(found) == n else found * n
    return (integer(value, name, function),) * n


def images(function, input, n):
    """Raise unless `input` has a channel and n more dimensions, and perhaps a batch before them."""
    tensor_argument(function, input)
    if input.ndim not in (n + 1, n + 2):
        raise ShapeError("MG-E210", f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {function}, but got input of "
                         f"size: {list(input.shape)}")


def at_least(least, value, what, function):
    """Raise unless all numbers of `value` are at least 0, or 1."""
    if min(value) < least:
        raise ShapeError("MG-E210", f"{'negative' if least == 0 else 'non-positive'} {what} is not supported, in {function}()",
                         found=str(value))


def operands(function, n, input, weight, bias, transposed, groups):
    """Check what is convolved."""
    images(function, input, n)
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
        raise ShapeError("MG-E203", f"Input type ({input.dtype.name}) and weight type ({weight.dtype.name}) should be the same, "
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


def convolve(function, n, input, weight, bias, stride, padding, dilation, groups):
    """All of conv1d, conv2d and conv3d."""
    if bias is not None:
        tensor_argument(function, bias, "bias", 3)
    groups = integer(groups, "groups", function)
    operands(function, n, input, weight, bias, False, groups)
    x = unsqueeze(input, 0) if input.ndim == n + 1 else input
    stride, dilation = sizes(stride, n, "stride", function), sizes(dilation, n, "dilation", function)
    at_least(1, stride, "stride", function)
    at_least(1, dilation, "dilation", function)
    if isinstance(padding, str) and padding == "same":
        if max(stride) > 1:
            raise ShapeError("MG-E210", "padding='same' is not supported for strided convolutions")
        x, padding = same_padding(x, weight, dilation)
    elif isinstance(padding, str) and padding != "valid":
        raise ShapeError("MG-E210", f"Invalid padding string: {padding!r}", expected="'valid' or 'same'")
    padding = (0,) * n if isinstance(padding, str) and padding == "valid" else sizes(padding, n, "padding", function)
    at_least(0, padding, "padding", function)
    room = [x.shape[2 + i] + 2 * padding[i] for i in range(n)]
    need = [dilation[i] * (weight.shape[2 + i] - 1) + 1 for i in range(n)]
    for a, b in zip(room, need):
        if a < b:
            raise ShapeError("MG-E210", f"Calculated padded input size per channel: ({' x '.join(map(str, room))}). Kernel size: "
                             f"({' x '.join(map(str, need))}). Kernel size can't be greater than actual input size")
    z = call(Convolution.op, (x, weight, bias, stride, padding, dilation, False, (0,) * n, groups))
    if x.shape[1] == 0:         # as in PyTorch: of no channels there come none
        z = narrow(z, 1, 0, 0)
    return z if x.ndim == input.ndim else squeeze(z, 0)


def same_padding(x, weight, dilation):
    """Zeros such that the result has the size of `x`; an odd one goes to the far side."""
    spans = [d * (size - 1) for d, size in zip(dilation, weight.shape[2:])]
    for i, span in enumerate(spans):
        if span % 2:
            dim = i + 2
            grown = (*x.shape[:dim], x.shape[dim] + 1, *x.shape[dim + 1:])
            x = call(SliceBackward.op, (x, grown, dim, 0, x.shape[dim], 1))
    return x, tuple([span // 2 for span in spans])


def conv_transpose(function, n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    """All of conv_transpose1d, conv_transpose2d and conv_transpose3d."""
    if bias is not None:
        tensor_argument(function, bias, "bias", 3)
    groups = integer(groups, "groups", function)
    operands(function, n, input, weight, bias, True, groups)
    x = unsqueeze(input, 0) if input.ndim == n + 1 else input
    stride, dilation = sizes(stride, n, "stride", function), sizes(dilation, n, "dilation", function)
    padding, more = sizes(padding, n, "padding", function), sizes(output_padding, n, "output_padding", function)
    at_least(1, stride, "stride", function)
    at_least(1, dilation, "dilation", function)
    at_least(0, padding, "padding", function)
    at_least(0, more, "output_padding", function)
    for i in range(n):
        if more[i] >= stride[i] and more[i] >= dilation[i]:
            raise ShapeError("MG-E350", f"output padding must be smaller than either stride or dilation, but got output_padding: "
                             f"{more[i]}, stride: {stride[i]}, dilation: {dilation[i]}, in {function}()")
    shape = transposed_shape(x.shape, weight.shape, stride, padding, dilation, more, groups)
    if min(shape[2:]) <= 0:
        raise ShapeError("MG-E350", f"Given input size per channel: ({' x '.join(map(str, x.shape[2:]))}). Calculated output "
                         f"size per channel: ({' x '.join(map(str, shape[2:]))}). Output size is too small")
    z = call(Convolution.op, (x, weight, bias, stride, padding, dilation, True, more, groups))
    return z if x.ndim == input.ndim else squeeze(z, 0)


# ---- public functions -------------------------------------------------------------------------------------------


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A 1-d convolution (cross-correlation): `conv2d` over (N, C, L), with a weight (O, C / groups, K).

    Mirrors ``torch.nn.functional.conv1d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the kernel is larger than the padded input.

    >>> F.conv1d(mg.tensor([[[1., 2., 4.]]]), mg.tensor([[[-1., 1.]]]))
    tensor([[[1., 2.]]])
    """
    return convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


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
    return convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A 3-d convolution (cross-correlation): `conv2d` over (N, C, D, H, W), with a weight (O, C / groups, KD, KH, KW).

    Mirrors ``torch.nn.functional.conv3d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the kernel is larger than the padded input.

    >>> F.conv3d(mg.ones(1, 1, 3, 3, 3), mg.ones(1, 1, 2, 3, 3)).flatten()
    tensor([18., 18.])
    """
    return convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """A 1-d transposed convolution: `conv_transpose2d` over (N, C, L), with a weight (C, O / groups, K).

    Mirrors ``torch.nn.functional.conv_transpose1d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.conv_transpose1d(mg.tensor([[[1., 2.]]]), mg.tensor([[[1., 10.]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    return conv_transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """A 2-d transposed convolution: each number spreads the kernel, times itself, over a window of the result. This is what a
    convolution with the same arguments does to gradients (and no inverse of it).

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        weight (Tensor): (C, O / groups, KH, KW)
        bias (Tensor, optional): (O)
        stride, dilation (int or pair): of the windows in the result.
        padding (int or pair): how much of the result is cut off on each side.
        output_padding (int or pair): how much is added on the far sides; less than `stride` or `dilation`. Sizes that
            a convolution takes to the same one are told apart by it.
        groups (int): input and output channels are divided into as many independent groups

    Returns:
        Tensor: (N, O, OH, OW) with OH = (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1

    Mirrors ``torch.nn.functional.conv_transpose2d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.conv_transpose2d(mg.ones(1, 1, 1, 2), mg.ones(1, 1, 2, 2), stride=2)
    tensor([[[[1., 1., 1., 1.],
              [1., 1., 1., 1.]]]])
    """
    return conv_transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """A 3-d transposed convolution: `conv_transpose2d` over (N, C, D, H, W), with a weight (C, O / groups, KD, KH, KW).

    Mirrors ``torch.nn.functional.conv_transpose3d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.conv_transpose3d(mg.ones(1, 1, 1, 1, 2), mg.ones(1, 1, 1, 1, 2)).flatten()
    tensor([1., 2., 1.])
    """
    return conv_transpose("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)
