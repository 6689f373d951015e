"""The benchmarks of a GPU run: at toy size, each scenario once, without PyTorch. Nothing is said of times."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.gpu.measuring import Machine, Result, Scenario, measure
from tests.cuda.conftest import SIMULATED

ROOT = Path(__file__).resolve().parents[2]


def test_every_scenario_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu", "--toy", "--markdown", str(tmp_path / "table.md")], cwd=ROOT, capture_output=True,
        text=True, env={**os.environ, "NUMBA_ENABLE_CUDASIM": str(int(SIMULATED)), "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    table = (tmp_path / "table.md").read_text("utf-8")
    for part in ("| copy |", "| exp |", "softmax over", "backward", "conv2d", "GPT training step", "launch of an op"):
        assert part in table


class Nothing:
    """Stands for the module minigrad where none is needed."""

    class cuda:
        synchronize = empty_cache = staticmethod(lambda: None)


def test_what_fails_is_told_and_stops_nothing():
    def make(m):
        raise RuntimeError("no such kernel")
    result = measure(Scenario("x", make, ratio=1.0), Machine(Nothing, simulated=True), 0)
    assert result.error == "RuntimeError: no such kernel" and result.ours is None
    assert result.reached(1e9) is False


def test_a_floor_is_reached_or_not():
    scenario = Scenario("x", None, nbytes=90, ratio=1.0, share=0.9)
    assert Result(scenario, ours=1.0, theirs=1.0).reached(100) is True
    assert Result(scenario, ours=1.0, theirs=0.9).reached(100) is False      # slower than PyTorch
    assert Result(scenario, ours=1.1, theirs=2.0).reached(100) is False      # slower than a copy
    assert Result(scenario, ours=1.0).reached(100) is None                   # no PyTorch to compare with
    assert Result(Scenario("x", None), ours=1.0, theirs=2.0).reached(100) is None
