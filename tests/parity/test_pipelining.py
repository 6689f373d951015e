"""The tests of the split backward (tests/distributed) on PyTorch, except those marked `ours`; and both libraries compared."""

import itertools

import pytest
import torch
from hypothesis import given

import minigrad
from minigrad.distributed.pipelining import _tables
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


class TorchStage:
    """As much of a stage as PyTorch's schedules ask for when they make their tables. All else is None."""

    def __init__(self, index, stages, ranks):
        self.stage_index, self.num_stages, self.group_rank, self.group_size = index, stages, 0, ranks
        self.is_first, self.is_last, self.has_backward = index == 0, index == stages - 1, True

    def __getattr__(self, name):
        return None


def order_of_torch(name, indices, stages, ranks, microbatches):
    """PyTorch's table without idle slots, or the class of its error."""
    from torch.distributed.pipelining import schedules
    try:
        schedule = getattr(schedules, name)([TorchStage(i, stages, ranks) for i in indices], microbatches)
    except ValueError:
        return ValueError
    return {rank: [str(action) for action in row if action is not None] for rank, row in schedule.pipeline_order.items()}


def order_of_ours(function, *sizes):
    try:
        return {rank: [str(action) for action in row] for rank, row in function(*sizes).items()}
    except ValueError:
        return ValueError


@pytest.mark.parametrize("name, function", [("ScheduleInterleaved1F1B", _tables.interleaved_1f1b), ("ScheduleLoopedBFS", _tables.looped_bfs),
                                            ("ScheduleInterleavedZeroBubble", _tables.interleaved_zero_bubble)])
def test_orders_are_those_of_torch(name, function):
    """pipelining_backward/X-12, pipelining_backward/X-15, pipelining_backward/X-21"""
    for ranks, local, microbatches in itertools.product((1, 2, 3, 4), (1, 2, 3), (1, 2, 3, 4, 5, 6, 8, 12)):
        expected = order_of_torch(name, range(0, ranks * local, ranks), ranks * local, ranks, microbatches)
        assert order_of_ours(function, ranks, local, microbatches) == expected, (ranks, local, microbatches)


def test_zbv_orders_are_those_of_torch():
    """pipelining_backward/X-31, pipelining_backward/X-32"""
    for ranks, microbatches in itertools.product((1, 2, 3, 4, 5), (1, 2, 3, 4, 7, 9, 12)):
        expected = order_of_torch("ScheduleZBVZeroBubble", (0, 2 * ranks - 1), 2 * ranks, ranks, microbatches)
        assert order_of_ours(_tables.zbv_zero_bubble, ranks, microbatches) == expected, (ranks, microbatches)


@pytest.mark.parametrize("rows", [4, 5, 7])
def test_chunks_are_those_of_torch(rows):
    """pipelining_backward/K-02, pipelining_backward/K-04"""
    def split(m):
        from importlib import import_module
        x = m.arange(2. * rows).reshape(rows, 2)
        function = import_module(f"{m.__name__}.distributed.pipelining.microbatch").split_args_kwargs_into_chunks
        args, kwargs = function((x, [x, 3]), {"k": x[:3], "s": "a"}, 4)
        return [[a.tolist(), b.tolist(), n, k["k"].tolist(), k["s"]] for (a, (b, n)), k in zip(args, kwargs)]
    assert split(minigrad) == split(torch)
