"""Padding as modules: `minigrad.nn.functional.pad` for the last 1, 2 or 3 dimensions.

`padding` is (before, after) for the last dimension, then for the second last, and so on. A single number holds for all ends.

Mirrors ``torch/nn/modules/padding.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import repeated
from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Number, Tensor

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
           "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(Module):
    """The base of the padding modules: it pads the last `dims` dimensions in one `mode`."""

    dims = 1
    mode = "constant"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = repeated(padding, 2 * self.dims, "padding", type(self).__name__)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding: int | Sequence[int], value: Tensor | Number) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """Pad the last dimension with `value`. Mirrors ``torch.nn.ConstantPad1d``.

    >>> nn.ConstantPad1d(1, 7.)(mg.ones(1, 2)).shape
    minigrad.Size([1, 4])
    """

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad the last 2 dimensions with `value`. Mirrors ``torch.nn.ConstantPad2d``.

    >>> nn.ConstantPad2d(1, 7.)(mg.ones(1, 2, 2)).shape
    minigrad.Size([1, 4, 4])
    """

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad the last 3 dimensions with `value`. Mirrors ``torch.nn.ConstantPad3d``.

    >>> nn.ConstantPad3d(1, 7.)(mg.ones(1, 2, 2, 2)).shape
    minigrad.Size([1, 4, 4, 4])
    """

    dims = 3


class ZeroPad1d(_ZeroPad):
    """Pad the last dimension with zeros. Mirrors ``torch.nn.ZeroPad1d``.

    >>> nn.ZeroPad1d(1)(mg.ones(1, 2)).shape
    minigrad.Size([1, 4])
    """

    dims = 1


class ZeroPad2d(_ZeroPad):
    """Pad the last 2 dimensions with zeros. Mirrors ``torch.nn.ZeroPad2d``.

    >>> nn.ZeroPad2d(1)(mg.ones(1, 2, 2)).shape
    minigrad.Size([1, 4, 4])
    """

    dims = 2


class ZeroPad3d(_ZeroPad):
    """Pad the last 3 dimensions with zeros. Mirrors ``torch.nn.ZeroPad3d``.

    >>> nn.ZeroPad3d(1)(mg.ones(1, 2, 2, 2)).shape
    minigrad.Size([1, 4, 4, 4])
    """

    dims = 3


class ReflectionPad1d(_Pad):
    """Pad the last dimension with a mirror image of the tensor. Mirrors ``torch.nn.ReflectionPad1d``.

    >>> nn.ReflectionPad1d(1)(mg.ones(1, 2)).shape
    minigrad.Size([1, 4])
    """

    dims = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """Pad the last 2 dimensions with a mirror image of the tensor. Mirrors ``torch.nn.ReflectionPad2d``.

    >>> nn.ReflectionPad2d(1)(mg.ones(1, 2, 2)).shape
    minigrad.Size([1, 4, 4])
    """

    dims = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """Pad the last 3 dimensions with a mirror image of the tensor. Mirrors ``torch.nn.ReflectionPad3d``.

    >>> nn.ReflectionPad3d(1)(mg.ones(1, 2, 2, 2)).shape
    minigrad.Size([1, 4, 4, 4])
    """

    dims = 3
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """Pad the last dimension with copies of the outermost elements. Mirrors ``torch.nn.ReplicationPad1d``.

    >>> nn.ReplicationPad1d(1)(mg.ones(1, 2)).shape
    minigrad.Size([1, 4])
    """

    dims = 1
    mode = "replicate"


class ReplicationPad2d(_Pad):
    """Pad the last 2 dimensions with copies of the outermost elements. Mirrors ``torch.nn.ReplicationPad2d``.

    >>> nn.ReplicationPad2d(1)(mg.ones(1, 2, 2)).shape
    minigrad.Size([1, 4, 4])
    """

    dims = 2
    mode = "replicate"


class ReplicationPad3d(_Pad):
    """Pad the last 3 dimensions with copies of the outermost elements. Mirrors ``torch.nn.ReplicationPad3d``.

    >>> nn.ReplicationPad3d(1)(mg.ones(1, 2, 2, 2)).shape
    minigrad.Size([1, 4, 4, 4])
    """

    dims = 3
    mode = "replicate"


class CircularPad1d(_Pad):
    """Pad the last dimension with elements of the other end. Mirrors ``torch.nn.CircularPad1d``.

    >>> nn.CircularPad1d(1)(mg.ones(1, 2)).shape
    minigrad.Size([1, 4])
    """

    dims = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """Pad the last 2 dimensions with elements of the other end. Mirrors ``torch.nn.CircularPad2d``.

    >>> nn.CircularPad2d(1)(mg.ones(1, 2, 2)).shape
    minigrad.Size([1, 4, 4])
    """

    dims = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """Pad the last 3 dimensions with elements of the other end. Mirrors ``torch.nn.CircularPad3d``.

    >>> nn.CircularPad3d(1)(mg.ones(1, 2, 2, 2)).shape
    minigrad.Size([1, 4, 4, 4])
    """

    dims = 3
    mode = "circular"
