"""Patches of images as columns, and back. Mirrors ``torch/nn/modules/fold.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """The patches of (N, C, H, W) as columns. See `minigrad.nn.functional.unfold`. Mirrors ``torch.nn.Unfold``.

    >>> nn.Unfold(2)(mg.ones(1, 3, 4, 4)).shape
    minigrad.Size([1, 12, 9])
    """

    def __init__(self, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
                 stride: int | Sequence[int] = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Sum columns (N, C K, L) into images, where a patch has K elements. See `minigrad.nn.functional.fold`.

    Mirrors ``torch.nn.Fold``.

    >>> nn.Fold((4, 4), 2)(mg.ones(1, 12, 9)).shape
    minigrad.Size([1, 3, 4, 4])
    """

    def __init__(self, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1,
                 padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
