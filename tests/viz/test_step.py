"""`mg.viz.step`: the fragment is complete, safe, and the same every time; its states agree with the engine."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import minigrad as mg
from minigrad.viz._page import script
from minigrad.viz._step_builder import build_steps
from minigrad.viz._timeline import Timeline
from tests.core.engine_tools import leaf
from tests.viz.programs import RECORDS, diamond, everything, nested, overwritten

VOID = {"input", "meta", "path", "rect", "wbr"}


class Reader(HTMLParser):
    """Reads a fragment: its elements, the texts of its list, and whether every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.items, self.data = [], [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "li" and "details" in self.open:
            self.items.append("")
        if tag not in VOID or self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID or (self.open and self.open[-1] == tag):
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "li" in self.open and "details" in self.open:
            self.items[-1] += data
        if self.open and self.open[-1] == "script" and self.elements[-1][1].get("type") == "application/json":
            self.data += data


def states(timeline):
    """The state of things after each step."""
    found, state = [], {}
    for step in build_steps(timeline):
        state = {**state, **step.changes}
        found.append((step.event, state))
    return found


@pytest.mark.parametrize("name", RECORDS)
def test_fragment(name):
    r = RECORDS[name]()
    html = mg.viz.step(r)._repr_html_()
    read = Reader(html)
    assert len(read.items) == len(r.events)             # without a script all steps are there, in words
    for item, event in zip(read.items, r.events):
        assert event.kind in item and event.why in item and (event.kind == "error" or event.what in item)
        assert event.node is None or f"{event.node} {event.op}" in item
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) == 1
    assert not re.search(r"(?:src|href)=|url\(|@import|https?://", html)
    assert len(json.loads(read.data)) == len(r.events)
    buttons = [attributes for tag, attributes in read.elements if tag in ("button", "input", "meter")]
    assert buttons and all(attributes.get("aria-label") for attributes in buttons)


def test_scripts_are_small():
    assert sum(len(script(name).encode()) for name in ("step.js", "diff.js", "draw.js")) < 16_500


def test_every_key_that_changes_is_somewhere():
    """Without a script the page shows the state after the last step."""
    r = everything()
    read = Reader(mg.viz.step(r)._repr_html_())
    steps = json.loads(read.data)
    end = {}
    for changes, _ in steps:
        end.update(changes)
    shown = {}
    for _, attributes in read.elements:
        for kind in ("data-t", "data-c"):
            if kind in attributes:
                shown.setdefault(attributes[kind], attributes.get("data-v") if kind == "data-c" else None)
    assert set(end) - {"kept.n"} <= set(shown)
    assert all(value in (None, end.get(key, "")) for key, value in shown.items())


def test_same_page_twice_has_another_id():
    r = diamond()
    first, second = [mg.viz.step(r)._repr_html_() for _ in range(2)]
    pattern = re.compile(r'id="([^"]+)"')
    a, b = pattern.findall(first), pattern.findall(second)
    assert a != b and pattern.sub("", first) == pattern.sub("", second)


PROGRAM = """
import minigrad as mg
x = mg.tensor([1., 2.], requires_grad=True)
w = mg.tensor([3., 4.], requires_grad=True)
with mg.debug.record() as r:
    z = ((x * w).exp() * w)
    z[0].mul_(2)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
print(mg.viz.step(r)._repr_html_(), mg.viz.diff(r, r)._repr_html_(), mg.viz.draw(z)._repr_html_(), r.to_json())
"""


def test_same_bytes(tmp_path):
    """In every process, whatever its hashes, in both modes."""
    (tmp_path / "program.py").write_text(PROGRAM)
    import os
    found = [subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, check=True,
                            env={**os.environ, "PYTHONHASHSEED": seed, "MINIGRAD_PURE": pure}).stdout
             for seed, pure in (("1", "1"), ("2", os.environ.get("MINIGRAD_PURE", "0")))]
    assert found[0] == found[1] and len(found[0]) > 10_000


def test_injection():
    """Names come from the program, and are text."""
    evil = "</script><img src=x onerror=alert(1)>&\"'<!--"

    def hook(g):
        return None
    hook.__name__ = evil
    Evil = type(evil, (mg.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 1),
                                                "backward": staticmethod(lambda ctx, g: g)})
    x = leaf(mg, 1.)
    x.register_hook(hook)
    with mg.debug.record(**{evil: x}) as r:
        y = Evil.apply(x)
        y.backward()
    plain = Reader(mg.viz.step(diamond())._repr_html_())
    for page in (mg.viz.step(r), mg.viz.diff(r, r, labels=(evil, evil)), mg.viz.draw(y, names={evil: x})):
        read = Reader(page._repr_html_())
        assert {tag for tag, _ in read.elements} <= {tag for tag, _ in plain.elements} | {"p", "strong", "title", "td"}
        assert not any(name.startswith("on") for _, attributes in read.elements for name in attributes)


# ---- the states are true ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDS)
def test_queue_and_turns(name):
    """A node runs when it is first in the queue, waits for nothing, and nothing else of its task runs."""
    before = {}
    for event, state in states(Timeline(RECORDS[name]())):
        if event.kind == "dequeue":
            queue = before[f"t{event.task}.q"].split()
            assert queue[0] == event.node and set(queue[1:]) == set(event.data["others"])
            assert before[f"t{event.task}.{event.node}.w"] == "0"
        if event.task is not None and f"t{event.task}.s" in state:
            running = [key for key, value in state.items() if key.startswith(f"t{event.task}.") and key.endswith(".s") and value == "run"]
            assert len(running) <= 1
        before = state


def test_kept_bytes():
    """The bytes kept agree with `mg.debug.saved`."""
    x = mg.ones(10, requires_grad=True)
    with mg.debug.record() as r:
        y = x.exp()
        z = (y * y).sin().sum()
        kept = mg.debug.saved(z).nbytes
        z.backward()
    found = states(Timeline(r))
    begun = next(state for event, state in found if event.kind == "begin")
    assert begun["kept"] == f"{kept:,} bytes in 2 storages" and found[-1][1]["kept"] == "0 bytes in 0 storages"
    assert found[-1][1]["kept.n"] == "0"


def test_versions_of_leaves():
    """A leaf that was written to earlier is shown with its version, even if no op saves it."""
    x, b = leaf(mg, 1., 2.), leaf(mg, 0., 0.)
    with mg.no_grad():
        b.add_(1)
    with mg.debug.record(b=b) as r:
        (x + b).sum().backward()
    name = next(key for key, called in r.names.items() if called == "b")
    assert states(Timeline(r))[-1][1][f"{name}.v"] == "1" == str(b._version)


def test_error_in_the_middle():
    timeline = Timeline(overwritten())
    event, state = states(timeline)[-1]
    node = event.node
    assert event.kind == "error" and state[f"{node}.s"] == "fail" and state["t1.s"] == "failed"
    assert {state[saved.key + ".s"] for saved in timeline.saved[node]} == {"wrong"}
    storage = timeline.saved[node][0].data["storage"]
    assert state[f"{storage}.v"] == "1" and state[f"{storage}.o"].startswith("mul_, programs.py:")
    assert any(value == "wait" for key, value in state.items() if re.fullmatch(r"n\d+\.s", key))


def test_nested_backward():
    """While the inner one runs, the node of the outer one goes on running, and both tables are shown."""
    found = states(Timeline(nested()))
    inside = [state for event, state in found if event.depth == 1 and event.kind == "dequeue"]
    assert inside and all(state["t1.s"] == state["t2.s"] == "on" and state["n2.s"] == "run" for state in inside)
    end = found[-1][1]
    assert end["t1.s"] == end["t2.s"] == "over" and end["n3.g"] == "[8, 8]" and end["n3.h"] == "in place"


def test_gradients_that_change():
    """The gradient of a tensor with retain_grad() is shown; a hook that drops the gradient of a leaf leaves None."""
    def double(w):
        w.grad.mul_(2)

    def drop(w):
        w.grad = None

    w = mg.tensor(3., requires_grad=True)
    w.register_post_accumulate_grad_hook(double)
    w.register_post_accumulate_grad_hook(drop)
    h = w * 1
    h.retain_grad()
    with mg.debug.record(w=w, h=h) as r:
        (h * 5).backward()
    timeline = Timeline(r)
    (node, leaf_node), found = [[name for name, op in r.nodes.items() if op == what][-1] for what in ("MulBackward0", "AccumulateGrad")], states(timeline)
    shown = [(state.get(f"{leaf_node}.g", ""), state.get(f"{leaf_node}.h", "")) for _, state in found]
    assert [pair for pair in dict.fromkeys(shown) if pair[0]] == [("5", "stolen"), ("10", "by double"), ("None", "by drop")]
    assert [event.why for event in r.events if event.kind == "hook"] == [f"post-accumulate hook: {what}" for what in ("changed in place", ".grad dropped")]
    assert found[-1][1][f"{node}.g"] == "5" and found[-1][1][f"{node}.h"] == "retain_grad()"


def test_source_lines():
    """Of a node that runs: if the text of the program can be read, ``test_program.py`` looks at it."""
    timeline = Timeline(diamond())
    timeline.lines.clear()
    lines = {event.op: state["src.l"] for event, state in states(timeline) if event.kind == "dequeue"}
    assert lines["ExpBackward0"] == "y = (x * w).exp()" and lines["SumBackward0"] == "z = (y * w).sum()"


def test_questions():
    """Each question comes before its event, and the right answer agrees with the event."""
    raised = []
    for make in RECORDS.values():
        timeline = Timeline(make())
        for step in build_steps(timeline):
            quiz = step.quiz
            if quiz is None:
                continue
            assert quiz.answer in quiz.options and len(set(quiz.options)) == len(quiz.options) > 1
            if step.event.kind == "dequeue":
                assert quiz.answer == f"{step.event.node} {step.event.op}"
            else:
                after = next(event for event in timeline.events[step.event.step - 1:] if event.kind in ("compute", "accumulate", "error")
                             and (event.task, event.node) == (step.event.task, step.event.node))
                assert (quiz.answer == "yes") == (after.kind == "error")
                raised.append(quiz.answer)
    assert {"yes", "no"} == set(raised)


# ---- sizes -----------------------------------------------------------------------------------------------------


def test_empty():
    page = mg.viz.step(mg.debug.record())
    assert "Nothing recorded" in page._repr_html_() and repr(page) == "nothing recorded"
    Reader(page._repr_html_())


def test_forward_alone():
    x = leaf(mg, 1.)
    with mg.debug.record() as r:
        (x * 2).exp()
    assert len(Reader(r._repr_html_()).items) == 3


def test_long_record():
    """A part is on the page, with the state of things at its beginning, and how to get on."""
    x = leaf(mg, 1.)
    with mg.debug.record() as r:
        for _ in range(30):
            (x * 2).backward()
    whole = Reader(mg.viz.step(r)._repr_html_())
    html = mg.viz.step(r, first=101, most=50)._repr_html_()
    part = Reader(html)
    assert part.items == whole.items[100:150] and f"Steps 101 to 150 of {len(r.events)}" in html and "first=151" in html
    state = {}
    for changes, _ in json.loads(whole.data)[:101]:
        state.update(changes)
    assert json.loads(part.data)[0][0] == state
    assert "first=1)" in mg.viz.step(r, first=len(r.events) - 1)._repr_html_()
    for bad in (dict(first=0), dict(first=len(r.events) + 1), dict(most=0)):
        with pytest.raises(ValueError, match="MG-E177"):
            mg.viz.step(r, **bad)


@pytest.mark.parametrize("call", [lambda: mg.viz.step(1), lambda: mg.viz.diff(mg.debug.record(), None), lambda: mg.viz.draw([1]),
                                  lambda: mg.viz.draw(mg.ones(1), names={"x": 1})])
def test_refusals(call):
    with pytest.raises(TypeError, match="MG-E177"):
        call()


def test_saved_page(tmp_path):
    mg.viz.step(diamond()).save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.startswith("<!doctype html>") and "mg-step" in text
