"""Graphviz, for graphs that our own layout is not made for, and for pictures that are not SVG. It is in pygraphviz's wheel.

Our boxes are given to ``dot`` with the sizes that they have in our pictures, and the places that it finds are drawn by us: so
a large graph looks like a small one. Only PNG, PDF and the like are drawn by Graphviz itself.

What ``dot`` costs grows faster than the number of bends that edges make, one in each row that they go through: 60 nodes in a row
that all lead to one leaf took it 15 s. So its search is limited (`LIMITS`: 0.7 s), and where there are too many
bends our own layout, which is linear, does it all (`suited`).
"""

import importlib.util
import os
from typing import Any

from minigrad.viz._layout import Layout, ranks
from minigrad.viz._picture import Arrow, Box, size

__all__ = ["draw", "graphviz_layout", "suited"]

LARGE = 150         # boxes from which on Graphviz is asked
BENDS = 2500        # and up to which number of bends
LIMITS = {"nslimit": "1", "nslimit1": "1", "mclimit": "0.5"}
INCH = 72.0
FILLS = {"leaf": "#eadcff", "view": "#fff1cc", "tensor": "#f6f8fa", "function": "#ffe3ef"}
SHAPES = {"leaf": "oval", "view": "parallelogram", "tensor": "note", "function": "octagon"}
STYLES = {"mg-dashed": "dashed", "mg-dotted": "dotted"}


def suited(boxes: list[Box], arrows: list[Arrow]) -> bool:
    """Whether Graphviz is the one to lay out a picture: it is large, Graphviz can do it, and is installed."""
    if len(boxes) <= LARGE or importlib.util.find_spec("pygraphviz") is None:
        return False
    rank = ranks([box.name for box in boxes], [(arrow.source, arrow.target) for arrow in arrows])
    return sum([rank[arrow.target] - rank[arrow.source] - 1 for arrow in arrows]) <= BENDS


def graph(boxes: list[Box], arrows: list[Arrow], exact: bool):
    """The picture as Graphviz has it; `exact`: the boxes as large as ours, and no text in them."""
    import pygraphviz
    made = pygraphviz.AGraph(strict=False, directed=True, nodesep="0.3", ranksep="0.5", fontname="Helvetica", **LIMITS)
    made.node_attr.update(fontname="Helvetica", fontsize="11")
    made.edge_attr.update(fontname="Helvetica", fontsize="9")
    for box in boxes:
        if exact:
            width, height = size(box)
            made.add_node(box.name, label="", shape="box", fixedsize="true", width=str(width / INCH), height=str(height / INCH))
        else:
            made.add_node(box.name, label="\n".join([line.text for line in box.lines]), shape=SHAPES.get(box.kind, "box"),
                          style="filled", fillcolor=FILLS.get(box.kind, "#d9f5e5"))
    for i, arrow in enumerate(arrows):
        label = {} if exact or not arrow.label else {"label": arrow.label}
        made.add_edge(arrow.source, arrow.target, key=str(i), style=STYLES.get(arrow.kind, "solid"), **label)
    return made


def draw(boxes: list[Box], arrows: list[Arrow], path: str | os.PathLike[str], form: str, title: str = "") -> None:
    """Write a picture in a format of Graphviz's."""
    made = graph(boxes, arrows, exact=False)
    made.graph_attr.update(label=title, fontsize="11", dpi="110")
    with open(path, "wb") as file:      # given a name, pygraphviz opens it in a way that Python 3.11.2 refuses
        made.draw(file, format=form, prog="dot")


def graphviz_layout(boxes: list[Box], arrows: list[Arrow]) -> Layout:
    """Where ``dot`` puts the boxes, and the curves of its edges."""
    made: Any = graph(boxes, arrows, exact=True)
    made.layout(prog="dot")
    left, bottom, right, top = [float(x) for x in made.graph_attr["bb"].split(",")]

    def point(text):
        x, y = text.split(",")
        return round(float(x) - left + 10, 1), round(top - float(y) + 10, 1)
    edges = []
    for i, arrow in enumerate(arrows):
        parts = made.get_edge(arrow.source, arrow.target, str(i)).attr["pos"].split()
        end = [part[2:] for part in parts if part.startswith("e,")]
        edges.append([point(part) for part in parts if part[1] != ","] + [point(part) for part in end])
    places = {box.name: point(made.get_node(box.name).attr["pos"]) for box in boxes}
    return Layout(places, edges, round(right - left + 20, 1), round(top - bottom + 20, 1), curved=True)
