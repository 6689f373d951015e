"""Tests on a GPU: ``make test-cuda``, on numba's simulator where there is none. Whatever runs, the report says where.

    NUMBA_ENABLE_CUDASIM=1 pytest tests/cuda
"""

import os
import sys

import minigrad as mg

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
if SIMULATED:
    # The simulator's threads wait for each other at every syncthreads, and its main thread polls meanwhile. With Python's 5 ms before
    # another thread gets its turn, a kernel of many barriers takes ten times as long.
    sys.setswitchinterval(1e-4)
HERE = mg.cuda.is_available()
collect_ignore_glob = [] if HERE else ["test_*.py"]


def pytest_report_header(config):
    if not HERE:
        return ["tests/cuda NOT collected: no GPU, or no numba-cuda; NUMBA_ENABLE_CUDASIM=1 runs them on its simulator"]
    return [f"tests/cuda run on {'the simulator of numba-cuda' if SIMULATED else 'a GPU'}"]
