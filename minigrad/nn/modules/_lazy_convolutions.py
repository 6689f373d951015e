"""The lazy forms of the convolutions. Mirrors ``torch/nn/modules/conv.py``."""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the mixin stands beside a convolution)
from typing import TYPE_CHECKING

from minigrad.nn.modules.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from minigrad.nn.modules.lazy import LazyModuleMixin
from minigrad.nn.parameter import UninitializedParameter
from minigrad.ops.base.arguments import tensor_argument, truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]


class _LazyConvXdMixin(LazyModuleMixin):
    """What the lazy convolutions share: the input channels come from dimension 0 or 1 of the first input."""

    def _uninitialized(self, out_channels, bias, device, dtype):
        """Replace the parameters of a convolution of no channels by uninitialized ones."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if truth(bias, "bias", type(self).__name__):
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, if their shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: object, **kwargs: object) -> None:
        """Take ``in_channels`` from the input.

        Args:
            input (Tensor): the input of the first call, with or without a batch.
            args, kwargs: without effect.
        """
        if not self.has_uninitialized_params():
            return
        channels = self._get_in_channels(input)
        if channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.in_channels = channels
        own = (channels, self.out_channels // self.groups) if self.transposed else (self.out_channels, channels // self.groups)
        self.weight.materialize((*own, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input):
        """The number of channels of `input`; raise unless its number of dimensions fits."""
        tensor_argument(type(self).__name__, input)
        n = self._get_num_spatial_dims()
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input "
                               f"of size: {input.shape}")
        return input.shape[input.ndim - n - 1]

    def _get_num_spatial_dims(self):
        return self.dims


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """A `Conv1d` that takes ``in_channels`` from its first input, and is a `Conv1d` from then on.

    The arguments are as in `Conv1d`, without ``in_channels``. Mirrors ``torch.nn.LazyConv1d``.

    >>> nn.LazyConv1d(2, 3)(mg.ones(1, 3, 8)).shape
    minigrad.Size([1, 2, 6])
    """

    cls_to_become = Conv1d

    def __init__(self, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._uninitialized(out_channels, bias, device, dtype)


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """A `Conv2d` that takes ``in_channels`` from its first input, and is a `Conv2d` from then on.

    The arguments are as in `Conv2d`, without ``in_channels``. Mirrors ``torch.nn.LazyConv2d``.

    >>> nn.LazyConv2d(2, 3)(mg.ones(1, 3, 8, 8)).shape
    minigrad.Size([1, 2, 6, 6])
    """

    cls_to_become = Conv2d

    def __init__(self, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._uninitialized(out_channels, bias, device, dtype)


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """A `Conv3d` that takes ``in_channels`` from its first input, and is a `Conv3d` from then on.

    The arguments are as in `Conv3d`, without ``in_channels``. Mirrors ``torch.nn.LazyConv3d``.

    >>> nn.LazyConv3d(2, 3)(mg.ones(1, 3, 8, 8, 8)).shape
    minigrad.Size([1, 2, 6, 6, 6])
    """

    cls_to_become = Conv3d

    def __init__(self, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._uninitialized(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """A `ConvTranspose1d` that takes ``in_channels`` from its first input, and is a `ConvTranspose1d` from then on.

    The arguments are as in `ConvTranspose1d`, without ``in_channels``. Mirrors ``torch.nn.LazyConvTranspose1d``.

    >>> nn.LazyConvTranspose1d(2, 3)(mg.ones(1, 3, 4)).shape
    minigrad.Size([1, 2, 6])
    """

    cls_to_become = ConvTranspose1d

    def __init__(self, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True,
                 dilation: int | Sequence[int] = 1, padding_mode: str = "zeros", device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._uninitialized(out_channels, bias, device, dtype)


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """A `ConvTranspose2d` that takes ``in_channels`` from its first input, and is a `ConvTranspose2d` from then on.

    The arguments are as in `ConvTranspose2d`, without ``in_channels``. Mirrors ``torch.nn.LazyConvTranspose2d``.

    >>> nn.LazyConvTranspose2d(2, 3)(mg.ones(1, 3, 4, 4)).shape
    minigrad.Size([1, 2, 6, 6])
    """

    cls_to_become = ConvTranspose2d

    def __init__(self, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True,
                 dilation: int | Sequence[int] = 1, padding_mode: str = "zeros", device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._uninitialized(out_channels, bias, device, dtype)


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """A `ConvTranspose3d` that takes ``in_channels`` from its first input, and is a `ConvTranspose3d` from then on.

    The arguments are as in `ConvTranspose3d`, without ``in_channels``. Mirrors ``torch.nn.LazyConvTranspose3d``.

    >>> nn.LazyConvTranspose3d(2, 3)(mg.ones(1, 3, 4, 4, 4)).shape
    minigrad.Size([1, 2, 6, 6, 6])
    """

    cls_to_become = ConvTranspose3d

    def __init__(self, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True,
                 dilation: int | Sequence[int] = 1, padding_mode: str = "zeros", device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._uninitialized(out_channels, bias, device, dtype)
