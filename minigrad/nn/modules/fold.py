"""The patches of an image as columns, and back. Mirrors ``torch/nn/modules/fold.py``."""

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """The patches of (N, C, H, W) as columns. See `minigrad.nn.functional.unfold`. Mirrors ``torch.nn.Unfold``.

    >>> nn.Unfold(2)(mg.ones(1, 3, 4, 4)).shape
    minigrad.Size([1, 12, 9])
    """

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Columns (N, C K, L) added up to images. See `minigrad.nn.functional.fold`. Mirrors ``torch.nn.Fold``.

    >>> nn.Fold((4, 4), 2)(mg.ones(1, 12, 9)).shape
    minigrad.Size([1, 3, 4, 4])
    """

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"output_size={self.output_size}, {super().extra_repr()}"
