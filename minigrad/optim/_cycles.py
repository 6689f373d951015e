"""Schedules that follow a curve: a cosine, with or without restarts; or a single cycle, up and down.

Mirrors ``torch/optim/lr_scheduler.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad.optim._scheduler import LRScheduler, check, check_optimizer, number_argument, per_group

if TYPE_CHECKING:
    from minigrad.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts", "OneCycleLR"]


class CosineAnnealingLR(LRScheduler):
    """lr = η + (lr₀ - η) (1 + cos(π t / T)) / 2 at epoch t. After epoch T it rises again.

    Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
    Mirrors ``torch.optim.lr_scheduler.CosineAnnealingLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        T_max (int): T.
        eta_min (float): η, the lowest learning rate.
        last_epoch (int): see `LRScheduler`.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max = T_max
        self.eta_min = number_argument(eta_min, "eta_min")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        t, T, low = self.last_epoch, self.T_max, self.eta_min
        if t == 0:
            return self._current_lrs()
        if self._step_count == 1:       # resuming at a later epoch
            return self._get_closed_form_lr()
        if (t - 1 - T) % (2 * T) == 0:  # the last learning rate was η, so the ratio below would divide by 0
            return [lr + (base - low) * (1 - math.cos(math.pi / T)) / 2 for base, lr in zip(self.base_lrs, self._current_lrs())]
        ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
        return [low + (lr - low) * ratio for lr in self._current_lrs()]

    def _get_closed_form_lr(self):
        half = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * half for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from lr₀ to `eta_min` in `T_0` epochs, then again in `T_0` · `T_mult` epochs, and so on.

    Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
    Mirrors ``torch.optim.lr_scheduler.CosineAnnealingWarmRestarts``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        T_0 (int): the number of epochs until the first restart.
        T_mult (int): the factor from each period to the next one.
        eta_min (float): the lowest learning rate.
        last_epoch (int): see `LRScheduler`.

    Raises:
        ValueError: `T_0` or `T_mult` is not a positive int.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        check(isinstance(T_0, int) and T_0 > 0, f"Expected positive integer T_0, but got {T_0}")
        check(isinstance(T_mult, int) and T_mult >= 1, f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = number_argument(eta_min, "eta_min")
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        half = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * half for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`. It may be a fraction, which follows the curve within an epoch.

        Raises:
            ValueError: `epoch` is negative.
        """
        self._step_count += 1
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            check(epoch >= 0, f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


class OneCycleLR(LRScheduler):
    """From a low learning rate up to `max_lr`, then down to a very low one. The momentum moves in the opposite direction.

        lr          max_lr / div_factor  ->  max_lr  ->  max_lr / div_factor / final_div_factor
        momentum    max_momentum         ->  base_momentum  ->  max_momentum

    Smith & Topin, "Super-convergence: very fast training of neural networks using large learning rates", 2018. Call `step` after
    every batch, not every epoch. Mirrors ``torch.optim.lr_scheduler.OneCycleLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        max_lr (float or list): the highest learning rate, or a list with a number per group.
        total_steps (int, optional): the length of the cycle. Alternatively, pass `epochs` and `steps_per_epoch`.
        epochs, steps_per_epoch (int, optional): their product is the length of the cycle.
        pct_start (float): the fraction of the cycle in which the learning rate rises.
        anneal_strategy (str): ``"cos"`` or ``"linear"``.
        cycle_momentum (bool): change the momentum too (β₁ for Adam).
        base_momentum, max_momentum (float or list): the lowest and the highest momentum.
        div_factor (float): the initial learning rate is max_lr / div_factor.
        final_div_factor (float): the last learning rate is the initial one / final_div_factor.
        three_phase (bool): go down to the initial learning rate first, as slowly as up, and then to the last one.
        last_epoch (int): see `LRScheduler`.

    Raises:
        ValueError: an argument is out of range, or `step` is called more than `total_steps` times.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1., momentum=0.9)
    >>> mg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1., total_steps=10, div_factor=4.).get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float | list[float] = 0.85,
                 max_momentum: float | list[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
                 three_phase: bool = False, last_epoch: int = -1):
        check_optimizer(optimizer)
        self.total_steps = count_steps(total_steps, epochs, steps_per_epoch)
        check(isinstance(pct_start, float) and 0 <= pct_start <= 1,
              f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check(anneal_strategy in ("cos", "linear"), f"anneal_strategy must be one of 'cos' or 'linear', instead got "
              f"{anneal_strategy}")
        rise = pct_start * self.total_steps - 1
        # (the last step of the phase; lr at both ends; momentum at both ends)
        up = (rise, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if three_phase:
            self._schedule_phases = [up, (2 * rise, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                                     (self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
        else:
            self._schedule_phases = [up, (self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        tops = per_group(max_lr, optimizer, "max_lr")
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, tops):
                group.update(initial_lr=top / div_factor, max_lr=top, min_lr=top / div_factor / final_div_factor)
        if cycle_momentum:
            check("momentum" in optimizer.defaults or "betas" in optimizer.defaults,
                  "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            if last_epoch == -1:
                lows = per_group(base_momentum, optimizer, "base_momentum")
                highs = per_group(max_momentum, optimizer, "max_momentum")
                for group, low, high in zip(optimizer.param_groups, lows, highs):
                    group.update(base_momentum=low, max_momentum=high)
                    self._set_momentum(group, high)
        super().__init__(optimizer, last_epoch)

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def _interpolate(self, start, end, part):
        """Return a value between `start` (for part 0) and `end` (for part 1)."""
        if self._anneal_func_type == "linear":
            return start + (end - start) * part
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part))

    def get_lr(self) -> list[float]:
        t = self.last_epoch
        check(t <= self.total_steps, f"Tried to step {t} times. The specified number of total steps is {self.total_steps}")
        i = begin = 0
        while t > self._schedule_phases[i][0] and i < len(self._schedule_phases) - 1:
            begin = self._schedule_phases[i][0]
            i += 1
        end, low, high, loose, tight = self._schedule_phases[i]
        part = (t - begin) / (end - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum(group, self._interpolate(group[loose], group[tight], part))
        return [self._interpolate(group[low], group[high], part) for group in self.optimizer.param_groups]


def count_steps(total_steps, epochs, steps_per_epoch):
    """Return the number of steps of the cycle."""
    if total_steps is not None:
        check(isinstance(total_steps, int) and total_steps > 0, f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    check(epochs is not None and steps_per_epoch is not None,
          "You must define either total_steps OR (epochs AND steps_per_epoch)")
    assert epochs is not None and steps_per_epoch is not None
    check(isinstance(epochs, int) and epochs > 0, f"Expected positive integer epochs, but got {epochs}")
    check(isinstance(steps_per_epoch, int) and steps_per_epoch > 0,
          f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
    return epochs * steps_per_epoch
