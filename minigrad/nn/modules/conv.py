"""Convolutions. Mirrors ``torch/nn/modules/conv.py``."""

import math

from minigrad.creation import empty
from minigrad.errors import ShapeError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter

__all__ = ["Conv2d"]


def pair(value):
    """A size given as one number or two, as a pair."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


class Conv2d(Module):
    """A 2-d convolution (cross-correlation) over (N, C, H, W).

    Args:
        in_channels, out_channels (int)
        kernel_size, stride, dilation (int or pair)
        padding (int, pair, ``"valid"`` or ``"same"``): zeros on each side
        groups (int): input and output channels are divided into as many independent groups
        bias (bool): whether a number is added per output channel
        padding_mode (str): only ``"zeros"``
        device, dtype (optional): of the parameters.

    Mirrors ``torch.nn.Conv2d``.

    Raises:
        ValueError: the channels are not divisible by `groups`, or the padding mode is unknown.

    >>> nn.Conv2d(1, 4, 3, padding=1)(mg.ones(2, 1, 8, 8)).shape
    minigrad.Size([2, 4, 8, 8])
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode != "zeros":
            raise ValueError(f"padding_mode must be 'zeros', but got padding_mode={padding_mode!r}")
        if isinstance(padding, str) and padding not in ("valid", "same"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding == "same" and any(s != 1 for s in pair(stride)):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.padding = padding if isinstance(padding, str) else pair(padding)
        self.dilation = pair(dilation)
        self.groups = groups
        self.padding_mode = padding_mode
        if len(self.kernel_size) != 2:
            raise ShapeError("MG-E210", f"kernel_size must be an int or a pair of ints, got {kernel_size!r}")
        self.weight = Parameter(empty(out_channels, in_channels // groups, *self.kernel_size, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new parameters, uniform in ±1/√(numbers in a window)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.shape[1] * self.kernel_size[0] * self.kernel_size[1]
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text + ("" if self.bias is not None else ", bias=False")
