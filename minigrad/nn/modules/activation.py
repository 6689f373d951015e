"""The most common activation functions as modules; ``nonlinearity.py`` has the others.

Mirrors ``torch/nn/modules/activation.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.modules.attention import MultiheadAttention  # noqa: F401  (PyTorch has it in this file)
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.nonlinearity import *  # noqa: F403  (likewise)

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Tanh"]


class ReLU(Module):
    """max(x, 0). With `inplace`, it writes the result over its input. Mirrors ``torch.nn.ReLU``.

    >>> nn.ReLU()(mg.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Tanh(Module):
    """The hyperbolic tangent. Mirrors ``torch.nn.Tanh``.

    >>> nn.Tanh()(mg.tensor([0.]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + e^-x). Mirrors ``torch.nn.Sigmoid``.

    >>> nn.Sigmoid()(mg.tensor([0.]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Softmax(Module):
    """e^x / Σ e^x along `dim`. Mirrors ``torch.nn.Softmax``.

    >>> nn.Softmax(dim=0)(mg.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """The logarithm of softmax along `dim`. Mirrors ``torch.nn.LogSoftmax``.

    >>> nn.LogSoftmax(dim=0)(mg.tensor([0., 0.]))
    tensor([-0.6931, -0.6931])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
