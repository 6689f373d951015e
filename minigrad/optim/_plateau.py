"""A schedule that depends on a metric, such as the validation loss.

Mirrors ReduceLROnPlateau of ``torch/optim/lr_scheduler.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad.ops.base.arguments import real
from minigrad.optim._scheduler import LRScheduler, check, check_optimizer

if TYPE_CHECKING:
    from typing import Any

    from minigrad.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by `factor` when a metric has not improved for more than `patience` epochs.

    Args:
        optimizer (Optimizer): its learning rates are set.
        mode (str): ``"min"`` if a smaller metric is better, ``"max"`` if a larger one is.
        factor (float): the factor, less than 1.
        patience (int): the number of epochs without improvement that are tolerated.
        threshold (float): the smallest change that counts as an improvement.
        threshold_mode (str): whether `threshold` is relative to the best metric (``"rel"``) or absolute (``"abs"``).
        cooldown (int): the number of epochs to ignore after a reduction.
        min_lr (float or list): the lowest learning rate, or a list with a number per group.
        eps (float): smaller changes of a learning rate are not made.

    Mirrors ``torch.optim.lr_scheduler.ReduceLROnPlateau``.

    Raises:
        ValueError: `factor` is not less than 1, a mode is unknown, or `min_lr` has the wrong length.
        TypeError: `optimizer` is not an optimizer.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    >>> scheduler.step(3.0); scheduler.step(3.0); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr: float | list[float] = 0, eps: float = 1e-8):
        check(real(factor, "factor", "ReduceLROnPlateau") < 1.0, "Factor should be < 1.0.")
        self.factor = factor
        self.optimizer = check_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            check(len(min_lr) == groups, f"expected {groups} min_lrs, got {len(min_lr)}")
        check(isinstance(mode, str) and mode in ("min", "max"), f"mode {mode} is unknown!")
        check(isinstance(threshold_mode, str) and threshold_mode in ("rel", "abs"), f"threshold mode {threshold_mode} is unknown!")
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._current_lrs()
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take the metric of this epoch, a number or a tensor of one element, and set the learning rates."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:      # shortly after a reduction
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            lower = [max(lr * self.factor, low) for lr, low in zip(self._current_lrs(), self.min_lrs)]
            self._set([new if old - new > self.eps else old for old, new in zip(self._current_lrs(), lower)])
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._current_lrs()

    def _is_better(self, current):
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * current > sign * self.best * (1 + sign * self.threshold)
        return sign * current > sign * self.best + self.threshold
