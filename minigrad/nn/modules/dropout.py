"""Dropout as modules: it acts in training mode only. Mirrors ``torch/nn/modules/dropout.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import real

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """The base of all kinds of dropout: the probability `p`, and whether to write over the input."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= real(p, "p", type(self).__name__) <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, set each element to 0 with probability `p`, and divide the others by 1 - p.

    Args:
        p (float): the probability, in [0, 1].
        inplace (bool): write the result over the input.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    Mirrors ``torch.nn.Dropout``.

    Raises:
        ValueError: `p` is outside [0, 1].

    >>> nn.Dropout(0.5).eval()(mg.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L). See `minigrad.nn.functional.dropout1d`. Mirrors ``torch.nn.Dropout1d``.

    >>> nn.Dropout1d().eval()(mg.ones(2, 2)).shape
    minigrad.Size([2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W). See `minigrad.nn.functional.dropout2d`. Mirrors ``torch.nn.Dropout2d``.

    >>> nn.Dropout2d().eval()(mg.ones(1, 2, 2, 2)).shape
    minigrad.Size([1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).

    See `minigrad.nn.functional.dropout3d`. Mirrors ``torch.nn.Dropout3d``.

    >>> nn.Dropout3d().eval()(mg.ones(1, 2, 2, 2, 2)).shape
    minigrad.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for `SELU`.

    See `minigrad.nn.functional.alpha_dropout`. Mirrors ``torch.nn.AlphaDropout``.

    >>> nn.AlphaDropout().eval()(mg.ones(2, 2)).shape
    minigrad.Size([2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    See `minigrad.nn.functional.feature_alpha_dropout`. Mirrors ``torch.nn.FeatureAlphaDropout``.

    >>> nn.FeatureAlphaDropout().eval()(mg.ones(1, 2, 2)).shape
    minigrad.Size([1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
