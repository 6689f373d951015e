"""The picture of a graph in its current state: nodes, leaves, saved tensors, hooks, views and their bases.

    leaf       round            AccumulateGrad, with the name of the tensor
    op         a box            lists its saved tensors and its hooks
    view op    a leaning box    its result shares the memory of its operand
    Function   cut corners
    tensor     a folded corner  a view, with a dashed arrow to its base

``_layout.py`` lays out small graphs; Graphviz lays out large ones if pygraphviz is installed.
"""

import os
from collections.abc import Mapping
from typing import Any

from minigrad._arguments import instance
from minigrad._core.engine.tensor_hooks import hooks_of
from minigrad._core.function.node import PyNode
from minigrad._core.graph.accumulate_grad import AccumulateGrad, grad_accumulator
from minigrad._core.observe.graph_memory import current_version, list_saved
from minigrad._debug.tables import table
from minigrad.autograd.graph import Node
from minigrad.ops import REGISTRY
from minigrad.tensor import Tensor
from minigrad.viz._graphviz import draw, graphviz_layout, suited
from minigrad.viz._page import fragment, page, script, standalone, style, tag
from minigrad.viz._picture import Arrow, Box, Line, lay_out, svg

__all__ = ["Drawing"]

LISTED = 6          # the largest number of saved tensors and hooks in a box
VIEWS = {op.node_name for op in REGISTRY.values() if op.view}


class Drawing:
    """A picture of a graph. `viz.draw` makes it, and documents it.

    nodes       name -> op
    edges       (name, number of the edge, name)

    >>> x = mg.tensor(1., requires_grad=True)
    >>> drawing = mg.viz.draw(x * x)
    >>> drawing.nodes
    {'n1': 'MulBackward0', 'n2': 'AccumulateGrad'}
    >>> drawing.edges
    [('n1', 0, 'n2'), ('n1', 1, 'n2')]
    """

    def __init__(self, roots: list[Any], names: Mapping[str, Tensor]):
        self.nodes: dict[str, str] = {}
        self.edges: list[tuple[str, int, str]] = []
        self._boxes: list[Box] = []
        self._arrows: list[Arrow] = []
        self._rows: list[tuple[str, ...]] = []
        self._called: dict[int, str] = {}       # id of a tensor -> its name
        self._outputs: dict[Node, list[str]] = {}       # node -> the names of its outputs
        for name, tensor in instance(names, Mapping, "names", "Drawing").items():
            self._called.setdefault(id(tensor), name)
            if tensor.grad_fn is not None:
                self._outputs.setdefault(tensor.grad_fn, []).append(name)
        self._known = {node: f"n{i}" for i, node in enumerate(reachable_nodes([node_of(root) for root in roots]), 1)}
        for node, name in self._known.items():
            self._node(node, name)
        tensors = {id(tensor): tensor for tensor in [*roots, *names.values()] if isinstance(tensor, Tensor)}
        self._views([tensor for tensor in tensors.values() if tensor._base is not None])
        del self._known, self._outputs      # or the picture would keep nodes and tensors alive
        self._html: str | None = None

    def _node(self, node, name):
        """Add the box, the arrows and the row of a node."""
        self.nodes[name] = node.name()
        leads = []
        for i, (following, _) in enumerate(node.next_functions):
            if following is not None:
                leads.append(self._known[following])
                self.edges.append((name, i, leads[-1]))
                self._arrows.append(Arrow(name, leads[-1]))
        leaf = node.variable if is_leaf(node) else None
        called = ", ".join(self._outputs.get(node, ())) if leaf is None else self._called.get(id(leaf), "")
        looks = ", ".join([type_of(meta) for meta in node._input_metadata if meta is not None]) if leaf is None else type_of(leaf)
        result = f"{called}: {looks}" if called else looks
        saved = [describe_saved(name, value, version, self._called) for _, _, name, value, version in list_saved(node, False)]
        hooks = [kind if hook is None else f"{kind} {name_of(hook)}" for kind, hook in hooks_of(node)]
        notes = [f"saved {value}" for value in saved] + hooks
        more = [f"and {len(notes) - LISTED} more"] if len(notes) > LISTED else []
        lines = [Line(f"{name} {node.name()}", "mg-name"), Line(result), *[Line(note, "mg-note") for note in notes[:LISTED] + more]]
        kind = "leaf" if leaf is not None else "function" if isinstance(node, PyNode) else "view" if node.name() in VIEWS else "op"
        self._boxes.append(Box(name, lines, kind, title="; ".join([node.name(), result, *notes])))
        self._rows.append((name, node.name(), result, ", ".join(leads), ", ".join(saved), ", ".join(hooks)))

    def _views(self, views):
        """Add a box for each view and for its base, with an arrow to the base."""
        boxes: dict[int, str] = {}

        def box(tensor):
            if id(tensor) in boxes:
                return boxes[id(tensor)]
            name = boxes[id(tensor)] = f"t{len(boxes) + 1}"
            called = self._called.get(id(tensor), "a view" if tensor._base is not None else "its base")
            lines = [Line(called, "mg-name"), Line(type_of(tensor)), Line(f"version {tensor._version}")]
            self._boxes.append(Box(name, lines, "tensor"))
            node = node_of(tensor)
            if node is not None and node in self._known:
                self._arrows.append(Arrow(name, self._known[node], kind="mg-dotted", label="" if is_leaf(node) else "grad_fn"))
            return name
        for view in views:
            name, base = box(view), box(view._base)
            self._arrows.append(Arrow(name, base, kind="mg-dashed", label="view of"))
            what = [f"{self._called.get(id(tensor), 'its base')}: {type_of(tensor)}" for tensor in (view, view._base)]
            self._rows.append((name, "a view", what[0], f"view of {what[1]}", "", ""))

    def svg(self) -> str:
        """The picture as an SVG element, without the style sheet with its colours."""
        find_layout = graphviz_layout if suited(self._boxes, self._arrows) else lay_out
        layout = find_layout(self._boxes, self._arrows)
        return svg(self._boxes, self._arrows, layout, f"a graph of {len(self.nodes)} nodes; the gradients go downward")

    def _repr_html_(self) -> str:
        if self._html is None:
            picture = tag("div", self.svg(), cls="mg-scroll mg-drawing", tabindex="0", role="group", aria_label="graph")
            after = script("draw.js") if self._boxes else ""
            self._html = fragment("mg-draw", f"A graph of {len(self.nodes)} nodes", style() + picture + after)
        return self._html

    def __repr__(self) -> str:
        if not self._rows:
            return "no graph"
        rows = [("node", "op", "result", "leads to", "saved", "hooks"), *self._rows]
        filled = [i for i in range(len(rows[0])) if any([row[i] for row in rows[1:]])]
        return "\n".join(table([tuple([row[i] for i in filled]) for row in rows]))

    def save(self, path: str | os.PathLike[str], format: str | None = None, title: str = "") -> None:
        """Write the picture to a file.

        Args:
            path (str or PathLike): the file.
            format (str, optional): minigrad draws ``"html"`` and ``"svg"``; Graphviz draws ``"png"``, ``"pdf"`` and others, if
                the package pygraphviz is installed. By default, the suffix of `path`.
            title (str, optional): the line below a picture that Graphviz draws.

        Raises:
            ImportError: the format needs Graphviz, and pygraphviz is not installed.
        """
        form = os.fspath(path).rpartition(".")[2] if format is None else format
        if form not in ("html", "svg"):
            draw(self._boxes, self._arrows, path, form, title)
            return
        text = page("minigrad: a graph", self._repr_html_())
        if form == "svg":
            text = standalone(self.svg(), "mg-draw")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def reachable_nodes(roots: list[Any]) -> list[Any]:
    """`roots` and all nodes behind them: the node made last comes first; leaves come last, in the order of edges."""
    found = dict.fromkeys([node for node in roots if node is not None])
    stack = list(reversed(found))
    while stack:
        for following, _ in stack.pop().next_functions:
            if following is not None and following not in found:
                found[following] = None
                stack.append(following)
    inner = sorted([node for node in found if not is_leaf(node)], key=lambda node: -node._sequence_nr())
    return inner + [node for node in found if is_leaf(node)]


def node_of(root: Tensor | Node) -> Node | None:
    """The node at which a backward from a tensor begins; `root` itself if it is a node."""
    if not isinstance(root, Tensor):
        return root
    leaf: Any = grad_accumulator(root) if root.grad_fn is None else None
    return root.grad_fn or leaf


def is_leaf(node: Node) -> bool:
    """Whether a node accumulates the gradient of a leaf."""
    return isinstance(node, AccumulateGrad)


def type_of(tensor) -> str:
    """The dtype and shape of a tensor, or of the gradient that a node expects."""
    return f"{tensor.dtype} {list(tensor.shape)}".removeprefix("minigrad.")


def name_of(function):
    """The name of a function."""
    return getattr(function, "__name__", type(function).__name__)


def describe_saved(name, value, version, called):
    """A saved value as short text."""
    if version is None:
        return f"{name}: packed, {type(value).__name__}"
    now = current_version(value)
    known = f" = {called[id(value)]}" if id(value) in called else ""
    return f"{name}{known} {list(value.shape)}" + ("" if now == version else f", saved at version {version}, now {now}")
