"""The picture of a graph: boxes with lines of text, and edges between them, as SVG.

A box may have a key: then the script of the page sets its state and its texts (``_timeline.py``), and this file writes the state
after the last step. Widths are counted in letters of a fixed-width font, so boxes that do not overlap here overlap in no browser.

Read next: ``_draw.py`` and ``_step_through.py``, which make the boxes.
"""

import math
from collections.abc import Callable
from html import escape
from typing import NamedTuple

from minigrad.viz._layout import BETWEEN, Layout, layered

__all__ = ["Arrow", "Box", "Line", "Value", "lay_out", "size", "svg"]

Value = Callable[[str], str]

LETTER = 7.3        # the width of a letter of the fixed font, at 12 pixels
LEADING = 16.0
PADDING = 11.0


class Line(NamedTuple):
    """A line of text in a box. `key` is the key of its text, or empty; `room` is the number of letters that it may need later."""

    text: str
    style: str = ""
    key: str = ""
    room: int = 0


class Box(NamedTuple):
    """A node of the picture. `kind` determines its shape, `key` its state."""

    name: str
    lines: list[Line]
    kind: str = "op"
    key: str = ""
    title: str = ""


class Arrow(NamedTuple):
    """An edge of the picture. `key`, if there is one, gives its state and its label."""

    source: str
    target: str
    key: str = ""
    kind: str = ""
    label: str = ""


def size(box: Box) -> tuple[float, float]:
    """The width and height of a box."""
    letters = max([max(len(line.text), line.room) for line in box.lines], default=0)
    return round(letters * LETTER + 2 * PADDING, 1), LEADING * len(box.lines) + 12


def lay_out(boxes: list[Box], arrows: list[Arrow]) -> Layout:
    """The layout of a picture by ``_layout.py``."""
    return layered({box.name: size(box) for box in boxes}, [(arrow.source, arrow.target) for arrow in arrows])


def svg(boxes: list[Box], arrows: list[Arrow], layout: Layout, about: str, value: Value = str) -> str:
    """The picture as an ``<svg>`` element. `value` gives the text of a key; `about` describes the picture for screen readers."""
    width, height = layout.width, layout.height
    parts = [f'<svg class="mg-graph" style="--w:{width:g}px" role="img" aria-label="{escape(about)}" width="{width:g}" '
             f'height="{height:g}" viewBox="0 0 {width:g} {height:g}">']
    parts += [edge(arrow, points, layout.curved, value) for arrow, points in zip(arrows, layout.edges)]
    parts += [node(box, *layout.places[box.name], value) for box in boxes]
    parts += [label(arrow, points, width, layout.curved, value) for arrow, points in zip(arrows, layout.edges)]
    return "".join([*parts, "</svg>"])


def edge(arrow, points, curved, value):
    """An edge with its arrowhead."""
    path, (x, y), turn = through(points, curved)
    state = f' data-c="{arrow.key}.s" data-v="{escape(value(arrow.key + ".s"))}"' if arrow.key else ""
    kind = f" {arrow.kind}" if arrow.kind else ""
    found = f'<g class="mg-edge{kind}"{state}><path d="{path}"/><path class="mg-head" d="M{x:g} {y:g}l-4 -8h8z"{turn}/>'
    return found + "</g>"


def label(arrow, points, width, curved, value):
    """The label of an edge, between two rows. Labels are drawn last, above everything else."""
    if not (arrow.key or arrow.label):
        return ""
    (x, y), (a, b) = points[:2] if not curved else (points[len(points) // 2 - 1], points[len(points) // 2])
    x, y = (x + a) / 2, (y + b) / 2 if curved else y + BETWEEN / 2
    anchor = "start" if x < 80 else "end" if x > width - 80 else "middle"
    x = 4 if anchor == "start" else width - 4 if anchor == "end" else x
    key, text = "", arrow.label
    if arrow.key:
        key, text = f' data-c="{arrow.key}.s" data-v="{escape(value(arrow.key + ".s"))}"', value(arrow.key + ".t")
        key += f' data-t="{arrow.key}.t"'
    return f'<text class="mg-label" x="{x:g}" y="{y + 4:g}" text-anchor="{anchor}"{key}>{escape(text)}</text>'


def through(points, curved):
    """The path through the points of an edge, the tip of its arrow, and its rotation: empty if it points downward."""
    (x, y), *others = points
    path = f"M{x:g} {y:g}"
    if curved:
        *bends, (x, y) = others
        for i in range(0, len(bends) - 2, 3):
            path += "C" + " ".join([f"{a:g} {b:g}" for a, b in bends[i:i + 3]])
        a, b = bends[-1]
        turn = round(math.degrees(math.atan2(a - x, y - b)), 1)
        return path + f"L{(x + a) / 2:g} {(y + b) / 2:g}", (x, y), f' transform="rotate({turn:g} {x:g} {y:g})"' if turn else ""
    for i, (a, b) in enumerate(others):
        end = round(b - 6, 1) if i == len(others) - 1 else b
        middle = round((y + end) / 2, 1)
        path += f"C{x:g} {middle:g} {a:g} {middle:g} {a:g} {end:g}"
        x, y = a, end
    return path, others[-1], ""


def node(box, x, y, value):
    """A box."""
    width, height = size(box)
    state = f' data-c="{box.key}.s" data-v="{escape(value(box.key + ".s"))}" data-n="{escape(box.name)}"' if box.key else ""
    title = f"<title>{escape(box.title)}</title>" if box.title else ""
    found = f'<g class="mg-node mg-{box.kind}"{state} transform="translate({x - width / 2:g} {y - height / 2:g})">{title}'
    found += outline(box.kind, width, height)
    for i, line in enumerate(box.lines):
        text = f' data-t="{line.key}">{escape(value(line.key))}' if line.key else f">{escape(line.text)}"
        style = f' class="{line.style}"' if line.style else ""
        left = PADDING if line.style == "mg-note" else round(width / 2, 1)
        found += f'<text{style} x="{left:g}" y="{18 + LEADING * i:g}"{text}</text>'
    return found + "</g>"


def outline(kind, width, height):
    """The shape of a box: leaves are round, views lean, nodes of Functions have cut corners, all others are rectangles."""
    if kind == "view":
        return f'<path d="M8 .5H{width - .5:g}L{width - 8:g} {height - .5:g}H.5z"/>'
    if kind == "function":
        a, b = width - .5, height - .5
        return f'<path d="M8 .5H{a - 8:g}L{a:g} 8V{b - 8:g}L{a - 8:g} {b:g}H8L.5 {b - 8:g}V8z"/>'
    if kind == "tensor":
        return f'<path d="M.5 .5H{width - 10:g}L{width - .5:g} 10V{height - .5:g}H.5z"/>'
    round_ = min(height / 2, 18) if kind == "leaf" else 5
    return f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="{round_:g}"/>'
