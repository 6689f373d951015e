"""Compare two records of the engine, step by step.

    steps of a, steps of b ──> pairs      (3, 3, "=")  (4, 4, "≠")  (5, None, "−")  (None, 5, "+")

The common beginning and the common end of the records are paired directly; `difflib` aligns the steps between them. Two steps are
a pair if they have the same kind, node and backward. They are the same if their descriptions are equal; the numbers of steps in
the descriptions do not count.

Nodes are numbered in the order of their appearance, so one additional node in a record shifts all later names. Therefore `difflib`
first matches the nodes of b with those of a, by their ops in order.

The page has a step-through of each record, and one slider for both that moves along the pairs.
"""

import difflib
import os
import re

from minigrad._arguments import instance
from minigrad._debug.events import Event
from minigrad._debug.record import Record
from minigrad.viz._page import escape, fragment, json_data, page, script, style, tag
from minigrad.viz._step_through import button, folded_list, keys, stepped

__all__ = ["Diff"]

ALIGNED = 2000      # the largest number of steps that difflib aligns: its cost grows faster than their number
NUMBER = re.compile(r"step \d+")
NODE = re.compile(r"\bn\d+\b")
KEYS = [("← →", "step"), ("↑ ↓", "difference"), ("t", "tables")]
MARKS = {"=": "the same", "≠": "differs", "−": "only left", "+": "only right"}

Pair = tuple[int | None, int | None, str]


class Diff:
    """Two records side by side. `viz.diff` makes it, and documents it.

    pairs       (step of a, step of b, mark): steps are counted from 1, None is a missing step; the mark is one of = ≠ − +

    >>> x = mg.tensor(1., requires_grad=True)
    >>> with mg.debug.record() as r:
    ...     y = x.exp()
    >>> mg.viz.diff(r, r).pairs
    [(1, 1, '='), (2, 2, '=')]
    """

    def __init__(self, a: Record, b: Record, labels: tuple[str, str], most: int):
        for name, record in (("a", a), ("b", b)):
            instance(record, Record, name, "Diff")
        self._labels = labels
        self._events = a.events, b.events
        self.pairs = align(*self._events)
        shown = [pair for pair in self.pairs if (pair[0] or 0) <= most and (pair[1] or 0) <= most]
        sides = [tag("div", tag("p", escape(label), cls="mg-label-line") + stepped(record, 1, most, "{}"), cls="mg-side")
                 for label, record in zip(labels, (a, b))]
        count = self.count()
        inner = (style() + tag("p", tag("strong", count), cls="mg-more", role="status") + control_bar(len(shown))
                 + tag("div", "".join(sides), cls="mg-sides") + self._listing(shown)
                 + json_data([[i, j] if mark == "=" else [i, j, 1] for i, j, mark in shown])
                 + script("step.js") + script("diff.js"))
        self._html = fragment("mg-diff", f"Two records side by side: {count}", inner, tabindex="0")

    def count(self) -> str:
        """A sentence that says how many steps differ."""
        number = len([pair for pair in self.pairs if pair[2] != "="])
        return f"{number} of {len(self.pairs)} steps differ" if number else f"all {len(self.pairs)} steps are the same"

    def _listing(self, shown):
        """The pairs as a table."""
        rows = []
        for i, j, mark in shown:
            cells = [tag("td", step_cell(events, k)) for events, k in zip(self._events, (i, j))]
            sign = tag("th", mark, scope="row", title=MARKS[mark], aria_label=MARKS[mark])
            rows.append(tag("tr", sign + "".join(cells), data_mark=mark))
        heads = "".join([tag("th", escape(label), scope="col") for label in ("mark", *self._labels)])
        table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", "".join(rows)))
        return folded_list(f"All {len(shown)} pairs of steps", table)

    def __repr__(self) -> str:
        lines, same = [f"− {self._labels[0]}", f"+ {self._labels[1]}", self.count()], 0
        for i, j, mark in [*self.pairs, (None, None, "")]:
            if mark == "=":
                same += 1
                continue
            if same:
                lines.append(f"  ... {same} the same")
                same = 0
            lines += [f"{sign} {event_line(events[k - 1])}" for sign, events, k in zip("−+", self._events, (i, j)) if k is not None]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self._html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a complete HTML page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(page("minigrad: two records", self._html))


def event_line(event: Event) -> str:
    """A step as one line of text."""
    node = f" {event.node} {event.op}" if event.node else ""
    return f"{event.step:>4}  {event.kind}{node}: {event.what}" + (f" ({event.why})" if event.why else "")


def step_cell(events, step):
    """A step as the content of a cell; empty for a missing step."""
    if step is None:
        return ""
    event = events[step - 1]
    node = " " + tag("code", escape(f"{event.node} {event.op}")) if event.node else ""
    return (f"{step} " + tag("span", event.kind, cls="mg-kind", data_kind=event.kind) + node
            + tag("code", escape(event.what), cls="mg-what") + tag("span", escape(event.why), cls="mg-why"))


def control_bar(number):
    """The buttons and the slider that move both sides."""
    slider = tag("input", type="range", min="1", max=str(max(number, 1)), value="1", aria_label="pair of steps")
    slider = slider.removesuffix("</input>")
    return tag("div", button("dback", "back one step, both", tag("span", "◀ back")) + button("dforth", "forward one step, both",
               tag("span", "forward ▶")) + button("dbefore", "to the difference before", tag("span", "◀ difference"))
               + button("dnext", "to the next difference", tag("span", "difference ▶")) + slider
               + button("dfold", "tables: show them, or the graphs alone", "tables", aria_expanded="false") + keys(KEYS),
               cls="mg-bar mg-js")


# ---- alignment ----------------------------------------------------------------------------------------------


def match_names(a, b):
    """The name in a of each node of b; a node without a match gets a new name."""
    left, right = [list({e.node: e.op for e in events if e.node}.items()) for events in (a, b)]
    if left == right or max(len(left), len(right)) > ALIGNED:
        return {}
    names = {name: f"{name} of b" for name, _ in right}
    matcher = difflib.SequenceMatcher(None, [op for _, op in left], [op for _, op in right], autojunk=False)
    for i, j, number in matcher.get_matching_blocks():
        names.update({right[j + k][0]: left[i + k][0] for k in range(number)})
    return names


def comparison_keys(events, names):
    """For each step: the key of a pair, and the two texts that are equal in equal steps. `names` renames the nodes."""
    def named(text):
        return NODE.sub(lambda found: names.get(found[0], found[0]), text) if names else text

    return [((e.task, e.kind, names.get(e.node, e.node), e.op), named(e.what), named(NUMBER.sub("", e.why))) for e in events]


def align(a: list[Event], b: list[Event]) -> list[Pair]:
    """Pairs of steps."""
    names = match_names(a, b)
    left, right = comparison_keys(a, {}), comparison_keys(b, names)
    first, shorter = 0, min(len(left), len(right))
    while first < shorter and left[first] == right[first]:
        first += 1
    last = 0
    while last < shorter - first and left[-1 - last] == right[-1 - last]:
        last += 1
    pairs: list[Pair] = [(i, i, "=") for i in range(1, first + 1)]
    pairs += align_middle(left[first:len(left) - last], right[first:len(right) - last], first)
    return pairs + [(len(left) - k, len(right) - k, "=") for k in range(last - 1, -1, -1)]


def align_middle(left, right, first):
    """Pairs of steps between the same beginning and the same end; `first` steps are before them."""
    if max(len(left), len(right)) > ALIGNED:
        found = [("replace", 0, len(left), 0, len(right))]
    else:
        found = difflib.SequenceMatcher(None, [x[0] for x in left], [x[0] for x in right], autojunk=False).get_opcodes()
    pairs: list[Pair] = []
    for _, i, i_end, j, j_end in found:
        while i < i_end or j < j_end:
            if i < i_end and j < j_end and left[i][0] == right[j][0]:
                pairs.append((first + i + 1, first + j + 1, "=" if left[i] == right[j] else "≠"))
                i, j = i + 1, j + 1
            elif i < i_end:
                pairs.append((first + i + 1, None, "−"))
                i += 1
            else:
                pairs.append((None, first + j + 1, "+"))
                j += 1
    return pairs
