"""Memory: bytes per node of a graph, and the peak of a training step.

    bytes_per_node      the growth of the process for a long chain of ``y = y * b`` on scalars, divided by the number of nodes. If
                        both operands require a gradient, every intermediate result is saved.
    peak_of_step        the peak of resident memory in a training step, in bytes. The memory after a step of the same model on two
                        samples is subtracted: that step loads the code and fills the buffers of BLAS.

Each is measured in a new process, since a process does not return all freed memory.
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

STEP = """
import gc
import {module} as m
from benchmarks.scenarios import {scenario} as program
def status(key):
    with open("/proc/self/status") as f:
        return next(1024 * int(line.split()[1]) for line in f if line.startswith(key))
m.set_num_threads(1)
small = program(batch=2)(m, "{module}")
for _ in range(3):
    small()
del small
gc.collect()
before = status("VmRSS")
step = program(**{sizes})(m, "{module}")
for _ in range(6):
    step()
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")        # now the kernel counts the peak from here on
for _ in range(5):
    step()
print(status("VmHWM") - before)
"""

# scenario, sizes: large enough that a few other megabytes do not matter
STEPS = [("lenet", {"batch": 512}), ("gpt", {"batch": 64, "length": 64}), ("gpt", {"batch": 16, "length": 128, "width": 128})]


def bytes_per_node(module, both, n=200_000):
    """Bytes per node of one library. With `both`, b requires a gradient too, so each y is saved."""
    return printed_by(PROGRAM.format(module=module, n=n, both=both))


def peak_of_step(module, scenario, sizes):
    """The peak of a training step of one library, in bytes. `scenario` is the name of a function of scenarios.py."""
    return printed_by(STEP.format(module=module, scenario=scenario, sizes=sizes))


def printed_by(program):
    """The number that a program prints."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    return float(done.stdout)
