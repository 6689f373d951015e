"""The time of a step and the idle share as formulas, from the papers in which the schedules were published.

P ranks, M microbatches, L stages on each rank; F, I and W are the times of a stage, all stages alike; messages take no time.

    schedule                     idle time of each rank            paper
    GPipe                        (P - 1) (F + I + W)               Huang et al., GPipe, 2019
    1F1B                         (P - 1) (F + I + W)               Narayanan et al., PipeDream-2BW (PipeDream-Flush), 2021
    interleaved, breadth first   (P - 1) (F + I + W)               Narayanan et al., Megatron-LM, 2021; Lamy-Poirier, 2022
    ZB-H1, interleaved ZB        (P - 1) (F + I - min(F, I, W))    Qi et al., Zero Bubble Pipeline Parallelism, 2023
    ZB-V                         (P - 1) F,  if F = I = W          Qi et al., 2023

A rank works for M L (F + I + W). With L stages on a rank a stage is an L-th of the rank's part of the model, so the idle time of
the interleaved schedule is an L-th of that of 1F1B.

``simulate`` gives the same numbers, without rounding: ``tests/distributed/test_simulate.py``. So each formula is also a test of a
table. Where our table, which is PyTorch's, and the paper differ, the docstring says so.
"""

from minigrad.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from minigrad.distributed.pipelining.simulate import check_count, check_number, idle_share, local_stages_of, schedule_class
from minigrad.errors import TensorValueError

__all__ = ["bubble_of", "step_time_of"]


def step_time_of(schedule, ranks, microbatches, local_stages=None, *, F=1, I=1, W=1):
    """Return the time of a step by the formula of the schedule's paper.

    Args:
        schedule (str or type): the name or the class of a schedule, such as ``"1F1B"``.
        ranks (int): the number of ranks, P.
        microbatches (int): the number of microbatches, M.
        local_stages (int, optional): the stages on each rank, L: 1 by default, 2 for ZB-V.
        F, I, W (number): the time of each action of a stage, the same for all stages. A B takes I + W.

    Returns:
        number: M L (F + I + W), and the idle time. Ints and Fractions stay exact.

    Raises:
        ValueError: there is no such schedule, or no formula for these numbers; a time is negative or not finite.
        TypeError: a time is not a number.

    The idle time of a rank, and where it is from:

    - GPipe: (P - 1) (F + I + W). Huang et al., GPipe, 2019, arXiv:1811.06965, section 2.3: the share (P - 1) / (M + P - 1).
    - 1F1B: the same, for M >= P. PipeDream-Flush: Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, 2021,
      arXiv:2006.09503. Its gain is memory.
    - Interleaved1F1B: the same with the times of a stage, for M >= P. Narayanan et al., Efficient Large-Scale Language Model
      Training on GPU Clusters Using Megatron-LM, 2021, arXiv:2104.04473, section 2.2.2: 1 / L of the bubble. The paper wants M
      to be a multiple of P; PyTorch's table, and ours, only of M // P.
    - LoopedBFS: the same. Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022, arXiv:2211.05953. With M < P, which both
      tables allow, the forwards of a rank wait for the first microbatch to come around. For this, the formula is ours:
      (L max(M, P) + min(M, P) - 1) (F + I + W) for the whole step.
    - InterleavedZeroBubble: (P - 1) (F + I - min(F, I, W)), for M >= P. With one stage on each rank it is ZB-H1. Qi et al., Zero
      Bubble Pipeline Parallelism, 2023, arXiv:2401.10241, table 2: (P - 1) (F + I - W), for a W that is no longer than F and I.
      A longer W delays the actions behind it; the minimum in the formula is from our table.
    - ZBVZeroBubble: (P - 1) F, for F = I = W and M >= 2 P - 1. Qi et al., section 6, and Pipeline Parallelism with Controllable
      Memory, 2024, arXiv:2405.15362. The papers count from the first action of a rank, without the time until the first forward
      reaches it, and so find no idle time. For other times there is no closed form: use `simulate`.

    Without a counterpart in PyTorch.

    >>> from minigrad.distributed.pipelining import step_time_of
    >>> step_time_of("GPipe", 4, 8), step_time_of("Interleaved1F1B", 4, 8, 2, F=0.5, I=0.5, W=0.5)
    (33, 28.5)
    >>> step_time_of("1F1B", 1024, 65536), step_time_of("InterleavedZeroBubble", 1024, 65536)
    (199677, 197631)
    """
    cls, local_stages = checked(schedule, ranks, microbatches, local_stages, F, I, W)
    P, M, L = ranks, microbatches, local_stages
    if issubclass(cls, (ScheduleInterleaved1F1B, ScheduleLoopedBFS, ScheduleGPipe)):
        return (L * max(M, P) + min(M, P) - 1) * (F + I + W)
    if issubclass(cls, Schedule1F1B):
        idle, least, alike = (P - 1) * (F + I + W), P, True
    elif issubclass(cls, ScheduleInterleavedZeroBubble):
        idle, least, alike = (P - 1) * (F + I - min(F, I, W)), P, True
    elif issubclass(cls, ScheduleZBVZeroBubble):
        idle, least, alike = (P - 1) * F, 2 * P - 1, F == I == W
    else:
        raise TensorValueError("MG-E236", f"there is no closed form for {cls.__name__}", fix="use simulate()")
    if not alike or microbatches < least:
        rule = f"M >= {least}" + (", and with F = I = W" if cls is ScheduleZBVZeroBubble else "")
        raise TensorValueError("MG-E236", f"the closed form of {cls.__name__} holds for {P} ranks with {rule}, but got M = {M}, "
                               f"F = {F}, I = {I}, W = {W}", fix="use simulate(), which needs no formula")
    return M * L * (F + I + W) + idle


def bubble_of(schedule, ranks, microbatches, local_stages=None, *, F=1, I=1, W=1):
    """Return the share of idle time by the formula of the schedule's paper.

    Arguments, exceptions and sources as in `step_time_of`.

    Returns:
        float: 1 - M L (F + I + W) / `step_time_of`. Narayanan et al. and Qi et al. divide by the time of the work instead.

    Without a counterpart in PyTorch.

    >>> from minigrad.distributed.pipelining import bubble_of
    >>> bubble_of("GPipe", 4, 12), bubble_of("Interleaved1F1B", 4, 12, 3), bubble_of("InterleavedZeroBubble", 4, 13)
    (0.2, 0.07692307692307693, 0.07142857142857142)
    """
    time = step_time_of(schedule, ranks, microbatches, local_stages, F=F, I=I, W=W)
    return idle_share(microbatches * local_stages_of(schedule_class(schedule), local_stages) * (F + I + W), time)


def checked(schedule, ranks, microbatches, local_stages, F, I, W):
    """Check the arguments, and return the class of the schedule and the number of stages on each rank."""
    cls = schedule_class(schedule)
    local_stages = local_stages_of(cls, local_stages)
    for number, name in ((ranks, "ranks"), (microbatches, "microbatches"), (local_stages, "local_stages")):
        check_count(number, name, "step_time_of")
    for number, name in ((F, "F"), (I, "I"), (W, "W")):
        check_number(number, name, "step_time_of")
    return cls, local_stages
