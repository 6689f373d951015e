"""Measure two programs against each other.

Machines are noisy, and a disturbance should affect both programs. So the two take turns (A B A B ...) in one process, on one
thread each, and we compare the medians of their times. A turn has as many runs as take some milliseconds. With a single short
run per turn, each program would find the caches filled by the other, which happens in no training loop.
"""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Scenario:
    """The same work in both libraries.

    Attributes:
        name: the name of the program.
        floor: the smallest accepted ratio of PyTorch's time to minigrad's.
        make: called with a module and its name ("minigrad" or "torch"), returns the function to time.
        seconds: approximate time of the measurement.
        threads: the number of threads of each library.
    """

    name: str
    floor: float
    make: Callable
    seconds: float = 2.0
    threads: int = 1


@dataclass
class Result:
    scenario: Scenario
    ours: float         # median seconds of a run
    theirs: float
    spread: float       # upper minus lower quartile of the ratios of the pairs
    pairs: int

    @property
    def ratio(self):
        return self.theirs / self.ours


TURN = 0.03     # the shortest turn, in seconds


def timed(run, times=1):
    """Seconds per run."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def measure(scenario, minigrad, torch, patience=1.0):
    """Run a scenario on both and return the `Result`. `patience` is a factor for the time of the measurement."""
    for library in (minigrad, torch):
        library.set_num_threads(scenario.threads)
    ours, theirs = scenario.make(minigrad, "minigrad"), scenario.make(torch, "torch")
    for _ in range(3):
        ours()
        theirs()
    once = timed(ours), timed(theirs)
    turn = [max(1, round(TURN / t)) for t in once]
    pairs = max(7, int(scenario.seconds * patience / sum(n * t for n, t in zip(turn, once))))
    a, b = [], []
    gc.collect()
    for _ in range(pairs):
        a.append(timed(ours, turn[0]))
        b.append(timed(theirs, turn[1]))
    ratios = sorted(y / x for x, y in zip(a, b))
    quartiles = statistics.quantiles(ratios, n=4)
    return Result(scenario, statistics.median(a), statistics.median(b), quartiles[2] - quartiles[0], pairs)
