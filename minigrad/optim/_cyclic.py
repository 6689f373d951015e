"""A schedule that goes up and down again and again, in straight lines.

Mirrors CyclicLR of ``torch/optim/lr_scheduler.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad.ops.base.arguments import real, wrong_type
from minigrad.optim._scheduler import LRScheduler, check, check_optimizer, per_group

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from minigrad.optim.optimizer import Optimizer

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """From `base_lr` up to `max_lr` in `step_size_up` steps, down in `step_size_down`, and up again.

        height      scale (max_lr - base_lr) p, where p goes from 0 to 1 and back in a cycle
        lr          base_lr + height                    momentum    max_momentum - scale (max_momentum - base_momentum) p
        scale       1, 1/2^(cycle - 1), γᵗ, or a function of yours

    Smith, "Cyclical learning rates for training neural networks", 2017. Call `step` after every batch, not every epoch.
    Mirrors ``torch.optim.lr_scheduler.CyclicLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        base_lr, max_lr (float or list): the lowest and the highest learning rate, or a list with a number per group.
        step_size_up (int): the number of steps upwards.
        step_size_down (int, optional): the number of steps downwards; by default the same.
        mode (str): ``"triangular"`` (scale 1), ``"triangular2"`` (half the height in each cycle) or ``"exp_range"`` (γᵗ).
        gamma (float): γ.
        scale_fn (callable, optional): a function of one number, used instead of `mode`.
        scale_mode (str): whether `scale_fn` gets the number of the cycle, from 1 (``"cycle"``), or of the step (``"iterations"``).
        cycle_momentum (bool): change the momentum too (β₁ for Adam), in the opposite direction.
        base_momentum, max_momentum (float or list): the lowest and the highest momentum.
        last_epoch (int): see `LRScheduler`.

    Raises:
        ValueError: there is no such mode, or the optimizer has no momentum.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1., momentum=0.9)
    >>> scheduler = mg.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0., max_lr=1., step_size_up=4)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float], step_size_up: int = 2000,
                 step_size_down: int | None = None,
                 mode: Literal["triangular", "triangular2", "exp_range"] = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: Literal["cycle", "iterations"] = "cycle",
                 cycle_momentum: bool = True, base_momentum: float | list[float] = 0.8,
                 max_momentum: float | list[float] = 0.9, last_epoch: int = -1):
        check_optimizer(optimizer)
        bases = per_group(base_lr, optimizer, "base_lr")
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, bases):
                group["lr"] = lr
        self.max_lrs = per_group(max_lr, optimizer, "max_lr")
        up = float(real(step_size_up, "step_size_up", "CyclicLR"))
        down = up if step_size_down is None else float(real(step_size_down, "step_size_down", "CyclicLR"))
        if scale_fn is not None and not callable(scale_fn):
            raise wrong_type("CyclicLR", "scale_fn", "Callable", scale_fn)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        check(mode in ("triangular", "triangular2", "exp_range") or scale_fn is not None, "mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            check("momentum" in optimizer.defaults or "betas" in optimizer.defaults,
                  "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = per_group(base_momentum, optimizer, "base_momentum")
            self.max_momentums = per_group(max_momentum, optimizer, "max_momentum")
            if last_epoch == -1:
                for group, momentum in zip(optimizer.param_groups, self.max_momentums):
                    self._set_momentum(group, momentum)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def scale_fn(self, x: float) -> float:
        """Return the factor of the height, for a cycle or a step.

        >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1., momentum=0.9)
        >>> mg.optim.lr_scheduler.CyclicLR(optimizer, 0., 1., mode="triangular2").scale_fn(2)
        0.5
        """
        if self._scale_fn is not None:
            return self._scale_fn(x)
        return 1.0 if self.mode == "triangular" else 2.0 ** (1 - x) if self.mode == "triangular2" else self.gamma ** x

    def get_lr(self) -> list[float]:
        t = self.last_epoch
        cycle = math.floor(1 + t / self.total_size)
        x = 1 + t / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        part *= self.scale_fn(cycle if self.scale_mode == "cycle" else t)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * part)
        return [low + (high - low) * part for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer and `scale_fn`, which you pass again.

        >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1., momentum=0.9)
        >>> mg.optim.lr_scheduler.CyclicLR(optimizer, 0., 1.).state_dict()["last_epoch"]
        0
        """
        return {name: value for name, value in super().state_dict().items() if name != "_scale_fn"}
