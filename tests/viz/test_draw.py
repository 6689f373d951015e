"""`mg.viz.draw`: leaves, saved tensors, hooks, views and bases look different; Graphviz lays out large graphs."""

import importlib.util
from itertools import pairwise

import pytest

import minigrad as mg
from minigrad._core.graph.node import Node
from minigrad.viz import _graphviz
from minigrad.viz._picture import size
from tests.core.engine_tools import leaf
from tests.viz.programs import Double
from tests.viz.test_step import Reader

needs_graphviz = pytest.mark.skipif(importlib.util.find_spec("pygraphviz") is None, reason="pygraphviz is not installed")


def shapes(drawing):
    return {box.name: box.kind for box in drawing._boxes}


def notes(drawing, name):
    return [line.text for box in drawing._boxes if box.name == name for line in box.lines]


def test_table():
    x, w = leaf(mg, 1., 2.), leaf(mg, 3., 4.)
    h = x * w
    y = Double.apply(h.reshape(2, 1)).exp()

    def double(g):
        return g * 2
    h.register_hook(double)
    h.retain_grad()
    h.grad_fn.register_prehook(lambda g: None)
    w.register_post_accumulate_grad_hook(double)
    drawing = mg.viz.draw(y.sum(), names={"x": x, "w": w, "h": h})
    assert repr(drawing) == """\
node  op              result          leads to  saved                        hooks
n1    SumBackward0    float32 []      n2
n2    ExpBackward0    float32 [2, 1]  n3        result [2, 1]
n3    DoubleBackward  float32 [2, 1]  n4        saved_tensors[0] [2, 1]
n4    ViewBackward0   float32 [2, 1]  n5
n5    MulBackward0    h: float32 [2]  n6, n7    other = w [2], self = x [2]  tensor hook double, retain_grad, pre-hook <lambda>
n6    AccumulateGrad  x: float32 [2]
n7    AccumulateGrad  w: float32 [2]                                         post-accumulate hook double"""
    assert shapes(drawing) == {"n1": "op", "n2": "op", "n3": "function", "n4": "view", "n5": "op", "n6": "leaf", "n7": "leaf"}
    assert drawing.edges == [("n1", 0, "n2"), ("n2", 0, "n3"), ("n3", 0, "n4"), ("n4", 0, "n5"), ("n5", 0, "n6"), ("n5", 1, "n7")]
    html = drawing._repr_html_()
    Reader(html)
    assert html == drawing._repr_html_() and "tensor hook double" in html and "post-accumulate hook double" in html


def test_views_and_bases():
    x = leaf(mg, 1., 2., 3.)
    base = x * 1
    view = base[:2]
    view.mul_(2)
    drawing = mg.viz.draw(view.sum(), names={"view": view, "base": base})
    kinds = shapes(drawing)
    tensors = [name for name, kind in kinds.items() if kind == "tensor"]
    assert [notes(drawing, name) for name in tensors] == [["view", "float32 [2]", "version 1"], ["base", "float32 [3]", "version 1"]]
    dashed = [(arrow.source, arrow.target, arrow.label) for arrow in drawing._arrows if arrow.kind == "mg-dashed"]
    assert dashed == [(tensors[0], tensors[1], "view of")]
    assert "CopySlices" in drawing.nodes.values() and "view of base: float32 [3]" in repr(drawing)


def test_view_of_what_requires_no_gradient():
    x = leaf(mg, 1., 2.)
    constant = mg.ones(4)
    part = constant[:2]
    drawing = mg.viz.draw(x * part, names={"part": part})
    assert "part: float32 [2]" in repr(drawing) and "its base" in str(notes(drawing, "t2"))


def test_changed_and_packed():
    x = leaf(mg, 1., 2.)
    y = x.exp()
    z = y * 1
    y.mul_(2)
    assert "result [2], saved at version 0, now 1" in repr(mg.viz.draw(z))
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), mg.tensor):
        z = x.exp()
    assert "result: packed, list" in repr(mg.viz.draw(z))


def test_freed():
    x = leaf(mg, 1.)
    y = x.exp()
    y.backward()
    assert "saved" not in repr(mg.viz.draw(y)).splitlines()[0]


def test_no_graph():
    for drawing in (mg.viz.draw(), mg.viz.draw(mg.ones(1))):
        assert repr(drawing) == "no graph"
        Reader(drawing._repr_html_())


def test_leaf_nodes_and_several():
    x = leaf(mg, 1.)
    assert mg.viz.draw(x).nodes == {"n1": "AccumulateGrad"}
    a, b = x * 2, x.exp()
    drawing = mg.viz.draw(a, b.grad_fn)
    assert sorted(drawing.nodes.values()) == ["AccumulateGrad", "ExpBackward0", "MulBackward0"]


def test_names_of_the_program():
    """By default, tensors have the names of variables at the top level, and no names in a function."""
    variables = {}
    exec("import minigrad as mg\nw = mg.ones(2, requires_grad=True)\nd = mg.viz.draw(w * 2)", variables)
    assert "w: float32 [2]" in repr(variables["d"])
    assert "w:" not in repr(mg.viz.draw(variables["w"] * 2))


def test_many_notes():
    """Few are listed, all are in the title."""
    x = leaf(mg, 1.)
    y = x * x
    for _ in range(20):
        y.register_hook(lambda g: None)
    drawing = mg.viz.draw(y)
    box = drawing._boxes[0]
    assert box.lines[-1].text == "and 16 more" and box.title.count("tensor hook") == 20


def test_it_keeps_nothing():
    import weakref
    x = leaf(mg, 1.)
    y = x * 2
    drawing = mg.viz.draw(y, names={"y": y})
    node = weakref.ref(y.grad_fn)
    assert isinstance(node(), Node)
    del y
    assert node() is None and drawing.nodes


def deep(number):
    x = leaf(mg, 1.)
    for _ in range(number):
        x = x.sin()
    return x


@needs_graphviz
def test_large_graphs_are_laid_out_by_graphviz():
    drawing = mg.viz.draw(deep(200))
    assert _graphviz.suited(drawing._boxes, drawing._arrows)
    layout = _graphviz.graphviz_layout(drawing._boxes, drawing._arrows)
    spans = sorted([(y - size(box)[1] / 2, y + size(box)[1] / 2) for box in drawing._boxes for _, y in [layout.places[box.name]]])
    assert layout.curved and len(layout.places) == 201 and all(a[1] < b[0] for a, b in pairwise(spans))
    assert all(len(points) % 3 == 2 for points in layout.edges)        # a start, three points a curve, and the tip
    Reader(drawing._repr_html_())


def test_where_graphviz_would_take_long_it_is_not_asked():
    """A chain with an edge from every node to one leaf, like the weight of a recurrent network."""
    x, w = leaf(mg, 1.), leaf(mg, 2.)
    for _ in range(100):
        x = (x * w).sin()
    drawing = mg.viz.draw(x)
    assert not _graphviz.suited(drawing._boxes, drawing._arrows) and len(drawing.nodes) == 202
    Reader(drawing._repr_html_())


def test_deep_graph():
    """No recursion."""
    drawing = mg.viz.draw(deep(5000))
    assert len(drawing.nodes) == 5001 and repr(drawing).count("\n") == 5001


@pytest.mark.parametrize("form", ["html", "svg"])
def test_files(tmp_path, form):
    path = tmp_path / f"graph.{form}"
    mg.viz.draw(deep(3)).save(str(path))
    text = path.read_text("utf-8")
    assert "SinBackward0" in text and text.startswith("<!doctype html>" if form == "html" else "<svg xmlns=")


@needs_graphviz
def test_files_of_graphviz(tmp_path):
    mg.viz.draw(deep(3)).save(str(tmp_path / "graph.png"), title="three")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_pathlike(tmp_path):
    mg.viz.draw(deep(3)).save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").exists()
