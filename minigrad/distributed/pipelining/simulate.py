"""What a schedule costs, without running a model: the time of a step, the idle time, and the bytes saved on each rank.

    rank 0   0F0  0F1   .    .   0B0  0B1          F = 1, B = I + W = 2:    9 units of time for each rank,
    rank 1    .   1F0  1F1 1B0  1B1   .            6 of them work, so a third of the time is idle: the *bubble*

A rank runs its actions in order. An action starts when the rank is free and the message that it needs has arrived:

    start = max(end of the action before, end of the neighbour's action + time of its message)
    end   = start + time of the action

These are all rules. Messages do not keep a rank busy, do not wait for each other, and cost nothing between two stages of one rank.
Each action is visited once, whatever the number of ranks, and ints and Fractions stay exact.

Read next: ``closed_forms.py``, the same times as formulas of papers; ``_wavefront.py``, for tables too large to write down.
"""

import math
import numbers
from typing import Any, NamedTuple

from minigrad.distributed.pipelining import _wavefront
from minigrad.distributed.pipelining._actions import (
    PASSES_GRADIENTS,
    TimedAction,
    _Action,
    _ComputationType,
    _merge_bw,
    check_rows,
    missing_of,
    schedule_error,
)
from minigrad.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleZBVZeroBubble,
    _PipelineSchedule,
    get_schedule_class,
)
from minigrad.errors import TensorTypeError, TensorValueError

__all__ = ["Simulation", "simulate"]

FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT = _ComputationType


class Costs(NamedTuple):
    """A list with a number for each stage. `simulate` says what they are."""
    F: list[Any]
    I: list[Any]
    W: list[Any]
    message: list[Any]
    bytes_I: list[Any]
    bytes_W: list[Any]
    gradient_bytes: list[Any]


class Simulation:
    """What `simulate` has found. Times are in the unit of the arguments, and start at 0.

    step_time (number): from the start until the last rank has ended, all-reduce of the gradients included.
    pipeline_time (number): the same without the all-reduce.
    all_reduce (list of number): the time of the all-reduce on each rank.
    busy (list of number): for each rank, the time of all its actions.
    bubbles (list of float): for each rank, the share of `pipeline_time` in which it is idle.
    bubble (float): the same for all ranks together.
    peak_bytes (list of number): for each rank, the most bytes that its microbatches have saved at one time.
    timeline (dict or None): for each rank, a list of `TimedAction` in order; None with ``timeline=False``.

    >>> from minigrad.distributed.pipelining import simulate
    >>> simulate("GPipe", ranks=2, microbatches=2)
    step time 9, bubble 33.3 %
    rank 0   busy 6, idle 33.3 %, peak 0 bytes
    rank 1   busy 6, idle 33.3 %, peak 0 bytes
    """

    def __init__(self, busy, pipeline_time, peak_bytes, all_reduce, step_time, timeline):
        self.busy = busy
        self.pipeline_time = pipeline_time
        self.peak_bytes = peak_bytes
        self.all_reduce = all_reduce
        self.step_time = step_time
        self.timeline = timeline
        self.bubbles = [idle_share(time, pipeline_time) for time in busy]
        self.bubble = idle_share(sum(busy), pipeline_time * len(busy))

    def __repr__(self):
        lines = [f"step time {self.step_time:g}, bubble {self.bubble:.1%}".replace("%", " %")]
        for rank, (busy, idle, peak) in enumerate(zip(self.busy, self.bubbles, self.peak_bytes)):
            lines.append(f"rank {rank}   busy {busy:g}, idle {100 * idle:.1f} %, peak {peak:g} bytes")
        return "\n".join([*lines[:9], f"... {len(lines) - 9} more ranks"] if len(lines) > 10 else lines)


def idle_share(busy, time):
    """Return the share of `time` that is not `busy`."""
    return float((time - busy) / time) if time else 0.0


def simulate(schedule, ranks=None, microbatches=None, local_stages=None, *, F=1, I=1, W=1, message=0, bytes_I=0, bytes_W=0,
             replicas=1, gradient_bytes=0, latency=0, bandwidth=math.inf, merge=False, timeline=True):
    """Compute when each rank of a pipeline runs which action, from the times of single actions.

    Args:
        schedule (str, type or dict): the name or the class of a schedule, such as ``"1F1B"``; or a table: for each rank from 0,
            the list of its actions, as text (``"0F0"``) or as in ``schedule.pipeline_order``.
        ranks (int, optional): the number of ranks, for a name or a class.
        microbatches (int, optional): the number of microbatches, for a name or a class.
        local_stages (int, optional): the stages on each rank, for a name or a class: 1 by default, 2 for ZB-V.
        F, I, W (number or list of numbers): the time of each action, for all stages or one per stage. A B takes I + W.
        message (number or list of numbers): the time from the end of an action of a stage until its result is on another rank.
        bytes_I, bytes_W (number or list of numbers): the bytes that the F of a stage saves for one microbatch: those that its I
            frees, and those that its W frees. A B frees both.
        replicas (int): the number of copies of the pipeline that train on parts of the batch (data parallelism).
        gradient_bytes (number or list of numbers): the bytes of the gradients of a stage, which the replicas sum at the end.
        latency (number): the time of an empty message between two replicas.
        bandwidth (number): the bytes that a replica sends in one unit of time.
        merge (bool): join an I that its W follows immediately into a B, as ``schedule.step`` does. A B passes its gradient on
            when it ends, an I earlier.
        timeline (bool): keep the time of each action. If False, and `schedule` is a name or a class, no table is written down,
            and the memory does not grow with the number of microbatches; ZB-V has a table in any case.

    Returns:
        Simulation: has ``step_time``, ``bubble``, ``bubbles``, ``peak_bytes`` and ``timeline``.

    Raises:
        ValueError: a cost is negative, or not finite; a list has not one number for each stage; the schedule does not exist, or
            not for these numbers of ranks and microbatches.
        TypeError: a cost is not a number.
        AssertionError: the table cannot run.

    The all-reduce is that of a ring of n replicas: 2 (n - 1) messages, each with an n-th of the bytes (Patarasuk and Yuan,
    Bandwidth optimal all-reduce algorithms, 2009). So it takes ``2 (n - 1) (latency + bytes / (n bandwidth))``. Each rank starts
    its own when its last action has ended.

    Without a counterpart in PyTorch.

    >>> from minigrad.distributed.pipelining import simulate
    >>> found = simulate("1F1B", ranks=2, microbatches=3, F=1, I=1, W=1, bytes_I=10)
    >>> found.step_time, found.bubble, found.peak_bytes
    (12, 0.25, [20, 10])
    >>> found.timeline[1][:3]
    [1F0 from 1 to 2, 1B0 from 2 to 4, 1F1 from 4 to 5]
    >>> simulate({0: ["0F0", "0B0"], 1: ["1F0", "1B0"]}, message=0.5).step_time
    7.0
    >>> simulate("1F1B", 2, 3, replicas=4, gradient_bytes=8, latency=0.5, bandwidth=2).all_reduce
    [9.0, 9.0]
    """
    cls: Any = None
    table, rank_of = {}, {}
    if isinstance(schedule, dict):
        table = {rank: as_actions(row) for rank, row in schedule.items()}
        stages = 1 + max([action.stage_index for row in table.values() for action in row], default=-1)
        microbatches = len({action.microbatch_index for row in table.values() for action in row})
        if set(table) != set(range(len(table))) or not stages:
            raise TensorValueError("MG-E236", "simulate() expects a table with actions for the ranks 0, 1, 2, ..., but got the "
                                   f"ranks {list(table)} and {stages} stages", fix='{0: ["0F0", "0B0"]}, for example')
        rank_of = check_rows(table, len(table), stages, microbatches)
    else:
        cls = schedule_class(schedule)
        ranks, microbatches, local_stages = [check_count(number, name, "simulate") for number, name in (
            (ranks, "ranks"), (microbatches, "microbatches"), (local_stages_of(cls, local_stages), "local_stages"))]
        stages = ranks * local_stages
    costs = Costs(*[per_stage(value, name, stages, "simulate") for value, name in (
        (F, "F"), (I, "I"), (W, "W"), (message, "message"), (bytes_I, "bytes_I"), (bytes_W, "bytes_W"),
        (gradient_bytes, "gradient_bytes"))])
    check_count(replicas, "replicas", "simulate")
    check_number(latency, "latency", "simulate")
    if not isinstance(bandwidth, numbers.Real) or not bandwidth > 0:
        raise TensorValueError("MG-E236", f"simulate() expects a positive bandwidth, but got {bandwidth!r}",
                               fix="pass the bytes that a replica sends in one unit of time")
    order = None if cls is None or timeline else _wavefront.order_of(cls.__name__, ranks, microbatches, local_stages)
    if order is not None:
        rank_of = {stage: stage % order.ranks for stage in range(stages)}
        pipeline_time, ends, peak_bytes = _wavefront.run(order, costs, merge)
        timed = None
    else:
        if cls is not None:
            table = cls.make_table(ranks, local_stages, microbatches)
            rank_of = {action.stage_index: rank for rank, row in table.items() for action in row}
        timed, peak_bytes = run_table(table, costs, rank_of, merge)
        ends = [timed[rank][-1].end if timed[rank] else 0 for rank in sorted(timed)]
        pipeline_time = max(ends)
    busy, all_bytes = [0] * len(ends), [0] * len(ends)
    for stage, rank in rank_of.items():
        busy[rank] += microbatches * (costs.F[stage] + costs.I[stage] + costs.W[stage])
        all_bytes[rank] += costs.gradient_bytes[stage]
    all_reduce = [ring(bytes_, replicas, latency, bandwidth) for bytes_ in all_bytes]
    step_time = max([end + more for end, more in zip(ends, all_reduce)])
    return Simulation(busy, pipeline_time, peak_bytes, all_reduce, step_time, timed if timeline else None)


def run_table(table, costs, rank_of, merge):
    """Run a table: a rank goes on until it waits, and who makes what it waits for wakes it.

    Returns:
        tuple: for each rank, its actions with their times; and for each rank, the most bytes that were saved at one time.
    """
    last = len(costs.F) - 1
    rows = {rank: _merge_bw(row) if merge else [action for action in row if action is not None] for rank, row in table.items()}
    timed = {rank: [] for rank in rows}
    live, peak = dict.fromkeys(rows, 0), dict.fromkeys(rows, 0)
    ended = {}          # (stage, whether it is a forward, microbatch) -> end, until the neighbour has taken it
    waiting = {}        # the same key -> the rank that waits for it
    awake = list(rows)[::-1]
    while awake:
        rank = awake.pop()
        row, times = rows[rank], timed[rank]
        while len(times) < len(row):
            action = row[len(times)]
            stage, kind, microbatch = action
            forward = kind is FORWARD
            start = times[-1].end if times else 0
            source = stage - 1 if forward else stage + 1
            if kind is not BACKWARD_WEIGHT and 0 <= source <= last:
                key = source, forward, microbatch
                if key not in ended:
                    waiting[key] = rank
                    break
                start = max(start, ended.pop(key) + (costs.message[source] if rank_of[source] != rank else 0))
            if forward:
                end = start + costs.F[stage]
                live[rank] += costs.bytes_I[stage] + costs.bytes_W[stage]
                peak[rank] = max(peak[rank], live[rank])
            else:
                time = 0
                if kind is not BACKWARD_WEIGHT:
                    time += costs.I[stage]
                    live[rank] -= costs.bytes_I[stage]
                if kind is not BACKWARD_INPUT:
                    time += costs.W[stage]
                    live[rank] -= costs.bytes_W[stage]
                end = start + time
            times.append(TimedAction(action, start, end))
            if forward or kind in PASSES_GRADIENTS:
                key = stage, forward, microbatch
                ended[key] = end
                if key in waiting:
                    awake.append(waiting.pop(key))
    stuck = {rank: row[len(timed[rank])] for rank, row in rows.items() if len(timed[rank]) < len(row)}
    if stuck:
        done = {each.action for times in timed.values() for each in times}
        words = [f"rank {rank} waits at {action} for {missing_of(action, done, last + 1)}" for rank, action in stuck.items()]
        raise schedule_error("Deadlock: no rank can go on: " + ", ".join(words), table)
    return timed, [peak[rank] for rank in sorted(peak)]


def ring(bytes_, replicas, latency, bandwidth):
    """The time of the all-reduce of a ring: 2 (n - 1) messages, each with an n-th of the bytes."""
    return 2 * (replicas - 1) * (latency + bytes_ / (replicas * bandwidth)) if replicas > 1 else 0


def as_actions(row):
    """Return a row of a table, in which actions may be text. None among them is left out."""
    return [_Action.from_str(action) if isinstance(action, str) else action for action in row if action is not None]


def schedule_class(schedule):
    """Return the class of a schedule that is given by its name, or as its class."""
    if isinstance(schedule, str):
        return get_schedule_class(schedule)
    if isinstance(schedule, type) and issubclass(schedule, _PipelineSchedule):
        return schedule
    raise TensorTypeError("MG-E236", f"expected a schedule, got {type(schedule).__name__}",
                          fix='pass the name of a schedule, such as "1F1B", its class, or a table of actions as a dict')


def local_stages_of(cls, local_stages):
    """Return the number of stages on each rank, by default that of the schedule."""
    fixed = 2 if issubclass(cls, ScheduleZBVZeroBubble) else 1 if issubclass(cls, (ScheduleGPipe, Schedule1F1B)) else None
    if fixed is not None and local_stages not in (None, fixed):
        raise TensorValueError("MG-E236", f"{cls.__name__} runs {fixed} stage{'s' * (fixed > 1)} on each rank, got "
                               f"{local_stages!r}", fix=f"leave local_stages out, or pass {fixed}")
    return fixed or 1 if local_stages is None else local_stages


def check_count(number, name, function) -> Any:
    """Return `number`; raise unless it is a positive int."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise TensorValueError("MG-E236", f"{function}() expects a positive int as {name}, but got {number!r}",
                               fix=f"pass {name}=4, say")
    return number


def check_number(number: Any, name, function):
    """Raise unless `number` is a finite number that is not negative."""
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise TensorTypeError("MG-E236", f"{function}() expects numbers as {name}, but got {type(number).__name__}",
                              fix=f"pass one number, or a list with a number for each stage: {name}=1.5")
    if number < 0 or not math.isfinite(number):
        raise TensorValueError("MG-E236", f"{function}() expects finite numbers that are not negative as {name}, but got "
                               f"{number!r}", fix="pass times in one unit, such as milliseconds, and sizes in bytes")


def per_stage(value, name, stages, function):
    """Return a list with a number for each stage, from one number or from such a list."""
    values = [value] * stages if isinstance(value, (numbers.Real, str)) else value
    if not isinstance(values, (list, tuple)):
        raise TensorTypeError("MG-E236", f"{function}() expects a number or a list of numbers as {name}, but got "
                              f"{type(value).__name__}", fix=f"pass one number, or a list with a number for each stage: {name}=1.5")
    for number in values:
        check_number(number, name, function)
    if len(values) != stages:
        raise TensorValueError("MG-E236", f"{function}() got {len(values)} numbers as {name} for {stages} stages",
                               fix="pass one number for all stages, or one for each")
    return list(values)
