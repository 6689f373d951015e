"""The text of the program beside the graph: which lines are shown, and which are marked at each step."""

import linecache

import pytest

import minigrad as mg
from minigrad.viz._program import shown
from minigrad.viz._step_builder import build_steps
from minigrad.viz._timeline import Timeline
from tests.viz.programs import RECORDS, diamond, nested, overwritten

LONG = [f"a{i} = {i}\n" for i in range(1, 101)]
CELL = """\
w = mg.tensor([1., 2.], requires_grad=True)

def net(x):
    return (x * w).exp()

with mg.debug.record(w=w) as r:
    loss = net(3).sum()
    loss.backward()
"""


def run(name, text, known=True, **more):
    """Run a cell as IPython does; its record."""
    if known:
        linecache.cache[name] = len(text), None, text.splitlines(True), name
    names = {"mg": mg, **more}
    exec(compile(text, name, "exec"), names)
    return names["r"]


def marked(record):
    """(kind, op, number of the line that runs, number of the line that made the node) of each step; 0 if there is none."""
    timeline, state, found = Timeline(record), {}, []
    number = {timeline.lines[title, i, text.strip()]: i for title, lines in timeline.program for i, text in lines}
    for step in build_steps(timeline):
        state.update(step.changes)
        marks = [(mark, number[key]) for key, value in state.items() if key in number for mark in value.split()]
        places = dict(marks)
        assert len(places) == len(marks)        # one line at most has each mark
        found.append((step.event.kind, step.event.op, places.get("run", 0), places.get("from", 0)))
    return found


def test_a_cell_is_shown_whole():
    timeline = Timeline(run("<ipython-input-7-a>", CELL))
    assert [(title, [text for _, text in lines]) for title, lines in timeline.program] == [("cell", CELL.splitlines())]


def test_the_line_moves():
    """Forward: the line that makes the node. Backward: the line that calls it, and that of the node that runs."""
    found = marked(run("<ipython-input-7-b>", CELL))
    assert [line for line in found if line[0] == "made"] == [
        ("made", "AccumulateGrad", 4, 0), ("made", "MulBackward0", 4, 0), ("made", "ExpBackward0", 4, 0), ("made", "SumBackward0", 7, 0)]
    assert {line[2] for line in found if line[0] != "made"} == {8}
    assert [line[1:] for line in found if line[0] == "dequeue"] == [
        ("SumBackward0", 8, 7), ("ExpBackward0", 8, 4), ("MulBackward0", 8, 4), ("AccumulateGrad", 8, 0)]
    assert found[-1] == ("end", "SumBackward0", 8, 0)


def test_functions_of_another_cell():
    """The cell with the record comes first, then the one whose function it calls."""
    head, tail = CELL.partition("with")[0], "with" + CELL.partition("with")[2]
    linecache.cache["<ipython-input-8-a>"] = len(head), None, head.splitlines(True), "<ipython-input-8-a>"
    names = {"mg": mg}
    exec(compile(head, "<ipython-input-8-a>", "exec"), names)
    timeline = Timeline(run("<ipython-input-9-a>", tail, **names))
    assert [[number for number, _ in lines] for _, lines in timeline.program] == [[1, 2, 3], [1, 2, 3, 4]]


def test_one_line_may_do_both():
    record = run("<ipython-input-7-c>", CELL.replace("    loss = net(3).sum()\n    loss.backward()", "    net(3).sum().backward()"))
    assert ("dequeue", "SumBackward0", 7, 7) in marked(record)


def test_a_backward_in_a_hook():
    """While it runs, its own line is marked; afterwards again that of the outer one."""
    found = marked(nested())
    calls = [line[2] for line, other in zip(found, [None, *found]) if other is None or line[2] != other[2]]
    assert len(calls) == 3 and calls[0] == calls[2]


def test_a_checkpoint_runs_forward_again():
    record = run("<ipython-input-10-a>", CELL.replace("net(3)", "mg.utils.checkpoint.checkpoint(net, w, use_reentrant=False)"))
    found = marked(record)
    begun = [line[0] for line in found].index("begin")
    assert {line[2] for line in found[begun:] if line[0] == "made"} == {4} and {line[2] for line in found[begun:]} == {4, 8}


@pytest.mark.parametrize("name", RECORDS)
def test_every_backward_has_a_line(name):
    assert all(line[2] for line in marked(RECORDS[name]()) if line[0] not in ("pack",))


def test_without_text_the_panel_has_a_line_alone():
    """At a prompt of Python 3.11, of which nothing keeps the text."""
    record = run("<stdin>", CELL, known=False)
    assert not Timeline(record).program
    html = mg.viz.step(record)._repr_html_()
    assert "Source line of the op" in html and ">Program<" not in html and "(its text cannot be read)" in html
    assert ">Program<" in mg.viz.step(diamond())._repr_html_()


def test_a_line_of_another_file_is_told():
    """A node that was made before the record, in a cell that is not shown."""
    with mg.debug():
        y = mg.ones(2, requires_grad=True).exp().sum()
    record = run("<ipython-input-11-a>", "with mg.debug.record() as r:\n    y.backward()\n", y=y)
    states = {}
    for step in build_steps(Timeline(record)):
        states.update(step.changes)
        if step.event.kind == "compute" and step.event.op == "ExpBackward0":
            assert states["src.f"].startswith("test_program.py:") and states["src.l"] == "y = mg.ones(2, requires_grad=True).exp().sum()"


def test_the_text_is_that_of_the_end_of_the_record():
    record = run("<ipython-input-12-a>", CELL)
    linecache.cache["<ipython-input-12-a>"] = 1, None, ["another\n"], "<ipython-input-12-a>"
    assert Timeline(record).program[0].lines[0][1].startswith("w = ")
    assert mg.debug.record().program == {} and mg.debug.record().entered is None


def test_files_of_others_are_not_the_program():
    """ExitStack enters the record, and the trainer of minigrad.run too: their files are not shown."""
    record = run("<ipython-input-13-a>", CELL.replace("with mg.debug.record(w=w) as r:", "import contextlib\n"
                 "with contextlib.ExitStack() as stack:\n    r = stack.enter_context(mg.debug.record(w=w))"))
    assert [title for title, _ in Timeline(record).program] == ["cell"]


def test_text_is_text():
    record = run("<ipython-input-14-a>", CELL + "# </li></script><img src=x>\n")
    assert "&lt;/li&gt;&lt;/script&gt;&lt;img src=x&gt;" in mg.viz.step(record)._repr_html_()


@pytest.mark.parametrize("text, used, expected", [
    (LONG[:60], {3}, [*range(1, 61)]),                                      # a short file
    (LONG, {3}, [3]),                                                       # of a long one the statement
    (["\n"] * 60 + ["with a:\n", "    b\n", "    c\n", "\n", "d\n"], {62}, [61, 62, 63]),
    (["\n"] * 60 + ["class A:\n", "    @b\n", "    def c(self):\n", "        d\n", "    e = 1\n"], {64}, [62, 63, 64]),
    (["def f():\n", *["    a\n"] * 99], {2, 50}, [1, 2, 3, 4, 5, 6, *range(46, 55)]),     # a long function
    (["%magic\n", *LONG], {50}, [50]),                                       # not Python
    (["a\n", "\n", "\n"], {1}, [1]),                                         # no empty lines at the end
])
def test_which_lines(text, used, expected):
    assert shown(text, used) == expected


def test_a_failing_backward():
    assert marked(overwritten())[-1][0] == "error" and all(marked(overwritten())[-1][2:])
