"""Schedules that multiply the learning rate by a factor.

    lr₀ f(t)                LambdaLR: any function of the epoch t        MultiplicativeLR: the product of f(1) ... f(t)
    lr₀ γᵗ                  ExponentialLR
    lr₀ γ^⌊t / size⌋        StepLR                                       MultiStepLR: the steps are listed
    lr₀ (a + (b - a) t/n)   LinearLR, up to epoch n                      ConstantLR: a factor, then 1
    lr₀ (1 - t/n)ᵖ          PolynomialLR

Mirrors ``torch/optim/lr_scheduler.py``.
"""

import types
from bisect import bisect_right
from collections import Counter

from minigrad._arguments import callable_argument, listed
from minigrad.ops.base.rule import real
from minigrad.optim._scheduler import LRScheduler, check, checked_optimizer

__all__ = ["ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR"]


class _Lambdas(LRScheduler):
    """A function per group. Functions are not part of the state, because they cannot be saved; callable objects are, by their
    attributes.
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        groups = len(checked_optimizer(optimizer).param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        self.lr_lambdas = [callable_argument(f, "lr_lambda", type(self).__name__) for f in functions]
        check(len(self.lr_lambdas) == groups, f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """All attributes but the optimizer and the functions."""
        state = super().state_dict()
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` gave."""
        for own, state in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if state is not None:
                own.__dict__.update(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})


class LambdaLR(_Lambdas):
    """lr₀ f(epoch), for warm-up and the like. Mirrors ``torch.optim.lr_scheduler.LambdaLR``.

    Args:
        optimizer (Optimizer)
        lr_lambda (callable or list): f, or one f per group.
        last_epoch (int): see `LRScheduler`.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1, (epoch + 1) / 4))
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def get_lr(self):
        return [lr * f(self.last_epoch) for lr, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_Lambdas):
    """The learning rate times f(epoch), at each epoch. Mirrors ``torch.optim.lr_scheduler.MultiplicativeLR``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self):
        return self._now() if self.last_epoch <= 0 else [lr * f(self.last_epoch) for lr, f in zip(self._now(), self.lr_lambdas)]


class StepLR(LRScheduler):
    """The learning rate times `gamma`, every `step_size` epochs. Mirrors ``torch.optim.lr_scheduler.StepLR``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._now() if self.last_epoch == 0 or self.last_epoch % self.step_size else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The learning rate times `gamma`, at each of `milestones`. Mirrors ``torch.optim.lr_scheduler.MultiStepLR``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 30], gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = Counter([real(epoch, "milestones", "MultiStepLR")
                                   for epoch in listed(milestones, "milestones", "MultiStepLR")])
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        times = self.milestones.get(self.last_epoch, 0)
        return self._scaled(self.gamma ** times) if times else self._now()

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch) for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The learning rate times `gamma`, every epoch. Mirrors ``torch.optim.lr_scheduler.ExponentialLR``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._now() if self.last_epoch == 0 else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** self.last_epoch for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The learning rate times `factor`, until epoch `total_iters`. Mirrors ``torch.optim.lr_scheduler.ConstantLR``.

    Raises:
        ValueError: `factor` lies outside [0, 1].

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> mg.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4).get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        check(0 <= factor <= 1, "Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self._now()

    def _get_closed_form_lr(self):
        return [lr * (self.factor if self.last_epoch < self.total_iters else 1) for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """A factor that goes in a line from `start_factor` to `end_factor`, in `total_iters` epochs.

    Mirrors ``torch.optim.lr_scheduler.LinearLR``.

    Raises:
        ValueError: `start_factor` lies outside (0, 1], or `end_factor` outside [0, 1].

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        check(0 < start_factor <= 1, "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        check(0 <= end_factor <= 1, "Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self._now()
        rise = self.end_factor - self.start_factor      # the factor of this epoch over that of the last one
        return self._scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self):
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (self.start_factor + (self.end_factor - self.start_factor) * done) for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The learning rate times (1 - epoch / total_iters)^power, until it is 0.

    Mirrors ``torch.optim.lr_scheduler.PolynomialLR``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = mg.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        t, n = self.last_epoch, self.total_iters
        return self._now() if t == 0 or t > n else self._scaled(((1.0 - t / n) / (1.0 - (t - 1) / n)) ** self.power)

    def _get_closed_form_lr(self):
        return [lr * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power for lr in self.base_lrs]
