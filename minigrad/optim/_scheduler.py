"""What the schedules of learning rates share.

    for epoch in range(100):
        train(...)                  # optimizer.step(), many times
        scheduler.step()            # last_epoch += 1, and every group gets the lr that get_lr() says

A subclass has ``get_lr()``, a list with one number per group. Most say it by recursion, from the `lr` that the group has now: so
schedules can be chained, and a change made by hand to `lr` stays. `base_lrs` are the learning rates the groups began with.

Mirrors LRScheduler of ``torch/optim/lr_scheduler.py``.
"""

import warnings

from minigrad.errors import AutogradNotImplementedError, MinigradError
from minigrad.optim.optimizer import Optimizer
from minigrad.tensor import Tensor

__all__ = ["LRScheduler"]


class ScheduleError(MinigradError, ValueError):
    """A schedule was given numbers that make no sense."""


class NotAnOptimizer(MinigradError, TypeError):
    """A schedule was given something else than an optimizer."""


class ResumeError(MinigradError, KeyError):
    """A schedule is to go on in the middle, but the optimizer does not know where it began."""

    __str__ = Exception.__str__         # that of KeyError shows the repr


class LRScheduler:
    """Base class of schedules. Mirrors ``torch.optim.lr_scheduler.LRScheduler``.

    Args:
        optimizer (Optimizer): whose groups it changes.
        last_epoch (int): -1 to begin, or the number of the last epoch that was done, to go on from there.

    Raises:
        TypeError: `optimizer` is none.
        KeyError: `last_epoch` is not -1 and a group has no ``"initial_lr"``.

    >>> class Halving(mg.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = checked_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", number(group["lr"]))
            elif "initial_lr" not in group:
                raise ResumeError("MG-E330", f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler "
                                  "with last_epoch >= 0", fix="load the optimizer's state dict first, or give last_epoch=-1")
        self.base_lrs = [number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self.step()

    def get_lr(self):
        """The learning rate of each group for `last_epoch`. Every subclass has its own."""
        raise AutogradNotImplementedError("MG-E330", f"{type(self).__name__} has no method get_lr()",
                                          fix="define it: it returns a list with the learning rate of each group")

    def get_last_lr(self):
        """The learning rates that the last step set: a list, one per group.

        >>> mg.optim.lr_scheduler.StepLR(mg.optim.SGD([mg.zeros(1)], lr=0.1), 3).get_last_lr()
        [0.1]
        """
        return self._last_lr

    def step(self, epoch=None):
        """Go to the next epoch (or to `epoch`, which is deprecated) and set the learning rates.

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
        """Give each group its learning rate."""
        for group, lr in zip(self.optimizer.param_groups, values):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(lr)
            else:
                group["lr"] = lr
        self._last_lr = [number(group["lr"]) for group in self.optimizer.param_groups]

    def _now(self):
        """The learning rates of the groups as they are."""
        return [number(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        """The learning rates of the groups as they are, times a factor."""
        return [lr * factor for lr in self._now()]

    def state_dict(self):
        """All attributes but the optimizer: what `load_state_dict` takes.

        >>> mg.optim.lr_scheduler.StepLR(mg.optim.SGD([mg.zeros(1)]), 3).state_dict()['last_epoch']
        0
        """
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` gave.

        >>> a, b = [mg.optim.lr_scheduler.StepLR(mg.optim.SGD([mg.zeros(1)]), n) for n in (3, 4)]
        >>> b.load_state_dict(a.state_dict()); b.step_size
        3
        """
        self.__dict__.update(state_dict)


def number(value):
    """A learning rate as a number of Python."""
    return value.item() if isinstance(value, Tensor) else value


def checked_optimizer(optimizer):
    """`optimizer`, if it is one."""
    if not isinstance(optimizer, Optimizer):
        raise NotAnOptimizer("MG-E330", f"{type(optimizer).__name__} is not an Optimizer",
                             fix="pass what mg.optim.SGD(...) or its like returned")
    return optimizer


def check(condition, what):
    """Raise `ValueError` unless a number makes sense."""
    if not condition:
        raise ScheduleError("MG-E330", what)


def per_group(value, optimizer, name):
    """One number per group: a list of as many, or the same for all."""
    count = len(checked_optimizer(optimizer).param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    check(len(value) == count, f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
          f"param_groups has {count}.")
    return list(value)
