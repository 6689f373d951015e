"""A schedule that looks at how the training goes. Mirrors ReduceLROnPlateau of ``torch/optim/lr_scheduler.py``."""

import math

from minigrad.optim._scheduler import LRScheduler, check, checked_optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """The learning rate times `factor`, when a number has not become better for `patience` epochs.

    Args:
        optimizer (Optimizer)
        mode (str): whether better is less, ``"min"``, or more, ``"max"``.
        factor (float): below 1.
        patience (int): how many epochs without progress are borne.
        threshold (float): by how much a number has to be better to count.
        threshold_mode (str): ``"rel"``, as part of the best so far, or ``"abs"``.
        cooldown (int): how many epochs after a reduction are not looked at.
        min_lr (float or list): below which it does not go; also one per group.
        eps (float): a change that is smaller is not made.

    Mirrors ``torch.optim.lr_scheduler.ReduceLROnPlateau``.

    Raises:
        ValueError: `factor` is not below 1, a mode is unknown, or `min_lr` is too long or short.
        TypeError: `optimizer` is none.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    >>> scheduler.step(3.0); scheduler.step(3.0); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0,
                 eps=1e-8):
        check(factor < 1.0, "Factor should be < 1.0.")
        self.factor = factor
        self.optimizer = checked_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            check(len(min_lr) == groups, f"expected {groups} min_lrs, got {len(min_lr)}")
        check(mode in ("min", "max"), f"mode {mode} is unknown!")
        check(threshold_mode in ("rel", "abs"), f"threshold mode {threshold_mode} is unknown!")
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._now()
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics, epoch=None):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Look at the number of this epoch, a float or a tensor of one element, and set the learning rates."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:      # the last reduction is not long ago
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            lower = [max(lr * self.factor, low) for lr, low in zip(self._now(), self.min_lrs)]
            self._set([new if old - new > self.eps else old for old, new in zip(self._now(), lower)])
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._now()

    def _is_better(self, current):
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * current > sign * self.best * (1 + sign * self.threshold)
        return sign * current > sign * self.best + self.threshold
