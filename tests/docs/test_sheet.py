"""The cheat sheet: everything that it says is true, each name on it exists, and no text of the drawing is cut or on another."""

import inspect
import re
import xml.etree.ElementTree as ElementTree

import pytest

import minigrad as mg
from minigrad.errors import catalogue
from tools.docs import drawing, sheet, sheet_back, sheet_facts, sheet_style
from tools.docs.drawing import Drawing
from tools.docs.sheet_facts import ERRORS, EXAMPLE, GRAPH, HOOK_RULES, QUEUE, STATIONS, VERSIONS, WATCH

TEXTS = [*[text for _, text in GRAPH + QUEUE], *HOOK_RULES, *VERSIONS, WATCH, *[fix for _, _, fix in ERRORS]]
CODE = [*[code for text in TEXTS for code in re.findall(r"`([^`]+)`", text)], *EXAMPLE.splitlines(),
        *[call.replace(" ", "") for s in STATIONS for call in (s.h, s.x) if call and "(" in call]]


@pytest.fixture
def needs_fonts():
    for module in ("reportlab", "fontTools", *[package for package, _ in drawing.FACES.values()]):
        pytest.importorskip(module, reason="the drawing needs the extra `docs`")


# ---- what it says -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code, words, fix", ERRORS)
def test_the_message_has_these_words(code, words, fix):
    assert code in catalogue() and words in sheet_facts.message(code)


def test_each_name_exists():
    """Names after a dot belong to minigrad, a tensor, a node, ctx or a Function; names before `=` in a call are parameters."""
    x = mg.tensor(2.0, requires_grad=True)
    known = {"mg": mg, "h": x * 2, "n": (x * 2).grad_fn, "x": x, "y": x, "loss": x, "ctx": mg.autograd.function.FunctionCtx,
             "t": x}
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    for code in CODE:
        for name in re.findall(r"\b[a-z]+(?:\.\w+)+", code):
            first, *rest = name.split(".")
            found = known[first]
            for part in rest:
                if (first, part) != ("ctx", "saved_tensors"):
                    assert hasattr(found, part), f"{code}: {name}"
                    found = getattr(found, part)
        for name in re.findall(r"(?:^|[^\w.])\.?(\w+)\(", code):
            assert any(hasattr(place, name) for place in (mg, x, mg.autograd, mg.Tensor)) or name in ("f",), code
        for name in re.findall(r"(\w+)=(?:True|None)", code):
            functions = mg.Tensor.backward, mg.autograd.grad, mg.tensor
            assert any(name in inspect.signature(f).parameters for f in functions) or name in mg.tensor.__doc__, code
        for name in re.findall(r"MG-E\d+", code):
            assert name in catalogue()
    for name, _ in GRAPH:
        assert name in ("leaf", "Node") or hasattr(x * 2, name) or hasattr(accumulator, name) or name == accumulator.name()
    assert accumulator.variable is x and hasattr(mg.autograd.graph, "Node") and hasattr(mg.autograd.function, "once_differentiable")


def test_the_example():
    """The numbers of the drawing, and what it is chosen to show: a node that waits for two edges, and two nodes that are ready."""
    ran = sheet_facts.run_example()
    assert ran.values == {"x": 4, "h": 2, "s": 4, "t": 2, "y": 6} and ran.grad == 2.25
    assert ran.edges["MulBackward0"] == ["DivBackward0"] * 2 and ran.edges["DivBackward0"] == ["AccumulateGrad", None]
    assert ran.counted == {"AddBackward0": 0, "SqrtBackward0": 1, "MulBackward0": 1, "DivBackward0": 2, "AccumulateGrad": 2}
    assert ran.turns[1].queue == ["SqrtBackward0", "MulBackward0"] and ran.created["SqrtBackward0"] > ran.created["MulBackward0"]
    assert [turn.node for turn in ran.turns] == ["AddBackward0", "SqrtBackward0", "MulBackward0", "DivBackward0", "AccumulateGrad"]


def test_how_tensors_are_saved():
    names = {"mg": mg}
    exec(EXAMPLE.partition("y.backward()")[0], names)
    assert names["s"].grad_fn._saved_self is names["h"], "the tensor itself"
    assert names["t"].grad_fn._saved_result is not names["t"], "without its history: no cycle"
    assert {n: saved for n, saved in sheet_facts.run_example().saved.items() if saved} == {
        "SqrtBackward0": ["result"], "MulBackward0": ["other", "self"]}
    x = mg.tensor(2.0, requires_grad=True)
    h = x * 1
    assert "nothing saved" in str(mg.debug.saved(h * 2))


def test_who_shares_a_version():
    base = mg.zeros(2)
    view, detached, data = base[0], base.detach(), base.data
    base.add_(1)
    assert [t._version for t in (base, view, detached, data)] == [1, 1, 1, 0]


def test_an_attribute_of_ctx_is_not_checked():
    class Double(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x, save):
            if save:
                ctx.save_for_backward(x)
            ctx.x = x.detach()
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * sum([t.sum() for t in (*ctx.saved_tensors, ctx.x)]), None
    for save in (False, True):
        x = mg.tensor([1.0], requires_grad=True)
        h = x * 1
        y = Double.apply(h, save)
        h.detach().add_(1)
        if save:
            with mg.testing.expect_error(RuntimeError, code="MG-E102"):
                y.backward()
        else:
            y.backward()


def test_the_order_of_the_stations():
    """All kinds of hooks, registered in the wrong order; then each stop is where the sheet has it."""
    x = mg.tensor(2.0, requires_grad=True)
    h = x * 3
    y = h * h
    accumulator, events, kept = h.grad_fn.next_functions[0][0], [], []

    def note(name):
        def hook(*given):
            events.append(name)
            kept.append((name, h.grad is not None, x.grad is not None))
        return hook
    accumulator.register_hook(note("x hooks of the node"))
    x.register_post_accumulate_grad_hook(note("x post-accumulate hooks"))
    accumulator.register_prehook(note("x pre-hooks of the node"))
    x.register_hook(note("x tensor hooks"))
    h.grad_fn.register_hook(note("h hooks of the node"))
    h.grad_fn.register_prehook(note("h pre-hooks of the node"))
    h.retain_grad()
    h.register_hook(note("h tensor hooks"))
    with mg.debug.record() as record:
        y.backward()
    hooks = ("tensor hooks", "pre-hooks of the node", "post-accumulate hooks", "hooks of the node")
    assert events == [f"{t} {s.name}" for t in "hx" for s in STATIONS if s.name in hooks and getattr(s, t)]
    assert kept[:2] == [("h tensor hooks", False, False), ("h pre-hooks of the node", True, False)], "retain_grad is between"
    assert [after for name, _, after in kept if name.startswith("x")] == [False, False, True, True], "x.grad is set between"
    order = [e.kind for e in record.events if e.op == h.grad_fn.name() and e.node != record.events[0].node]
    assert order.index("retain") < order.index("compute")
    assert [s.name for s in STATIONS] == ["tensor hooks", "retain_grad", "pre-hooks of the node", "the node runs",
                                          "post-accumulate hooks", "hooks of the node", "release, deliver"]


def test_grad_makes_only_the_first_stops():
    x = mg.tensor(2.0, requires_grad=True)
    h = x * 3
    events = []
    h.register_hook(lambda g: events.append("tensor"))
    h.retain_grad()
    h.grad_fn.register_prehook(lambda g: events.append("pre"))
    h.grad_fn.register_hook(lambda g, outs: events.append("post"))
    mg.autograd.grad(h * h, h)
    assert events == ["tensor"] and h.grad is not None


# ---- the second page ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op, formula", sheet_back.FORMULAS)
def test_each_formula_is_the_gradient(op, formula):
    """In numbers, and it uses no tensor but those that the node has saved, and g."""
    x, w = [mg.rand(3, 3, dtype=mg.float64).add_(0.5).requires_grad_() for _ in range(2)]
    result = eval(op, {"x": x, "w": w})
    g = mg.rand(result.shape, dtype=mg.float64)
    wanted = mg.autograd.grad(result, [x, w], g, allow_unused=True)
    names = {"x": x.detach(), "w": w.detach(), "result": result.detach(), "g": g}
    found = eval(formula, names)
    for mine, theirs in zip(found if isinstance(found, tuple) else (found,), wanted):
        assert mg.allclose(mine, theirs, rtol=1e-12)
    used = {name for name in ("x", "w", "result") if re.search(rf"\b{name}\b(?!\.shape)", formula)}
    assert used == set(sheet_back.saved_by(op))


def test_each_call_is_in_pytorch_and_here():
    packages = [mg]
    try:
        import torch
        import torch.utils.checkpoint
        packages.append(torch)
    except ImportError:
        pass
    for package in packages:
        for call, _ in sheet_back.CALLS:
            found = package
            for part in re.match(r"[\w.]+", call)[0].split(".")[1:]:
                found = getattr(found, part) if call.startswith("mg.") else getattr(package.Tensor, part)
            assert callable(found), call
    for call, _ in sheet_back.OURS:
        found = mg
        for part in re.match(r"[\w.]+", call)[0].split(".")[1:]:
            found = getattr(found, part)
        assert callable(found), call


def test_grad_modes():
    assert [tuple(sheet_back.mode_facts(name)) for name in sheet_back.MODES] == [
        (True, True, True, True), (False, False, True, True), (False, False, False, False)]


# ---- the drawing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [sheet, sheet_back])
def test_the_sheet_is_well_drawn(needs_fonts, page):
    drawn = page.draw()        # it has been checked
    assert len(drawn.boxes()) > 140 and (drawn.width, drawn.height) == sheet_style.PAGE
    assert {item[4] for item in drawn.items if item[0] == "text"} <= {18.0, 10.0, 7.6, 7.0}, "one scale of sizes"
    assert len({item[6] for item in drawn.items if item[0] == "text"}) <= 5, "few colours"


def test_both_files(needs_fonts):
    drawn = sheet.draw()
    svg = ElementTree.fromstring(drawn.svg())
    shown = "".join(svg.itertext())
    for code, words, _ in ERRORS:
        assert code in shown and words in shown
    assert svg.attrib["width"] == "297mm" and svg.attrib["height"] == "210mm" and "http" not in drawn.svg().partition(">")[2]
    assert drawn.svg() == sheet.draw().svg() and drawn.pdf() == sheet.draw().pdf(), "the same sources give the same files"
    both = drawn.pdf(sheet_back.draw())
    assert both.startswith(b"%PDF") and both.count(b"/Type /Page\n") == 2 and both == sheet.draw().pdf(sheet_back.draw())
    assert len(drawn.svg()) < 120_000 and len(both) < 120_000


@pytest.mark.parametrize("fault, spoil", [
    ("too small", lambda d: d.text(30, 60, "small", 5)), ("in the margin", lambda d: d.text(170, 50, "cut", 10)),
    ("on another text", lambda d: d.text(35, 32, "over", 10)),
    ("edge of a box", lambda d: d.rect(25, 60, 40, 18) or d.text(50, 72, "across", 10))])
def test_a_fault_is_found(needs_fonts, fault, spoil):
    """Otherwise the tests above would show nothing."""
    drawn = Drawing(200, 100, "t")
    drawn.text(30, 30, "a text", 10)
    drawn.check()
    spoil(drawn)
    with pytest.raises(ValueError) as raised:
        drawn.check()
    found = dict(part.rsplit(": ", 1) for part in str(raised.value).split("; "))
    assert [name for name, texts in found.items() if texts != "[]"] == [name for name in found if fault in name]


def test_paragraphs(needs_fonts):
    drawn = Drawing(200, 100, "t")
    assert drawn.paragraph(30, 30, 60, "one two `three` *four five* six, `seven`.", 10, 12) > 42
    assert all(right <= 90.01 for *_, right, _ in drawn.boxes())
    drawn.check()
    with pytest.raises(ValueError, match="wider than its column"):
        drawn.paragraph(30, 80, 20, "`retain_graph=True`", 10, 12)
