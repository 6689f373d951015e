"""The ops of neural networks: softmax, losses, convolution, pooling, dropout.

Where a forward is one kernel, so is its backward; the backward is an op of its own with a derivative of its
own, which is what makes ``create_graph=True`` work through them.

Mirrors ``aten/src/ATen/native/{SoftMax,LossNLL,Loss,Convolution,DilatedMaxPool2d,AveragePool2d,Dropout}.cpp``
and ``torch/nn/functional.py``.
"""

import numpy as np

from minigrad._core.apply import call, check_broadcast
from minigrad._core.meta import named_dtype
from minigrad._core.promotion import as_dtype
from minigrad.errors import ArgumentError, OutOfRangeError, ShapeError, TensorValueError
from minigrad.ops.base import Linear, Op, dimension, integer, op, tensor_argument
from minigrad.ops.elementwise import exp, promoted, relu
from minigrad.ops.matrix import linear
from minigrad.ops.reduction import SumDim, mean, sum
from minigrad.ops.views import SliceBackward, cast, reshape, squeeze, unsqueeze

__all__ = ["avg_pool2d", "conv2d", "cross_entropy", "linear", "log_softmax", "max_pool2d", "mse_loss", "nll_loss", "relu", "softmax"]

INT64 = named_dtype("int64")


# ---- softmax ----------------------------------------------------------------------------------------------


def total(x, dim):
    """Σ x over one dimension, kept."""
    return call(SumDim.op, (x, (dim,), True)) if x.ndim else x


@op("softmax")
class Softmax(Op):
    """z = e^x / Σ e^x"""

    inputs = 1

    def forward(k, x, dim):
        return k.softmax(x, dim)

    def vjp_x(g, z, dim):       # dx = z (g - Σ g z)
        return call(SoftmaxBackward.op, (g, z, dim))

    def jvp_x(t, z, dim):
        return call(SoftmaxBackward.op, (t, z, dim))


@op("softmax_backward", "SoftmaxBackwardData0")
class SoftmaxBackward(Op):
    """z = y (x - Σ x y): the gradient of softmax, whose result is y"""

    torch_names = {"x": "grad_output", "y": "output"}

    def forward(k, x, y, dim):
        return k.softmax_backward(x, y, dim)

    def vjp_x(g, y, dim):
        return call(SoftmaxBackward.op, (g, y, dim))

    def vjp_y(g, x, y, dim):
        return g * (x - total(x * y, dim)) - x * total(g * y, dim)

    def jvp_x(t, y, dim):
        return call(SoftmaxBackward.op, (t, y, dim))

    def jvp_y(t, x, y, dim):
        return t * (x - total(x * y, dim)) - y * total(x * t, dim)


@op("log_softmax", "LogSoftmax0")
class LogSoftmax(Op):
    """z = x - log Σ e^x"""

    inputs = 1

    def forward(k, x, dim):
        return k.log_softmax(x, dim)

    def vjp_x(g, z, dim):       # dx = g - e^z Σ g
        return call(LogSoftmaxBackward.op, (g, z, dim))

    def jvp_x(t, z, dim):
        return t - total(t * exp(z), dim)


@op("log_softmax_backward", "LogSoftmaxBackwardData0")
class LogSoftmaxBackward(Op):
    """z = x - e^y Σ x: the gradient of log_softmax, whose result is y"""

    torch_names = {"x": "grad_output", "y": "output"}

    def forward(k, x, y, dim):
        return k.log_softmax_backward(x, y, dim)

    def vjp_x(g, y, dim):
        return g - total(g * exp(y), dim)

    def vjp_y(g, x, y, dim):
        return -g * exp(y) * total(x, dim)

    def jvp_x(t, y, dim):
        return call(LogSoftmaxBackward.op, (t, y, dim))

    def jvp_y(t, x, y, dim):
        return -t * exp(y) * total(x, dim)


def softmax_argument(function, input, dim, dtype):
    """The input and dimension of softmax and log_softmax, checked."""
    tensor_argument(function, input)
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
    if not input.dtype.is_floating_point and input.numel():
        raise ShapeError("MG-E203", f"{function}() is only implemented for floating point tensors, not {input.dtype.name}",
                         fix="x.float()")
    return input, dimension(dim, input.ndim)


def softmax(input, dim, *, dtype=None):
    """e^x / Σ e^x along `dim`: positive numbers that sum to 1.

    Args:
        dim (int): the dimension along which they do.
        dtype (optional): computes in it.

    Mirrors ``torch.softmax``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the dtype is not a floating point one.

    >>> mg.softmax(mg.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    input, at = softmax_argument("softmax", input, dim, dtype)
    return call(Softmax.op, (input, at)) if input.ndim else call(Softmax.op, (unsqueeze(input, 0), 0)).squeeze(0)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax, computed without overflow. Mirrors ``torch.log_softmax``.

    Args:
        dim (int): the dimension along which the exponentials sum to 1.
        dtype (optional): computes in it.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the dtype is not a floating point one.

    >>> mg.log_softmax(mg.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """
    input, at = softmax_argument("log_softmax", input, dim, dtype)
    return call(LogSoftmax.op, (input, at)) if input.ndim else call(LogSoftmax.op, (unsqueeze(input, 0), 0)).squeeze(0)


# ---- losses -----------------------------------------------------------------------------------------------


def reduced(loss, reduction):
    """A loss per element as the caller wants it."""
    if reduction == "none":
        return loss
    return mean(loss) if reduction == "mean" else sum(loss)


def check_reduction(reduction):
    """Raise unless it is one of the three words."""
    if reduction not in ("none", "mean", "sum"):
        raise TensorValueError("MG-E302", f"{reduction} is not a valid value for reduction", expected="'none', 'mean' or 'sum'")


@op("nll_loss", "NllLoss0")
class NllLoss(Linear):
    """z = -x[target] weight[target], averaged over the total weight"""

    inputs = 1
    outputs = ("z", "total_weight")

    def forward(k, x, target, weight, ignore_index, reduction):
        return k.nll_loss(x, target, weight, ignore_index, reduction)

    def vjp(g, needs, x_shape, target, weight, total_weight, ignore_index, reduction):
        return (call(NllLossBackward.op, (g[0], x_shape, target, weight, total_weight, ignore_index, reduction)),)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return (call(cls.op, (tangents[0], *args[1:]))[0], None)


@op("nll_loss2d", "NllLoss2D0")
class NllLoss2d(NllLoss):
    """`NllLoss` of planes: PyTorch counts it as another op"""


@op("nll_loss_backward")
class NllLossBackward(Linear):
    """z = the gradient of nll_loss, where its own is x"""

    inputs = 1
    torch_names = {"x": "grad_output"}

    def forward(k, x, shape, target, weight, total, ignore_index, reduction):
        return k.nll_loss_backward(x, shape, target, weight, total, ignore_index, reduction)

    def vjp_x(g, target, weight, total, ignore_index, reduction):
        if reduction == "mean":     # linear, so its adjoint is the forward over the same total weight
            return call(NllLoss.op, (g, target, weight, ignore_index, "sum"))[0] / total
        return call(NllLoss.op, (g, target, weight, ignore_index, reduction))[0]


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative log likelihood of the right classes.

    Args:
        input (Tensor): log-probabilities, (C), (N, C) or (N, C, d1, d2, ...).
        target (Tensor): classes, int64, of the same shape without C.
        weight (Tensor, optional): (C), a factor per class; "mean" is over the total weight.
        ignore_index (int): targets with this value count for nothing.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are accepted for old code and ignored. Mirrors ``torch.nn.functional.nll_loss``.

    Raises:
        ValueError: the batch sizes differ, or the reduction is unknown.
        IndexError: a target is no class.
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.nll_loss(mg.tensor([[-0.5, -1.0]]), mg.tensor([1]))
    tensor(1.)
    """
    tensor_argument("nll_loss", input)
    tensor_argument("nll_loss", target, "target", 2)
    check_reduction(reduction)
    if weight is not None:
        tensor_argument("nll_loss", weight, "weight", 3)
    if input.ndim == 0:
        raise TensorValueError("MG-E204", "Expected 1 or more dimensions (got 0)")
    if input.ndim == 1 and target.ndim == 1:
        if target.shape[0] != 1:
            raise TensorValueError("MG-E204", f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
        target = squeeze(target, 0)
    if input.ndim == 1 and target.ndim == 0:
        z = nll_loss(unsqueeze(input, 0), unsqueeze(target, 0), weight, None, ignore_index, None, reduction)
        return squeeze(z, 0) if reduction == "none" else z
    if input.ndim == 1:
        raise ShapeError("MG-E204", "nll_loss(): with an input of classes alone the target is one class",
                         found=f"shapes {list(input.shape)} and {list(target.shape)}")
    if input.shape[0] != target.shape[0] if target.ndim else True:
        raise TensorValueError("MG-E204", f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                               f"({target.shape[0] if target.ndim else 'none'}).")
    if tuple(target.shape) != (input.shape[0], *input.shape[2:]):
        raise ShapeError("MG-E204", f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}")
    if target.dtype is not INT64:
        raise ShapeError("MG-E203", f"expected scalar type Long (int64) but found {target.dtype.name}, in nll_loss()", fix="target.long()")
    if weight is not None and tuple(weight.shape) != (input.shape[1],):
        raise ShapeError("MG-E204", f"weight tensor should be defined either for all {input.shape[1]} classes or no classes but got "
                         f"weight tensor of shape: {list(weight.shape)}")
    array = target._array
    outside = (array != ignore_index) & ((array < 0) | (array >= input.shape[1]))
    if outside.any():
        raise OutOfRangeError("MG-E301", f"Target {array[outside].flat[0]} is out of bounds.",
                              expected=f"classes from 0 to {input.shape[1] - 1}, or ignore_index={ignore_index}")
    if not input.dtype.is_floating_point:
        raise ShapeError("MG-E203", f"nll_loss() is only implemented for floating point tensors, not {input.dtype.name}")
    rule = NllLoss if input.ndim == 2 else NllLoss2d
    return call(rule.op, (input, target, weight, ignore_index, reduction))[0]


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """The cross entropy between the softmax of `input` and the target classes (or probabilities).

    Args:
        input (Tensor): unnormalised scores ("logits"), (C), (N, C) or (N, C, d1, d2, ...).
        target (Tensor): classes, int64, of the same shape without C; or probabilities of input's shape.
        weight (Tensor, optional): (C), a factor per class.
        ignore_index (int): class targets with this value count for nothing.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        label_smoothing (float): in [0, 1], how much of each target is spread evenly over all classes.

    `size_average` and `reduce` are accepted for old code and ignored.
    Mirrors ``torch.nn.functional.cross_entropy``.

    Raises:
        ValueError: the batch sizes differ, or the reduction is unknown.
        IndexError: a target is no class.
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.cross_entropy(mg.tensor([[2., 0.], [0., 2.]]), mg.tensor([0, 0]))
    tensor(1.1269)
    """
    tensor_argument("cross_entropy", input)
    tensor_argument("cross_entropy", target, "target", 2)
    check_reduction(reduction)
    label_smoothing = max(label_smoothing, 0.0)
    if label_smoothing > 1:
        raise ShapeError("MG-E302", f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input.ndim == 0:
        raise OutOfRangeError("MG-E204", "cross_entropy(): input must have a dimension of classes: Dimension out of range")
    classes = 0 if input.ndim == 1 else 1
    scores = log_softmax(input, classes)
    if target.dtype.is_floating_point:
        return cross_entropy_of_probabilities(scores, target, weight, reduction, label_smoothing, classes)
    loss = nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    return smoothed(loss, scores, target, weight, ignore_index, reduction, label_smoothing, classes)


def cross_entropy_of_probabilities(scores, target, weight, reduction, label_smoothing, classes):
    """`cross_entropy` where the target is a distribution per example."""
    if target.ndim and target.shape[0] != scores.shape[0]:
        raise TensorValueError("MG-E204", f"Expected input batch_size ({scores.shape[0]}) to match target batch_size "
                               f"({target.shape[0]}).")
    if target.shape != scores.shape:
        raise ShapeError("MG-E204", "Expected floating point type for target with class probabilities to have the shape of input",
                         expected=f"shape {list(scores.shape)}", found=f"shape {list(target.shape)}")
    n = scores.shape[classes]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / n
    product = scores * target
    if weight is not None:
        product = product * reshape(weight, *[n if d == classes else 1 for d in range(scores.ndim)])
    if reduction == "none":
        return -sum(product, classes)
    return -sum(product) / (scores.numel() // n) if reduction == "mean" else -sum(product)


def smoothed(loss, scores, target, weight, ignore_index, reduction, label_smoothing, classes):
    """Mix `loss` with the loss against an even distribution."""
    n = scores.shape[classes]
    kept = (target != ignore_index).to(scores.dtype)
    spread = scores if weight is None else scores * reshape(weight, *[n if d == classes else 1 for d in range(scores.ndim)])
    even = -sum(spread, classes) * kept
    if reduction == "none":
        even = even / n
    elif reduction == "sum":
        even = sum(even) / n
    else:
        size = kept if weight is None else weight[(target * kept.long())] * kept
        even = sum(even) / n / sum(size)
    return (1 - label_smoothing) * loss + label_smoothing * even


@op("mse_loss", "MseLoss0")
class MseLoss(Op):
    """z = (x - y)², averaged or summed"""

    torch_names = {"x": "self", "y": "target"}

    def forward(k, x, y, reduction):
        squares = k.pow(k.sub(x, y), 2)
        if reduction == "none":
            return squares
        z = k.sum(squares, tuple(range(squares.ndim)), False)
        return k.div(z, float(squares.size)) if reduction == "mean" else z

    def vjp_x(g, x, y, reduction):      # dx = 2 g (x - y) / n
        return g * (x - y) * norm(x, y, reduction)

    def vjp_y(g, x, y, reduction):
        return g * (y - x) * norm(x, y, reduction)

    def jvp(ts, x, y, reduction):
        tx, ty = ts
        difference = tx if ty is None else -ty if tx is None else tx - ty
        return reduced(2 * (x - y) * difference, reduction)


def norm(x, y, reduction):
    """2 / n, where the mean is taken over n elements."""
    if reduction != "mean":
        return 2.0
    n = (x - y).numel() if x.shape != y.shape else x.numel()
    return 2.0 / n if n else float("nan")


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The squared error (input - target)², averaged over all elements, summed, or as it is.

    Args:
        input, target (Tensor): of one shape, or of shapes that broadcast (with a warning in PyTorch).
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    Mirrors ``torch.nn.functional.mse_loss``.

    Raises:
        ValueError: the reduction is unknown.
        RuntimeError: the shapes cannot be broadcast together.

    >>> F.mse_loss(mg.tensor([1., 2.]), mg.tensor([0., 0.]))
    tensor(2.5000)
    """
    tensor_argument("mse_loss", input)
    tensor_argument("mse_loss", target, "target", 2)
    check_broadcast([input._meta, target._meta])
    check_reduction(reduction)
    if input.dtype is not target.dtype:
        input, target = promoted("mse_loss", input, input, target)
    if input.dtype.name == "bool":
        raise ShapeError("MG-E203", "mse_loss() is not implemented for bool", fix="x.float()")
    if input.shape != target.shape:
        shape = np.broadcast_shapes(input.shape, target.shape)
        input, target = input.expand(shape), target.expand(shape)
    return call(MseLoss.op, (input, target, reduction))


# ---- convolution --------------------------------------------------------------------------------------------


@op("conv2d", "Convolution0")
class Conv2d(Op):
    """z[n, o, y, x] = b[o] + Σ w[o, c, i, j] x[n, c, y s + i, x s + j]"""

    torch_names = {"x": "input", "w": "weight"}

    def forward(k, x, w, b, stride, padding, dilation, groups):
        z = k.conv2d(x, w, stride, padding, dilation, groups)
        return z if b is None else k.add(z, k.view(b, (1, b.shape[0], 1, 1)))

    def vjp_x(g, w, x_shape, stride, padding, dilation, groups):
        return call(Conv2dInput.op, (g, w, x_shape, stride, padding, dilation, groups))

    def vjp_w(g, x, w_shape, stride, padding, dilation, groups):
        return call(Conv2dWeight.op, (g, x, w_shape, stride, padding, dilation, groups))

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
        return call(Conv2d.op, (h, w, None, stride, padding, dilation, groups))

    def vjp_w(h, g, w_shape, stride, padding, dilation, groups):
        return call(Conv2dWeight.op, (g, h, w_shape, stride, padding, dilation, groups))


@op("conv2d_weight", "ConvolutionWeight0")
class Conv2dWeight(Linear):
    """The gradient of a convolution's weight, where its own is g: bilinear in g and x"""

    def forward(k, g, x, shape, stride, padding, dilation, groups):
        return k.conv2d_weight(g, x, shape, stride, padding, dilation, groups)

    def vjp_g(h, x, stride, padding, dilation, groups):
        return call(Conv2d.op, (x, h, None, stride, padding, dilation, groups))

    def vjp_x(h, g, x_shape, stride, padding, dilation, groups):
        return call(Conv2dInput.op, (g, h, x_shape, stride, padding, dilation, groups))


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
        raise ShapeError("MG-E210", "non-positive stride or dilation is not supported, in conv2d()", found=f"{stride} and {dilation}")
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
        raise ShapeError("MG-E210", f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
                         f"{weight.shape[1] * groups} channels, but got {x.shape[1]} channels instead")
    if x.dtype is not weight.dtype or (bias is not None and bias.dtype is not weight.dtype):
        raise ShapeError("MG-E203", f"Input type ({x.dtype.name}) and weight type ({weight.dtype.name}) should be the same, and bias "
                         "too, in conv2d()")
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError("MG-E210", f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
                         f"{weight.shape[0]} elements, but got bias of size {list(bias.shape)} instead")
    for i in (0, 1):
        room, need = x.shape[2 + i] + 2 * padding[i], dilation[i] * (weight.shape[2 + i] - 1) + 1
        if room < need or weight.shape[2 + i] == 0:
            raise ShapeError("MG-E210", f"Calculated padded input size per channel: ({room}). Kernel size: ({need}). Kernel size can't "
                             "be greater than actual input size, or 0")
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


# ---- pooling ----------------------------------------------------------------------------------------------


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
            raise ShapeError("MG-E210", f"pad should be at most half of effective kernel size, but got pad={padding[i]}, kernel_size="
                             f"{size[i]}, in {function}()")
        if room + 2 * padding[i] < dilation[i] * (size[i] - 1) + 1:
            raise ShapeError("MG-E210", f"Given input size: {list(input.shape[-3:])}. Calculated output size: too small, in {function}()",
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
