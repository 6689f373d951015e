"""The most common losses as modules; ``losses.py`` has the others. Mirrors ``torch/nn/modules/loss.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.modules._loss_base import _Loss, _WeightedLoss
from minigrad.nn.modules.losses import *  # noqa: F403  (PyTorch has them in this file)

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["CrossEntropyLoss", "MSELoss", "NLLLoss"]


class MSELoss(_Loss):
    """The squared error between input and target. See `minigrad.nn.functional.mse_loss`.

    Args:
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.MSELoss``.

    >>> nn.MSELoss()(mg.tensor([1., 2.]), mg.tensor([0., 0.]))
    tensor(2.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """The negative log-likelihood of the right classes. See `minigrad.nn.functional.nll_loss`.

    Args:
        weight (Tensor, optional): (C), a factor for each class.
        ignore_index (int): the loss ignores targets with this value.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.NLLLoss``.

    >>> nn.NLLLoss()(mg.tensor([[-0.5, -1.0]]), mg.tensor([1]))
    tensor(1.)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy between the softmax of the input and the target. See `minigrad.nn.functional.cross_entropy`.

    Args:
        weight (Tensor, optional): (C), a factor for each class.
        ignore_index (int): the loss ignores targets with this value.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        label_smoothing (float): in [0, 1], the part of each target that is spread evenly over all classes.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.CrossEntropyLoss``.

    >>> nn.CrossEntropyLoss()(mg.tensor([[2., 0.], [0., 2.]]), mg.tensor([0, 0]))
    tensor(1.1269)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                               label_smoothing=self.label_smoothing)
