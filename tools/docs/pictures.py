"""The drawn pictures of the tutorials. ``python -m tools.docs.pictures`` writes them to tutorials/pictures.

The build of the site and `make lab` do; the files lie beside the scripts, because a notebook shows them too. Numbers are computed
here as the tutorial computes them.
A tutorial shows a picture with ``![the description](pictures/NAME.svg)``; on the site it becomes part of the page.

One hand: blue for nodes and results, violet for leaves, amber for gradients, red for what is refused or cut.
"""

import math

import minigrad as mg
from minigrad.distributed.pipelining import simulate
from tools.docs.parallel_pictures import buckets
from tools.docs.picture import BODY, FOLDER, SMALL, Picture, arrow, box, cells, label
from tools.docs.sheet_facts import STATIONS

__all__ = ["PICTURES", "write"]

WIDE = 560


def two_paths():
    d = Picture("two-paths", WIDE, 190, "Where two paths meet, add",
                "Two paths lead from x to y. The upper path goes through u equals x times x, with the factor 4. The lower "
                "path goes through v equals 3 x, with the factor 3. At y, both steps arrive and add up to 7.")
    box(d, 68, 84, 112, 46, "x = 2", "moves by 0.001", "violet")
    box(d, 270, 38, 128, 46, "u = x * x", "moves by 0.004")
    box(d, 270, 130, 128, 46, "v = 3 * x", "moves by 0.003")
    box(d, 480, 84, 128, 46, "y = u + v", "moves by 0.007")
    for y, factor in ((38, 4), (130, 3)):
        up = y < 84
        arrow(d, [(126, 84 + (-8 if up else 8)), (204, y)], "amber")
        label(d, 156, y + (10 if up else 6), f"× {factor}", BODY, "bold", "amber", "end")
        arrow(d, [(336, y), (414, 84 + (-8 if up else 8))], "amber")
        label(d, 388, y + (10 if up else 6), "× 1", BODY, "bold", "amber", "start")
    label(d, WIDE / 2, 178, "4 · 1  +  3 · 1  =  7:  along a path multiply, where paths meet add", BODY, "bold", "amber")
    return d


def adjoints():
    d = Picture("adjoints", WIDE, 216, "Every value with its adjoint",
                "The graph of the formula: a and b lead to u, u and a lead to v, u and v lead to y. Each arrow has its "
                "factor, and each box the value and the adjoint. The adjoint of u is 14: 8 directly from y, and 6 through "
                "v.")
    boxes = {"a": (56, 52, 2, 48), "b": (56, 164, 3, 28), "u": (210, 124, 6, 14), "v": (364, 52, 8, 6), "y": (504, 124, 48, 1)}
    for name, (x, y, value, adjoint) in boxes.items():
        box(d, x, y, 96, 46, f"{name} = {value}", f"adjoint {adjoint}", "violet" if name in "ab" else "blue")
    for start, end, factor, place in (("a", "u", 3, (136, 80)), ("b", "u", 2, (136, 162)), ("a", "v", 1, (206, 44)),
                                      ("u", "v", 1, (284, 82)), ("u", "y", 8, (358, 140)), ("v", "y", 6, (444, 80))):
        (x0, y0, *_), (x1, y1, *_) = boxes[start], boxes[end]
        slope = (y1 - y0) / (x1 - x0)
        arrow(d, [(x0 + 49, y0 + 49 * slope), (x1 - 49, y1 - 49 * slope)])
        label(d, *place, f"× {factor}", face="bold", ink="amber")
    label(d, 364, 172, "the adjoint of u:  8 · 1  +  1 · 6  =  14", BODY, "bold", "amber")
    label(d, 364, 194, "8 directly from y, and 6 through v")
    return d


def network():
    d = Picture("network", WIDE, 196, "Three neurons",
                "A network of three neurons. The inputs x1 and x2 both lead to both neurons h1 and h2, which lead to y. "
                "Each of the six arrows has a weight, and each of the three neurons has a bias.")
    places = {"x1": (50, 50), "x2": (50, 140), "h1": (244, 50), "h2": (244, 140), "y": (462, 95)}
    weights = {"h1": "weights p[0], p[1]; bias p[2]", "h2": "weights p[3], p[4]; bias p[5]", "y": "weights p[6], p[7]; bias p[8]"}
    for name, (x, y) in places.items():
        if name in weights:
            box(d, x, y, 176, 46, name, weights[name])
        else:
            box(d, x, y, 76, 46, name, "an input", "violet")
    for start, end in (("x1", "h1"), ("x2", "h1"), ("x1", "h2"), ("x2", "h2"), ("h1", "y"), ("h2", "y")):
        (x0, y0), (x1, y1) = places[start], places[end]
        arrow(d, [(x0 + (39 if x0 < 100 else 89), y0), (x1 - 89, y1 + (y0 - y1) * 0.12)])
    label(d, WIDE / 2, 186, "h1 and h2 bend their results with tanh, y does not")
    return d


def broadcasting():
    d = Picture("broadcasting", WIDE, 206, "Broadcasting, and its backward",
                "A row of three numbers is repeated as four rows, forward. Backward, the four rows of the gradient are "
                "summed, column by column, to a row of three.")
    wide, left, right = 44, 84, 358
    label(d, left + 1.5 * wide, 24, "forward: repeat", BODY, "bold", "ink")
    label(d, right + 1.5 * wide, 24, "backward: sum", BODY, "bold", "ink")
    cells(d, left, 40, "123", "violet", wide)
    for i in range(4):
        cells(d, left, 98 + 24 * i, "123", wide=wide)
        cells(d, right, 40 + 24 * i, ["0.1", "0.2", "-0.3"], "amber", wide)
    cells(d, right, 170, ["0.4", "0.8", "-1.2"], "violet", wide)
    for i in range(3):
        x = (i + 0.5) * wide
        arrow(d, [(left + x, 67), (left + x, 95)], "blue")
        arrow(d, [(right + x, 139), (right + x, 167)], "amber")
    for x, y, text, ink in ((left, 57, "b", "violet"), (left, 151, "Z + b", "ink"), (right, 93, "g", "amber"),
                            (right, 187, "b.grad", "violet")):
        label(d, x - 12, y, text, BODY, "mono", ink, "end")
    return d


def cut():
    d = Picture("cut", WIDE, 200, "detach cuts one edge",
                "Two paths lead from the loss back to w. The gradient passes through the upper one, the model of now. "
                "Scissors cut the lower one between the loss and the target: detach. The target still has its own history.")
    box(d, 66, 96, 92, 46, "w", "a leaf", "violet")
    box(d, 244, 46, 128, 46, "model(now)", "the prediction")
    box(d, 244, 146, 128, 46, "model(later)", "the target")
    box(d, 490, 96, 108, 46, "loss")
    arrow(d, [(434, 88), (311, 48)], "amber", 2)
    arrow(d, [(178, 48), (114, 84)], "amber", 2)
    label(d, 384, 48, "gradient", ink="amber")
    d.line([(434, 106), (402, 118)], "soft", 1.4)
    d.line([(358, 132), (311, 146)], "soft", 1.4, dashed=True)
    arrow(d, [(178, 146), (114, 110)], "soft", dashed=True)
    scissors(d, 380, 125)
    label(d, 352, 172, "detach(): no gradient passes", ink="red", anchor="start")
    label(d, 80, 172, "its history stays", anchor="middle")
    return d


def scissors(d, x, y):
    """An open pair of scissors that cuts upwards at (x, y)."""
    for side in (-1, 1):
        d.line([(x - side * 8, y - 20), (x + side * 6, y + 12)], "red", 2)
        d.circle(x + side * 8, y + 18, 6, "paper", "red", 2)


def waiting():
    d = Picture("waiting", WIDE, 226, "Waiting nodes and their buffers",
                "Four nodes in the middle of a backward. The product has run and sent two gradients. The sine has got its "
                "only one, so it is ready. The node of h has got one of two: it waits. The leaf has got none of two: it "
                "waits.")
    through, directly = 4.0, math.sin(4.0)
    nodes = [(70, 106, "h.sin() * h", "the root: has run", "rule", "taken"),
             (214, 50, "h.sin()", "1 of 1 arrived: ready", "blue", f"{through:.3f}"),
             (356, 150, "h = x * x", "1 of 2 arrived: waits", "amber", f"{directly:.3f}"),
             (494, 150, "x", "0 of 2 arrived: waits", "amber", "empty")]
    for x, y, name, state, kind, buffer in nodes:
        d.rect(x - 58, y - 38, 116, 76, "panel" if kind == "rule" else f"pale-{kind}", kind, 4)
        label(d, x, y - 20, name, BODY, "mono", "ink")
        label(d, x, y - 3, state, face="bold", ink="soft" if kind == "rule" else kind)
        d.rect(x - 32, y + 6, 64, 22, "paper", "rule", 2)
        number = "." in buffer
        label(d, x, y + 21, buffer, face="mono" if number else "sans", ink="amber" if number else "soft")
    arrow(d, [(129, 88), (155, 68)], "amber", 2)
    arrow(d, [(129, 124), (297, 156)], "amber", 2)
    arrow(d, [(273, 64), (322, 111)], "rule")
    arrow(d, [(415, 144), (435, 144)], "rule")
    arrow(d, [(415, 158), (435, 158)], "rule")
    label(d, 142, 58, f"{through:.3f}", SMALL, "mono", "amber", "end")
    label(d, 196, 160, f"{directly:.3f}", SMALL, "mono", "amber")
    label(d, WIDE / 2, 214, "the small boxes are input buffers: sums of the gradients that have arrived")
    return d


def version():
    d = Picture("version", WIDE, 244, "One memory, one version",
                "The tensors a, a[0], a.t() and a.detach() share one memory and one version counter, which says 1 after a "
                "write. a.data shares the memory, but has a counter of its own, which says 0. A node that saved a at "
                "version 0 refuses to run.")
    for i, name in enumerate(("a", "a[0]", "a.t()", "a.detach()")):
        box(d, 62, 30 + 36 * i, 100, 26, name, kind="violet", radius=13)
        arrow(d, [(113, 30 + 36 * i), (186, 66 + 12 * i)], "soft")
    box(d, 62, 204, 100, 26, "a.data", kind="violet", radius=13)
    box(d, 248, 84, 120, 52, "version 1", "one more per write")
    box(d, 248, 204, 120, 42, "version 0", "its own counter", "rule")
    arrow(d, [(113, 204), (186, 204)], "soft")
    arrow(d, [(309, 84), (396, 112)], "soft")
    arrow(d, [(309, 204), (396, 148)], "soft")
    cells(d, 400, 118, "1111")
    label(d, 468, 108, "the memory", BODY, "bold", "ink")
    label(d, 468, 162, "after a += 1")
    d.rect(330, 8, 222, 46, "pale-red", "red", 4)
    label(d, 441, 27, "a node saved a at version 0", BODY, "sans", "ink")
    label(d, 441, 44, "0 is not 1: MG-E102", BODY, "bold", "red")
    arrow(d, [(356, 54), (300, 62)], "red", dashed=True)
    return d


def copy_slices():
    """The numbers are those of the tutorial, from a run."""
    x = mg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    w = mg.tensor([10.0, 20.0], requires_grad=True)
    g = [5.0, 6.0, 7.0, 8.0]
    a = x * 1
    a[1:3].mul_(w)
    of_x, of_w = mg.autograd.grad(a, (x, w), mg.tensor(g))
    d = Picture("copy-slices", WIDE, 272, "A write to a view, and its backward",
                "The gradient of a has four numbers, and arrives at CopySlices. The outer two pass unchanged. The two that "
                "the view sees are taken out, go through the product with w, and are put back. The other factor, w, gets "
                "its gradient as well.")
    label(d, 84, 34, "gradient of a", BODY, "bold", "ink")
    cells(d, 16, 44, [f"{n:g}" for n in g], "amber")
    d.rect(176, 18, 366, 166, "panel", "blue", 6)
    label(d, 192, 40, "CopySlices", BODY, "mono", "blue", "start")
    box(d, 334, 112, 168, 56, "v.mul_(w)", "g * w,  g * (old v)", "blue")
    arrow(d, [(152, 56), (470, 56), (470, 186), (470, 208)], "amber", 2)
    label(d, 400, 48, "outside of the view: unchanged", ink="amber")
    arrow(d, [(84, 70), (84, 112), (248, 112)], "amber", 2)
    label(d, 104, 130, "take: 6, 7", ink="amber")
    d.line([(419, 112), (470, 112)], "amber", 2)
    label(d, 478, 102, "put", ink="amber", anchor="start")
    arrow(d, [(300, 141), (300, 208)], "amber", 2)
    cells(d, 366, 212, [f"{n:g}" for n in of_x.tolist()], "violet", 44)
    cells(d, 256, 212, [f"{n:g}" for n in of_w.tolist()], "violet", 44)
    label(d, 454, 256, "x.grad", BODY, "mono", "violet")
    label(d, 300, 256, "w.grad", BODY, "mono", "violet")
    return d


def saved():
    """Measured here as in the tutorial."""
    data, weight = mg.ones(100, 10), mg.full((10, 10), 0.1, requires_grad=True)
    history, places = [], []
    for _ in range(4):
        data = (data @ weight).tanh()
        places.append(data)
        history.append(mg.debug.saved(data).nbytes)
    loss = data.sum()
    for place in places:
        place.register_hook(lambda g: history.append(mg.debug.saved(loss).nbytes))
    loss.backward()
    history.append(mg.debug.saved(loss).nbytes)
    d = Picture("saved", WIDE, 226, "Saved tensors over time",
                "A bar for each moment: the bytes saved for the backward. They rise with each layer of the forward, are "
                "largest when the backward begins, and fall with each node that has run, to 0.")
    left, floor, step, full = 20.0, 168.0, 58.0, 120.0
    for i, size in enumerate(history):
        high = full * size / max(history)
        x = left + step * i
        if size:
            d.rect(x, floor - high, step - 10, high, "pale-blue" if i < 4 else "pale-amber", "blue" if i < 4 else "amber")
        label(d, x + (step - 10) / 2, floor - high - 6, f"{size:,}", ink="ink")
    d.line([(left - 6, floor), (WIDE - 18, floor)], "soft", 1)
    label(d, left + 2 * step - 5, 190, "forward: each layer saves", BODY, "bold", "blue")
    label(d, left + 6.5 * step - 5, 190, "backward: each node frees after it has run", BODY, "bold", "amber")
    label(d, WIDE / 2, 214, "bytes saved, four layers of 100 × 10 numbers")
    return d


def root_n():
    d = Picture("root-n", WIDE, 262, "How many segments?",
                "A curve for a chain of 64 layers. With 1 or 64 segments, 64 tensors are kept at most. The fewest, 15, are "
                "kept with 8 segments, the square root of 64. One part of the sum, the inputs of segments, rises; the "
                "other, the inside of one segment, falls.")
    left, right, floor, top, n = 62.0, 524.0, 206.0, 26.0, 64

    def at(k, kept):
        return left + (right - left) * math.log2(k) / 6, floor - (floor - top) * kept / n

    d.line([(left, top - 12), (left, floor), (right + 14, floor)], "soft", 1)
    for kept in (0, 15, 64):
        label(d, left - 8, at(1, kept)[1] + 4, f"{kept}", ink="ink", anchor="end")
    d.line([at(1, n), at(64, n)], "rule", 1.2, dashed=True)
    label(d, (left + right) / 2, top - 8, "without checkpoints: 64")
    fine = [2 ** (i / 8) for i in range(49)]
    for part, ink in ((lambda k: k, "violet"), (lambda k: n / k - 1, "amber")):
        d.line([at(k, part(k)) for k in fine], ink, 1.2, dashed=True)
    d.line([at(k, k + n / k - 1) for k in fine], "blue", 2.4)
    d.line([at(1, 15), at(8, 15)], "rule", 1, dashed=True)
    for i in range(7):
        k = 2 ** i
        x, y = at(k, k + n / k - 1)
        d.circle(x, y, 4, "paper", "blue", 2)
        label(d, x, floor + 16, f"{k}", ink="ink")
    label(d, *at(8.0, 49), "with checkpoints: k + n/k − 1", BODY, "bold", "blue")
    label(d, *at(8.0, 42.5), "k inputs of segments", ink="violet")
    label(d, *at(8.0, 36), "n/k − 1 inside one segment", ink="amber")
    label(d, *at(8.0, 22), "√64 = 8: 15 tensors", BODY, "bold", "blue")
    label(d, (left + right) / 2, floor + 36, "k, the number of segments (the axis doubles)")
    label(d, 10, top - 10, "kept", anchor="start")
    return d


def railway():
    """The stations are those of the cheat sheet, which a test compares with the engine."""
    d = Picture("railway", WIDE, 334, "The order of hooks",
                "Two tracks with stations from top to bottom. A gradient of a computed tensor h passes tensor hooks, "
                "retain_grad, pre-hooks of the node, the node, hooks of the node, and is delivered. A gradient of a leaf x "
                "passes tensor hooks, pre-hooks, the addition to x.grad, post-accumulate hooks and hooks of the node.")
    tracks = {"h": (192, "blue"), "x": (386, "violet")}
    pitch, first = 42.0, 54.0
    ends = {"h": len(STATIONS) - 1, "x": max([i for i, s in enumerate(STATIONS) if s.x])}
    for name, (x, ink) in tracks.items():
        label(d, x - 4, 20, "h, a computed tensor" if name == "h" else "x, a leaf", BODY, "bold", ink, "start")
        d.line([(x, 30), (x, first + pitch * ends[name] + (18 if name == "h" else 0))], ink, 3)
    for i, station in enumerate(STATIONS):
        y = first + pitch * i
        label(d, 10, y + 4, f"{i + 1}", BODY, "bold", "blue", "start")
        label(d, 24, y + 4, station.name, BODY, "sans", "ink", "start")
        for name, call in (("h", station.h), ("x", station.x)):
            x, ink = tracks[name]
            if call is not None:
                runs = station.name == "the node runs"
                d.circle(x, y, 8 if runs else 6.5, ink if runs else "paper", ink, 3)
                parts = call.split(" ") if "(" in call else [call]
                for j, part in enumerate(parts):
                    face = "mono" if "(" in part or "." in part else "sans"
                    label(d, x + 14, y + 4 + 13 * (j - (len(parts) - 1) / 2), part, 11.0, face, "ink", "start")
    return d


def two_halves():
    d = Picture("two-halves", WIDE, 232, "The backward of a stage in two halves",
                "A stage as a graph. The path of I goes from the gradient of y through the last product, relu and the first "
                "product to the gradient of x. At each of the two products, the gradient that arrives is recorded: 1 and 5. The "
                "two steps of W begin at these records and lead to the gradients of w2 and w1, 6 and 10.")
    places = {"x.grad": 56, "· w1": 178, "relu": 284, "· w2": 390, "y.grad": 502}
    sent = {"· w2": 1, "relu": 5, "· w1": 5, "x.grad": 15}
    label(d, 8, 24, "I, now: the path to x", BODY, "bold", "amber", "start")
    for name, x in places.items():
        if name in ("x.grad", "y.grad"):
            below, kind = ("sent on: 15", "violet") if name == "x.grad" else ("arrives: 1", "blue")
            box(d, x, 76, 92, 44, name, below, kind)
        else:
            box(d, x, 76, 62, 44, name)
    for (name, x), before in zip(list(places.items())[:-1], list(places.values())[1:]):
        start, end = before - (47 if before > 500 else 32), x + (47 if x < 60 else 32)
        arrow(d, [(start, 76), (end, 76)], "amber")
        label(d, (start + end) / 2 + 3, 68, str(sent[name]), BODY, "bold", "amber")
    d.line([(8, 122), (WIDE - 8, 122)], "red", 1.2, dashed=True)
    label(d, 8, 142, "W, later", BODY, "bold", "violet", "start")
    for name, recorded, weight, found in (("· w1", 5, "w1.grad", 10), ("· w2", 1, "w2.grad", 6)):
        x = places[name]
        arrow(d, [(x, 99), (x, 134)], "amber", dashed=True)
        box(d, x, 148, 104, 26, f"recorded: {recorded}", kind="amber")
        arrow(d, [(x, 162), (x, 186)], "violet")
        box(d, x, 206, 104, 38, weight, f"{recorded} · {found // recorded} = {found}", "violet")
    return d


def pipeline():
    """The times are those of `simulate`."""
    d = Picture("pipeline", WIDE, 216, "Two microbatches in a pipeline of four",
                "Four ranks over time, as rows. The forward of microbatch 0 goes down from rank 0 to rank 3, one unit of time "
                "on each, and its backward comes up again, two units on each. Arrows show the messages. Microbatch 1 follows "
                "one place behind.")
    left, unit, pitch, high = 56.0, 33.0, 44.0, 28.0
    timeline = simulate("GPipe", 4, 2).timeline or {}
    place = {}
    for rank, row in timeline.items():
        y = 24 + rank * pitch
        label(d, 8, y + 4.5, f"rank {rank}", SMALL, "sans", "ink", "start")
        d.line([(left, y), (left + 15 * unit, y)], "rule", 1.0)
        for action, start, end in row:
            x, wide = left + start * unit, (end - start) * unit
            text = str(action)[1:]
            ink = "violet" if action.microbatch_index else "amber"
            d.rect(x, y - high / 2, wide, high, f"pale-{ink}", ink)
            label(d, x + wide / 2, y + 4.5, text, BODY, "mono", "ink")
            place[rank, text] = x, x + wide, y
    for rank in range(3):
        for kind, start, end, way in (("F0", rank, rank + 1, 1), ("B0", rank + 1, rank, -1)):
            _, x, y0 = place[start, kind]
            y1 = place[end, kind][2]
            arrow(d, [(x - 5, y0 + way * high / 2), (x + 5, y1 - way * high / 2)], "amber")
    label(d, left, 200, "time goes to the right; a line is a bubble; an arrow is a message of microbatch 0", anchor="start")
    return d


DRAWN = (two_paths, adjoints, network, broadcasting, cut, waiting, version, copy_slices, saved, root_n, railway,
         two_halves, pipeline, buckets)
PICTURES = {draw.__name__.replace("_", "-"): draw for draw in DRAWN}


def write():
    """Write the files. A file that a picture no longer needs is deleted."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.svg"):
        if path.stem not in PICTURES:
            path.unlink()
    for name, draw in PICTURES.items():
        picture = draw()
        picture.check()
        (FOLDER / f"{name}.svg").write_text(picture.svg(), "utf-8")


if __name__ == "__main__":
    write()
