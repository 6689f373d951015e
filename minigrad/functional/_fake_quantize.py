"""Rounding to the values of 8-bit integers, with the gradient passed straight through: what training for quantization needs.

    q = round(x / scale) + zero_point, clamped to [quant_min, quant_max]        z = (q - zero_point) scale
    dx = dz where q was not clamped, else 0

Mirrors ``aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp`` and ``FakeQuantPerChannelAffine.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false
from minigrad.autograd.function import Function
from minigrad.creation import as_tensor
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.base.arguments import dimension, integer, tensor_argument

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = [
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine",
    "per_channel_affine",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qint8",
    "qint32",
    "quint8",
]


class Named:
    """A dtype or scheme of quantized numbers. No tensor has it: it is an option of `ao.quantization`."""

    def __init__(self, name, low=None, high=None):
        self.name, self.low, self.high = name, low, high

    def __repr__(self):
        return f"minigrad.{self.name}"

    def __reduce__(self):
        return self.name


qint8, quint8, qint32 = Named("qint8", -128, 127), Named("quint8", 0, 255), Named("qint32", -2 ** 31, 2 ** 31 - 1)
per_tensor_affine, per_tensor_symmetric = Named("per_tensor_affine"), Named("per_tensor_symmetric")
per_channel_affine, per_channel_symmetric = Named("per_channel_affine"), Named("per_channel_symmetric")


class FakeQuantize(Function):
    """Round and clamp; the gradient is that of the identity where nothing was clamped."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale, zero_point, quant_min, quant_max):
        return (((x * (1 / scale)).round() + zero_point).clamp(quant_min, quant_max) - zero_point) * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, zero_point, quant_min, quant_max = inputs
        q = ((x * (1 / scale)).round() + zero_point)
        ctx.save_for_backward((q >= quant_min) & (q <= quant_max))

    @staticmethod
    def backward(ctx, *grads):
        return grads[0] * ctx.saved_tensors[0], None, None, None, None


def bounds(name, quant_min, quant_max):
    """Check the range of the integers."""
    if integer(quant_min, "quant_min", name) > integer(quant_max, "quant_max", name):
        raise ArgumentError("MG-E302", "`quant_min` should be less than or equal to `quant_max`.",
                            found=f"{quant_min}, {quant_max}")


def fake_quantize_per_tensor_affine(input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int,
                                    quant_max: int) -> Tensor:
    """Round to the multiples of `scale` that the integers from `quant_min` to `quant_max` stand for.

    Args:
        input (Tensor): of any shape.
        scale (number or Tensor): the distance of the values.
        zero_point (int or Tensor): the integer that stands for 0.
        quant_min, quant_max (int): the range of the integers.

    The gradient passes where nothing was clamped. Mirrors ``torch.fake_quantize_per_tensor_affine``.

    Raises:
        RuntimeError: `quant_min` is above `quant_max`.

    >>> mg.fake_quantize_per_tensor_affine(mg.tensor([0.26, -9.]), 0.1, 0, -8, 7)
    tensor([ 0.3000, -0.8000])
    """
    tensor_argument("fake_quantize_per_tensor_affine", input)
    bounds("fake_quantize_per_tensor_affine", quant_min, quant_max)
    scale = as_tensor(scale, dtype=input.dtype, device=input.device)
    zero_point = as_tensor(zero_point, device=input.device)
    return FakeQuantize.apply(input, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max)


def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int,
                                     quant_max: int) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index of the dimension `axis`.

    Args:
        input (Tensor): of any shape.
        scale, zero_point (Tensor): (n), for the n channels.
        axis (int): the dimension of the channels.
        quant_min, quant_max (int): the range of the integers.

    Mirrors ``torch.fake_quantize_per_channel_affine``.

    Raises:
        RuntimeError: `quant_min` is above `quant_max`, or `scale` does not have one entry for each channel.

    >>> mg.fake_quantize_per_channel_affine(mg.ones(2, 1), mg.tensor([0.3, 0.4]), mg.zeros(2).int(), 0, -8, 7).flatten()
    tensor([0.9000, 0.8000])
    """
    tensor_argument("fake_quantize_per_channel_affine", input)
    tensor_argument("fake_quantize_per_channel_affine", scale, "scale", 2)
    tensor_argument("fake_quantize_per_channel_affine", zero_point, "zero_point", 3)
    bounds("fake_quantize_per_channel_affine", quant_min, quant_max)
    axis = dimension(axis, input.ndim)
    if scale.ndim != 1 or scale.shape != zero_point.shape or len(scale) != input.shape[axis]:
        raise ShapeError("MG-E204", "dimensions of scale and zero-point are not consistent with input tensor",
                         expected=f"({input.shape[axis]},)", found=f"{tuple(scale.shape)} and {tuple(zero_point.shape)}")
    shape = [-1 if d == axis else 1 for d in range(input.ndim)]
    return FakeQuantize.apply(input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)
