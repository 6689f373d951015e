"""Schedules as data: the order on each rank, and what makes a table invalid. tests/parity/test_pipelining.py compares with PyTorch."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.distributed.pipelining import _tables
from minigrad.distributed.pipelining._actions import B, F, I, W, _Action, _merge_bw, _validate_schedule, format_table, time_slots


def table(*rows):
    """A table from text: one row for each rank."""
    return {rank: [None if text == "." else _Action.from_str(text) for text in row.split()] for rank, row in enumerate(rows)}


def test_actions_are_text():
    """pipelining_backward/V-01"""
    action = _Action.from_str("12I3")
    assert (action.stage_index, action.computation_type, action.microbatch_index, str(action)) == (12, I, 3, "12I3")
    for text in ("", "abc", "0X1", "F0", "1F", "-1F0", "1F0 "):
        with pytest.raises(RuntimeError, match="Invalid action string"):
            _Action.from_str(text)


def test_gpipe():
    assert _tables.gpipe(2, 3) == table("0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2")


def test_one_forward_one_backward():
    """pipelining_backward/X-01, pipelining_backward/X-02, pipelining_backward/X-03"""
    assert _tables.one_forward_one_backward(3, 4) == table(
        "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3", "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3", "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3")
    with pytest.raises(ValueError, match="greater than or equal to the number of stages"):
        _tables.one_forward_one_backward(3, 2)


def test_interleaved():
    """pipelining_backward/X-10, pipelining_backward/X-11, pipelining_backward/X-12"""
    found = _tables.interleaved_1f1b(2, 2, 4)
    assert found == table("0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3",
                          "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3")
    with pytest.raises(ValueError, match="multiple of the number of rounds"):
        _tables.interleaved_1f1b(2, 2, 5)


def test_looped_bfs():
    """pipelining_backward/X-15"""
    assert _tables.looped_bfs(2, 2, 3) == table("0F0 0F1 0F2 2F0 2F1 2F2 2B2 2B1 2B0 0B2 0B1 0B0", "1F0 1F1 1F2 3F0 3F1 3F2 3B2 3B1 3B0 1B2 1B1 1B0")


def test_interleaved_zero_bubble():
    """pipelining_backward/X-20, pipelining_backward/X-21"""
    assert _tables.interleaved_zero_bubble(2, 2, 4) == table(
        "0F0 0F1 2F0 2F1 2I0 2W0 0F2 2I1 2W1 0F3 0I0 0W0 2F2 0I1 0W1 2F3 2I2 2W2 2I3 2W3 0I2 0W2 0I3 0W3",
        "1F0 1F1 3F0 3I0 3F1 3I1 3W0 1F2 1I0 3W1 1F3 1I1 1W0 3F2 3I2 1W1 3F3 3I3 3W2 1I2 3W3 1I3 1W2 1W3")


def test_zbv():
    """pipelining_backward/X-31, pipelining_backward/X-32"""
    assert _tables.zbv_zero_bubble(2, 4) == table(
        "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3",
        "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3")
    full, short = _tables.zbv_zero_bubble(2, 3), _tables.zbv_zero_bubble(2, 2)
    assert short == {rank: [action for action in row if action.microbatch_index < 2] for rank, row in full.items()}


quick = settings(max_examples=60, deadline=None)


@quick
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 12))
def test_every_table_is_valid(ranks, local, microbatches):
    """pipelining_backward/V-01, pipelining_backward/V-02: the validator finds nothing, and each stage is on the rank that it should be."""
    made = {"gpipe": (1, _tables.gpipe(ranks, microbatches)), "zbv": (2, _tables.zbv_zero_bubble(ranks, microbatches)),
            "bfs": (local, _tables.looped_bfs(ranks, local, microbatches))}
    if microbatches >= ranks:
        made["1f1b"] = 1, _tables.one_forward_one_backward(ranks, microbatches)
    if microbatches % max(1, microbatches // ranks) == 0:
        made["interleaved"] = local, _tables.interleaved_1f1b(ranks, local, microbatches)
        made["zb"] = local, _tables.interleaved_zero_bubble(ranks, local, microbatches)
    for name, (stages, found) in made.items():
        rank_of = _validate_schedule(found, ranks, ranks * stages, microbatches)
        assert rank_of == {stage: min(stage, 2 * ranks - 1 - stage) if name == "zbv" else stage % ranks for stage in range(ranks * stages)}


@quick
@given(st.integers(1, 6), st.integers(1, 12))
def test_activations_of_1f1b(ranks, extra):
    """pipelining_backward/X-02: at most P - rank microbatches are between F and B."""
    for rank, row in _tables.one_forward_one_backward(ranks, ranks + extra).items():
        between = list(itertools.accumulate(1 if action.computation_type is F else -1 for action in row))
        assert max(between) == ranks - rank


@pytest.mark.parametrize("rows, stages, microbatches, key", [
    (["0F0 0B0", "1B0 1F0"], 2, 1, "without first running Forward"),
    (["0F0 0W0 0I0", "1F0 1B0"], 2, 1, "without first running Backward Input"),
    (["0F0 0I0", "1F0 1B0"], 2, 1, "I and W must have equal counts"),
    (["0F0 0F1 0B0", "1F0 1F1 1B0 1B1"], 2, 2, "expected 2 total backwards"),
    (["0F0 0B0", "1F0 1B0"], 2, 2, "Got 1 Forward microbatches for stage 0, expected 2"),
    (["0F0 0B0", "0F0 0B0"], 1, 1, "is assigned to both rank"),
    (["0F0 0F0 0B0", "1F0 1B0"], 2, 1, "0F0 is there twice"),
    (["0F0 0B0"], 1, 1, None),
    (["0F0 2F0 2B0 0B0", "1F0 1B0"], 3, 1, None),
    (["2F0 0F0 2B0 0B0", "1F0 1B0"], 3, 1, "Deadlock: no rank can go on: rank 0 waits at 2F0 for 1F0, rank 1 waits at 1F0 for 0F0"),
    (["0F0 0F1 0B1 0B0", "1F0 1B0 1F1 1B1"], 2, 2, None),
    (["0F0 0B0 0F1 0B1", "1F1 1B1 1F0 1B0"], 2, 2, "Deadlock"),
])
def test_validation(rows, stages, microbatches, key):
    """pipelining_backward/V-01, pipelining_backward/V-02, pipelining_backward/Q-02"""
    actions = table(*rows)
    if key is None:
        assert len(_validate_schedule(actions, len(rows), stages, microbatches)) == stages
        return
    with pytest.raises(AssertionError) as info:
        _validate_schedule(actions, len(rows), stages, microbatches)
    assert key in str(info.value) and "rank 0   " in str(info.value)


def test_number_of_ranks():
    with pytest.raises(AssertionError, match="each of 2 ranks"):
        _validate_schedule(table("0F0 0B0"), 2, 1, 1)


def test_merging():
    """pipelining_backward/V-03"""
    assert _merge_bw(table("0F0 . 0I0 0W0 0I1 0W2 0W1")[0]) == table("0F0 0B0 0I1 0W2 0W1")[0]


def test_time_slots():
    slots = time_slots(table("0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"), 2)
    assert format_table(slots) == "rank 0   0F0 0F1 .   .   0B0 0B1\nrank 1   .   1F0 1F1 1B0 1B1 ."
    assert len(time_slots(_tables.gpipe(8, 16), 8)[0]) == 2 * (16 + 8 - 1)         # Huang et al., 2018
    assert {B, F, I, W} == {type_ for type_ in type(F)}
