"""The peak memory of the values and derivatives of a form, at two sizes of its long axis.

    python -m tests.accuracy.memory [names ...]        quantities that grow faster than the axis; and the times, which no test checks

If the forward of an op is linear in its axis, its derivatives should be too: four times the numbers take four times the memory. A
matrix of all pairs takes sixteen times the memory.
"""

import sys
import time
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np

from tests.accuracy.measure import measured, on_minigrad, probes_for

try:
    from minigrad.kernels.cpu.pool import empty_pool  # whose arrays tracemalloc has seen before
except ImportError:
    def empty_pool():
        """Interpreted, arrays are not used again."""

__all__ = ["ASKED", "MOST", "growth"]

ASKED = ("values_and_gradients", "second", "tangent")
MOST = 7.0      # times as much, for 4 times the numbers; or as the forward takes, and half as much again


def longest(form):
    """The form at a quarter of its longest size, and that size; None if there is no long one."""
    long = max((n for shape in form.shapes for n in shape), default=0)
    if long < 32:
        return None
    return replace(form, shapes=tuple(tuple(long // 4 if n == long else n for n in shape) for shape in form.shapes), samples=form.samples)


def cost(form, asked):
    """(bytes at the peak, bytes of the inputs and the value, seconds) of one question; None if it has no answer."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        xs = form.arrays("float32", "ordinary")
        value = measured(on_minigrad, form, xs, {}, "float32", only=("values_and_gradients",)).get("value")
        if value is None:
            return None
        probes = probes_for(form, xs, value.shape, "float32", value.dtype.kind == "c")
        probes = {name: p for name, p in probes.items() if not name.startswith("grad ") or name == "grad wide"}
        empty_pool()
        tracemalloc.start()
        start = time.perf_counter()
        answers = measured(on_minigrad, form, xs, *(({}, "float32", False, ASKED[:1]) if asked == "value" else (probes, "float32", False, (asked,))))
        seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    size = value.nbytes + sum([x.nbytes for x in xs])
    return None if any(name.startswith("!") for name in answers) else (peak, size, seconds)


def growth(form):
    """question -> (how many times as much memory it takes for 4 times the numbers, how many it may, how many times the time)."""
    short, found = longest(form), {}
    if short is None:
        return found
    allowed = MOST
    for asked in ("value", *ASKED):
        a, b = cost(short, asked), cost(form, asked)
        if a and b and asked == "value":
            allowed = max(MOST, 1.5 * b[0] / a[0], 1.5 * b[1] / a[1])       # a result of all pairs has as many numbers
        elif a and b:
            found[asked] = (b[0] / a[0], allowed, b[2] / a[2])
    return found


def main(names):
    from tests.accuracy.forms import forms_of
    from tests.accuracy.survey import CASES
    for name, case in CASES.items():
        if not names or name.startswith(tuple(names)):
            for form in forms_of(case):
                for asked, (memory, allowed, seconds) in growth(form).items():
                    if names or memory > allowed:
                        print(f"{form.name}: {asked}: {memory:.1f} times the memory of {allowed:.1f}, {seconds:.1f} times the time", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
