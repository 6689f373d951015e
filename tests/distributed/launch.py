"""How the tests start several ranks by mpiexec, and see that nothing is left of them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minigrad.distributed import _launch

MPIEXEC = _launch.mpiexec()
THERE = _launch.is_mpi_available() and MPIEXEC is not None
# `make test-mpi` sets MINIGRAD_MPI=1: then nothing is left out.
several = pytest.mark.skipif(not THERE and os.environ.get("MINIGRAD_MPI") != "1", reason='pip install "minigrad-autograd[mpi]"')
LIMIT = 240         # seconds: four ranks on two busy cores


def check_mpi():
    """Skip where mpiexec does not start two processes that find each other: a machine without a loopback interface, say."""
    command = [MPIEXEC, "-n", "2", sys.executable, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        words = "" if done.returncode == 0 else (done.stdout + done.stderr)[-500:]
    except subprocess.TimeoutExpired:
        words = "two processes did not end within 120 s"
    if words and os.environ.get("MINIGRAD_MPI") == "1":
        pytest.fail(f"MPI does not work here: {words}")
    if words:
        pytest.skip(f"MPI does not work here: {words}")


def start(name, ranks, seconds, *more, module="programs"):
    """Start a program of a module of this folder on some ranks, with a limit for waiting and more arguments."""
    where = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen([MPIEXEC, "-n", str(ranks), sys.executable, "-m", f"tests.distributed.{module}", name,
                             str(seconds), *more],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=where, start_new_session=True)


def ended(process):
    """What the ranks have printed; none of them is left."""
    try:
        out, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    for _ in range(50):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return out
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    raise AssertionError("mpiexec has ended, and a rank has not:\n" + out)
