"""The picture of a pipeline's schedule: a row for each rank, a box for each action, from its start to its end.

    planned    rank 0   [F0][F1]- - - -[ B0 ][ B1 ]     idle 33.3 %         from simulate()
               rank 1   - -[F0][ B0 ][F1][ B1 ]- - -    idle 33.3 %
    measured   rank 0   ...                                                 from schedule.timeline, with schedule.record = True

The kinds of actions differ in letter, border and colour: F solid, B thick, I dashed, W dotted. Idle time is a thin line. It is
counted from the first start of all ranks to the last end.

Read before: ``_page.py``; the picture is in one piece, so nothing is laid out.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from minigrad._debug.tables import table
from minigrad.errors import AutogradTypeError, TensorValueError
from minigrad.viz._page import escape, fragment, page, standalone, style, tag

__all__ = ["Schedule"]

KINDS = {"F": "F: forward", "B": "B: whole backward", "I": "I: backward of the inputs", "W": "W: backward of the weights"}
LETTER = 7.3        # the width of a letter, at 12 pixels
LEFT, ROW, BOX = 74.0, 34.0, 26.0       # room for the name of a rank; the height of a row and of a box in it
MOST = 20_000       # the largest number of boxes


class Cell(NamedTuple):
    """An action: its text, the letter of its kind, its start and its end."""

    text: str
    kind: str
    start: Any
    end: Any


class Half(NamedTuple):
    """The planned or the measured half of a picture.

    rows: for each rank, its cells; start, end: of the whole; bubbles: the idle share of each rank; bubble: that of all."""

    name: str
    rows: list[list[Cell]]
    start: Any
    end: Any
    bubbles: list[float]
    bubble: float


class Schedule:
    """A picture of a schedule. `viz.schedule` makes it, and documents it.

    halves      the planned and the measured half, each with ``name``, ``rows``, ``start``, ``end``, ``bubbles`` and ``bubble``

    >>> from minigrad.distributed.pipelining import simulate
    >>> mg.viz.schedule(simulate("GPipe", 2, 2)).halves[0].bubbles
    [0.3333333333333333, 0.3333333333333333]
    """

    def __init__(self, planned: Any, measured: Any, title: str):
        self.halves = [half_of(name, timeline) for name, timeline in (("planned", planned), ("measured", measured))
                       if timeline is not None]
        self.title = title
        count = sum([len(row) for half in self.halves for row in half.rows])
        if count > MOST:
            raise TensorValueError("MG-E177", f"viz.schedule() draws at most {MOST} actions, but got {count}",
                                   fix="simulate fewer microbatches: a picture shows how a schedule begins, repeats and ends")

    def svg(self) -> str:
        """The picture as an SVG element, without the style sheet with its colours."""
        width = max([room_of(half) for half in self.halves])
        y, parts = 0.0, []
        if self.title:
            parts.append(words(4, 16, self.title, "mg-name"))
            y = 26.0
        for half in self.halves:
            parts.append(words(4, y + 16, f"{half.name}: {number(half.end - half.start)}, {percent(half.bubble)} idle", "mg-name"))
            y += 24
            labels = labels_of(half)
            for rank, (row, bubble) in enumerate(zip(half.rows, half.bubbles)):
                parts.append(words(4, y + 17, f"rank {rank}"))
                parts += draw_row(half, row, labels, y, width)
                parts.append(words(LEFT + width + 8, y + 17, f"{percent(bubble)} idle"))
                y += ROW
            y += 8
        parts += legend({cell.kind for half in self.halves for row in half.rows for cell in row}, y)
        width, height = LEFT + width + 110, y + 34
        return (f'<svg class="mg-graph" style="--w:{width:g}px" role="img" aria-label="{escape(self.about())}" width="{width:g}" '
                f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">{"".join(parts)}</svg>')

    def about(self) -> str:
        """A sentence that describes the picture."""
        found = [f"{half.name}: {len(half.rows)} ranks, {number(half.end - half.start)}, {percent(half.bubble)} idle"
                 for half in self.halves]
        return "; ".join([self.title] * bool(self.title) + found)

    def _repr_html_(self) -> str:
        picture = tag("div", self.svg(), cls="mg-scroll", tabindex="0", role="group", aria_label="schedule")
        return fragment("mg-schedule", f"A schedule: {self.about()}", style() + picture)

    def __repr__(self) -> str:
        rows = [("", "rank", "actions", "busy", "of", "idle")]
        for half in self.halves:
            for rank, (row, bubble) in enumerate(zip(half.rows, half.bubbles)):
                times = number(busy(row)), number(half.end - half.start), percent(bubble)
                rows.append((half.name, str(rank), str(len(row)), *times))
        return "\n".join(table(rows))

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the picture to a file.

        Args:
            path (str or PathLike): the file.
            format (str, optional): ``"html"`` or ``"svg"``; by default, the suffix of `path`.

        Raises:
            ValueError: another format.
        """
        form = os.fspath(path).rpartition(".")[2] if format is None else format
        if form not in ("html", "svg"):
            raise TensorValueError("MG-E177", f"a schedule is written as html or svg, not as {form!r}", fix='save("schedule.svg")')
        text = page(self.title or "minigrad: a schedule", self._repr_html_()) if form == "html" else (
            standalone(self.svg(), "mg-schedule"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def half_of(name, timeline) -> Half:
    """A half of the picture, from a simulation or from a timeline."""
    rows = getattr(timeline, "timeline", timeline)
    if isinstance(rows, Mapping):
        rows = [rows[rank] for rank in sorted(rows)]
    try:
        rows = [[cell_of(*each) for each in row] for row in rows]
    except (TypeError, ValueError):
        raise AutogradTypeError("MG-E177", "viz.schedule() expects, for each rank, a list of (action, start, end), but got "
                                f"{type(timeline).__name__}",
                                fix="pass what simulate() returns, or [schedule.timeline for schedule in schedules]") from None
    cells = [cell for row in rows for cell in row]
    if not cells:
        raise TensorValueError("MG-E177", f"viz.schedule() got no actions as {name}",
                               fix="set schedule.record = True before the step that you measure")
    start, end = min([cell.start for cell in cells]), max([cell.end for cell in cells])
    return Half(name, rows, start, end, [idle(busy(row), end - start) for row in rows],
                idle(sum([busy(row) for row in rows]), (end - start) * len(rows)))


def cell_of(action, start, end) -> Cell:
    """A cell of an action."""
    text = str(action)
    if re.fullmatch(r"\d+[FBIW]\d+", text) is None or not start <= end:
        raise ValueError(text)
    return Cell(text, text.strip("0123456789"), start, end)


def busy(row) -> Any:
    """The time of all actions of a rank."""
    return sum([cell.end - cell.start for cell in row])


def idle(busy, time) -> float:
    """The share of `time` that is not `busy`."""
    return float((time - busy) / time) if time else 0.0


def room_of(half) -> float:
    """The width of a half, in pixels: so that most of its boxes have room for their text."""
    lengths = sorted([cell.end - cell.start for row in half.rows for cell in row])
    usual = lengths[len(lengths) // 4] or lengths[-1]
    letters = max(map(len, labels_of(half).values()))
    return round(min(max(480, float((half.end - half.start) / usual) * (letters * LETTER + 6)), 2400), 1) if usual else 480.0


def labels_of(half) -> dict[str, str]:
    """The texts of the boxes: without the stage, if each rank has only one."""
    texts = {cell.text: cell.text[cell.text.index(cell.kind):] for row in half.rows for cell in row}
    stages = {text.removesuffix(short) for text, short in texts.items()}
    return texts if len(stages) <= len(half.rows) else {text: text for text in texts}


def draw_row(half, row, labels, y, width):
    """The boxes of a rank, and lines where it is idle."""
    def place(time):
        return round(LEFT + width * float((time - half.start) / ((half.end - half.start) or 1)), 1)
    parts, last = [], half.start
    for cell in [*row, Cell("", "", half.end, half.end)]:
        if cell.start > last:
            parts.append(f'<path class="mg-idle" d="M{place(last):g} {y + BOX / 2:g}H{place(cell.start):g}"/>')
        if cell.text:
            left, right = place(cell.start), place(cell.end)
            choice = labels[cell.text], cell.text.partition(cell.kind)[2]
            label = next((text for text in choice if len(text) * LETTER + 4 <= right - left), "")
            title = f"<title>{cell.text}: {number(cell.start - half.start)} to {number(cell.end - half.start)}</title>"
            text = words((left + right) / 2, y + 17, label) if label else ""
            parts.append(f'<g class="mg-action" data-kind="{cell.kind}">{title}<rect x="{left:g}" y="{y:g}" '
                         f'width="{round(right - left, 1):g}" height="{BOX:g}"/>{text}</g>')
        last = max(last, cell.end)
    return parts


def legend(kinds, y):
    """A box for each kind of action, and its meaning."""
    parts, x = [], LEFT
    for kind, meaning in KINDS.items():
        if kind in kinds:
            parts.append(f'<g class="mg-action" data-kind="{kind}"><rect x="{x:g}" y="{y + 2:g}" width="20" height="18"/>'
                         f'{words(x + 10, y + 15, kind)}</g>' + words(x + 26, y + 15, meaning[3:]))
            x += 40 + len(meaning[3:]) * LETTER
    return parts


def words(x, y, text, kind=""):
    """Text in the picture."""
    return tag("text", escape(text), x=f"{x:g}", y=f"{y:g}", cls=kind or False)


def number(value) -> str:
    """A time as short text."""
    return f"{float(value):.4g}"


def percent(share) -> str:
    """A share as text."""
    return f"{100 * share:.1f} %"
