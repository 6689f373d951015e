"""Pooling. Mirrors ``torch/nn/modules/pooling.py``."""

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

__all__ = ["AvgPool2d", "MaxPool2d"]


class MaxPool2d(Module):
    """The largest value of each window over (N, C, H, W). See `minigrad.nn.functional.max_pool2d`.

    Mirrors ``torch.nn.MaxPool2d``.

    >>> nn.MaxPool2d(2)(mg.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2])
    """

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class AvgPool2d(Module):
    """The mean of each window over (N, C, H, W). See `minigrad.nn.functional.avg_pool2d`.

    Mirrors ``torch.nn.AvgPool2d``.

    >>> nn.AvgPool2d(2)(mg.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2])
    """

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
