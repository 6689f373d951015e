"""A model cut into stages that work on several microbatches at a time. Mirrors ``torch.distributed.pipelining``.

    stage       a part of the model                     stage.py: F, B, I, W of one microbatch; _backward.py: I and W
    microbatch  a part of the batch                     microbatch.py
    schedule    which rank does what in which order     _actions.py, _tables.py: as data; schedules.py: run

Reading order: ``_backward.py``, ``_actions.py``, ``_tables.py``, ``stage.py``, ``schedules.py``.
"""

from minigrad.distributed.pipelining._local import local_groups, step_together
from minigrad.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from minigrad.distributed.pipelining.stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble",
           "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "local_groups", "step_together"]
