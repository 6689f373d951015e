"""The bases of the losses, which ``loss.py`` and ``losses.py`` share. Mirrors ``torch/nn/modules/loss.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn.modules.module import Module
from minigrad.ops.nn.losses import reduction_of

if TYPE_CHECKING:
    from minigrad.types import Tensor


class _Loss(Module):
    """The base of the losses: it has the reduction. `size_average` and `reduce` are its old form."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(reduction, size_average, reduce) if old else reduction


class _WeightedLoss(_Loss):
    """The base of the losses with a factor for each class or element."""

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
