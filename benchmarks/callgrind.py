"""Count the instructions of a part of a program: it runs under valgrind, and switches the counting on and off itself."""

import os
import shutil
import subprocess
import sys

from benchmarks.two_speeds import ROOT

__all__ = ["control", "lacking", "run"]


def lacking(*programs):
    """Those of `programs`, and of valgrind's that `run` and `control` need, that are not here."""
    return [name for name in ("valgrind", "callgrind_control", *programs) if shutil.which(name) is None]


def control(*options):
    """Called by the counted program: give valgrind an order, such as ``--instr=on``, ``--instr=off`` or ``--dump``."""
    subprocess.run(["callgrind_control", *options, str(os.getpid())], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=True)


def run(program, out):
    """Run the Python text `program` under valgrind, compiled and on one thread. The counts go to the file `out`."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "MINIGRAD_PURE": "0"}
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", sys.executable,
                    "-c", program], cwd=ROOT, env=environment, check=True)
