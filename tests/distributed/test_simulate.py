"""The simulator: equal to the papers' formulas, in both of its ways; and what it refuses."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minigrad.distributed.pipelining import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleZBVZeroBubble,
    _tables,
    _wavefront,
    bubble_of,
    simulate,
    step_time_of,
)
from minigrad.distributed.pipelining._actions import B, F, I, W, _Action, time_slots
from minigrad.distributed.pipelining.schedules import SCHEDULES

quick = settings(max_examples=60, deadline=None)
TIMES = st.integers(1, 9)
RULED = ["GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble"]      # those with a rule for _wavefront.py


def fits(name, ranks, microbatches, local):
    """Whether there is such a table."""
    return (local == (2 if name.startswith("ZBV") else 1) or name not in ("GPipe", "1F1B", "ZBVZeroBubble")) and (
        name != "1F1B" or microbatches >= ranks) and (
        not name.startswith("Interleaved") or microbatches % max(1, microbatches // ranks) == 0)


@quick
@given(st.sampled_from(list(SCHEDULES)), st.integers(1, 9), st.integers(1, 30), st.integers(1, 3), TIMES, TIMES, TIMES)
def test_closed_forms(name, ranks, microbatches, local, f, i, w):
    """pipelining_backward/X-02, pipelining_backward/X-11, pipelining_backward/X-20: without rounding, the times of the papers."""
    if name == "ZBVZeroBubble":
        local, i, w, microbatches = 2, f, f, microbatches + 2 * ranks - 2
    elif name == "InterleavedZeroBubble":
        microbatches += ranks - 1
    assume(fits(name, ranks, microbatches, local))
    found = simulate(name, ranks, microbatches, local, F=f, I=i, W=w)
    assert found.step_time == found.pipeline_time == step_time_of(name, ranks, microbatches, local, F=f, I=i, W=w)
    bubble = bubble_of(name, ranks, microbatches, local, F=f, I=i, W=w)
    assert found.bubble == bubble and found.bubbles == [bubble] * ranks


@pytest.mark.parametrize("name, local", [("GPipe", 1), ("1F1B", 1), ("Interleaved1F1B", 2), ("LoopedBFS", 2),
                                         ("InterleavedZeroBubble", 1), ("InterleavedZeroBubble", 2)])
def test_closed_forms_of_many_ranks(name, local):
    """1,024 ranks and 65,536 microbatches take the same path; they need a minute each, and agree too."""
    found = simulate(name, 256, 256, local, F=2, I=3, W=1, timeline=False)
    assert found.timeline is None and found.step_time == step_time_of(name, 256, 256, local, F=2, I=3, W=1)


@quick
@given(st.sampled_from(RULED), st.integers(1, 6), st.integers(1, 40), st.integers(1, 3), st.booleans(), st.data())
def test_without_a_table(name, ranks, microbatches, local, merge, data):
    """All ranks together, in NumPy: the same numbers as one action after the other."""
    assume(fits(name, ranks, microbatches, local))
    numbers = st.lists(st.integers(0, 9), min_size=ranks * local, max_size=ranks * local)
    costs = {key: data.draw(numbers) for key in ("F", "I", "W", "message", "bytes_I", "bytes_W", "gradient_bytes")}
    a, b = [simulate(name, ranks, microbatches, local, **costs, merge=merge, replicas=3, latency=1, bandwidth=4, timeline=kept)
            for kept in (True, False)]
    for key in ("step_time", "pipeline_time", "busy", "bubbles", "bubble", "peak_bytes", "all_reduce"):
        assert getattr(a, key) == getattr(b, key), key


@quick
@given(st.sampled_from(RULED), st.integers(1, 6), st.integers(1, 30), st.integers(1, 3))
def test_the_rule_gives_the_tables(name, ranks, microbatches, local):
    assume(fits(name, ranks, microbatches, local))
    order = _wavefront.order_of(f"Schedule{name}", ranks, microbatches, local)
    for rank, row in SCHEDULES[name].make_table(ranks, local, microbatches).items():
        done, total = {F: 0, I: 0, W: 0}, microbatches * local
        for stage, kind, m in row:
            kind = I if kind is B else kind
            back = name == "LoopedBFS" and kind is not F
            turn, place = divmod(done[kind], order.per_round)
            lap, turn = divmod(turn, local)
            expected = W if order.delay is not None and (done[I] - done[W] > order.delay[rank] or done[I] == total) else (
                F if done[F] < min(total, order.ahead[rank] + done[I]) else I)
            m_expected = lap * order.per_round + place
            assert (kind, stage, m) == (expected, rank + ranks * (turn if kind is F else local - 1 - turn),
                                        microbatches - 1 - m_expected if back else m_expected)
            done[kind] += 1


def test_many_messages_wait():
    """Breadth first: the ends of 300 microbatches wait for rank 0, more than are remembered at first."""
    assert 4 * _wavefront.START < 300
    costs = {"F": [1, 9, 2, 5], "I": [3, 1, 4, 1], "W": 2}
    a, b = [simulate("LoopedBFS", 2, 300, 2, **costs, timeline=kept) for kept in (True, False)]
    assert a.step_time == b.step_time and a.bubbles == b.bubbles


@quick
@given(st.sampled_from(list(SCHEDULES)), st.integers(1, 6), st.integers(1, 20))
def test_equal_times_are_slots(name, ranks, microbatches):
    """pipelining_backward/V-01: if each action takes 1, its start is its slot."""
    local = 2 if name == "ZBVZeroBubble" else 1
    assume(fits(name, ranks, microbatches, local))
    table = {rank: [a for a in row if a.computation_type is not W] for rank, row in SCHEDULES[name].make_table(ranks, local, microbatches).items()}
    backs = {rank: [a._replace(computation_type=B) if a.computation_type is I else a for a in row] for rank, row in table.items()}
    slots = time_slots(backs, ranks * local)
    timed = simulate(backs, F=1, I=1, W=0).timeline
    assert {rank: {slots[rank].index(each.action): each.start for each in row} for rank, row in timed.items()} == {
        rank: {i: i for i, action in enumerate(row) if action is not None} for rank, row in slots.items()}


@quick
@given(st.sampled_from(list(SCHEDULES)), st.integers(1, 5), st.integers(1, 12), st.booleans(), st.data())
def test_timeline(name, ranks, microbatches, merge, data):
    """Nothing overlaps on a rank, nothing starts before its message, the busy time is that of the actions."""
    local = 2 if name == "ZBVZeroBubble" else 1
    assume(fits(name, ranks, microbatches, local))
    stages = ranks * local
    f, i, w, message = [data.draw(st.lists(st.integers(0, 5), min_size=stages, max_size=stages)) for _ in range(4)]
    found = simulate(name, ranks, microbatches, F=f, I=i, W=w, message=message, merge=merge)
    ends = {each.action: (each.end, rank) for rank, row in found.timeline.items() for each in row}
    for rank, row in found.timeline.items():
        assert all(a.end <= b.start for a, b in itertools.pairwise(row)) and all(each.start <= each.end for each in row)
        assert sum(each.end - each.start for each in row) == found.busy[rank]
        for (stage, kind, m), start, _ in row:
            behind = {F: [(stage - 1, F)], B: [(stage + 1, B), (stage + 1, I)], I: [(stage + 1, B), (stage + 1, I)], W: [(stage, I)]}[kind]
            for source, made in behind:
                end, where = ends.get(_Action(source, made, m), (0, rank))
                assert start >= end + (message[source] if where != rank else 0)
    assert found.pipeline_time == max(end for end, _ in ends.values())


@quick
@given(st.integers(1, 7), st.integers(0, 12))
def test_memory(ranks, more):
    """pipelining_backward/Q-04: 1F1B saves P - rank microbatches, GPipe all; after I, only what W needs is there."""
    microbatches = ranks + more
    assert simulate("GPipe", ranks, microbatches, bytes_I=3, bytes_W=4).peak_bytes == [7 * microbatches] * ranks
    assert simulate("1F1B", ranks, microbatches, bytes_I=3, bytes_W=4).peak_bytes == [7 * (ranks - rank) for rank in range(ranks)]
    if microbatches % (microbatches // ranks) == 0:
        split = simulate("InterleavedZeroBubble", ranks, microbatches, bytes_I=3, bytes_W=4)
        assert all(peak <= 7 * (ranks - rank) + 4 * rank for rank, peak in enumerate(split.peak_bytes))
    vee = simulate("ZBVZeroBubble", ranks, microbatches, bytes_I=3, bytes_W=4)
    assert max(vee.peak_bytes) <= 7 * 2 * ranks


def test_all_reduce():
    found = simulate("GPipe", 2, 2, replicas=4, gradient_bytes=[80, 0], latency=0.5, bandwidth=10)
    assert found.all_reduce == [2 * 3 * (0.5 + 2.0), 3.0] and found.pipeline_time == 9
    assert found.step_time == 9 + 15 and found.bubble == pytest.approx(1 / 3)
    assert simulate("GPipe", 2, 2, gradient_bytes=80, latency=9).all_reduce == [0, 0]


def test_exact_numbers():
    found = simulate("1F1B", 3, 3, F=Fraction(1, 3), I=Fraction(1, 7), W=0)
    assert found.step_time == 5 * Fraction(10, 21) and isinstance(found.step_time, Fraction)
    assert isinstance(simulate("1F1B", 3, 3).step_time, int)
    nothing = simulate("GPipe", 1, 1, F=0, I=0, W=0)
    assert nothing.step_time == 0 and nothing.bubble == 0


def test_merging():
    """pipelining_backward/V-03: a B passes its gradient on when it ends. ZB-V loses by that what it gains."""
    split, merged = [simulate(ScheduleZBVZeroBubble, 4, 8, merge=merge) for merge in (False, True)]
    assert split.step_time == 2 * 8 * 3 + 3 and merged.step_time == 2 * 8 * 3 + 9
    assert {each.action.computation_type for each in merged.timeline[3]} == {F, B, I, W}


def test_forms_of_a_table():
    table = _tables.gpipe(2, 2)
    texts = {rank: [str(action) for action in row] for rank, row in table.items()}
    texts[1].insert(0, None)
    for given_ in (table, texts, "gpipe", ScheduleGPipe):
        numbers = () if isinstance(given_, dict) else (2, 2)
        assert simulate(given_, *numbers, message=1).timeline == simulate(table, message=1).timeline
    assert simulate(table, timeline=False).timeline is None and simulate("ZBVZeroBubble", 2, 3, timeline=False).timeline is None


def test_repr():
    assert repr(simulate("1F1B", 20, 20)).splitlines()[-1] == "... 12 more ranks"
    assert len(repr(simulate("1F1B", 9, 9)).splitlines()) == 10


@pytest.mark.parametrize("error, key, call", [
    (ValueError, "numbers that are not negative as F", lambda: simulate("1F1B", 2, 2, F=-1)),
    (ValueError, "not negative as message, but got nan", lambda: simulate("1F1B", 2, 2, message=float("nan"))),
    (ValueError, "finite numbers", lambda: simulate("1F1B", 2, 2, W=float("inf"))),
    (ValueError, "got 3 numbers as I for 2 stages", lambda: simulate("1F1B", 2, 2, I=[1, 2, 3])),
    (ValueError, "got 2 numbers as F for 4 stages", lambda: simulate("LoopedBFS", 2, 2, 2, F=[1, 2])),
    (TypeError, "numbers as W, but got str", lambda: simulate("1F1B", 2, 2, W="1")),
    (TypeError, "numbers as W, but got bool", lambda: simulate("1F1B", 2, 2, W=True)),
    (TypeError, "numbers as W, but got NoneType", lambda: simulate("1F1B", 2, 2, W=[1, None])),
    (TypeError, "a list of numbers as F, but got set", lambda: simulate("1F1B", 2, 2, F={1})),
    (ValueError, "positive int as ranks, but got None", lambda: simulate("1F1B")),
    (ValueError, "positive int as microbatches, but got 2.0", lambda: simulate("1F1B", 2, 2.0)),
    (ValueError, "positive int as replicas, but got 0", lambda: simulate("1F1B", 2, 2, replicas=0)),
    (ValueError, "negative as latency", lambda: simulate("1F1B", 2, 2, latency=-1)),
    (ValueError, "positive bandwidth", lambda: simulate("1F1B", 2, 2, bandwidth=0)),
    (ValueError, "Unknown schedule name", lambda: simulate("2F2B", 2, 2)),
    (TypeError, "expected a schedule, got int", lambda: simulate(3, 2, 2)),
    (ValueError, "greater than or equal to the number of stages", lambda: simulate("1F1B", 3, 2, timeline=False)),
    (ValueError, "multiple of the number of rounds", lambda: simulate("Interleaved1F1B", 2, 5, timeline=False)),
    (ValueError, "Schedule1F1B runs 1 stage on each rank, got 2", lambda: simulate(Schedule1F1B, 2, 2, 2)),
    (ValueError, "ScheduleZBVZeroBubble runs 2 stages on each rank, got 1", lambda: simulate("ZBVZeroBubble", 2, 3, 1)),
    (ValueError, "the ranks [1] and 1 stages", lambda: simulate({1: ["0F0", "0B0"]})),
    (ValueError, "and 0 stages", lambda: simulate({})),
    (RuntimeError, "Invalid action string", lambda: simulate({0: ["F"]})),
    (AssertionError, "without first running Forward", lambda: simulate({0: ["0B0", "0F0"]})),
    (AssertionError, "Deadlock: no rank can go on: rank 0 waits at 2F0 for 1F0, rank 1 waits at 1F0 for 0F0",
     lambda: simulate({0: ["2F0", "0F0", "2B0", "0B0"], 1: ["1F0", "1B0"]})),
    (ValueError, "ScheduleZBVZeroBubble holds for 3 ranks with M >= 5, and with F = I = W, but got M = 4",
     lambda: step_time_of("ZBVZeroBubble", 3, 4)),
    (ValueError, "with F = I = W", lambda: bubble_of("ZBVZeroBubble", 2, 8, F=2)),
    (ValueError, "Schedule1F1B holds for 3 ranks with M >= 3", lambda: bubble_of("1F1B", 3, 2)),
    (ValueError, "step_time_of() expects finite numbers", lambda: bubble_of("1F1B", 3, 3, F=-1)),
    (ValueError, "step_time_of() expects a positive int as ranks", lambda: bubble_of("1F1B", 0, 3)),
])
def test_bad_input(error, key, call):
    with pytest.raises(error) as info:
        call()
    assert key in str(info.value)
