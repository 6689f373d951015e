"""The second page of the cheat sheet: the calls, what minigrad adds to PyTorch's, formulas with what they save, and the grad modes.

Its facts are computed when the page is drawn: which tensors a node has saved, and what a mode does. ``tests/docs/test_sheet.py``
compares each formula with the engine, and looks up each call in PyTorch and in minigrad. ``sheet.py`` has the first page.
"""

from typing import NamedTuple

import minigrad as mg
from tools.docs import sheet_style as style
from tools.docs.drawing import Drawing, width

__all__ = ["CALLS", "FORMULAS", "MODES", "OURS", "WRITES", "Mode", "draw", "mode_facts", "saved_by"]

# A call that is the same in PyTorch, with `torch` for `mg`, and what it is for.
CALLS = [
    ("mg.tensor([1., 2.], requires_grad=True)", "a leaf: its gradient goes to `.grad`"),
    ("y.backward()", "adds to `.grad` of all leaves below y"),
    ("mg.autograd.grad(y, x)", "returns the gradient, and leaves `.grad` as it is"),
    ("mg.autograd.grad(y, x, create_graph=True)", "records the gradient too: differentiate it again"),
    ("mg.autograd.Function", "your own `forward` and `backward`, with a `ctx`"),
    ("mg.library.custom_op", "your own operator, with a schema"),
    ("mg.autograd.gradcheck(f, x)", "compares with finite differences, in float64"),
    ("mg.autograd.graph.saved_tensors_hooks", "`pack` and `unpack` what nodes save"),
    ("mg.autograd.graph.get_gradient_edge(x)", "a place in the graph, without its tensor"),
    ("mg.utils.checkpoint.checkpoint(f, x)", "saves the arguments alone, and runs f again in the backward"),
    ("mg.autograd.set_detect_anomaly(True)", "names the line of the forward whose backward gave nan"),
    ("mg.autograd.forward_ad.dual_level", "forward mode: derivatives with the values"),
    ("mg.func.vjp(f, x)", "f(x), and the function from g to g times the Jacobian"),
    ("mg.func.jacrev(f)", "the function that computes the Jacobian"),
    ("mg.nn.utils.clip_grad_norm_(params, 1.0)", "scales all gradients together"),
]

# Without a counterpart in PyTorch.
OURS = [
    ("mg.debug.record()", "`with` it as r: each event of the engine"),
    ("mg.viz.step(r)", "a page to step through a record"),
    ("mg.viz.draw(y)", "the graph behind a tensor"),
    ("mg.debug.saved(y)", "what its nodes have saved"),
    ('mg.explain("MG-E102")', "the page of an error; without a code, of the last one"),
    ("mg.utils.source.source_of(f)", "the lines that run"),
    ("mg.testing.expect_error(cls, code=...)", "an error that must come"),
]

# An op on x and w, and the gradients of its inputs from that of its result, g: text that runs.
FORMULAS = [
    ("x + w", "g, g"), ("x * w", "g * w, g * x"), ("x / w", "g / w, -g * x / w**2"), ("x ** 2", "2 * x * g"),
    ("x @ w", "g @ w.T, x.T @ g"), ("x.sum()", "g.expand(x.shape)"), ("x.reshape(9)", "g.reshape(x.shape)"), ("x.T", "g.T"),
    ("x.cumsum(0)", "g.flip(0).cumsum(0).flip(0)"),
    ("x.exp()", "g * result"), ("x.log()", "g / x"), ("x.sqrt()", "g / (2 * result)"), ("x.sin()", "g * x.cos()"),
    ("x.tanh()", "g * (1 - result**2)"), ("x.sigmoid()", "g * result * (1 - result)"), ("x.relu()", "g * (result > 0)"),
    ("x.softmax(0)", "result * (g - (g * result).sum(0))"), ("x.log_softmax(0)", "g - result.exp() * g.sum(0)"),
]

MODES = ["enable_grad", "no_grad", "inference_mode"]

WRITES = [
    "*A leaf that requires grad* may be written under `mg.no_grad()` only; so an optimizer does.",
    "*A write counts:* the version of the storage grows by 1. What a node has saved of it can no longer be used: `MG-E102`.",
    "*A view shares* memory and version with its base. A write to the one is a new node of the other: `CopySlices`, `AsStrided`.",
    "*Cut the graph:* `y.detach()` shares memory with y and has no history; `y.detach().clone()` shares nothing.",
    "*Freeze a part:* `p.requires_grad_(False)`, on leaves only. No node is made for what depends on frozen tensors alone.",
    "*Before a step:* `optimizer.zero_grad()` sets each `.grad` to None. Without it, gradients of several steps add up.",
]


class Mode(NamedTuple):
    """What holds for ``y = 2 * x`` in a mode, where x requires grad."""

    recorded: bool
    requires_grad: bool
    counts_versions: bool
    used_later: bool        # in a product that is recorded, after the mode


def mode_facts(name):
    """Run ``y = 2 * x`` in a mode."""
    x = mg.ones(2, requires_grad=True)
    with getattr(mg, name)():
        y = 2 * x
    try:
        (y * x).sum().backward()
        used_later = True
    except RuntimeError:
        used_later = False
    return Mode(y.grad_fn is not None, y.requires_grad, not y.is_inference(), used_later)


def saved_by(op):
    """The names of the tensors that the node of an op saves: of x, w and result."""
    x, w = [mg.full((3, 3), value, requires_grad=True) for value in (2.0, 3.0)]
    node = eval(op, {"x": x, "w": w}).grad_fn
    kept = [name.removeprefix("_saved_") for name in dir(node)
            if name.startswith("_saved_") and isinstance(getattr(node, name), mg.Tensor)]
    return sorted([{"self": "x", "other": "w", "mat2": "w"}.get(name, name) for name in kept], key=["x", "w", "result"].index)


def draw():
    """The page as a `Drawing`, which has been checked."""
    d = Drawing(*style.PAGE, "minigrad on two pages: the calls",
                "Cheat sheet, second page: calls of PyTorch, what minigrad adds, formulas and what they save, grad modes, writes.",
                margin=24.0)
    end = d.text(style.MARGIN, 40, "The calls, and the formulas behind them", style.TITLE, "bold")
    d.text(end + 10, 40, "mg is minigrad: import minigrad as mg", style.HEADING, colour=style.SOFT)
    d.text(style.PAGE[0] - style.MARGIN, 40, f"minigrad {mg.__version__}", style.BODY, colour=style.SOFT, anchor="end")
    names(d, style.column(0), 58.0, style.span(7), 6, "The same in PyTorch, with torch for mg", CALLS)
    names(d, style.column(7), 58.0, style.span(5), 7, "Only in minigrad", OURS)
    modes(d, style.column(7), 208.0, style.span(5))
    formulas(d, style.column(0), 318.0, style.span(12))
    at = style.heading(d, style.column(0), 478.0, style.span(12), 10, "Writing in place, and cutting the graph")
    for i, text in enumerate(WRITES):
        d.paragraph(style.column(4 * (i % 3)), at + 33 * (i // 3), style.span(4), text, style.BODY, style.LEADING)
    d.check()
    return d


def names(d, x, y, wide, number, title, rows):
    """A table of calls, and what each is for."""
    at = style.heading(d, x, y, wide, number, title)
    calls = max([width(call, "mono", style.SMALL) for call, _ in rows]) + 12
    for call, what in rows:
        d.text(x, at, call, style.SMALL, "mono", style.BLUE)
        at = d.paragraph(x + calls, at, wide - calls, what, style.BODY, style.LEADING) + 3


def modes(d, x, y, wide):
    """A table of the grad modes: what holds for y = 2 * x in each."""
    at = style.heading(d, x, y, wide, 8, "Grad modes: y = 2 * x, where x requires grad")
    columns = [x, x + 0.3 * wide, x + 0.45 * wide, x + 0.64 * wide, x + 0.82 * wide]
    at = style.table(d, columns, at, wide, ("", "recorded", "requires grad", "has a version", "saved later"))
    for name in MODES:
        d.text(x, at, f"mg.{name}()", style.SMALL, "mono", style.BLUE)
        for left, holds in zip(columns[1:], mode_facts(name)):
            word, face, colour = ("yes", "bold", style.INK) if holds else ("no", "sans", style.SOFT)
            d.text(left, at, word, style.BODY, face, colour)
        at += style.ROW
    text = "*saved later:* a recorded op may save y after the mode. The innermost mode holds; each thread has its own."
    d.paragraph(x, at + 5, wide, text, style.BODY, style.LEADING)


def formulas(d, x, y, wide):
    """Two tables side by side: an op, the gradients of its inputs, and what its node has saved for them."""
    top = style.heading(d, x, y, wide, 9, "Formulas, from g, the gradient of the result: a node saves what its formula needs")
    half, rows = (wide - style.GUTTER) / 2, len(FORMULAS) // 2
    for side in range(2):
        left = x + side * (half + style.GUTTER)
        columns = left, left + 0.24 * half, left + 0.8 * half
        at = style.table(d, columns, top, half, ("op", "gradients of its inputs", "saves"))
        for op, formula in FORMULAS[side * rows:(side + 1) * rows]:
            d.text(columns[0], at, op, style.SMALL, "mono", style.BLUE)
            d.text(columns[1], at, formula, style.SMALL, "mono")
            saves = ", ".join(saved_by(op))
            d.text(columns[2], at, saves or "no tensor", style.BODY, colour=style.INK if saves else style.SOFT)
            at += style.ROW
