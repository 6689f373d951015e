"""All ranks in one process: a pipeline that a debugger can step through.

    group of rank 0                      group of rank 1
      send(1, "0F0", activation)  --->     receive(0, "0F0")          a dict, shared by the groups

A step of a schedule is a generator that stops where it would wait for a message (``schedules.py``). `step_together` lets the ranks
take turns. The computation is that of several processes, one action after the other.

Mirrors nothing: PyTorch's pipelines need a process for each rank.
"""

from minigrad._arguments import listed
from minigrad.distributed.pipelining._actions import schedule_error
from minigrad.distributed.pipelining.stage import check_shared
from minigrad.errors import TensorTypeError, TensorValueError

__all__ = ["local_groups", "step_together"]


class LocalGroup:
    """One rank of several in one process."""

    def __init__(self, rank, size, messages):
        self.rank, self.size = rank, size
        self._messages = messages

    def send(self, rank, action, value):
        """Leave what `action` has made for a rank."""
        self._messages[rank, action] = value

    def receive(self, action):
        """Return ``(True, what the action has made)`` once, or ``(False, None)`` if it has not arrived."""
        key = self.rank, action
        return (True, self._messages.pop(key)) if key in self._messages else (False, None)

    def wait(self, action, awaited, rank):
        """Ranks of one process take turns; none waits. `step_together` has them."""
        raise schedule_error(f"Deadlock: rank {self.rank} waits at {action} for {awaited}", {})

    def drain(self):
        """Nothing: the ranks are in one process."""

    def clear(self):
        """Drop all messages."""
        self._messages.clear()


def local_groups(size):
    """Return a group for each of `size` ranks in this process, for the stages of `step_together`.

    Raises:
        ValueError: `size` is no positive int.

    >>> from minigrad.distributed.pipelining import local_groups
    >>> [group.rank for group in local_groups(2)]
    [0, 1]
    """
    if not isinstance(size, int) or size < 1:
        raise TensorValueError("MG-E233", f"a pipeline has at least one rank, got {size!r}", fix="local_groups(2), for example")
    messages = {}
    return [LocalGroup(rank, size, messages) for rank in range(size)]


def step_together(schedules, *args, target=None, losses=None, **kwargs):
    """Run one step of a pipeline whose ranks are all in this process.

    Args:
        schedules (list): the schedule of each rank, with stages of `local_groups`.
        args: the whole batch; only the rank of the first stage sees it.
        target (optional): the targets; only the rank of the last stage sees them.
        losses (list, optional): filled with the loss of each microbatch.
        kwargs: keyword arguments that all stages get, a microbatch's share each.

    Returns:
        The merged outputs of the last stage.

    Raises:
        AssertionError: the ranks wait for each other for ever.
        TypeError: `schedules` are no schedules.
        ValueError: stages of two ranks share a parameter.

    >>> from minigrad.distributed.pipelining import PipelineStage, Schedule1F1B, local_groups, step_together
    >>> layers = [mg.nn.Linear(3, 3), mg.nn.Linear(3, 1)]
    >>> schedules = [Schedule1F1B(PipelineStage(layer, rank, 2, group=group), 4, loss_fn=mg.nn.MSELoss())
    ...              for rank, (layer, group) in enumerate(zip(layers, local_groups(2)))]
    >>> losses = []
    >>> step_together(schedules, mg.ones(8, 3), target=mg.zeros(8, 1), losses=losses).shape
    minigrad.Size([8, 1])
    >>> len(losses), layers[0].weight.grad.shape
    (4, minigrad.Size([3, 3]))
    """
    schedules = listed(schedules, "schedules", "step_together", "list of schedules")
    for schedule in schedules:
        if not hasattr(schedule, "_start"):
            raise TensorTypeError("MG-E235", f"step_together takes a list of schedules, got {type(schedule).__name__} in it",
                                  fix="make a schedule for each rank: Schedule1F1B(PipelineStage(...), n_microbatches)")
    check_shared([stage for schedule in schedules for stage in schedule._stages.values()])
    steps = {rank: schedule._start(args if schedule.holds_first else (), kwargs, target if schedule.holds_last else None,
                                   losses if schedule.holds_last else None)
             for rank, schedule in enumerate(schedules)}
    waiting, results = {}, {}
    try:
        while steps:
            progress = False
            for rank, step in list(steps.items()):
                try:
                    moved = next(step)
                    progress = progress or moved != waiting.get(rank)
                    waiting[rank] = moved
                except StopIteration as end:
                    results[rank] = end.value
                    del steps[rank]
                    progress = True
            if not progress:
                stuck = ", ".join([f"rank {rank} waits at {waiting[rank][0]} for {waiting[rank][1]}" for rank in steps])
                raise schedule_error(f"Deadlock: {stuck}", {rank: schedule.actions for rank, schedule in enumerate(schedules)})
    finally:
        for step in steps.values():
            step.close()
        for schedule in schedules:
            schedule.reset()
    return next((result for rank, result in sorted(results.items()) if schedules[rank].holds_last), None)
