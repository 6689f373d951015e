"""Bytes per node: how much the process grows by keeping a long chain of ``y = y * b`` on scalars.

Both libraries are asked for the same graph, in which every intermediate result is saved because both operands
require a gradient, and the difference of the resident memory is divided by the number of nodes. Run in a
process of its own, since memory that has been freed is not given back.
"""

import os
import subprocess
import sys

PROGRAM = """
import gc, os, sys
import {module} as m
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
n = {n}
x, b = m.tensor(1.0, requires_grad=True), m.tensor(1.0, requires_grad={both})
y = x
for _ in range(1000):
    y = y * b
gc.collect()
before = resident()
for _ in range(n):
    y = y * b
print((resident() - before) / n)
"""


def bytes_per_node(module, both, n=200_000):
    """Bytes per node of one library; `both`: whether b requires a gradient too, so that y is saved."""
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(module=module, n=n, both=both)], capture_output=True, text=True,
                          check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return float(done.stdout)
