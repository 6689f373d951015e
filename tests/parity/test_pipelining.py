"""The tests of the split backward (tests/distributed) on PyTorch, except those marked `ours`; and both libraries compared."""

import pytest
import torch
from hypothesis import given

import minigrad
from tests.distributed import test_param_groups as _groups
from tests.distributed import test_split_backward as _split
from tests.distributed.stages import NESTED, PLAIN, close, run
from tests.distributed.test_random_stages import fast, stages, whole

for _module in (_groups, _split):
    for _name, _test in list(vars(_module).items()):
        if _name.startswith("test_") and not getattr(_test, "ours", False):
            assert _name not in globals(), f"two tests are called {_name}: one would hide the other"
            globals()[_name] = _test


@pytest.fixture
def m():
    return torch


@pytest.mark.parametrize("build", [*PLAIN, *NESTED])
def test_numbers_are_those_of_torch(build):
    """pipelining_backward/W-21"""
    expected = run(torch, build, split=build in PLAIN)
    found = run(minigrad, build, split=True)
    assert close(found, expected)


@fast
@given(stages)
def test_random_stages_are_those_of_torch(stage):
    """pipelining_backward/Q-07: B of PyTorch, which tests/distributed compares with I and W."""
    assert close(whole(minigrad, stage), whole(torch, stage))
