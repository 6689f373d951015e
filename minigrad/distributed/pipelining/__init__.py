"""A model cut into stages that work on several microbatches at a time. Mirrors ``torch.distributed.pipelining``.

    stage       a part of the model                     stage.py: F, B, I, W of one microbatch; _backward.py: I and W
    microbatch  a part of the batch                     microbatch.py
    schedule    which rank does what in which order     _actions.py, _tables.py: as data; schedules.py: run
    simulation  when it does it, and what that costs    simulate.py; closed_forms.py: the formulas of papers

Reading order: ``_backward.py``, ``_actions.py``, ``_tables.py``, ``stage.py``, ``schedules.py``, ``simulate.py``.
"""

from minigrad.distributed.pipelining._actions import TimedAction
from minigrad.distributed.pipelining._local import local_groups, step_together
from minigrad.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from minigrad.distributed.pipelining.closed_forms import bubble_of, step_time_of
from minigrad.distributed.pipelining.simulate import Simulation, simulate
from minigrad.distributed.pipelining.stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble",
           "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "Simulation", "TimedAction", "bubble_of", "local_groups", "simulate",
           "step_time_of", "step_together"]
