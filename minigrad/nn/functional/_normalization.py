"""Normalization: shift and scale to mean 0 and variance 1 over some dimensions, then apply a weight and a bias.

                        mean and variance over, for (N, C, L)       weight and bias
    batch_norm          N, L: one mean per channel                  per channel
    instance_norm       L: one mean per channel and sample          per channel
    group_norm          L and the channels of a group               per channel
    layer_norm          the last dimensions                         per element
    rms_norm            the same, but nothing is subtracted         per element, no bias

The rules are in ``ops/nn/normalization.py``.

Mirrors ``aten/src/ATen/native/{Normalization,layer_norm,group_norm}.cpp`` and ``torch/nn/functional.py``.
"""

# pyright: reportOptionalMemberAccess=false, reportOptionalOperand=false
# (None is excluded by a flag)

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
import math
from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad._core.record.forward_ad import tangent_of
from minigrad.autograd.grad_mode import is_grad_enabled, no_grad
from minigrad.dtypes import finfo, float32
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError, ShapeError, TensorValueError
from minigrad.nn.functional._padding import pad
from minigrad.ops import clamp_min, mean, reshape, rsqrt
from minigrad.ops.base.arguments import integer, integers, real, tensor_argument, truth
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32, is_reduced, wide
from minigrad.ops.linalg.norms import vector_norm
from minigrad.ops.nn.averaging import avg_pool2d
from minigrad.ops.nn.normalization import FusedRmsNorm, NativeBatchNorm, NativeGroupNorm, NativeLayerNorm
from minigrad.ops.shape.clone_cast import cast, clone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Number, Tensor

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"]


def moments(x, dims):
    """Return (x - mean, mean, variance) over `dims`."""
    m = mean(x, dims, True)
    d = x - m
    return d, m, mean(d * d, dims, True)


def cast_back(z, input):
    """Cast the result to float16 or bfloat16 if the input has that dtype: it was computed in float32."""
    return cast(z, input.dtype) if is_reduced(input.dtype) else z


def scale_and_shift(x, weight, bias):
    """x · weight + bias. A None counts as 1 or 0."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def check_normalized_shape(name, input, normalized_shape, weight, bias=None):
    """Return the dimensions of `normalized_shape`, counted from the end; raise if a shape does not fit it."""
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


def layer_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """(x - mean) / √(variance + ε) over the last dimensions (Ba et al., "Layer normalization", 2016).

    Args:
        input (Tensor): ``(..., *normalized_shape)``, of a floating point dtype.
        normalized_shape (int or sequence of int): the sizes of the last dimensions.
        weight, bias (Tensor, optional): of shape `normalized_shape` and input's dtype; for float16 and bfloat16 also float32.
        eps (float): ε.

    Mirrors ``torch.nn.functional.layer_norm``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the dtype is not a floating point one.

    >>> F.layer_norm(mg.tensor([[1., 3.]]), (2,))
    tensor([[-1.0000, 1.0000]])
    """
    dims = check_normalized_shape("layer_norm", input, normalized_shape, weight, bias)
    if type(eps) is not float:
        eps = real(eps, "eps", "layer_norm")
    if not input.dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f"layer_norm() is not implemented for {input.dtype.name}", fix="input.float()")
    if is_reduced(input.dtype) and all(value is None or value.dtype is float32 for value in (weight, bias)) \
            and (weight is not None or bias is not None):
        return cast(layer_norm(cast(input, float32), normalized_shape, weight, bias, eps), input.dtype)
    if any(value is not None and value.dtype is not input.dtype for value in (weight, bias)):
        raise DtypeError("MG-E203", "layer_norm(): mixed dtype: all inputs must share same datatype.",
                         found=", ".join(value.dtype.name for value in (input, weight, bias) if value is not None))
    if input.numel() == 0:
        return scale_and_shift(input * 1, weight, bias)
    return call(NativeLayerNorm.op, (input, weight, bias, len(dims), eps))[0]


def rms_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """x / √(mean of x² + ε) over the last dimensions (Zhang & Sennrich, 2019).

    Args:
        input (Tensor): ``(..., *normalized_shape)``.
        normalized_shape (int or sequence of int): the sizes of the last dimensions.
        weight (Tensor, optional): of shape `normalized_shape`.
        eps (float, optional): ε; the machine epsilon of the dtype by default.

    As in PyTorch, it records a single node on a GPU and several on the CPU. Mirrors ``torch.nn.functional.rms_norm``.

    Raises:
        RuntimeError: the shapes do not fit.
        NotImplementedError: `input` has integers or bools.

    >>> F.rms_norm(mg.tensor([[3., -3.]]), (2,))
    tensor([[ 1., -1.]])
    """
    dims = check_normalized_shape("rms_norm", input, normalized_shape, weight)
    if input.numel() == 0:
        return scale_and_shift(input * 1, weight, None)
    if not input.dtype.differentiable:
        raise AutogradNotImplementedError("MG-E203", f'"rms_norm" not implemented for {input.dtype.name}', fix="input.float()")
    eps = finfo(float32 if is_reduced(input.dtype) else input.dtype).eps if eps is None else real(eps, "eps", "rms_norm")
    if input.is_cuda and input.dtype.is_floating_point and (weight is None or weight.dtype is input.dtype):
        return call(FusedRmsNorm.op, (input, weight, len(dims), eps))[0]
    x = wide(input)
    return cast_back(scale_and_shift(x * rsqrt(mean(x * x, dims, True) + eps), weight, None), input)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """(x - mean) / √(variance + ε) over groups of channels (Wu & He, "Group normalization", 2018).

    Args:
        input (Tensor): (N, C, ...).
        num_groups (int): a divisor of C.
        weight, bias (Tensor, optional): (C).
        eps (float): ε.

    Mirrors ``torch.nn.functional.group_norm``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the dtype is not a floating point one.
        ValueError: the whole batch has a single element per group.

    >>> F.group_norm(mg.tensor([[1., 3., 5., 9.]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    tensor_argument("group_norm", input)
    if input.ndim < 2:
        raise ShapeError("MG-E204", f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels = input.shape[:2]
    eps = real(eps, "eps", "group_norm")
    if integer(num_groups, "num_groups", "group_norm") <= 0:
        raise ArgumentError("MG-E302", f"Expected num groups to be greater than 0, got {num_groups}")
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
    check_dtypes("group_norm", input, weight, bias)
    if input.numel() == 0:
        return input * 1
    sizes = batch, channels, math.prod(input.shape[2:]), num_groups
    return call(NativeGroupNorm.op, (input, weight, bias, *sizes, eps))[0]


def check_dtypes(name, input, *others):
    """Raise unless `input` is floating point, and the `others` have its dtype; beside float16 and bfloat16 they may be float32."""
    dtype = input.dtype
    if not dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f"{name}() is not implemented for {dtype.name}", fix="input.float()")
    allowed = (dtype, float32) if is_reduced(dtype) else (dtype,)
    if any([value is not None and value.dtype not in allowed for value in others]):
        raise DtypeError("MG-E203", f"{name}(): mixed dtype (CPU): all inputs must share same datatype.",
                         found=", ".join(value.dtype.name for value in (input, *others) if value is not None))


def per_channel(value, input):
    """Reshape a vector of size C so that it broadcasts over (N, C, ...)."""
    return None if value is None else reshape(value, [1, value.shape[0]] + [1] * (input.ndim - 2))


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """(x - mean) / √(variance + ε) per channel (Ioffe & Szegedy, "Batch normalization", 2015).

    Args:
        input (Tensor): (N, C, ...), or (0).
        running_mean, running_var (Tensor or None): (C), the running statistics.
        weight, bias (Tensor, optional): (C).
        training (bool): use the statistics of the batch, and update the running ones. Otherwise use the running ones.
        momentum (float): the update is running ← (1 - momentum) · running + momentum · batch.
        eps (float): ε.

    Mirrors ``torch.nn.functional.batch_norm``.

    Raises:
        ValueError: in training, each channel has a single element.
        RuntimeError: the shapes do not fit, the dtypes differ, or running statistics are None outside training.
        NotImplementedError: the dtype is not a floating point one.

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
        return scale_and_shift(clone(input), *of_channel)
    if input.ndim < 2:
        raise ShapeError("MG-E204", f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    channels = input.shape[1]
    count = input.numel() // channels if channels else 0
    if training and count == 1:
        raise TensorValueError("MG-E332", f"Expected more than 1 value per channel when training, got input size {input.shape}")
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if value is None:
            if name.startswith("running") and not training:
                raise ArgumentError("MG-E332", f"{name} must be defined in evaluation mode")
        elif tensor_argument("batch_norm", value, name).numel() != channels:
            raise ShapeError("MG-E204", f"{name} should contain {channels} elements not {value.numel()}")
    if not count:       # nothing to normalize, and no statistics that could be kept
        return scale_and_shift(input * 1, per_channel(weight, input), per_channel(bias, input))
    check_dtypes("batch_norm", input, weight, bias, running_mean, running_var)
    if training:
        z, m, _, variance = call(NativeBatchNorm.op, (input, weight, bias, None, None, True, eps))   # pyright: ignore
        if running_mean is not None:
            update_running(running_mean, m, momentum)
        if running_var is not None:
            update_running(running_var, variance.detach() * (count / (count - 1)), momentum)
        return z
    if not any([value.requires_grad or tangent_of(value) is not None for value in (running_mean, running_var)]):
        dtype = float32 if is_reduced(input.dtype) else input.dtype
        now = [freeze(value.detach(), dtype) for value in (running_mean, running_var)]
        return call(NativeBatchNorm.op, (input, weight, bias, *now, False, eps))[0]
    d, variance = wide(input) - per_channel(running_mean, input), per_channel(running_var, input)
    return cast_back(scale_and_shift(d * rsqrt(variance + eps), per_channel(weight, input), per_channel(bias, input)), input)


def freeze(value, dtype):
    """Return `value` in `dtype`; a copy, if a backward may need it: training may update the value in place before."""
    if value.dtype is not dtype:
        return cast(value, dtype)
    return clone(value) if is_grad_enabled() else value


def update_running(running, now, momentum):
    """running ← (1 - momentum) · running + momentum · now, without a history"""
    running, now = running.detach(), now.detach()
    if now.dtype is not running.dtype or now.shape != running.shape:
        now = cast(reshape(now, running.shape), running.dtype)
    running.mul_(1 - momentum).add_(now * momentum)


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-5) -> Tensor:
    """`batch_norm` with every sample as a batch of its own (Ulyanov et al., 2016).

    Args:
        input (Tensor): (N, C, ...).
        running_mean, running_var (Tensor, optional): (C), the running statistics. They are updated with the mean over all samples.
        weight, bias (Tensor, optional): (C).
        use_input_stats (bool): use the statistics of each sample. Otherwise use the running ones.
        momentum (float): the update is running ← (1 - momentum) · running + momentum · batch.
        eps (float): ε.

    Mirrors ``torch.nn.functional.instance_norm``.

    Raises:
        ValueError: each mean would be over a single element.
        RuntimeError: the shapes do not fit, the dtypes differ, or running statistics are None with `use_input_stats` False.
        NotImplementedError: the dtype is not a floating point one.

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
            raise ArgumentError("MG-E332", "Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = math.prod(input.shape[2:])
    if count == 1:
        raise TensorValueError("MG-E332", f"Expected more than 1 spatial element when training, got input size {input.shape}")
    check_dtypes("instance_norm", input, weight, bias, running_mean, running_var)
    if running_mean is not None or running_var is not None:
        with no_grad():
            _, m, variance = moments(wide(input), tuple(range(2, input.ndim)))
            for running, now in ((running_mean, m), (running_var, variance * (count / (count - 1)))):
                if running is not None:
                    update_running(running, mean(now, (0,)), momentum)
    return input * 1 if input.numel() == 0 else group_norm(input, input.shape[1], weight, bias, eps)


@in_float32
def normalize(input: Tensor, p: float = 2.0, dim: int | None = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """x / max(|x|ₚ, ε) along `dim`.

    Args:
        input (Tensor): of any shape.
        p (float): the exponent of the norm.
        dim (int): the dimension of the vectors.
        eps (float): ε, which avoids a division by zero.
        out (Tensor, optional): receives the result.

    Mirrors ``torch.nn.functional.normalize``.

    >>> F.normalize(mg.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    tensor_argument("normalize", input)
    if out is not None:
        return into(out, normalize, input, p, dim, eps)
    return input / clamp_min(vector_norm(input, p, dim, True), real(eps, "eps", "normalize"))


@in_float32
def local_response_norm(input: Tensor, size: int | Sequence[int], alpha: Number = 1e-4, beta: Number = 0.75,
                        k: Number = 1.0) -> Tensor:
    """x / (k + α m)^β, where m is the mean of x² over `size` neighbouring channels (Krizhevsky et al., 2012).

    Args:
        input (Tensor): (N, C, ...), with at least 3 dimensions.
        size (int): the number of channels. Channels before the first and after the last count as zeros.
        alpha, beta, k (float): the numbers of the formula.

    Mirrors ``torch.nn.functional.local_response_norm``.

    Raises:
        ValueError: `input` has fewer than 3 dimensions.
        RuntimeError: `size` is not positive.

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
        raise ArgumentError("MG-E332", "local_response_norm(): size must be positive", found=str(size))
    if not input.numel():
        return input
    squares = reshape(input * input, (input.shape[0], 1, input.shape[1], -1))
    padded = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = reshape(avg_pool2d(padded, (size, 1), stride=1), input.shape)
    return input / (means * alpha + k) ** beta
