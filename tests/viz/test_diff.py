"""`mg.viz.diff`: equal steps are found to be equal, and each step is in one pair."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad._debug.events import Event
from minigrad.viz._diff import ALIGNED, align
from tests.viz.programs import RECORDS, diamond
from tests.viz.test_step import Reader


def whole(pairs, a, b):
    """Each step is in one pair, in order."""
    assert [i for i, _, _ in pairs if i] == list(range(1, len(a) + 1)) and [j for _, j, _ in pairs if j] == list(range(1, len(b) + 1))
    assert all(mark == ("−" if j is None else "+" if i is None else mark) and mark in "=≠−+" for i, j, mark in pairs)


@pytest.mark.parametrize("name", RECORDS)
def test_the_same(name):
    """Nothing differs, not even the order of leaves."""
    d = mg.viz.diff(RECORDS[name](), RECORDS[name]())
    assert {mark for _, _, mark in d.pairs} == {"="} and repr(d).endswith(f"{len(d.pairs)} the same")


def test_retain_graph():
    d = mg.viz.diff(diamond(keep=False, twice=True), diamond(keep=True, twice=True), labels=("freed", "kept"))
    first = [line for line in repr(d).splitlines() if not line.startswith("  ...")][3:8]
    assert [line[:1] + line.split(None, 2)[2].split()[0] for line in first] == ["−begin", "+begin", "−release", "−release", "−release"]
    assert any(line.startswith("−") and "error" in line and "MG-E101" in line for line in repr(d).splitlines())


def test_a_hook_removed():
    def double(g):
        return g * 2
    d = mg.viz.diff(diamond(hook=double), diamond())
    hook, = [pair for pair in d.pairs if pair[2] == "−"]
    assert d._events[0][hook[0] - 1].kind == "hook" and not [pair for pair in d.pairs if pair[2] == "+"]
    assert {d._events[0][i - 1].kind for i, _, mark in d.pairs if mark == "≠"} >= {"compute", "receive", "accumulate"}


def test_one_node_more():
    """Names shift behind it; the steps of all other nodes are paired, and are the same."""
    def program(more):
        x = mg.tensor(2., requires_grad=True)
        with mg.debug.record() as r:
            h = x.exp()
            if more:
                h = h.view(())
            (h.sin() * h).backward()
        return r

    a, b = program(False), program(True)
    d = mg.viz.diff(a, b)
    extra, = [name for name, op in b.nodes.items() if op == "ViewBackward0"]
    assert [a.nodes[name] for name in a.nodes] != [b.nodes.get(name) for name in a.nodes], "no name has shifted"
    assert {d._events[1][j - 1].node for i, j, _ in d.pairs if i is None} == {extra}
    assert [d._events[0][i - 1].kind for i, j, _ in d.pairs if j is None] == ["receive"]      # exp gets one gradient instead of two
    marks = {(d._events[0][i - 1].kind, mark) for i, j, mark in d.pairs if i and j}
    assert not {("made", "≠"), ("unpack", "≠"), ("compute", "≠"), ("accumulate", "≠")} & marks


def test_page():
    """Two step-throughs, the pairs for the script, and all of them as a table without it."""
    d = mg.viz.diff(diamond(twice=True), diamond(keep=True, twice=True), labels=("a < b", "kept"))
    html = d._repr_html_()
    read = Reader(html)
    kinds = [attributes.get("class", "") for _, attributes in read.elements]
    assert kinds.count("mg-viz mg-step") == 2 and html.count("<style>") == 1 and html.count("<script>") == 2
    assert len([1 for tag, attributes in read.elements if "data-mark" in attributes]) == len(d.pairs) and "a &lt; b" in html
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) == 3
    data = html.rpartition('type="application/json">')[2].partition("</script>")[0]
    assert [tuple(pair[:2]) for pair in json.loads(data)] == [pair[:2] for pair in d.pairs]


def test_empty():
    d = mg.viz.diff(mg.debug.record(), mg.debug.record())
    assert d.pairs == [] and "all 0 steps" in repr(d)
    d = mg.viz.diff(diamond(), mg.debug.record())
    assert {mark for _, _, mark in d.pairs} == {"−"}
    Reader(d._repr_html_())


def events(letters):
    return [Event(i, "made", f"n{ord(letter)}", f"Op{letter}", None, 0, 1, {"by": None}) for i, letter in enumerate(letters, 1)]


@settings(max_examples=100, deadline=None)
@given(st.text("abc", max_size=20), st.text("abc", max_size=20))
def test_alignment(a, b):
    pairs = align(events(a), events(b))
    whole(pairs, a, b)
    assert all(a[i - 1] == b[j - 1] for i, j, mark in pairs if mark == "=")


def test_long_records_are_not_aligned_for_ever():
    a, b = events("ab" * ALIGNED), events("cb" * ALIGNED)
    whole(align(a, b), a, b)
