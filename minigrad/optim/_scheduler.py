"""`LRScheduler`, the base class of learning rate schedules.

    for epoch in range(100):
        train(...)                  # optimizer.step(), many times
        scheduler.step()            # last_epoch += 1; every group gets its learning rate from get_lr()

A subclass defines ``get_lr()``, which returns a list with a number per group. Most compute it recursively, from the current `lr` of
the group. So schedules can be chained, and a manual change of `lr` has a lasting effect. `base_lrs` are the initial learning rates.

Mirrors LRScheduler of ``torch/optim/lr_scheduler.py``.
"""

from __future__ import annotations

import numbers
import warnings
from typing import TYPE_CHECKING

from minigrad.errors import AutogradNotImplementedError, MinigradError
from minigrad.ops.base.arguments import wrong_type
from minigrad.optim.optimizer import Optimizer
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["LRScheduler"]


class ScheduleError(MinigradError, ValueError):
    """An argument of a schedule is out of range."""


class NotAnOptimizer(MinigradError, TypeError):
    """The argument of a schedule is not an optimizer."""


class ResumeError(MinigradError, KeyError):
    """A schedule cannot resume: the optimizer has no initial learning rate."""

    __str__ = Exception.__str__         # KeyError.__str__ would show the repr of the message


class LRScheduler:
    """Base class of schedules. Mirrors ``torch.optim.lr_scheduler.LRScheduler``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        last_epoch (int): -1 to start, or the number of the last finished epoch to resume.

    Raises:
        TypeError: `optimizer` is not an optimizer.
        KeyError: `last_epoch` is not -1 and a group has no ``"initial_lr"``.

    >>> class Halving(mg.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        self.optimizer = check_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", as_number(group["lr"]))
            elif "initial_lr" not in group:
                raise ResumeError("MG-E330", f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler "
                                  "with last_epoch >= 0", fix="load the optimizer's state dict first, or pass last_epoch=-1")
        self.base_lrs = [as_number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self.step()

    def get_lr(self) -> list[float]:
        """Return a list with the learning rate of each group for `last_epoch`. Every subclass defines its own."""
        raise AutogradNotImplementedError("MG-E330", f"{type(self).__name__} has no method get_lr()",
                                          fix="define it: it returns a list with the learning rate of each group")

    def get_last_lr(self) -> list[float]:
        """Return the learning rates that the last step has set: a list with a number per group.

        >>> mg.optim.lr_scheduler.StepLR(mg.optim.SGD([mg.zeros(1)], lr=0.1), 3).get_last_lr()
        [0.1]
        """
        return self._last_lr

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, and set the learning rates. Passing an `epoch` is deprecated.

        >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
        >>> scheduler = mg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step(); scheduler.step(); optimizer.param_groups[0]['lr']
        0.5
        """
        if self._step_count == 1 and type(self.optimizer).step is Optimizer.step and not self.optimizer._opt_called:  # pyright: ignore[reportAttributeAccessIssue]
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them the other way round: "
                          "otherwise the first learning rate of the schedule is skipped.", UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            warnings.warn("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible: "
                          "call `scheduler.step()` to step the scheduler.", UserWarning, stacklevel=2)
            self.last_epoch = epoch
            values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._set(values)

    def _set(self, values):
        """Set the learning rate of each group."""
        for group, lr in zip(self.optimizer.param_groups, values):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(lr)
            else:
                group["lr"] = lr
        self._last_lr = [as_number(group["lr"]) for group in self.optimizer.param_groups]

    def _current_lrs(self):
        """The current learning rates of the groups."""
        return [as_number(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled_lrs(self, factor):
        """The current learning rates of the groups, times a factor."""
        return [lr * factor for lr in self._current_lrs()]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer as a dict, for `load_state_dict`.

        >>> mg.optim.lr_scheduler.StepLR(mg.optim.SGD([mg.zeros(1)]), 3).state_dict()['last_epoch']
        0
        """
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the result of `state_dict`.

        >>> a, b = [mg.optim.lr_scheduler.StepLR(mg.optim.SGD([mg.zeros(1)]), n) for n in (3, 4)]
        >>> b.load_state_dict(a.state_dict()); b.step_size
        3
        """
        self.__dict__.update(state_dict)


def as_number(value):
    """Return a learning rate, a number or tensor, as a Python number."""
    return value.item() if isinstance(value, Tensor) else value


def check_optimizer(optimizer):
    """Return `optimizer`; raise if it is not an `Optimizer`."""
    if not isinstance(optimizer, Optimizer):
        raise NotAnOptimizer("MG-E330", f"{type(optimizer).__name__} is not an Optimizer",
                             fix="pass an optimizer, such as mg.optim.SGD(...)")
    return optimizer


def check(condition, what):
    """Raise `ValueError` with the message `what` unless `condition` holds."""
    if not condition:
        raise ScheduleError("MG-E330", what)


def per_group(value, optimizer, name) -> list[Any]:
    """Return a list with a number per group: `value` itself, or the same number for all groups."""
    count = len(check_optimizer(optimizer).param_groups)
    if not isinstance(value, (list, tuple)):
        return [number_argument(value, name)] * count
    check(len(value) == count, f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
          f"param_groups has {count}.")
    return [number_argument(each, name) for each in value]


def number_argument(value, name) -> Any:
    """Return `value`, a number or a tensor with one; raise `TypeError` for anything else."""
    if not isinstance(value, (numbers.Real, Tensor)):
        raise wrong_type("scheduler", name, "float", value)
    return value
