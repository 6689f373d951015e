"""Pixel shuffle under PyTorch's path; ``upsampling.py`` has the code. Mirrors ``torch/nn/modules/pixelshuffle.py``."""

from minigrad.nn.modules.upsampling import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
