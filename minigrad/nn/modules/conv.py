"""Convolutions and transposed convolutions over 1, 2 or 3 dimensions. Mirrors ``torch/nn/modules/conv.py``."""

from __future__ import annotations

# pyright: reportArgumentType=false
# (the padding of a transposed convolution is never a string)
import math
from typing import TYPE_CHECKING

from minigrad.creation import empty
from minigrad.errors import ShapeError, TensorValueError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn._optional import flag_of, register_optional
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The base of all convolutions: sizes, bias, and a weight (out, in / groups, ...), or (in, out / groups, ...) if `transposed`.

    The sizes are tuples, with one number per dimension. `dims` is 0 here, and their length decides.
    """

    dims = 0

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
                 padding_mode, device=None, dtype=None):
        super().__init__()
        if not self.dims:
            self.dims = len(kernel_size)
        self.transposed = transposed
        in_channels, out_channels, groups = [
            integer(n, name, type(self).__name__)
            for n, name in ((in_channels, "in_channels"), (out_channels, "out_channels"), (groups, "groups"))]
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if not isinstance(padding_mode, str) or padding_mode not in MODES:
            raise ValueError(f"padding_mode must be one of {MODES}, but got padding_mode={padding_mode!r}")
        if isinstance(padding, str) and padding not in ("valid", "same"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = self._tuple(kernel_size, "kernel_size")
        self.stride = self._tuple(stride, "stride")
        if isinstance(padding, str) and padding == "same" and max(self.stride) > 1:
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.padding = padding if isinstance(padding, str) else self._tuple(padding, "padding")
        self.dilation = self._tuple(dilation, "dilation")
        self.output_padding = self._tuple(output_padding, "output_padding")
        self.groups = groups
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self._reversed_padding_repeated_twice = self._around()
        self.weight = Parameter(empty(*channels, *self.kernel_size, device=device, dtype=dtype))
        register_optional(self, "bias", flag_of(self, "bias", bias), out_channels, device, dtype)
        self.reset_parameters()

    def _tuple(self, value, name):
        """Return a size as a tuple. A single number holds for every dimension."""
        if not isinstance(value, (tuple, list)):
            return (value,) * self.dims
        if len(value) == 1:
            return tuple(value) * self.dims
        if len(value) != self.dims:
            raise ShapeError("MG-E210", f"{name} must be an int or {self.dims} ints, got {value!r}, for {type(self).__name__}")
        return tuple(value)

    def reset_parameters(self) -> None:
        """Draw new parameters, uniform in ±1/√n, where n is the number of inputs that an output depends on."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.shape[1] * math.prod(self.kernel_size)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def _around(self):
        """The padding as `F.pad` takes it: the last dimension first, and both sides of each."""
        around = []
        for i in reversed(range(self.dims)):
            if self.padding == "same":      # if the total is odd, the far side gets one more
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                around += [total // 2, total - total // 2]
            else:
                around += [0, 0] if self.padding == "valid" else [self.padding[i], self.padding[i]]
        return around

    def _pad_input(self, input):
        """Pad the input unless the padding is zeros. Return (input, the padding that remains for the convolution)."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._around(), self.padding_mode), 0

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * self.dims, (1,) * self.dims
        for name, usual in (("padding", zeros), ("dilation", ones), ("output_padding", zeros), ("groups", 1)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return (text + ("" if self.bias is not None else ", bias=False")
                + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}"))


class Conv1d(_ConvNd):
    """A 1-d convolution (cross-correlation) over (N, C, L). See `Conv2d`.

    Mirrors ``torch.nn.Conv1d``.

    Raises:
        ValueError: the channels are not divisible by `groups`, or the padding mode is unknown.

    >>> nn.Conv1d(1, 4, 3, padding=1)(mg.ones(2, 1, 8)).shape
    minigrad.Size([2, 4, 8])
    """

    dims = 1

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode,
                         device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        """The convolution with another weight and bias than the layer's own, for subclasses."""
        input, padding = self._pad_input(input)
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_ConvNd):
    """A 2-d convolution (cross-correlation) over (N, C, H, W).

    Args:
        in_channels, out_channels (int): the number of channels of input and output.
        kernel_size (int or pair): the size of the window.
        stride (int or pair): the step from window to window.
        padding (int, pair, ``"valid"`` or ``"same"``): the number of elements added on each side. ``"valid"`` adds none. ``"same"``
            keeps the size of the input.
        dilation (int or pair): the step between the elements of a window.
        groups (int): the number of independent groups of input and output channels.
        bias (bool): whether there is a bias per output channel.
        padding_mode (str): ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``: see `minigrad.nn.functional.pad`.
        device, dtype (optional): the device and dtype of the parameters.

    Mirrors ``torch.nn.Conv2d``.

    Raises:
        ValueError: the channels are not divisible by `groups`, or the padding mode is unknown.

    >>> nn.Conv2d(1, 4, 3, padding=1)(mg.ones(2, 1, 8, 8)).shape
    minigrad.Size([2, 4, 8, 8])
    """

    dims = 2

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode,
                         device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        """The convolution with another weight and bias than the layer's own, for subclasses."""
        input, padding = self._pad_input(input)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_ConvNd):
    """A 3-d convolution (cross-correlation) over (N, C, D, H, W). See `Conv2d`.

    Mirrors ``torch.nn.Conv3d``.

    Raises:
        ValueError: the channels are not divisible by `groups`, or the padding mode is unknown.

    >>> nn.Conv3d(1, 4, 3, padding=1)(mg.ones(2, 1, 3, 4, 5)).shape
    minigrad.Size([2, 4, 3, 4, 5])
    """

    dims = 3

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode,
                         device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        """The convolution with another weight and bias than the layer's own, for subclasses."""
        input, padding = self._pad_input(input)
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    """The base of transposed convolutions: for a given input, several sizes of the output are possible."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True,
                 dilation: int | Sequence[int] = 1, padding_mode: str = "zeros", device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias,
                         padding_mode, device, dtype)

    def _padding_for(self, input, output_size):
        """Return the output padding for a result of `output_size`; raise if that size is not possible."""
        if output_size is None:
            return self.output_padding
        n = self.dims
        batch = input.ndim - n
        if len(output_size) == input.ndim:
            output_size = output_size[batch:]
        if len(output_size) != n:
            raise TensorValueError("MG-E350", f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or "
                                   f"{batch + n} elements (got {len(output_size)})")
        least = [(input.shape[batch + i] - 1) * self.stride[i] - 2 * self.padding[i]
                 + self.dilation[i] * (self.kernel_size[i] - 1) + 1 for i in range(n)]
        most = [a + self.stride[i] - 1 for i, a in enumerate(least)]
        if any([not a <= size <= b for a, size, b in zip(least, output_size, most)]):
            raise TensorValueError("MG-E350", f"requested an output size of {tuple(output_size)}, but valid sizes range from "
                                   f"{least} to {most} (for an input of {tuple(input.shape[batch:])})")
        return tuple([size - a for a, size in zip(least, output_size)])


class ConvTranspose1d(_ConvTransposeNd):
    """A 1-d transposed convolution over (N, C, L). See `ConvTranspose2d`.

    Mirrors ``torch.nn.ConvTranspose1d``.

    Raises:
        ValueError: the channels are not divisible by `groups`, or an output size is not possible.

    >>> nn.ConvTranspose1d(1, 4, 2, stride=2)(mg.ones(2, 1, 8)).shape
    minigrad.Size([2, 4, 16])
    """

    dims = 1

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.conv_transpose1d(input, self.weight, self.bias, self.stride, self.padding, self._padding_for(input, output_size),
                                  self.groups, self.dilation)


class ConvTranspose2d(_ConvTransposeNd):
    """A 2-d transposed convolution over (N, C, H, W). See `minigrad.nn.functional.conv_transpose2d`.

    Args:
        in_channels, out_channels (int): the number of channels of input and output.
        kernel_size, stride, dilation (int or pair): those of the convolution that this layer transposes.
        padding (int or pair): the number of elements removed from the result on each side.
        output_padding (int or pair): the number of elements added to the result on the far sides. A convolution with a stride maps
            several sizes to the same one. To choose one of them, call the layer with ``output_size=``.
        groups (int): the number of independent groups of input and output channels.
        bias (bool): whether there is a bias per output channel.
        padding_mode (str): must be ``"zeros"``.
        device, dtype (optional): the device and dtype of the parameters.

    Mirrors ``torch.nn.ConvTranspose2d``.

    Raises:
        ValueError: the channels are not divisible by `groups`, or an output size is not possible.

    >>> nn.ConvTranspose2d(1, 4, 3, stride=2)(mg.ones(2, 1, 4, 4), output_size=(10, 9)).shape
    minigrad.Size([2, 4, 10, 9])
    """

    dims = 2

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, self._padding_for(input, output_size),
                                  self.groups, self.dilation)


class ConvTranspose3d(_ConvTransposeNd):
    """A 3-d transposed convolution over (N, C, D, H, W). See `ConvTranspose2d`.

    Mirrors ``torch.nn.ConvTranspose3d``.

    Raises:
        ValueError: the channels are not divisible by `groups`, or an output size is not possible.

    >>> nn.ConvTranspose3d(1, 4, 2, stride=2)(mg.ones(2, 1, 1, 2, 3)).shape
    minigrad.Size([2, 4, 2, 4, 6])
    """

    dims = 3

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.conv_transpose3d(input, self.weight, self.bias, self.stride, self.padding, self._padding_for(input, output_size),
                                  self.groups, self.dilation)
