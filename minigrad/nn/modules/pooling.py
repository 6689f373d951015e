"""Pooling over 1, 2 or 3 dimensions.

The arguments of a constructor are the options of the function. Mirrors ``torch/nn/modules/pooling.py``.
"""

# pyright: reportArgumentType=false
# (sizes are tuples after the constructor)

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d",
           "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


def as_tuple(value, n):
    """Return a size as a tuple of `n` numbers. A single number holds for every dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


class _MaxPoolNd(Module):
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, return_indices: bool = False,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _arguments(self):
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices

    def extra_repr(self) -> str:
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class _AvgPoolNd(Module):
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _arguments(self):
        return self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: int | Sequence[int | None]) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size: int | Sequence[int | None], return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _MaxUnpoolNd(Module):
    dims = 1

    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 padding: int | Sequence[int] = 0) -> None:
        super().__init__()
        self.kernel_size = as_tuple(kernel_size, self.dims)
        self.stride = as_tuple(kernel_size if stride is None else stride, self.dims)
        self.padding = as_tuple(padding, self.dims)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPoolNd(Module):
    def __init__(self, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _arguments(self):
        return float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class MaxPool1d(_MaxPoolNd):
    """The largest value of each window over (N, C, L). See `minigrad.nn.functional.max_pool1d`.

    Mirrors ``torch.nn.MaxPool1d``.

    >>> nn.MaxPool1d(2)(mg.ones(1, 1, 4)).shape
    minigrad.Size([1, 1, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool1d(input, *self._arguments())


class MaxPool2d(_MaxPoolNd):
    """The largest value of each window over (N, C, H, W). See `minigrad.nn.functional.max_pool2d`.

    Mirrors ``torch.nn.MaxPool2d``.

    >>> nn.MaxPool2d(2)(mg.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, *self._arguments())


class MaxPool3d(_MaxPoolNd):
    """The largest value of each window over (N, C, D, H, W). See `minigrad.nn.functional.max_pool3d`.

    Mirrors ``torch.nn.MaxPool3d``.

    >>> nn.MaxPool3d(2)(mg.ones(1, 1, 4, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool3d(input, *self._arguments())


class AvgPool1d(_AvgPoolNd):
    """The mean of each window over (N, C, L). See `minigrad.nn.functional.avg_pool1d`.

    Mirrors ``torch.nn.AvgPool1d``.

    >>> nn.AvgPool1d(2)(mg.ones(1, 1, 4)).shape
    minigrad.Size([1, 1, 2])
    """

    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        super().__init__(as_tuple(kernel_size, 1), as_tuple(kernel_size if stride is None else stride, 1),
                         as_tuple(padding, 1), ceil_mode, count_include_pad)
        del self.divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window over (N, C, H, W). See `minigrad.nn.functional.avg_pool2d`.

    Mirrors ``torch.nn.AvgPool2d``.

    >>> nn.AvgPool2d(2)(mg.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._arguments())


class AvgPool3d(_AvgPoolNd):
    """The mean of each window over (N, C, D, H, W). See `minigrad.nn.functional.avg_pool3d`.

    Mirrors ``torch.nn.AvgPool3d``.

    >>> nn.AvgPool3d(2)(mg.ones(1, 1, 4, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._arguments())


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows over (N, C, L). See `minigrad.nn.functional.adaptive_avg_pool1d`.

    Mirrors ``torch.nn.AdaptiveAvgPool1d``.

    >>> nn.AdaptiveAvgPool1d(2)(mg.ones(1, 1, 4)).shape
    minigrad.Size([1, 1, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows over (N, C, H, W). See `minigrad.nn.functional.adaptive_avg_pool2d`.

    Mirrors ``torch.nn.AdaptiveAvgPool2d``.

    >>> nn.AdaptiveAvgPool2d(2)(mg.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows over (N, C, D, H, W). See `minigrad.nn.functional.adaptive_avg_pool3d`.

    Mirrors ``torch.nn.AdaptiveAvgPool3d``.

    >>> nn.AdaptiveAvgPool3d(2)(mg.ones(1, 1, 4, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest values of `output_size` windows over (N, C, L). See `minigrad.nn.functional.adaptive_max_pool1d`.

    Mirrors ``torch.nn.AdaptiveMaxPool1d``.

    >>> nn.AdaptiveMaxPool1d(2)(mg.ones(1, 1, 4)).shape
    minigrad.Size([1, 1, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest values of `output_size` windows over (N, C, H, W). See `minigrad.nn.functional.adaptive_max_pool2d`.

    Mirrors ``torch.nn.AdaptiveMaxPool2d``.

    >>> nn.AdaptiveMaxPool2d(2)(mg.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest values of `output_size` windows over (N, C, D, H, W). See `minigrad.nn.functional.adaptive_max_pool3d`.

    Mirrors ``torch.nn.AdaptiveMaxPool3d``.

    >>> nn.AdaptiveMaxPool3d(2)(mg.ones(1, 1, 4, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class MaxUnpool1d(_MaxUnpoolNd):
    """Put the maxima of `MaxPool1d` back in their places, over (N, C, L). See `minigrad.nn.functional.max_unpool1d`.

    Mirrors ``torch.nn.MaxUnpool1d``.

    >>> pool, unpool = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
    >>> unpool(*pool(mg.ones(1, 1, 4))).shape
    minigrad.Size([1, 1, 4])
    """

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Put the maxima of `MaxPool2d` back in their places, over (N, C, H, W). See `minigrad.nn.functional.max_unpool2d`.

    Mirrors ``torch.nn.MaxUnpool2d``.

    >>> pool, unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
    >>> unpool(*pool(mg.ones(1, 1, 4, 4))).shape
    minigrad.Size([1, 1, 4, 4])
    """

    dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Put the maxima of `MaxPool3d` back in their places, over (N, C, D, H, W). See `minigrad.nn.functional.max_unpool3d`.

    Mirrors ``torch.nn.MaxUnpool3d``.

    >>> pool, unpool = nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2)
    >>> unpool(*pool(mg.ones(1, 1, 4, 4, 4))).shape
    minigrad.Size([1, 1, 4, 4, 4])
    """

    dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class LPPool1d(_LPPoolNd):
    """The p-norm of each window over (N, C, L). See `minigrad.nn.functional.lp_pool1d`.

    Mirrors ``torch.nn.LPPool1d``.

    >>> nn.LPPool1d(2, 2)(mg.ones(1, 1, 4)).shape
    minigrad.Size([1, 1, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, *self._arguments())


class LPPool2d(_LPPoolNd):
    """The p-norm of each window over (N, C, H, W). See `minigrad.nn.functional.lp_pool2d`.

    Mirrors ``torch.nn.LPPool2d``.

    >>> nn.LPPool2d(2, 2)(mg.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, *self._arguments())


class LPPool3d(_LPPoolNd):
    """The p-norm of each window over (N, C, D, H, W). See `minigrad.nn.functional.lp_pool3d`.

    Mirrors ``torch.nn.LPPool3d``.

    >>> nn.LPPool3d(2, 2)(mg.ones(1, 1, 4, 4, 4)).shape
    minigrad.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, *self._arguments())
