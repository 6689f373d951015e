"""Interpolation, and the rearrangement of channels and pixels, as modules.

Mirrors ``torch/nn/modules/{upsampling,pixelshuffle,channelshuffle}.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resize a signal, image or volume. See `minigrad.nn.functional.interpolate`.

    Args:
        size (int or sequence, optional): the new size.
        scale_factor (float or sequence, optional): the factor of the sizes. Pass either this or `size`.
        mode (str): ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"``, ``"trilinear"``, ...
        align_corners, recompute_scale_factor (bool, optional): as in the function.

    Mirrors ``torch.nn.Upsample``.

    >>> nn.Upsample(scale_factor=2, mode="bilinear")(mg.ones(1, 3, 4, 5)).shape
    minigrad.Size([1, 3, 8, 10])
    """

    def __init__(self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
                 mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple([float(real(factor, "scale_factor", self.name)) for factor in scale_factor])
        else:
            self.scale_factor = (0 if scale_factor is None else float(real(scale_factor, "scale_factor", self.name))) or None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        return (f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}") + f", mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` with mode ``"nearest"``, for images. Mirrors ``torch.nn.UpsamplingNearest2d``.

    >>> nn.UpsamplingNearest2d(scale_factor=2)(mg.ones(1, 3, 4, 5)).shape
    minigrad.Size([1, 3, 8, 10])
    """

    def __init__(self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with mode ``"bilinear"`` and ``align_corners=True``, for images. Mirrors ``torch.nn.UpsamplingBilinear2d``.

    >>> nn.UpsamplingBilinear2d(size=(2, 3))(mg.ones(1, 3, 4, 5)).shape
    minigrad.Size([1, 3, 2, 3])
    """

    def __init__(self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Turn channels into pixels. See `minigrad.nn.functional.pixel_shuffle`. Mirrors ``torch.nn.PixelShuffle``.

    >>> nn.PixelShuffle(2)(mg.ones(1, 8, 3, 3)).shape
    minigrad.Size([1, 2, 6, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Turn pixels into channels. See `minigrad.nn.functional.pixel_unshuffle`. Mirrors ``torch.nn.PixelUnshuffle``.

    >>> nn.PixelUnshuffle(2)(mg.ones(1, 2, 6, 6)).shape
    minigrad.Size([1, 8, 3, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleave the channels of the groups. See `minigrad.nn.functional.channel_shuffle`. Mirrors ``torch.nn.ChannelShuffle``.

    >>> nn.ChannelShuffle(2)(mg.ones(1, 4, 3, 3)).shape
    minigrad.Size([1, 4, 3, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
