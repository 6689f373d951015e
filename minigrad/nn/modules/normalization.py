"""Normalization over the last dimensions, groups of channels, or neighbouring channels.

Mirrors ``torch/nn/modules/normalization.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import repeated
from minigrad.errors import TensorValueError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn._optional import flag_of, register_optional
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DeviceLike, DType, Number, Tensor

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def reset(module):
    """Set the weight to 1 and the bias to 0, unless they are None."""
    if module.weight is not None:
        init.ones_(module.weight)
    if getattr(module, "bias", None) is not None:
        init.zeros_(module.bias)


class LayerNorm(Module):
    """(x - mean) / √(variance + ε) · weight + bias, over the last dimensions. See `minigrad.nn.functional.layer_norm`.

    Args:
        normalized_shape (int or sequence of int): the sizes of the last dimensions.
        eps (float): ε.
        elementwise_affine (bool): whether there are a weight, initially 1, and a bias, initially 0.
        bias (bool): whether there is a bias.
        device, dtype (optional): the device and dtype of the parameters.

    Mirrors ``torch.nn.LayerNorm``.

    >>> nn.LayerNorm(2)(mg.tensor([[1., 3.]])).shape
    minigrad.Size([1, 2])
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self.normalized_shape = repeated(normalized_shape, 1, "normalized_shape", type(self).__name__)
        self.eps = eps
        self.elementwise_affine = flag_of(self, "elementwise_affine", elementwise_affine)
        register_optional(self, "weight", self.elementwise_affine, self.normalized_shape, device, dtype)
        bias = flag_of(self, "bias", bias) and self.elementwise_affine
        register_optional(self, "bias", bias, self.normalized_shape, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(Module):
    """x / √(mean of x² + ε) · weight, over the last dimensions. See `minigrad.nn.functional.rms_norm`.

    Args:
        normalized_shape (int or sequence of int): the sizes of the last dimensions.
        eps (float, optional): ε; the machine epsilon of the dtype by default.
        elementwise_affine (bool): whether there is a weight, initially 1.
        device, dtype (optional): the device and dtype of the parameters.

    Mirrors ``torch.nn.RMSNorm``.

    >>> nn.RMSNorm(2)(mg.tensor([[1., 3.]])).shape
    minigrad.Size([1, 2])
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self.normalized_shape = repeated(normalized_shape, 1, "normalized_shape", type(self).__name__)
        self.eps = eps
        self.elementwise_affine = flag_of(self, "elementwise_affine", elementwise_affine)
        register_optional(self, "weight", self.elementwise_affine, self.normalized_shape, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """(x - mean) / √(variance + ε) · weight + bias, over groups of channels. See `minigrad.nn.functional.group_norm`.

    Args:
        num_groups (int): the number of groups, a divisor of `num_channels`.
        num_channels (int): C, for an input of (N, C, ...).
        eps (float): ε.
        affine (bool): whether there are a weight, initially 1, and a bias, initially 0, of (C).
        device, dtype (optional): the device and dtype of the parameters.
        bias (bool): whether there is a bias.

    Mirrors ``torch.nn.GroupNorm``.

    Raises:
        ValueError: `num_groups` does not divide `num_channels`.

    >>> nn.GroupNorm(2, 4)(mg.ones(1, 4, 3)).shape
    minigrad.Size([1, 4, 3])
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None, *, bias: bool = True) -> None:
        super().__init__()
        num_groups = integer(num_groups, "num_groups", "GroupNorm")
        num_channels = integer(num_channels, "num_channels", "GroupNorm")
        if not num_groups or num_channels % num_groups:
            raise TensorValueError("MG-E332", f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = flag_of(self, "affine", affine)
        register_optional(self, "weight", self.affine, num_channels, device, dtype)
        register_optional(self, "bias", flag_of(self, "bias", bias) and self.affine, num_channels, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """x / (k + α m)^β, where m is the mean of x² over neighbouring channels. See `minigrad.nn.functional.local_response_norm`.

    Mirrors ``torch.nn.LocalResponseNorm``.

    >>> nn.LocalResponseNorm(2)(mg.ones(1, 4, 3)).shape
    minigrad.Size([1, 4, 3])
    """

    def __init__(self, size: int | Sequence[int], alpha: Number = 1e-4, beta: Number = 0.75, k: Number = 1.0) -> None:
        super().__init__()
        self.size = integer(size, "size", "LocalResponseNorm")
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
