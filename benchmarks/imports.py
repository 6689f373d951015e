"""``python -m benchmarks.imports``: how long ``import minigrad`` takes, as a ratio to ``import numpy``, which it includes.

    inside      from before the import to after it, on the clock of the program
    process     the whole program, with the start and the end of Python

Each program runs in a new process, and the programs take turns: A B C D A B C D. The table has the medians. ``--instructions`` adds
the number of machine instructions, by valgrind: it is the same on a busy machine.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time

# program -> MINIGRAD_PURE
PROGRAMS = {"pass": "0", "import numpy": "0", "import minigrad": "0", "import minigrad  # interpreted": "1"}
TIMER = "import sys, time; start = time.perf_counter()\n{program}\nprint(time.perf_counter() - start, len(sys.modules))"


def run(command, program, pure):
    """Run a program in a new process, and return it when it has ended. Python keeps bytecode in files, as in an installation."""
    return subprocess.run([*command, sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env={**os.environ, "MINIGRAD_PURE": pure, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""})


def time_import(program, pure):
    """Return (seconds inside, seconds of the process, number of modules) of one run."""
    start = time.perf_counter()
    done = run([], TIMER.format(program=program), pure)
    inside, modules = done.stdout.split()
    return float(inside), time.perf_counter() - start, int(modules)


def count_instructions(program, pure):
    """Return the number of instructions of the process."""
    done = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"], program, pure)
    return int(re.findall(r"Collected : (\d+)", done.stderr)[0])


def measure(pairs):
    """Return program -> the medians of `pairs` runs: (seconds inside, seconds of the process, number of modules)."""
    runs = {program: [] for program in PROGRAMS}
    for program, pure in PROGRAMS.items():      # once without a clock, to write the bytecode
        run([], program, pure)
    for _ in range(pairs):
        for program, pure in PROGRAMS.items():
            runs[program].append(time_import(program, pure))
    return {program: [statistics.median(column) for column in zip(*rows, strict=True)] for program, rows in runs.items()}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--pairs", type=int, default=15, help="how often each import is timed")
    parser.add_argument("--instructions", action="store_true", help="count instructions too, by valgrind")
    options = parser.parse_args()
    rows = measure(options.pairs)
    numpy = rows["import numpy"]
    print(f"{'program':32} {'inside':>9} {'ratio':>6} {'process':>10} {'ratio':>6} {'modules':>8}")
    for program, (inside, process, modules) in rows.items():
        print(f"{program:32} {1e3 * inside:6.1f} ms {inside / numpy[0]:6.2f} {1e3 * process:7.1f} ms {process / numpy[1]:6.2f} "
              f"{modules:8.0f}")
    if options.instructions:
        counts = {program: count_instructions(program, pure) for program, pure in PROGRAMS.items()}
        start = counts["pass"]
        for program, count in counts.items():
            print(f"{program:32} {count / 1e6:6.0f} million instructions, ratio {count / counts['import numpy']:.2f}; without the "
                  f"start of Python {(count - start) / (counts['import numpy'] - start):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
