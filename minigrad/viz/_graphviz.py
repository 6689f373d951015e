"""Graphviz: the layout of large graphs, and pictures in other formats than SVG. The wheel of pygraphviz contains it.

``dot`` gets our boxes with the sizes that they have in our pictures, and we draw them at the places that it finds. So a large graph
looks like a small one. Graphviz itself draws only PNG, PDF and its other formats.

An edge makes a bend in each row that it crosses, and the time of ``dot`` grows faster than the number of bends: a chain of 60 nodes
that all lead to one leaf took 15 s. So its search is limited (`LIMITS`: 0.7 s), and our own layout, which takes linear time, does
graphs with too many bends (`suited`).
"""

import importlib.util
import os
from typing import Any

from minigrad.viz._layout import Layout, names_in, ranks
from minigrad.viz._picture import Arrow, Box, size

__all__ = ["draw", "graphviz_layout", "suited"]

LARGE = 150         # Graphviz lays out graphs with more boxes than this,
BENDS = 2500        # and at most this number of bends
LIMITS = {"nslimit": "1", "nslimit1": "1", "mclimit": "0.5"}
INCH = 72.0
FILLS = {"leaf": "#eadcff", "view": "#fff1cc", "tensor": "#f6f8fa", "function": "#ffe3ef"}
SHAPES = {"leaf": "oval", "view": "parallelogram", "tensor": "note", "function": "octagon"}
STYLES = {"mg-dashed": "dashed", "mg-dotted": "dotted"}


def suited(boxes: list[Box], arrows: list[Arrow]) -> bool:
    """Whether Graphviz should lay out a picture: it is large, it has not too many bends, and pygraphviz is installed."""
    if len(boxes) <= LARGE or importlib.util.find_spec("pygraphviz") is None:
        return False
    edges = [(arrow.source, arrow.target) for arrow in arrows]
    rank = ranks({box.name: size(box) for box in boxes}, edges, names_in(edges))
    return sum([rank[arrow.target] - rank[arrow.source] - 1 for arrow in arrows]) <= BENDS


def graph(boxes: list[Box], arrows: list[Arrow], exact: bool):
    """The picture as a graph of pygraphviz. With `exact`, its boxes have our sizes and no text."""
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
    """Write a picture in a format of Graphviz."""
    made = graph(boxes, arrows, exact=False)
    made.graph_attr.update(label=title, fontsize="11", dpi="110")
    with open(path, "wb") as file:      # a file and not its name: pygraphviz opens a name in a way that Python 3.11.2 refuses
        made.draw(file, format=form, prog="dot")


def graphviz_layout(boxes: list[Box], arrows: list[Arrow]) -> Layout:
    """The layout by ``dot``: the places of the boxes, and the curves of the edges."""
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
