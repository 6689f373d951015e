"""Pipelines on ranks that mpiexec starts: the measured time of a step beside the simulated one and that of the closed form.

    mpiexec -n 4 python -m benchmarks.pipelines

The stages sleep instead of computing: F, I and W take 20 ms each, on any number of cores. So what is measured is the schedule and
its messages, not the arithmetic. The best of several steps counts, since other programs can only make a step slower.
"""

import argparse
import time

import minigrad as mg
import minigrad.distributed as dist
from minigrad.autograd import Function
from minigrad.distributed.pipelining import PipelineStage, simulate, step_time_of
from minigrad.distributed.pipelining.schedules import SCHEDULES
from minigrad.errors import TensorValueError

__all__ = ["Sleeping", "main", "measure"]


class Sleep(Function):
    """The identity, which takes a time, and whose backward takes a time."""

    @staticmethod
    def forward(ctx, x, forward_time, backward_time):
        ctx.time = backward_time
        time.sleep(forward_time)
        return x.clone()

    @staticmethod
    def backward(ctx, *grads):
        time.sleep(ctx.time)
        return grads[0], None, None


class Sleeping(mg.nn.Module):
    """A stage whose F, I and W take `unit` seconds each."""

    def __init__(self, unit):
        super().__init__()
        self.weight = mg.nn.Parameter(mg.ones(1))
        self.unit = unit

    def forward(self, x):
        return Sleep.apply(x, self.unit, self.unit) * Sleep.apply(self.weight, 0, self.unit)


def measure(name, microbatches, unit, steps):
    """Return the timelines of the fastest of some steps, in seconds: a list with that of each rank. Every rank calls it."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    local = local_stages(name)
    count = ranks * local
    mine = (rank, count - 1 - rank) if name.startswith("ZBV") else range(rank, count, ranks)
    stages = [PipelineStage(Sleeping(unit), i, count) for i in mine]
    schedule = SCHEDULES[name](stages if local > 1 else stages[0], microbatches, loss_fn=lambda y, _: y.sum())
    schedule.record = True
    x = [mg.ones(microbatches, 1, requires_grad=True)] if schedule.holds_first else []
    found = []
    for _ in range(steps):
        dist.barrier()
        schedule.step(*x)
        timelines = [None] * ranks
        dist.all_gather_object(timelines, [(str(action), start, end) for action, start, end in schedule.timeline])
        found.append(timelines)
    return min(found, key=length)


def local_stages(name):
    """The number of stages on each rank in this benchmark."""
    return 1 if name in ("GPipe", "1F1B") else 2


def length(timelines):
    """The time from the first start to the last end."""
    return max([end for row in timelines for _, _, end in row]) - min([start for row in timelines for _, start, _ in row])


def planned(name, ranks, microbatches, unit):
    """The simulation of `measure`. The I of the first stage computes nothing, and its W all, as in ``stage.py``."""
    count = ranks * local_stages(name)
    return simulate(name, ranks, microbatches, local_stages(name), F=unit, I=[0] + [unit] * (count - 1),
                    W=[2 * unit] + [unit] * (count - 1), merge=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Pipelines: simulated, by closed form, and measured.")
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--unit", type=float, default=0.02, help="seconds of an F, an I, a W")
    parser.add_argument("--steps", type=int, default=3)
    chosen = parser.parse_args(arguments)
    dist.init_process_group()
    ranks = dist.get_world_size()
    if dist.get_rank() == 0:
        print("| ranks | schedule | closed form | simulated | measured | idle: simulated | measured |\n" + "|---" * 7 + "|")
    for name in SCHEDULES:
        timelines = measure(name, chosen.microbatches, chosen.unit, chosen.steps)
        if dist.get_rank() == 0:
            found = planned(name, ranks, chosen.microbatches, chosen.unit)
            try:
                formula = f"{step_time_of(name, ranks, chosen.microbatches, local_stages(name), F=1, I=1, W=1) * chosen.unit:.3f}"
            except TensorValueError:
                formula = ""
            (half,) = mg.viz.schedule(measured=timelines).halves
            print(f"| {ranks} | {name} | {formula} | {found.step_time:.3f} | {length(timelines):.3f} | {found.bubble:.1%} | "
                  f"{half.bubble:.1%} |", flush=True)


if __name__ == "__main__":
    main()
