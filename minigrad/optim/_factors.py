"""Schedules that multiply the learning rate by a factor.

    lr₀ f(t)                LambdaLR: any function f of the epoch t      MultiplicativeLR: lr₀ f(1) ... f(t)
    lr₀ γᵗ                  ExponentialLR
    lr₀ γ^⌊t / size⌋        StepLR                                       MultiStepLR: at the epochs of a list
    lr₀ (a + (b - a) t/n)   LinearLR, up to epoch n                      ConstantLR: a factor, then 1
    lr₀ (1 - t/n)ᵖ          PolynomialLR, up to epoch n

Mirrors ``torch/optim/lr_scheduler.py``.
"""

from __future__ import annotations

import types
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument, listed
from minigrad.ops.base.arguments import real
from minigrad.optim._scheduler import LRScheduler, check, check_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from minigrad.optim.optimizer import Optimizer

__all__ = ["ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR"]


class _Lambdas(LRScheduler):
    """A function per group.

    The state dict has no functions, because they cannot be saved. It has the attributes of other callable objects.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
                 last_epoch: int = -1):
        groups = len(check_optimizer(optimizer).param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        self.lr_lambdas = [callable_argument(f, "lr_lambda", type(self).__name__) for f in functions]
        check(len(self.lr_lambdas) == groups, f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer and the functions."""
        state = super().state_dict()
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the result of `state_dict`."""
        for own, state in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if state is not None:
                own.__dict__.update(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})


class LambdaLR(_Lambdas):
    """lr₀ f(epoch), for example a warm-up. Mirrors ``torch.optim.lr_scheduler.LambdaLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        lr_lambda (callable or list): f, or a list with an f per group.
        last_epoch (int): see `LRScheduler`.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1, (epoch + 1) / 4))
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> list[float]:
        return [lr * f(self.last_epoch) for lr, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_Lambdas):
    """Multiply the learning rate by f(epoch) in each epoch. Mirrors ``torch.optim.lr_scheduler.MultiplicativeLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        lr_lambda (callable or list): f, or a list with an f per group.
        last_epoch (int): see `LRScheduler`.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[float]:
        lrs = self._current_lrs()
        return lrs if self.last_epoch <= 0 else [lr * f(self.last_epoch) for lr, f in zip(lrs, self.lr_lambdas)]


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` every `step_size` epochs. Mirrors ``torch.optim.lr_scheduler.StepLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        step_size (int): the number of epochs between two changes.
        gamma (float): the factor.
        last_epoch (int): see `LRScheduler`.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._current_lrs() if self.last_epoch == 0 or self.last_epoch % self.step_size else self._scaled_lrs(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of `milestones`. Mirrors ``torch.optim.lr_scheduler.MultiStepLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        milestones (iterable of int): epochs.
        gamma (float): the factor.
        last_epoch (int): see `LRScheduler`.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 30], gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones = Counter([real(epoch, "milestones", "MultiStepLR")
                                   for epoch in listed(milestones, "milestones", "MultiStepLR")])
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        times = self.milestones.get(self.last_epoch, 0)
        return self._scaled_lrs(self.gamma ** times) if times else self._current_lrs()

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch) for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` every epoch. Mirrors ``torch.optim.lr_scheduler.ExponentialLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        gamma (float): the factor.
        last_epoch (int): see `LRScheduler`.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._current_lrs() if self.last_epoch == 0 else self._scaled_lrs(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** self.last_epoch for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """lr₀ · factor until epoch `total_iters`, then lr₀. Mirrors ``torch.optim.lr_scheduler.ConstantLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        factor (float): the factor, in [0, 1].
        total_iters (int): the first epoch without the factor.
        last_epoch (int): see `LRScheduler`.

    Raises:
        ValueError: `factor` is outside [0, 1].

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> mg.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4).get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        check(0 <= real(factor, "factor", "ConstantLR") <= 1, "Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._scaled_lrs(self.factor)
        return self._scaled_lrs(1.0 / self.factor) if self.last_epoch == self.total_iters else self._current_lrs()

    def _get_closed_form_lr(self):
        return [lr * (self.factor if self.last_epoch < self.total_iters else 1) for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """lr₀ times a factor that changes linearly from `start_factor` to `end_factor`, in `total_iters` epochs.

    Args:
        optimizer (Optimizer): its learning rates are set.
        start_factor (float): the factor at epoch 0, in (0, 1].
        end_factor (float): the factor from epoch `total_iters` on, in [0, 1].
        total_iters (int): the number of epochs of the change.
        last_epoch (int): see `LRScheduler`.

    Mirrors ``torch.optim.lr_scheduler.LinearLR``.

    Raises:
        ValueError: `start_factor` is outside (0, 1], or `end_factor` is outside [0, 1].

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1):
        check(0 < real(start_factor, "start_factor", "LinearLR") <= 1,
              "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        check(0 <= real(end_factor, "end_factor", "LinearLR") <= 1, "Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._scaled_lrs(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self._current_lrs()
        rise = self.end_factor - self.start_factor
        # multiply by the factor of this epoch divided by the factor of the last epoch
        return self._scaled_lrs(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self):
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (self.start_factor + (self.end_factor - self.start_factor) * done) for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """lr₀ (1 - epoch / total_iters)^power, and 0 from epoch `total_iters` on.

    Args:
        optimizer (Optimizer): its learning rates are set.
        total_iters (int): the epoch at which the learning rate becomes 0.
        power (float): the exponent.
        last_epoch (int): see `LRScheduler`.

    Mirrors ``torch.optim.lr_scheduler.PolynomialLR``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        t, n = self.last_epoch, self.total_iters
        return self._current_lrs() if t == 0 or t > n else self._scaled_lrs(((1.0 - t / n) / (1.0 - (t - 1) / n)) ** self.power)

    def _get_closed_form_lr(self):
        return [lr * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power for lr in self.base_lrs]
