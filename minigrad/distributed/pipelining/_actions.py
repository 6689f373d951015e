"""A schedule as data: for each rank, the list of its actions.

    rank 0   0F0  0F1  0B0  0B1             0F1: stage 0 runs the forward of microbatch 1
    rank 1   1F0  1B0  1F1  1B1

`_validate_schedule` checks such a table, one of ``_tables.py`` or one that you have made. It runs the table without any
computation, and each action waits for what it needs:

    the F of a stage             for the F of the stage before, and the microbatch
    the B or I of a stage        for its own F, and the B or I of the stage behind
    the W of a stage             for its own I

Mirrors `_Action`, `_ComputationType` and `_validate_schedule` of ``torch/distributed/pipelining/schedules.py``. Read next:
``_tables.py``.
"""

import re
from collections import Counter
from enum import Enum
from typing import Any, NamedTuple

from minigrad.errors import AutogradAssertionError, AutogradError

__all__ = ["PASSES_GRADIENTS", "format_table", "needs", "time_slots"]


class _ComputationType(Enum):
    """What a stage does with a microbatch."""
    FORWARD = "F"
    FULL_BACKWARD = "B"         # the gradients of its inputs and of its parameters
    BACKWARD_INPUT = "I"        # those of its inputs
    BACKWARD_WEIGHT = "W"       # those of its parameters, after I

    def __str__(self):
        return self.value


F, B, I, W = _ComputationType
PASSES_GRADIENTS = (B, I)
NAMES = {F: "Forward", B: "Full Backward", I: "Backward Input", W: "Backward Weight"}


class _Action(NamedTuple):
    """One cell of a schedule. Its text is the stage, the type and the microbatch: ``2F0``."""
    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int

    @staticmethod
    def from_str(text):
        """Return the action that `text` stands for.

        Raises:
            RuntimeError: it stands for none.

        >>> from minigrad.distributed.pipelining._actions import _Action
        >>> _Action.from_str("2F0").stage_index
        2
        """
        found = re.fullmatch(r"(\d+)([FBIW])(\d+)", text)
        if found is None:
            raise AutogradError("MG-E233", f"Invalid action string: {text!r}", expected="[stage][F, B, I or W][microbatch]",
                                fix="write it like 2F0: the forward of microbatch 0 in stage 2")
        return _Action(int(found[1]), _ComputationType(found[2]), int(found[3]))

    def __str__(self):
        return f"{self.stage_index}{self.computation_type}{self.microbatch_index}"

    __repr__ = __str__


class TimedAction(NamedTuple):
    """An action of a schedule with the time of its start and of its end: simulated, or measured.

    >>> from minigrad.distributed.pipelining import simulate
    >>> simulate("GPipe", ranks=2, microbatches=1).timeline[1]
    [1F0 from 1 to 2, 1B0 from 2 to 4]
    """
    action: _Action
    start: Any
    end: Any

    def __repr__(self):
        return f"{self.action} from {self.start:g} to {self.end:g}"


def needs(action, num_stages):
    """Return groups of actions. `action` waits until, of each group, one has run.

    >>> from minigrad.distributed.pipelining._actions import _Action, needs
    >>> needs(_Action.from_str("0B3"), num_stages=2)
    [[0F3], [1B3, 1I3]]
    """
    stage, kind, microbatch = action
    if kind is F:
        return [[_Action(stage - 1, F, microbatch)]] if stage > 0 else []
    if kind is W:
        return [[_Action(stage, I, microbatch)]]
    behind = [[_Action(stage + 1, back, microbatch) for back in PASSES_GRADIENTS]] if stage < num_stages - 1 else []
    return [[_Action(stage, F, microbatch)], *behind]


def time_slots(table, num_stages):
    """Place each action in the first slot in which all that it needs has run, if each action takes one slot.

    Args:
        table (dict): for each rank, its actions in order. None among them is skipped.

    Returns:
        dict: for each rank, a list with an action or None for each slot. All have the same length.

    Raises:
        AssertionError: some actions wait for each other, or for one that the table lacks.

    >>> from minigrad.distributed.pipelining import _tables
    >>> from minigrad.distributed.pipelining._actions import time_slots
    >>> time_slots(_tables.gpipe(2, 1), num_stages=2)
    {0: [0F0, None, None, 0B0], 1: [None, 1F0, 1B0, None]}
    """
    remaining = {rank: [action for action in actions if action is not None][::-1] for rank, actions in table.items()}
    slots = {rank: [] for rank in table}
    done = set()
    while any(remaining.values()):
        ready = [rank for rank, actions in remaining.items()
                 if actions and all(any(other in done for other in group) for group in needs(actions[-1], num_stages))]
        if not ready:
            stuck = [f"rank {rank} waits at {actions[-1]} for {missing_of(actions[-1], done, num_stages)}"
                     for rank, actions in remaining.items() if actions]
            raise schedule_error("Deadlock: no rank can go on: " + ", ".join(stuck), table)
        for rank in slots:
            slots[rank].append(remaining[rank].pop() if rank in ready else None)
        done.update(slots[rank][-1] for rank in ready)
    return slots


def missing_of(action, done, num_stages):
    """Return text: the first action that `action` still waits for."""
    group = next(group for group in needs(action, num_stages) if not any(other in done for other in group))
    return " or ".join(map(str, group))


def format_table(table):
    """Return a schedule as text: a line for each rank, a column for each slot, a dot for an idle one.

    >>> from minigrad.distributed.pipelining._actions import _Action, format_table
    >>> print(format_table({0: [_Action.from_str("0F0"), None], 1: [None, _Action.from_str("1F0")]}))
    rank 0   0F0 .
    rank 1   .   1F0
    """
    cells = {rank: ["." if action is None else str(action) for action in actions] for rank, actions in table.items()}
    width = max([len(cell) for row in cells.values() for cell in row], default=1)
    lines = [f"rank {rank}   " + " ".join([cell.ljust(width) for cell in row]) for rank, row in sorted(cells.items())]
    return "\n".join([line.rstrip() for line in lines])


def schedule_error(message, table):
    """Return the error for a schedule that cannot run; it shows the table, if that is small enough to read."""
    small = sum(map(len, table.values())) <= 400
    return AutogradAssertionError("MG-E233", message + (f"\n{format_table(table)}" if small else ""),
                                  fix="order the actions so that each has what it waits for: F before B or I, I before W, and "
                                      "stages in order")


def _validate_schedule(actions, pp_group_size, num_stages, num_microbatches):
    """Check that a schedule runs each microbatch through each stage once, forward and backward, and cannot stop half-way.

    Args:
        actions (dict): for each rank, a list of actions; None among them is an idle slot.
        pp_group_size (int): the number of ranks.
        num_stages (int): the number of stages.
        num_microbatches (int): the number of microbatches.

    Returns:
        dict: the rank of each stage.

    Raises:
        AssertionError: an action comes before one that it needs, is missing or there twice, a stage is on two ranks, or the
            ranks wait for each other for ever.

    Mirrors `_validate_schedule` of ``torch/distributed/pipelining/schedules.py``, which does not look for deadlocks.

    >>> from minigrad.distributed.pipelining._actions import _Action, _validate_schedule
    >>> _validate_schedule({0: [_Action.from_str(text) for text in ("0F0", "0B0")]}, 1, 1, 1)
    {0: 0}
    """
    rank_of = check_rows(actions, pp_group_size, num_stages, num_microbatches)
    time_slots(actions, num_stages)
    return rank_of


def check_rows(actions, pp_group_size, num_stages, num_microbatches):
    """Check the order on each rank, and the counts: all that `_validate_schedule` checks except that the ranks can go on.

    Returns:
        dict: the rank of each stage.

    Raises:
        AssertionError: as in `_validate_schedule`.
    """
    if len(actions) != pp_group_size:
        raise schedule_error(f"Expected a list of actions for each of {pp_group_size} ranks, got {len(actions)}", actions)
    rank_of = {}
    counts = Counter()
    for rank, row in actions.items():
        done = set()
        for step, action in enumerate(row):
            if action is None:
                continue
            stage, kind, microbatch = action
            before = I if kind is W else F
            wrong = None
            if rank_of.setdefault(stage, rank) != rank:
                wrong = f"Stage {stage} is assigned to both rank {rank} and rank {rank_of[stage]}"
            elif kind is not F and _Action(stage, before, microbatch) not in done:
                wrong = (f"Running {NAMES[kind]} for stage {stage}, microbatch {microbatch} without first running "
                         f"{NAMES[before]}")
            elif action in done:
                wrong = f"{action} is there twice"
            if wrong:
                raise schedule_error(f"Rank {rank}, step {step}: {wrong}", actions)
            done.add(action)
            counts[stage, kind] += 1
    for stage in range(num_stages):
        forwards, full, inputs, weights = [counts[stage, kind] for kind in (F, B, I, W)]
        if forwards != num_microbatches:
            raise schedule_error(f"Got {forwards} Forward microbatches for stage {stage}, expected {num_microbatches}", actions)
        if inputs != weights:
            raise schedule_error(f"Invalid backward microbatches for stage {stage}: I and W must have equal counts, but got "
                                 f"I={inputs}, W={weights}", actions)
        if full + inputs != num_microbatches:
            raise schedule_error(f"Invalid backward microbatches for stage {stage}: expected {num_microbatches} total backwards, "
                                 f"got B={full}, I={inputs}", actions)
    return rank_of


def _merge_bw(compute_actions):
    """Return the actions of a rank, with each I that its W follows immediately as one B.

    Mirrors `_merge_bw` of ``torch/distributed/pipelining/schedules.py``.

    >>> from minigrad.distributed.pipelining._actions import _Action, _merge_bw
    >>> _merge_bw([_Action.from_str(text) for text in ("0F0", "0I0", "0W0")])
    [0F0, 0B0]
    """
    merged = []
    for action in compute_actions:
        if action is None:
            continue
        stage, kind, microbatch = action
        if kind is W and merged and merged[-1] == _Action(stage, I, microbatch):
            merged[-1] = _Action(stage, B, microbatch)
        else:
            merged.append(action)
    return merged
