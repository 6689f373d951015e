"""Copies of a tensor: with the same dtype (clone, contiguous), in another dtype (cast) or on another device (move).

Mirrors ``aten/src/ATen/native/{TensorFactories,TensorConversions}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.rule import Linear, op
from minigrad.ops.shape.formats import channel_orders, channels_last, channels_last_3d, check_format, copy_in_order

if TYPE_CHECKING:
    from minigrad.ops.shape.formats import memory_format
    from minigrad.types import Tensor

__all__ = ["clone", "contiguous"]

CHANNELS_LAST = (channels_last, channels_last_3d)


def descending(strides):
    """Whether no stride is smaller than the next: the dimensions lie in memory in their own order."""
    return all([strides[i - 1] >= strides[i] for i in range(1, len(strides))])


@op("clone")
class Clone(Linear):
    """z = x, in memory of its own"""

    always_recorded = True
    inputs = 1

    def forward(k, x, keep_order):
        if not keep_order:
            return k.copy(x)
        z = k.copy_with_layout(x, x)        # row-major where x has gaps
        return z if x.ndim < 2 or k.contiguous(x) or not k.contiguous(z) or descending(x.strides) else copy_in_order(k, x)

    def vjp_x(g):
        return g


@op("to", "ToCopy0")
class Cast(Linear):
    """z = x in another dtype"""

    hidden = ("source",)
    always_recorded = True
    inputs = 1

    def forward(k, x, dtype, source):
        return k.cast(x, dtype.numpy)

    def vjp_x(g, source):   # the engine casts it back
        return g.real if g.dtype.is_complex and not source.is_complex else g


@op("to_device", "ToCopy0")
class Move(Linear):
    """z = x on another device"""

    hidden = ("source",)
    always_recorded = True
    inputs = 1

    def forward(k, x, target, source, wait):
        return target.backend.kernels.from_host(k.to_host(x), wait)

    def vjp_x(g, source):
        return move(g, source)


def has_channels_last(input, memory_format):
    """Whether the elements are in the order of `memory_format` already."""
    return input._meta.backend.kernels.contiguous(input.permute(channel_orders(memory_format, input.ndim)[0])._array)


def copy_channels_last(input, memory_format):
    """A copy of `input` in the order of `memory_format`, one of CHANNELS_LAST."""
    last, first = channel_orders(memory_format, input.ndim)
    return call(Clone.op, (input.permute(last), False)).permute(first)


def clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy of `input` in its own memory. Gradients flow through it. Mirrors ``torch.clone``.

    Args:
        input (Tensor): of any shape and dtype.
        memory_format (optional): ``mg.contiguous_format`` makes a row-major copy. By default, the dimensions keep their order in
            memory.

    >>> x = mg.tensor([1., 2.])
    >>> y = x.clone(); y.data_ptr() == x.data_ptr()
    False
    """
    tensor_argument("clone", input)
    memory_format = check_format("clone", memory_format, CHANNELS_LAST)
    if memory_format in CHANNELS_LAST:
        return copy_channels_last(input, memory_format)
    return call(Clone.op, (input, memory_format is None or memory_format == "preserve_format"))


def contiguous(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """Return `input` itself if it is row-major without gaps, else a row-major copy. Mirrors ``torch.Tensor.contiguous``.

    With ``mg.channels_last``, a tensor (N, C, H, W) comes in the order (N, H, W, C) instead.

    Raises:
        RuntimeError: `memory_format` is ``mg.preserve_format``, or the tensor cannot have this format.

    >>> x = mg.zeros(2, 3).t()
    >>> x.is_contiguous(), x.contiguous().is_contiguous()
    (False, True)
    """
    tensor_argument("contiguous", input)
    memory_format = check_format("contiguous", memory_format, CHANNELS_LAST)
    if memory_format in CHANNELS_LAST:
        return input if has_channels_last(input, memory_format) else copy_channels_last(input, memory_format)
    if input._meta.backend.kernels.contiguous(input._array):
        return input
    if memory_format == "preserve_format":
        raise ArgumentError("MG-E302", "preserve memory format is unsupported by the contiguous operator")
    return call(Clone.op, (input, False))


def move(input, device, wait=True):
    """Return `input` on `device`; `input` itself if it is there. Without `wait`, pinned memory may be read after we return."""
    return input if input.device is device else call(Move.op, (input, device, input.device, wait))


def cast(input, dtype) -> Tensor:
    """Return `input` in `dtype`; `input` itself if it has that dtype."""
    return input if input.dtype is dtype else call(Cast.op, (input, dtype, input.dtype))
