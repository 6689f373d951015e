"""Channel shuffle under PyTorch's path; ``upsampling.py`` has the code. Mirrors ``torch/nn/modules/channelshuffle.py``."""

from minigrad.nn.modules.upsampling import ChannelShuffle

__all__ = ["ChannelShuffle"]
