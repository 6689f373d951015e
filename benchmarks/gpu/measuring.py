"""Timing of GPU work by events in its queue, and of CPU work by wall-clock time.

    A B A B ...     turns of minigrad (A) and of PyTorch (B), in one process and one queue: the default stream of both

A turn has as many runs as take some milliseconds, between two events with the times at which the GPU reached them. So the launch
of the first run does not count, and a later launch counts only if the GPU waits for it. A scenario with `wall` times itself: it
returns the seconds per op, from before the first op until Python goes on after the last; the GPU may still be at work.

We report medians. `share` is the bytes per second of a run, divided by those of a copy (`Machine.copy`).
"""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Machine", "Result", "Scenario", "measure"]

TURN = 0.005        # the shortest turn, in seconds
LEAST = 5           # the smallest number of turns of each
LONG = 600          # the largest number of characters of an error: numba's errors fill pages


@dataclass
class Scenario:
    """The same work in both libraries.

    Attributes:
        name: the name of the program.
        make: called with a module, minigrad or torch, returns the function to time.
        nbytes: the number of bytes that a run must read and write at least; 0 if memory does not limit it.
        flops: the number of floating-point operations.
        ratio: the floor of the ratio of torch's time to minigrad's, or None.
        share: the floor of `Result.share`, or None.
        wall: whether the function itself returns the seconds.
    """

    name: str
    make: Callable
    nbytes: float = 0
    flops: float = 0
    ratio: float | None = None
    share: float | None = None
    wall: bool = False


@dataclass
class Result:
    scenario: Scenario
    ours: float | None = None       # median seconds of a run; None if it failed or PyTorch is missing
    theirs: float | None = None
    pairs: int = 0
    error: str = ""                 # of minigrad
    torch_error: str = ""

    @property
    def ratio(self):
        return self.theirs / self.ours if self.ours and self.theirs else None

    def share(self, copy):
        """minigrad's bytes per second, divided by `copy`."""
        return self.scenario.nbytes / self.ours / copy if self.scenario.nbytes and self.ours and copy else None

    def reached(self, copy):
        """Whether the floors are reached; None without floors, or if a value is missing."""
        floors = [(value, floor) for value, floor in ((self.ratio, self.scenario.ratio), (self.share(copy), self.scenario.share))
                  if floor is not None]
        if self.error:
            return False if floors else None
        known = [value >= floor for value, floor in floors if value is not None]
        return all(known) if known and len(known) == len(floors) else None


@dataclass
class Machine:
    """The libraries and the GPU that the scenarios run on.

    Attributes:
        minigrad, torch: the modules; None for a missing PyTorch.
        simulated: whether it is numba's simulator. It has no clock, so the CPU's clock is used.
    """

    minigrad: Any
    torch: Any = None
    simulated: bool = False
    copy: float | None = None       # bytes per second that a copy of a large tensor moves, the better of both

    def synchronize(self):
        self.minigrad.cuda.synchronize()

    def events(self):
        module = self.minigrad if self.torch is None else self.torch
        return module.cuda.Event(enable_timing=True), module.cuda.Event(enable_timing=True)

    def timed(self, run, times, wall):
        """Seconds per run."""
        if wall:
            found = run()
            self.synchronize()
            return found
        if self.simulated:
            start = time.perf_counter()
            for _ in range(times):
                run()
            return (time.perf_counter() - start) / times
        first, last = self.events()
        first.record()
        for _ in range(times):
            run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1000 / times

    def empty(self):
        """Return cached memory to the GPU, so that the other library can use it."""
        gc.collect()
        for module in (self.minigrad, self.torch):
            if module is not None:
                module.cuda.empty_cache()


def tried(step):
    """(the result of `step`, ""), or (None, the text of its error)."""
    try:
        return step(), ""
    except Exception as error:
        text = " ".join(str(error).split())
        return None, f"{type(error).__name__}: {text if len(text) < LONG else text[:LONG // 2] + ' ... ' + text[-LONG // 2:]}"


def measure(scenario, machine, seconds):
    """Time a scenario for about this many seconds after the warm-up. Only Ctrl-C raises."""
    result = Result(scenario)
    runs, turns, once = {}, {}, {}
    for module in (machine.minigrad, machine.torch):
        if module is None:
            continue

        def prepare(module=module):
            run = scenario.make(module)
            for _ in range(0 if machine.simulated else 3):      # the first compiles
                run()
            machine.synchronize()
            return run, machine.timed(run, 1, scenario.wall)
        found, error = tried(prepare)
        if found is not None:
            runs[module], once[module] = found
            turns[module] = 1 if scenario.wall else max(1, min(200, round(TURN / max(once[module], 1e-7))))
        elif module is machine.minigrad:
            result.error = error
        else:
            result.torch_error = error
    times = {module: [once[module]] if machine.simulated else [] for module in runs}
    gc.collect()
    if runs and not result.error and not machine.simulated:
        end = time.perf_counter() + seconds
        while result.pairs < LEAST or time.perf_counter() < end:
            result.pairs += 1
            for module, run in runs.items():
                found, error = tried(lambda m=module, r=run: machine.timed(r, turns[m], scenario.wall))
                if error:
                    result.error = error
                    break
                times[module].append(found)
            if result.error:
                break
    if not result.error:
        result.ours = statistics.median(times[machine.minigrad])
        if machine.torch in times:
            result.theirs = statistics.median(times[machine.torch])
    runs.clear()
    tried(machine.empty)
    return result
