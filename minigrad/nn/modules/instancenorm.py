"""Instance normalization under PyTorch's path; ``batchnorm.py`` has the code. Mirrors ``torch/nn/modules/instancenorm.py``."""

from minigrad.nn.modules.batchnorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, _InstanceNorm  # noqa: F401  # pyright: ignore

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
