"""Profiles of chosen steps. Mirrors ``torch/profiler/profiler.py``.

    with profile(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=show) as prof:
        for batch in batches:
            train(batch)
            prof.step()             # steps 2 and 3 are recorded; then show(prof)
"""

import enum
import os
import socket
import time

from minigrad._arguments import callable_argument, instance, listed
from minigrad.autograd import profiler
from minigrad.errors import AutogradAssertionError, AutogradError
from minigrad.ops.base.arguments import integer, truth

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """What a profile should measure. minigrad measures the CPU. Mirrors ``torch.profiler.ProfilerActivity``.

    >>> mg.profiler.ProfilerActivity.CPU
    <ProfilerActivity.CPU: 0>
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profile does in a step: see `schedule`. Mirrors ``torch.profiler.ProfilerAction``.

    >>> mg.profiler.ProfilerAction.RECORD
    <ProfilerAction.RECORD: 2>
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities():
    """The activities that a profile measures. Mirrors ``torch.profiler.supported_activities``.

    >>> mg.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the number of a step to its `ProfilerAction`, for the argument `schedule` of `profile`.

    Args:
        wait (int): the steps of a cycle that are not recorded.
        warmup (int): the steps after them, which are not recorded here.
        active (int): the steps that are recorded.
        repeat (int): the number of cycles; 0 for no limit.
        skip_first (int): the steps before the first cycle.
        skip_first_wait (int): if not 0, the first cycle has no `wait`.

    Raises:
        AssertionError: a number is negative, or `active` is 0.

    Mirrors ``torch.profiler.schedule``.

    >>> plan = mg.profiler.schedule(wait=1, warmup=0, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    wait, warmup, active, repeat, skip_first = [
        integer(steps, name, "schedule") for name, steps in
        (("wait", wait), ("warmup", warmup), ("active", active), ("repeat", repeat), ("skip_first", skip_first))]
    skip_first_wait = truth(skip_first_wait, "skip_first_wait", "schedule")
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AutogradAssertionError("MG-E302", "Invalid profiler schedule arguments", expected="active > 0, the others >= 0",
                                     found=f"wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, "
                                           f"skip_first={skip_first}")

    def action(step):
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        cycle, at = divmod(step, length)
        if (repeat and cycle >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == length - 1 else ProfilerAction.RECORD
    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """A function for the argument `on_trace_ready` that writes each trace as JSON into a folder.

    Mirrors ``torch.profiler.tensorboard_trace_handler``.

    >>> handler = mg.profiler.tensorboard_trace_handler("log")
    """
    def write(prof):
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json"))
    return write


class profile:
    """Context manager: record the ops of this thread, and the time that each takes, in all steps or in those of a schedule.

    Args:
        activities (iterable, optional): of `ProfilerActivity`. minigrad measures the CPU.
        schedule (Callable, optional): from the number of a step to a `ProfilerAction`; see `schedule`. By default all is recorded.
        on_trace_ready (Callable, optional): called with this object when a recording ends.
        record_shapes (bool): also record the shapes of the tensors that each op gets.
        profile_memory (bool): also record the bytes of the results.
        with_stack, with_flops, with_modules, acc_events, use_cuda and further options: accepted as in PyTorch.

    Raises:
        RuntimeError: nothing has been recorded that could be read.

    Mirrors ``torch.profiler.profile``.

    >>> with mg.profiler.profile(record_shapes=True) as prof:
    ...     with mg.profiler.record_function("forward"):
    ...         y = mg.ones(3, 4) @ mg.ones(4)
    >>> print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=5))      # doctest: +ELLIPSIS
    ---...
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None,
                 acc_events=False, use_cuda=None, **options):
        for activity in (activities := listed(activities or (), "activities", "profile", "iterable of ProfilerActivity")):
            instance(activity, ProfilerActivity, "activities", "profile", "iterable of ProfilerActivity")
        for name, function in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if function is not None:
                callable_argument(function, name, "profile")
        self.activities = set(activities) or supported_activities()
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._scheduled = schedule is not None
        self._options = dict(record_shapes=record_shapes, profile_memory=profile_memory)
        self._action = self.schedule(0)
        self.profiler = None        # the last recording
        self._block = None          # the record_function of the present step

    def start(self):
        """Begin; ``with`` calls it."""
        self._begin()

    def stop(self):
        """End; ``with`` calls it."""
        self._end(self._action in RECORDING)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc_info):
        self.stop()

    def step(self):
        """Say that a step of the training loop has ended."""
        before = self._action
        self.step_num += 1
        self._action = self.schedule(self.step_num)
        goes_on = before is ProfilerAction.RECORD and self._action in RECORDING
        if goes_on:
            self._end_block()
            self._begin_block()
        else:
            self._end(before is ProfilerAction.RECORD_AND_SAVE)
            self._begin()

    def _begin(self):
        if self._action in RECORDING:
            self.profiler = profiler.profile(**self._options)
            self.profiler.__enter__()
            self._begin_block()

    def _end(self, ready):
        self._end_block()
        if self.profiler is not None and self.profiler in profiler._active:     # pyright: ignore
            self.profiler.__exit__(None, None, None)
            if ready and self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def _begin_block(self):
        if self._scheduled:
            self._block = profiler.record_function("ProfilerStep*")
            self._block.__enter__()

    def _end_block(self):
        if self._block is not None:
            self._block.__exit__(None, None, None)
            self._block = None

    def _recorded(self):
        """The last recording."""
        if self.profiler is None:
            raise AutogradError("MG-E240", "the profiler has recorded nothing",
                                fix="call prof.step() after each step of the schedule")
        return self.profiler

    def events(self):
        """The events in the order in which they began, as an `EventList`."""
        return self._recorded().events()

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The events summed by name, as an `EventList`; print its `table`."""
        return self._recorded().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path):
        """Write the events as JSON, which chrome://tracing and ui.perfetto.dev show."""
        self._recorded().export_chrome_trace(path)

    def add_metadata(self, key, value):
        """Accepted as in PyTorch; it is not written."""
