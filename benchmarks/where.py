"""The instructions of a small op, by purpose: ``python -m benchmarks.where`` makes a table of ``tutorials/16_two_speeds.py``.

A chain of 200 ops on eight numbers, forward, backward and freed, runs 20 times under valgrind, which counts the instructions of
each C function. The name and the file of a function determine its purpose. The counts do not depend on the load of the machine.

It needs Linux, valgrind, and a compiled minigrad, and takes half a minute.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks import callgrind
from benchmarks.two_speeds import OPS, engine_run

__all__ = ["PLACES", "place"]

RUNS = 20
CALLS = "Python: the `for` loop, operators, calls through Python"
# The first pattern that occurs in the name or the file of a function determines its place.
PLACES = [
    ("multiply and add", r"mg_\w+_f32"),
    (CALLS, r":__Pyx_"),        # Cython's helpers: many files have the same names, so valgrind cannot tell them apart
    ("around the C loops", r"kernels/cpu"),
    ("make and free tensors, arrays, nodes", r"dealloc|_Dealloc|tp_new|tp_clear|tp_traverse|typeobject|gcmodule|pycore_object"
                                             r"|malloc|weakref|memset|_int_free|cfree"),
    ("find the operation, and check its operands", r"_core/(record/apply|surface)"),
    ("the engine: count, take, deliver", r"_core/(engine|graph/accumulate_grad)"),
    ("record a node, call it, release its saved values", r"_core/(record|graph/node)"),
    ("the formulas of the rules, and the rest of minigrad", r"minigrad/"),
    (CALLS, r"Python-|libpython|bin/python"),
    ("NumPy and the rest", ""),
]


def place(function):
    """The place of a function; `function` is its line from callgrind_annotate.

    >>> place("???:__pyx_f_..._deliver [/.../minigrad/_core/engine/graph_task.cpython-311-x86_64-linux-gnu.so]")
    'the engine: count, take, deliver'
    """
    return next(name for name, pattern in PLACES if re.search(pattern, function))


def measured(folder):
    """The program under valgrind."""
    run = engine_run(8)
    for _ in range(10):
        run()
    callgrind.counter(folder)(run, RUNS)


def main():
    lacking = callgrind.lacking("callgrind_annotate")
    if lacking:
        print(f"{' and '.join(lacking)} is needed, for example: apt-get install valgrind gcc", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "counts")
        callgrind.run(f"from benchmarks.where import measured; measured({folder!r})", out)
        told = subprocess.run(["callgrind_annotate", "--threshold=100", f"{out}.1"], capture_output=True, text=True,
                              check=True).stdout
    counts: Counter[str] = Counter()
    for count, function in re.findall(r"^ *([\d,]+) \( *[\d.]+%\)  (.*)$", told, re.MULTILINE):
        if "PROGRAM TOTALS" not in function:
            counts[place(function)] += int(count.replace(",", ""))
    print("| work | instructions for one operation | |\n|---|--:|--:|")
    for name, count in counts.most_common():
        print(f"| {name} | {count / RUNS / OPS:,.0f} | {count / counts.total():.0%} |")
    print(f"| total | {counts.total() / RUNS / OPS:,.0f} | |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
