"""Our layout: no overlaps, edges downward, linear and without recursion."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.viz._layout import APART, layered, place_row


@st.composite
def graphs(draw):
    """Sizes, and edges from earlier to later names; several between the same two."""
    number = draw(st.integers(1, 25))
    sizes = {f"n{i}": (draw(st.integers(10, 200)), draw(st.integers(10, 90))) for i in range(number)}
    pairs = st.tuples(st.integers(0, number - 1), st.integers(0, number - 1)).filter(lambda p: p[0] < p[1])
    edges = draw(st.lists(pairs, max_size=60)) if number > 1 else []
    return sizes, [(f"n{a}", f"n{b}") for a, b in edges]


def boxes(sizes, layout):
    """name -> (left, top, right, bottom)."""
    return {name: (x - sizes[name][0] / 2, y - sizes[name][1] / 2, x + sizes[name][0] / 2, y + sizes[name][1] / 2)
            for name, (x, y) in layout.places.items()}


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_nothing_overlaps(graph):
    sizes, edges = graph
    layout = layered(sizes, edges)
    found = list(boxes(sizes, layout).values())
    for i, (left, top, right, bottom) in enumerate(found):
        assert left >= 0 and top >= 0 and right <= layout.width and bottom <= layout.height
        for other in found[:i]:
            beside = right + APART / 2 <= other[0] or other[2] + APART / 2 <= left
            assert beside or bottom < other[1] or other[3] < top


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_edges_lead_downward_from_border_to_border(graph):
    sizes, edges = graph
    layout = layered(sizes, edges)
    assert len(layout.edges) == len(edges)
    for (a, b), points in zip(edges, layout.edges):
        upper, lower = boxes(sizes, layout)[a], boxes(sizes, layout)[b]
        assert all(p[1] < q[1] for p, q in pairwise(points))
        assert points[0][1] == pytest.approx(upper[3], abs=0.11) and upper[0] <= points[0][0] <= upper[2]
        assert points[-1][1] == pytest.approx(lower[1], abs=0.11) and lower[0] <= points[-1][0] <= lower[2]


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_long_edges_go_around_nodes(graph):
    """No bend is inside a node of its row."""
    sizes, edges = graph
    layout = layered(sizes, edges)
    for points in layout.edges:
        for x, y in points[1:-1]:
            for left, top, right, bottom in boxes(sizes, layout).values():
                assert not (left < x < right and top < y < bottom)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(-500, 500), st.integers(1, 100)), min_size=1, max_size=30))
def test_a_row_is_placed_by_least_squares(items):
    """No node can move closer to its wanted place without coming too close to a neighbour."""
    wanted, widths = [float(x) for x, _ in items], [w for _, w in items]
    x = place_row(wanted, widths)
    gaps = [(a + b) / 2 + APART for a, b in pairwise(widths)]
    assert all(b - a >= gap - 1e-6 for a, b, gap in zip(x, x[1:], gaps))
    for i, want in enumerate(wanted):
        blocked_left = i > 0 and x[i] - x[i - 1] <= gaps[i - 1] + 1e-6
        blocked_right = i + 1 < len(x) and x[i + 1] - x[i] <= gaps[i] + 1e-6
        assert abs(x[i] - want) < 1e-6 or (want < x[i] and blocked_left) or (want > x[i] and blocked_right) \
            or (blocked_left and blocked_right) or blocked_left or blocked_right
    assert sum(x) == pytest.approx(sum(wanted), abs=1e-3)      # every block is at the mean of the places that its members want


def test_few_crossings():
    """A graph that needs no crossing is drawn without one."""
    sizes = dict.fromkeys(["r", "a", "b", "c", "x", "y", "z"], (40, 20))
    layout = layered(sizes, [("r", "c"), ("r", "b"), ("r", "a"), ("a", "x"), ("b", "y"), ("c", "z")])
    order = [sorted(names, key=lambda name: layout.places[name][0]) for names in (["a", "b", "c"], ["x", "y", "z"])]
    assert [dict(a="x", b="y", c="z")[name] for name in order[0]] == order[1]


def test_deep_and_wide():
    """No recursion, and no cost that grows with the square: 1,500 rows that all lead to one node."""
    number = 1_500
    sizes = {f"n{i}": (10, 10) for i in range(number)}
    edges = [(f"n{i}", f"n{i + 1}") for i in range(number - 1)] + [(f"n{i}", f"n{number - 1}") for i in range(number - 2)]
    layout = layered(sizes, edges)
    assert layout.places[f"n{number - 1}"][1] > layout.places["n0"][1] and len(layout.edges) == len(edges)
    assert sum(len(points) for points in layout.edges) < 45 * number


def test_nodes_without_edges_go_where_there_is_room():
    """They make the picture of a chain no wider than three nodes, and stay to the right of it; they do not all stand in the first row."""
    sizes = {f"n{i}": (140, 40) for i in range(8)}
    layout = layered(sizes, [("n0", "n1"), ("n1", "n2")])
    assert layout.width < 3 * 140 + 60
    rows = [[name for name in sizes if layout.places[name][1] == y] for y in sorted({y for _, y in layout.places.values()})]
    assert rows == [["n0", "n3"], ["n1", "n4"], ["n2", "n5"], ["n6", "n7"]]
    assert all(layout.places[a][0] < layout.places[b][0] for a, b in rows)


def test_nothing():
    assert layered({}, []).places == {}
