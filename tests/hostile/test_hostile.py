"""Two hundred hostile calls in every run of the tests; ``make hostile`` makes many more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.calls import Calls
from tests.hostile.subjects import subjects

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each call runs in a forked process")


def test_a_few_calls():
    """differences/K-05, K-07: no crash, no hang."""
    done = subprocess.run([sys.executable, "-m", "tests.hostile", "--calls", "100", "--seed", "tests", "--jobs", "1", "--worker", "0"],
                          cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 100
    assert [line for line in lines if line[3] and line[3][0] in ("crash", "hang")] == []


def test_the_same_seed_gives_the_same_calls():
    found = subjects()
    first, second, other = [[str(calls[i]) for i in range(50)] for calls in (Calls(found, "1"), Calls(found, "1"), Calls(found, "2"))]
    assert first == second != other


def test_nothing_is_left_out():
    paths = {s.path for s in subjects()}
    assert len(paths) > 1500
    assert {"minigrad.exp", "minigrad.Tensor.exp_", "minigrad.nn.functional.relu", "minigrad.autograd.grad"} <= paths
