"""Schedules made of schedules: one after the other, or all together. Mirrors ``torch/optim/lr_scheduler.py``."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from minigrad._arguments import sized
from minigrad.optim._plateau import ReduceLROnPlateau
from minigrad.optim._scheduler import LRScheduler, check, check_optimizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from minigrad.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Several(LRScheduler):
    """A schedule that combines others, in `_schedulers`."""

    _schedulers: Any

    def _check(self, schedulers, optimizer):
        """Return the optimizer of all `schedulers`; raise unless it is the same for all, and `optimizer` if that is given."""
        name = type(self).__name__
        check(len(sized(schedulers, "schedulers", name)) >= 1, f"{name} expects at least one scheduler, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            check(hasattr(scheduler, "optimizer"), f"{name} at index {i} should have `optimizer` as its attribute.")
            optimizer = scheduler.optimizer if optimizer is None else optimizer
            check(not isinstance(scheduler, ReduceLROnPlateau),
                  f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when "
                  f"calling `step`, but got one at index {i} in the given schedulers sequence.")
            check(scheduler.optimizer is optimizer,
                  f"{name} expects all schedulers to belong to the same optimizer, but got scheduler {type(scheduler).__name__} at "
                  f"index {i} has another.")
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the optimizer, with the states of the schedules."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the result of `state_dict`."""
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})


class SequentialLR(_Several):
    """One schedule after the other: a warm-up, then a decay. Mirrors ``torch.optim.lr_scheduler.SequentialLR``.

    Args:
        optimizer (Optimizer): its learning rates are set.
        schedulers (list): schedules of this optimizer.
        milestones (list of int): the epochs at which the next schedule begins: one fewer than schedules.
        last_epoch (int): see `LRScheduler`.

    Raises:
        ValueError: there are no schedules, the number of milestones is wrong, or a schedule is a `ReduceLROnPlateau` or belongs to
            another optimizer.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> warm = mg.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> decay = mg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> mg.optim.lr_scheduler.SequentialLR(optimizer, [warm, decay], milestones=[2]).get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: list[int], last_epoch: int = -1):
        self._check(schedulers, check_optimizer(optimizer))
        check(len(sized(milestones, "milestones", "SequentialLR")) == len(schedulers) - 1,
              "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but "
              f"got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}")
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:        # every schedule has made its first step: undo it,
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            undo(scheduler)
        schedulers[0].step()                        # and repeat it for the first schedule
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Go to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            begin(scheduler)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """All schedules together: each continues from the learning rates that the one before has set.

    Args:
        schedulers (list): schedules of the same optimizer.
        optimizer (Optimizer, optional): that optimizer.

    Mirrors ``torch.optim.lr_scheduler.ChainedScheduler``.

    Raises:
        ValueError: there are no schedules, or one is a `ReduceLROnPlateau` or belongs to another optimizer.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> schedulers = [mg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5) for _ in range(2)]
    >>> scheduler = mg.optim.lr_scheduler.ChainedScheduler(schedulers)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        self.optimizer = self._check(schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = schedulers[-1]._current_lrs()

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Go to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._schedulers[-1]._current_lrs()


def undo(scheduler):
    """Undo the first step of a schedule and of the schedules in it."""
    for inner in getattr(scheduler, "_schedulers", ()):
        undo(inner)
    if hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1
        scheduler._step_count = 0


def begin(scheduler):
    """Go to epoch 0 of a schedule, with the initial learning rates of the groups."""
    for inner in getattr(scheduler, "_schedulers", ())[:1]:
        begin(inner)
    scheduler.last_epoch = 0
    scheduler._step_count = 1
    if isinstance(scheduler, _Several):
        scheduler._last_lr = scheduler._current_lrs()
    elif hasattr(scheduler, "_get_closed_form_lr"):
        scheduler._set(scheduler._get_closed_form_lr())
    else:
        scheduler._set(scheduler.get_lr())
