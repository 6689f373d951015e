"""``make optimized``: the programs from which the compiler learns which branches are taken. ``python -m benchmarks.training``

gcc counts how often each branch of the core and of the rules runs in these programs, and the second build puts what runs together
and moves the rest out of the way. They are the small programs whose instructions CI counts, and the ops and programs that courses
use, with matrices of two sizes. What runs in none of them is compiled as in an ordinary build.
"""

import argparse
import sys
import time
import warnings

from benchmarks.everyday import op_scenarios
from benchmarks.everyday_programs import PROGRAMS as everyday_programs
from benchmarks.instructions import PROGRAMS as small_programs

__all__ = ["main", "programs"]


def programs(m):
    """A pair for each program: the seconds that it runs, and the function that makes it."""
    return ([(0.4, make) for make in small_programs.values()] + [(0.1, make) for make in everyday_programs]
            + [(0.02, scenario.make) for scenario in op_scenarios(m, (8, 32))])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--patience", type=float, default=1.0, help="a factor for the time of each program; 0 runs it once")
    options = parser.parse_args(arguments)
    from rich.console import Console
    from rich.progress import track

    import minigrad

    warnings.simplefilter("ignore")
    for seconds, make in track(programs(minigrad), "training run", console=Console(stderr=True), transient=True):
        run = make(minigrad, "minigrad")
        run()
        end = time.perf_counter() + seconds * options.patience
        while time.perf_counter() < end:
            run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
