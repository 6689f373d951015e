"""Timing work on a GPU: events in its queue, or the clock on the wall for what the CPU does.

    A B A B ...     turns of minigrad (A) and of PyTorch (B), in one process and one queue: the default stream of both

A turn is as many runs as take some milliseconds, between two events that the GPU passes and notes the time of. So the time to
start the first run is not counted, and that of the others only if the GPU has to wait for it. A scenario by the wall clock times
itself: what it returns is the seconds of one op, from before the first to after the last, while the GPU may still be at work.

We report medians. `share` is what a run moves, or computes, by the second, as a part of what a copy moves (`Machine.copy`).
"""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Machine", "Result", "Scenario", "measure"]

TURN = 0.005        # seconds that a turn takes at least
LEAST = 5           # turns of each
LONG = 600          # characters of an error: numba's fill pages


@dataclass
class Scenario:
    """The same work in both libraries.

    Attributes:
        name: what is done.
        make: called with a module, minigrad or torch, returns the function to time.
        nbytes: how many bytes a run has to read and write at least; 0 if that is not what limits it.
        flops: how many floating-point operations it is.
        ratio: the floor of torch's time over ours, or None.
        share: the floor of the bytes per second, as a part of those of a copy, or None.
        wall: the function returns the seconds by itself.
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
    ours: float | None = None       # median seconds of a run; None: it failed, or PyTorch is not there
    theirs: float | None = None
    pairs: int = 0
    error: str = ""                 # of minigrad
    torch_error: str = ""

    @property
    def ratio(self):
        return self.theirs / self.ours if self.ours and self.theirs else None

    def share(self, copy):
        """Bytes per second of ours, as a part of `copy`."""
        return self.scenario.nbytes / self.ours / copy if self.scenario.nbytes and self.ours and copy else None

    def reached(self, copy):
        """Whether the floors are reached; None if there are none, or they cannot be told."""
        floors = [(value, floor) for value, floor in ((self.ratio, self.scenario.ratio), (self.share(copy), self.scenario.share))
                  if floor is not None]
        if self.error:
            return False if floors else None
        known = [value >= floor for value, floor in floors if value is not None]
        return all(known) if known and len(known) == len(floors) else None


@dataclass
class Machine:
    """What the scenarios run on.

    Attributes:
        minigrad, torch: the modules; None for a PyTorch that is not there.
        simulated: on numba's simulator, which has no clock: then by the CPU's.
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
        """Give memory back, so that what one library has freed is there for the other."""
        gc.collect()
        for module in (self.minigrad, self.torch):
            if module is not None:
                module.cuda.empty_cache()


def tried(step):
    """What `step` returns, and "", or None and what went wrong."""
    try:
        return step(), ""
    except Exception as error:
        text = " ".join(str(error).split())
        return None, f"{type(error).__name__}: {text if len(text) < LONG else text[:LONG // 2] + ' ... ' + text[-LONG // 2:]}"


def measure(scenario, machine, seconds):
    """Time a scenario for about so many seconds, without the warming up. Never raises but for Ctrl-C."""
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
