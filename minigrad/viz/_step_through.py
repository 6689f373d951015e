"""The step-through of a record: a page of panels, a bar of buttons, and the list of all steps.

The HTML is complete without a script: the panels show the state after the last step, and the list is open. The script (``step.js``)
closes the list, shows the bar, and sets the texts and states of the panels from the steps of the timeline.

Read next: ``_panels.py``, for the tables.
"""

import os

from minigrad._arguments import instance
from minigrad._debug.events import Event
from minigrad._debug.record import Record
from minigrad.errors import TensorValueError
from minigrad.viz._animation import animated
from minigrad.viz._page import escape, fragment, json_data, page, script, style, tag
from minigrad.viz._panels import panels
from minigrad.viz._step_builder import build_steps
from minigrad.viz._timeline import Timeline, TimelineStep

__all__ = ["Step", "stepped"]

ICONS = {"first": "M2 2h2v12H2zM14 2v12L5 8z", "back": "M12 2v12L3 8z", "forth": "M4 2v12l9-6z",
         "last": "M12 2h2v12h-2zM2 2v12l9-6z", "play": "M3 1v14l11-7z", "pause": "M3 2h4v12H3zM9 2h4v12H9z"}
GLOSSES = {"made": "an op of the program makes a node", "write": "memory is overwritten in place",
           "pack": "a hook packs a tensor that is saved", "begin": "a backward begins",
           "count": "how many gradients each node has to wait for", "enqueue": "complete: into the queue",
           "dequeue": "out of the queue: its turn", "hook": "the user's function",
           "retain": "the gradient of a tensor with retain_grad()", "unpack": "a saved tensor is read, its version checked",
           "compute": "the vjp: the derivative times the incoming gradient",
           "release": "saved tensors are freed", "receive": "a gradient arrives along an edge",
           "accumulate": "a leaf gets its gradient", "result": "what grad() returns", "error": "the backward fails",
           "end": "the queue is empty"}
KEYS = [("← →", "step"), ("↑ ↓", "node"), ("Home End", ""), ("space", "play"), ("p", "predict"), ("t", "tables")]


class Step:
    """A page to step through a record. `viz.step` makes it, and documents it.

    >>> mg.viz.step(mg.debug.record())
    nothing recorded
    """

    def __init__(self, record: Record, first: int, most: int):
        self._table = repr(instance(record, Record, "record", "Step"))
        self._html = stepped(record, first, most, style() + "{}" + script("step.js"))
        self._of = record, first, most

    def __repr__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        return self._html

    def save(self, path: str | os.PathLike[str], animate: float | None = None) -> None:
        """Write a complete HTML page, or the graph alone as SVG.

        Args:
            path (str or PathLike): the file. With the suffix ``.svg`` it gets the graph after the last step, else the page.
            animate (float, optional): the seconds per step of an SVG that shows all steps, again and again, with a caption. It
                needs no script, so it plays in a slide of HTML or in an ``<img>``. A reader who has asked for less motion sees the
                last step.

        Raises:
            ValueError: `animate` is not positive, or `path` does not end in ``.svg``.

        >>> x = mg.tensor(2., requires_grad=True)
        >>> with mg.debug.record() as r:
        ...     (x * x).backward()
        >>> import os, tempfile
        >>> file = os.path.join(tempfile.mkdtemp(), "slide.svg")
        >>> mg.viz.step(r).save(file, animate=1.5)
        >>> with open(file) as f:
        ...     f.read().partition("{")[2].count("@keyframes") > 10
        True
        """
        picture = os.fspath(path).endswith(".svg")
        if animate is not None and not (picture and animate > 0):
            raise TensorValueError("MG-E177", f"save() animates an SVG, with a positive number of seconds per step, but got "
                                   f"{os.path.basename(os.fspath(path))!r} and animate={animate}")
        text = self._picture(animate) if picture else page("minigrad: step through a backward", self._html)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _picture(self, animate):
        record, first, most = self._of
        timeline = Timeline(record)
        before, shown = cut(build_steps(timeline), first, most)
        return animated(timeline, shown, before, animate)


def stepped(record: Record, first: int, most: int, around: str) -> str:
    """The fragment for a record. `around` is other HTML for the fragment, with {} in the place of the step-through."""
    timeline = Timeline(record)
    steps = build_steps(timeline)
    before, _, after = around.partition("{}")
    inner = before + body(timeline, steps, first, most) + after
    label = f"Step through what the engine did: {len(steps)} steps"
    return fragment("mg-step", label, inner, tabindex="0", data_total=str(len(steps)))


def body(timeline: Timeline, steps: list[TimelineStep], first: int, most: int) -> str:
    """The content of the fragment, without style and script."""
    if not steps:
        return tag("p", "Nothing recorded.", cls="mg-more")
    before, shown = cut(steps, first, most)
    end = dict(before)
    for step in shown:
        end.update(step.changes)
    data = [[step.changes if i else {**before, **step.changes}, question(step)] for i, step in enumerate(shown)]
    return (bar(len(shown)) + tag("div", cls="mg-card mg-js", aria_live="polite", aria_atomic="true")
            + panels(timeline, shown, lambda key: end.get(key, "")) + cut_off(len(steps), first, len(shown))
            + listing(timeline, shown) + json_data(data))


def cut(steps, first, most):
    """The state before step `first`, and the steps on the page."""
    before: dict[str, str] = {}
    for step in steps[:first - 1]:
        before.update(step.changes)
    return before, steps[first - 1:first - 1 + most]


def cut_off(number, first, shown):
    """A line that says which part of a long record is shown, and how to see the others; empty if all is shown."""
    if shown == number:
        return ""
    following = first + shown if first + shown <= number else 1
    return tag("p", f"Steps {first} to {first + shown - 1} of {number}. For the others: "
               + tag("code", f"mg.viz.step(r, first={following})"), cls="mg-more")


def question(step):
    """The question of a step as data for the script; 0 if there is no question."""
    quiz = step.quiz
    return 0 if quiz is None else [quiz.question, quiz.options, quiz.options.index(quiz.answer), quiz.why]


# ---- the bar ------------------------------------------------------------------------------------------------


def icon(name):
    return tag("svg", tag("path", d=ICONS[name]), viewBox="0 0 16 16", aria_hidden="true")


def button(name, label, inner="", **attributes):
    return tag("button", inner or icon(name), type="button", data_do=name, aria_label=label, title=label, **attributes)


def bar(number):
    """The bar with buttons and slider."""
    return tag("div", button("first", "first step", data_back=True) + button("back", "back one step", data_back=True)
               + button("play", "play", icon("play") + icon("pause"), aria_pressed="false")
               + button("forth", "forward one step", data_forth=True) + button("last", "last step", data_forth=True)
               + button("next", "next node: forward to its turn", "next node", data_forth=True)
               + tag("input", type="range", min="1", max=str(number), value="1", aria_label="step").removesuffix("</input>")
               + button("predict", "predict: be asked what happens next", "predict", aria_pressed="false")
               + button("fold", "tables: show them, or the graph alone", "tables", aria_expanded="true")
               + tag("span", cls="mg-score", role="status") + keys(KEYS), cls="mg-bar mg-js")


def keys(known):
    """The keys and what they do, as a line in the bar."""
    return tag("div", " ".join([tag("span", f"{tag('kbd', key)} {what}".strip()) for key, what in known]), cls="mg-keys")


# ---- the list -----------------------------------------------------------------------------------------------


def listing(timeline: Timeline, steps: list[TimelineStep]) -> str:
    """All steps, as a list."""
    lines = [line(timeline, step.event, step.formula) for step in steps]
    return folded_list(f"All {len(lines)} steps", tag("ol", "".join(lines), role="list"))


def folded_list(summary, inner):
    """A list in an open ``details`` element, which the script closes."""
    box = tag("div", inner, cls="mg-scroll", tabindex="0", role="group", aria_label=summary)
    return tag("details", tag("summary", summary) + box, cls="mg-list", open=True)


def line(timeline: Timeline, event: Event, formula: str) -> str:
    """A step as an item of the list, with the formula that it computes, if that is known."""
    where = []
    if event.task is not None and len(timeline.tasks) > 1:
        where.append(f"backward {event.task}")
    if event.thread > 1:
        where.append(f"thread {event.thread}")
    node = tag("code", escape(timeline.title(event.node)), cls="mg-op") if event.node else ""
    place = tag("span", ", ".join(where), cls="mg-where") if where else ""
    place += tag("span", GLOSSES[event.kind], cls="mg-gloss")
    what = event.what if event.kind != "error" else f"{event.data['type']}: {event.data['message']}"     # in full
    why = tag("span", escape(event.why), cls="mg-why") if event.why else ""
    worked = tag("code", escape(formula), cls="mg-formula") if formula else ""
    number = tag("span", f"{event.step} ", cls="mg-n")
    return tag("li", number + tag("span", event.kind, cls="mg-kind", data_kind=event.kind) + " " + node + place
               + tag("code", escape(what), cls="mg-what") + " " + worked + why, data_kind=event.kind, data_at=event.node or "",
               style=f"margin-left:{event.depth}em" if event.depth else False)
