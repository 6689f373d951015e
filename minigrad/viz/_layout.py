"""The layout of a small graph: nodes in rows, so that every edge leads downward and few edges cross.

    ranks       the row of a node is its longest distance from a root, so it is below the rows of all nodes that lead to it;
                nodes without edges go to the right, where there is room
    chains      an edge over several rows gets a bend in each row between, so that it goes around the nodes there
    order       within the rows: each node moves to the mean place of its neighbours, row by row, down and up
    places      the x in each row: as near to the neighbours as the widths allow, which is a regression (`place_row`)

All steps are loops over rows and edges, a fixed number of times. So the time is linear in the size of the graph, apart from
sorting, and a graph may be arbitrarily deep. The same graph gets the same numbers on every machine.

This is the method of Sugiyama, Tagawa and Toda (1981), which Graphviz uses too. Read next: ``_picture.py``, which draws the layout.
"""

from collections import deque
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Layout", "layered"]

SWEEPS = 8          # passes over all rows, for the order and again for the places
APART = 22.0        # the distance between two nodes of a row
BEND = 10.0         # the width of an edge in a row that it crosses
BETWEEN = 36.0      # the distance between two rows
MARGIN = 10.0
ROOM = 345.0        # a row may become as wide as this, or as the widest row of nodes with edges, if nodes without edges are added
BENDS = 12          # the largest mean number of bends per node and edge: further long edges are drawn straight

Point = tuple[float, float]


class Layout(NamedTuple):
    """A finished layout: the centre of each node, the points that each edge goes through, and the size of the picture.

    The points of `curved` edges are points of Bézier curves; the last one is the tip of the arrow.
    """

    places: dict[str, Point]
    edges: list[list[Point]]
    width: float
    height: float
    curved: bool = False


def layered(sizes: dict[str, Point], edges: list[tuple[str, str]]) -> Layout:
    """Lay out a graph without cycles.

    Args:
        sizes (dict): name of each node -> (width, height).
        edges (list): pairs of names. Two nodes may have several edges between them.

    Returns:
        Layout: the places and paths.

    >>> from minigrad.viz._layout import layered
    >>> layered({"a": (40, 20), "b": (40, 20), "c": (40, 20)}, [("a", "b"), ("a", "c")]).places
    {'a': (61.0, 20.0), 'b': (30.0, 76.0), 'c': (92.0, 76.0)}
    """
    joined = names_in(edges)
    rank = ranks(sizes, edges, joined)
    rows, widths, chains = chain_edges(sizes, edges, joined, rank)
    up: dict[str, list[str]] = {name: [] for row in rows for name in row}
    down: dict[str, list[str]] = {name: [] for name in up}
    for chain in chains:
        for a, b in pairwise(chain):
            down[a].append(b)
            up[b].append(a)
    rows = order_rows(rows, up, down)
    x = place_columns(rows, widths, up, down)
    return layout_numbers(sizes, edges, rows, widths, chains, x)


def ranks(sizes, edges, joined):
    """The row of each node. `joined` is `names_in` of the edges."""
    following = {name: [] for name in sizes}
    waits = dict.fromkeys(sizes, 0)
    for a, b in edges:
        following[a].append(b)
        waits[b] += 1
    ready = deque([name for name in sizes if not waits[name]])
    rank = dict.fromkeys(sizes, 0)
    while ready:
        a = ready.popleft()
        for b in following[a]:
            rank[b] = max(rank[b], rank[a] + 1)
            waits[b] -= 1
            if not waits[b]:
                ready.append(b)
    place_alone(sizes, joined, rank)
    return rank


def names_in(edges):
    """The nodes with edges."""
    return {name for edge in edges for name in edge}


def place_alone(sizes, joined, rank):
    """Give each node that is not in `joined` the first row that has room for it. They keep their order."""
    widths: dict[int, float] = {}
    for name in joined:
        widths[rank[name]] = widths.get(rank[name], -APART) + sizes[name][0] + APART
    room, row = max([ROOM, *widths.values()]), 0
    for name in sizes:
        if name not in joined:
            while row in widths and widths[row] + APART + sizes[name][0] > room:
                row += 1
            widths[row] = widths.get(row, -APART) + sizes[name][0] + APART
            rank[name] = row


def chain_edges(sizes, edges, joined, rank):
    """The rows of names, including bends; the width of each name; and the chain of names that each edge goes through."""
    rows: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for name in sorted(sizes, key=lambda name: name not in joined):
        rows[rank[name]].append(name)
    widths = {name: width for name, (width, _) in sizes.items()}
    left = BENDS * (len(sizes) + len(edges))
    chains = []
    for number, (a, b) in enumerate(edges):
        chain = [a]
        if rank[b] - rank[a] - 1 <= left:
            for row in range(rank[a] + 1, rank[b]):
                bend = f"{number}/{row}"
                widths[bend] = BEND
                rows[row].append(bend)
                chain.append(bend)
            left -= max(rank[b] - rank[a] - 1, 0)
        chains.append([*chain, b])
    return rows, widths, chains


def order_rows(rows, up, down):
    """The rows, reordered so that fewer edges cross: the best order that a sweep finds."""
    best, least = rows, crossings(rows, down)
    for sweep in range(SWEEPS):
        if not least:
            break
        rows = [list(row) for row in rows]
        downward = sweep % 2 == 0
        place = {name: i for row in rows for i, name in enumerate(row)}
        for row in rows if downward else reversed(rows):
            beside = up if downward else down
            row.sort(key=lambda name: mean([place[other] for other in beside[name]],
                                           place[name] if up[name] or down[name] else len(place)))
            place.update({name: i for i, name in enumerate(row)})
        found = crossings(rows, down)
        if found < least:
            best, least = rows, found
    return best


def mean(values, otherwise):
    return sum(values) / len(values) if values else otherwise


def crossings(rows, down):
    """The number of crossings between neighbouring rows: pairs of edges in the wrong order, counted with a Fenwick tree."""
    total = 0
    for row, below in pairwise(rows):
        place = {name: i for i, name in enumerate(below, 1)}
        tree, seen = [0] * (len(below) + 1), 0
        for name in row:
            ends = [place[other] for other in down[name] if other in place]
            for i in ends:
                total += seen
                while i > 0:
                    total -= tree[i]
                    i -= i & -i
            for i in ends:
                seen += 1
                while i < len(tree):
                    tree[i] += 1
                    i += i & -i
    return total


def place_columns(rows, widths, up, down):
    """The x of each name."""
    x: dict[str, float] = {}
    for row in rows:
        x.update(zip(row, place_row([0.0] * len(row), [widths[name] for name in row])))
    for sweep in range(SWEEPS):
        downward = sweep % 2 == 0
        beside = up if downward else down
        for row in rows if downward else reversed(rows):
            wanted = [mean([x[other] for other in beside[name]], x[name]) for name in row]
            x.update(zip(row, place_row(wanted, [widths[name] for name in row])))
    return x


def place_row(wanted, widths):
    """The places of a row: as near as possible to those `wanted`, in the same order, with room for the `widths`.

    Least squares with the condition ``x[i + 1] - x[i] >= gap``. After the gaps are subtracted, this is isotonic regression:
    neighbours in the wrong order are joined into blocks, and each block gets its mean.

    >>> from minigrad.viz._layout import place_row
    >>> place_row([0.0, 0.0, 100.0], [20, 20, 20])
    [-21.0, 21.0, 100.0]
    """
    offset, offsets = 0.0, []
    for i, width in enumerate(widths):
        if i:
            offset += (widths[i - 1] + width) / 2 + APART
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []        # (sum, number of members) of each block
    for want, offset in zip(wanted, offsets):
        total, number = want - offset, 1
        while blocks and blocks[-1][0] * number >= total * blocks[-1][1]:
            more, others = blocks.pop()
            total, number = total + more, number + others
        blocks.append((total, number))
    free = [total / number for total, number in blocks for _ in range(number)]
    return [z + offset for z, offset in zip(free, offsets)]


def layout_numbers(sizes, edges, rows, widths, chains, x):
    """The layout from the rows and columns: edges go from the lower side of a node to the upper side of the next one."""
    y, below = {}, MARGIN
    for row in rows:
        height = max([sizes[name][1] for name in row if name in sizes], default=0.0)
        y.update(dict.fromkeys(row, below + height / 2))
        below += height + BETWEEN
    shift = MARGIN - min([x[name] - widths[name] / 2 for name in x], default=0.0)
    width = shift + max([x[name] + widths[name] / 2 for name in x], default=0.0) + MARGIN
    place = {name: (round(x[name] + shift, 1), round(y[name], 1)) for name in x}
    leaving: dict[str, list[int]] = {name: [] for name in sizes}
    arriving: dict[str, list[int]] = {name: [] for name in sizes}
    for i, (a, b) in enumerate(edges):
        leaving[a].append(i)
        arriving[b].append(i)
    paths = [[place[name] for name in chain] for chain in chains]
    for name, (wide, high) in sizes.items():
        for side, end, near, sign in ((leaving[name], 0, 1, 1), (arriving[name], -1, -2, -1)):
            side.sort(key=lambda i: (paths[i][near][0], i))
            for k, i in enumerate(side):
                port = place[name][0] + wide * 0.6 * ((k + 0.5) / len(side) - 0.5)
                paths[i][end] = round(port, 1), round(place[name][1] + sign * high / 2, 1)
    return Layout({name: place[name] for name in sizes}, paths, round(width, 1), round(max(below - BETWEEN, 0) + MARGIN, 1))
