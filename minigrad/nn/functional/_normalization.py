"""Normalisation: numbers with mean 0 and variance 1 over some dimensions, then a weight and a bias.

                        over which numbers of (N, C, L)         weight and bias
    batch_norm          N, L: one mean per channel              per channel
    instance_norm       L: one per channel and sample           per channel
    group_norm          L, and the channels of a group          per channel
    layer_norm          the last dimensions                     per number
    rms_norm            the same, without taking the mean away

What of them are rules is in ``ops/nn/normalization.py``.

Mirrors ``aten/src/ATen/native/{Normalization,layer_norm,group_norm}.cpp`` and ``torch/nn/functional.py``.
"""

# pyright: reportOperatorIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)

import math

from minigrad._core.record.apply import call
from minigrad._core.record.forward_ad import tangent_of
from minigrad.autograd.grad_mode import is_grad_enabled, no_grad
from minigrad.dtypes import finfo, float16, float32
from minigrad.errors import AutogradNotImplementedError, ShapeError, TensorValueError
from minigrad.nn.functional._padding import pad
from minigrad.ops import clamp_min, mean, reshape, rsqrt
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32, wide
from minigrad.ops.base.rule import integer, integers, real, tensor_argument, truth
from minigrad.ops.linalg.norms import vector_norm
from minigrad.ops.nn.averaging import avg_pool2d
from minigrad.ops.nn.normalization import FusedRmsNorm, NativeBatchNorm, NativeGroupNorm, NativeLayerNorm
from minigrad.ops.shape.clone_cast import cast, clone

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"]


def moments(x, dims):
    """`x` minus its mean, the mean, and the mean square of that difference."""
    m = mean(x, dims, True)
    d = x - m
    return d, m, mean(d * d, dims, True)


def narrow(z, input):
    """The result in float16, if that is the dtype of the input: float32 is what it was computed in."""
    return cast(z, float16) if input.dtype is float16 else z


def affine(x, weight, bias):
    """x weight + bias, where they are there."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def normalized(name, input, normalized_shape, weight, bias=None):
    """The last dimensions, after checks."""
    tensor_argument(name, input)
    shape = list(integers(normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,),
                          "normalized_shape", name))
    if not shape:
        raise ShapeError("MG-E204", "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                         "element, but got normalized_shape = []")
    for what, value in (("weight", weight), ("bias", bias)):
        if value is not None and list(tensor_argument(name, value, what).shape) != shape:
            raise ShapeError("MG-E204", f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape "
                             f"{list(value.shape)} and normalized_shape = {shape}")
    if list(input.shape[-len(shape):]) != shape:
        raise ShapeError("MG-E204", f"Given normalized_shape={shape}, expected input with shape [*, {', '.join(map(str, shape))}], "
                         f"but got input of size{list(input.shape)}")
    return tuple(range(-len(shape), 0))


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """(x - mean) / √(variance + ε) over the last dimensions (Ba et al., "Layer normalization", 2016).

    Args:
        input (Tensor)
        normalized_shape (sequence of int): the last dimensions.
        weight, bias (Tensor, optional): of that shape.
        eps (float): ε.

    Mirrors ``torch.nn.functional.layer_norm``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ or are no floating point ones.

    >>> F.layer_norm(mg.tensor([[1., 3.]]), (2,))
    tensor([[-1.0000, 1.0000]])
    """
    dims = normalized("layer_norm", input, normalized_shape, weight, bias)
    if type(eps) is not float:
        eps = real(eps, "eps", "layer_norm")
    if not input.dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f"layer_norm() is not implemented for {input.dtype.name}", fix="input.float()")
    if any(value is not None and value.dtype is not input.dtype for value in (weight, bias)):
        raise ShapeError("MG-E203", "layer_norm(): mixed dtype: all inputs must share same datatype.",
                         found=", ".join(value.dtype.name for value in (input, weight, bias) if value is not None))
    if input.numel() == 0:
        return affine(input * 1, weight, bias)
    return call(NativeLayerNorm.op, (input, weight, bias, len(dims), eps))[0]


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / √(mean of x² + ε) over the last dimensions (Zhang & Sennrich, 2019). ε is that of the dtype, if not given.

    One node on a GPU, several ops on the CPU, as in PyTorch. Mirrors ``torch.nn.functional.rms_norm``.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> F.rms_norm(mg.tensor([[3., -3.]]), (2,))
    tensor([[ 1., -1.]])
    """
    dims = normalized("rms_norm", input, normalized_shape, weight)
    if input.numel() == 0:
        return affine(input * 1, weight, None)
    eps = finfo(float32 if input.dtype is float16 else input.dtype).eps if eps is None else real(eps, "eps", "rms_norm")
    if input.device.type != "cpu" and input.dtype.is_floating_point and (weight is None or weight.dtype is input.dtype):
        return call(FusedRmsNorm.op, (input, weight, len(dims), eps))[0]
    x = wide(input)
    return narrow(affine(x * rsqrt(mean(x * x, dims, True) + eps), weight, None), input)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """(x - mean) / √(variance + ε) over groups of channels (Wu & He, "Group normalization", 2018).

    Args:
        input (Tensor): (N, C, ...).
        num_groups (int): by which C can be divided.
        weight, bias (Tensor, optional): (C).
        eps (float): ε.

    Mirrors ``torch.nn.functional.group_norm``.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: a group has one number only.

    >>> F.group_norm(mg.tensor([[1., 3., 5., 9.]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    tensor_argument("group_norm", input)
    if input.ndim < 2:
        raise ShapeError("MG-E204", f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels = input.shape[:2]
    eps = real(eps, "eps", "group_norm")
    if integer(num_groups, "num_groups", "group_norm") <= 0:
        raise ShapeError("MG-E302", f"Expected num groups to be greater than 0, got {num_groups}")
    if batch * channels // num_groups * math.prod(input.shape[2:]) == 1:
        raise TensorValueError("MG-E332", f"Expected more than 1 value per channel when training, got input size "
                               f"{list(input.shape)}")
    if channels % num_groups:
        raise ShapeError("MG-E204", "Expected number of channels in input to be divisible by num_groups, but got input of shape "
                         f"{list(input.shape)} and num_groups={num_groups}")
    for what, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(tensor_argument("group_norm", value, what).shape) != (channels,):
            raise ShapeError("MG-E204", f"Expected {what} to be a vector of size equal to the number of channels in input, but got "
                             f"{what} of shape {list(value.shape)} and input of shape {list(input.shape)}")
    if input.numel() == 0:
        return input * 1
    if takes_rule(input, weight, bias):
        sizes = batch, channels, math.prod(input.shape[2:]), num_groups
        return call(NativeGroupNorm.op, (input, weight, bias, *sizes, eps))[0]
    d, _, variance = moments(reshape(wide(input), (batch, num_groups, -1)), (2,))
    z = reshape(d * rsqrt(variance + eps), input.shape)
    return narrow(affine(z, per_channel(weight, input), per_channel(bias, input)), input)


def takes_rule(input, weight, bias):
    """Whether group_norm and batch_norm are one op: of numbers of one dtype; beside float16 also float32."""
    dtype = input.dtype
    return dtype.is_floating_point and all([
        value is None or value.dtype is dtype or (dtype is float16 and value.dtype is float32) for value in (weight, bias)])


def per_channel(value, input):
    """A vector of C numbers, so that it broadcasts over (N, C, ...)."""
    return None if value is None else reshape(value, [1, value.shape[0]] + [1] * (input.ndim - 2))


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """(x - mean) / √(variance + ε) per channel: in training those of the batch, else the running ones (Ioffe & Szegedy, 2015).

    Args:
        input (Tensor): (N, C, ...); or (0).
        running_mean, running_var (Tensor or None): (C). In training they are moved towards those of the batch by `momentum`.
        weight, bias (Tensor, optional): (C).

    Mirrors ``torch.nn.functional.batch_norm``.

    Raises:
        ValueError: in training a channel has one number only.
        RuntimeError: the shapes do not fit, or there are no running ones out of training.

    >>> F.batch_norm(mg.tensor([[1.], [3.]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    tensor_argument("batch_norm", input)
    momentum, eps = real(momentum, "momentum", "batch_norm"), real(eps, "eps", "batch_norm")
    training = truth(training, "training", "batch_norm")
    if input.ndim == 1 and not input.numel():
        of_channel = [None if value is None else tensor_argument("batch_norm", value, name)[0]
                      for name, value in (("weight", weight), ("bias", bias))]
        return affine(clone(input), *of_channel)
    if input.ndim < 2:
        raise ShapeError("MG-E204", f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    channels = input.shape[1]
    count = input.numel() // channels if channels else 0
    if training and count == 1:
        raise TensorValueError("MG-E332", f"Expected more than 1 value per channel when training, got input size {input.shape}")
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if value is not None:
            tensor_argument("batch_norm", value, name)
        if value is None and name.startswith("running") and not training:
            raise ShapeError("MG-E332", f"{name} must be defined in evaluation mode")
        if value is not None and value.numel() != channels:
            raise ShapeError("MG-E204", f"{name} should contain {channels} elements not {value.numel()}")
    if count and takes_rule(input, weight, bias):
        if training:
            z, m, _, variance = call(NativeBatchNorm.op, (input, weight, bias, None, None, True, eps))   # pyright: ignore
            with no_grad():
                if running_mean is not None:
                    move(running_mean, m.detach(), momentum)
                if running_var is not None:
                    move(running_var, variance.detach() * (count / (count - 1)), momentum)
            return z
        if not any([value.requires_grad or tangent_of(value) is not None for value in (running_mean, running_var)]):
            dtype = float32 if input.dtype is float16 else input.dtype
            copy = is_grad_enabled()        # training may move them before the backward
            now = [value.detach().to(dtype, copy=copy) for value in (running_mean, running_var)]
            return call(NativeBatchNorm.op, (input, weight, bias, *now, False, eps))[0]
    x = wide(input)
    if training:
        d, m, variance = moments(x, (0, *range(2, input.ndim)))
        with no_grad():
            if running_mean is not None:
                running_mean.mul_(1 - momentum).add_(reshape(m.detach(), (-1,)).to(running_mean.dtype), alpha=momentum)
            if running_var is not None:
                unbiased = reshape(variance.detach(), (-1,)) * (count / (count - 1))
                running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    else:
        d, variance = x - per_channel(running_mean, input), per_channel(running_var, input)
    return narrow(affine(d * rsqrt(variance + eps), per_channel(weight, input), per_channel(bias, input)), input)


def move(running, now, momentum):
    """Move the running statistics towards those of the batch."""
    running.mul_(1 - momentum).add_(reshape(now, running.shape).to(running.dtype), alpha=momentum)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-5):
    """`batch_norm` with every sample a batch of its own (Ulyanov et al., 2016). Mirrors ``torch.nn.functional.instance_norm``.

    The running ones are moved towards the mean over all samples.

    Raises:
        ValueError: there is one number only to take the mean of.
        RuntimeError: the shapes do not fit, or there are no running ones with `use_input_stats` False.

    >>> F.instance_norm(mg.tensor([[[1., 3.], [5., 9.]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    tensor_argument("instance_norm", input)
    momentum, eps = real(momentum, "momentum", "instance_norm"), real(eps, "eps", "instance_norm")
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if value is not None and tensor_argument("instance_norm", value, name).ndim != 1:
            raise ShapeError("MG-E204", f"instance_norm(): {name} must have one dimension", found=f"{value.ndim}")
    if not truth(use_input_stats, "use_input_stats", "instance_norm"):
        if running_mean is None or running_var is None:
            raise ShapeError("MG-E332", "Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = math.prod(input.shape[2:])
    if count == 1:
        raise TensorValueError("MG-E332", f"Expected more than 1 spatial element when training, got input size {input.shape}")
    d, m, variance = moments(wide(input), tuple(range(2, input.ndim)))
    with no_grad():
        for running, now in ((running_mean, m), (running_var, variance * (count / (count - 1)))):
            if running is not None:
                running.mul_(1 - momentum).add_(reshape(mean(now.detach(), (0,)), (-1,)).to(running.dtype), alpha=momentum)
    return narrow(affine(d * rsqrt(variance + eps), per_channel(weight, input), per_channel(bias, input)), input)


@in_float32
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """x / max(|x|ₚ, ε) along `dim`. Mirrors ``torch.nn.functional.normalize``.

    >>> F.normalize(mg.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    tensor_argument("normalize", input)
    if out is not None:
        return into(out, normalize, input, p, dim, eps)
    return input / clamp_min(vector_norm(input, p, dim, True), real(eps, "eps", "normalize"))


@in_float32
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + α mean of x² over `size` neighbouring channels)^β, the mean taken with zeros beyond the first and last channel.

    Krizhevsky et al., 2012. Mirrors ``torch.nn.functional.local_response_norm``.

    Args:
        input (Tensor): (N, C, ...), of 3 dimensions or more.
        size (int): how many channels.

    Raises:
        ValueError: there are less than 3 dimensions.

    >>> F.local_response_norm(mg.ones(1, 2, 1), 2, alpha=2.)
    tensor([[[0.5946],
             [0.4387]]])
    """
    tensor_argument("local_response_norm", input)
    size = integer(size, "size", "local_response_norm")
    alpha, beta, k = [real(value, name, "local_response_norm") for value, name in ((alpha, "alpha"), (beta, "beta"), (k, "k"))]
    if input.ndim < 3:
        raise TensorValueError("MG-E332", f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if size < 1:
        raise ShapeError("MG-E332", "local_response_norm(): size must be positive", found=str(size))
    if not input.numel():
        return input
    squares = reshape(input * input, (input.shape[0], 1, input.shape[1], -1))
    padded = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = reshape(avg_pool2d(padded, (size, 1), stride=1), input.shape)
    return input / (means * alpha + k) ** beta
