"""The cheat sheet: two pages of A4, landscape, as SVG and as PDF. What the first page says is in ``sheet_facts.py``; here is where
each thing stands. ``sheet_back.py`` is the second page.

Twelve columns; one type scale (TITLE, HEADING, BODY and SMALL); blue for nodes, violet for leaves, amber for gradients.
"""

import minigrad as mg
from tools.docs import sheet_back
from tools.docs import sheet_facts as facts
from tools.docs.drawing import Drawing, width
from tools.docs.sheet_style import (
    AMBER,
    BLUE,
    BODY,
    GAP,
    HEADING,
    INK,
    LEADING,
    MARGIN,
    PAGE,
    PALE_BLUE,
    PALE_VIOLET,
    PANEL,
    ROW,
    SMALL,
    SOFT,
    TITLE,
    VIOLET,
    column,
    heading,
    span,
    table,
)

__all__ = ["draw", "write"]

ROWS = 58.0, 311.0, 446.0       # where the rows begin


def draw():
    """The sheet as a `Drawing`, which has been checked: nothing overlaps, nothing is cut."""
    ran = facts.run_example()
    d = Drawing(*PAGE, "minigrad on two pages",
                "Cheat sheet: the graph, the ready queue, the order of hooks, saved tensors and versions, common errors.",
                margin=24.0)
    end = d.text(MARGIN, 40, "minigrad on two pages", TITLE, "bold")
    d.text(end + 10, 40, "autograd from the inside: the names, the order and the errors are PyTorch's", HEADING, colour=SOFT)
    d.text(PAGE[0] - MARGIN, 40, f"minigrad {mg.__version__}", BODY, colour=SOFT, anchor="end")
    graph(d, column(0), ROWS[0], span(5), ran)
    queue(d, column(5), ROWS[0], span(4), ran)
    saved(d, column(9), ROWS[0], span(3), ran)
    hooks(d, column(0), ROWS[1], span(12))
    errors(d, ROWS[2])
    d.check()
    return d


# ---- 1: the graph -------------------------------------------------------------------------------------------

HIGH = 24.0     # of the box of a node


def graph(d, x, y, wide, ran):
    """The program, its graph, and the five words for what is seen."""
    top = heading(d, x, y, wide, 1, "The graph")
    lines = facts.EXAMPLE.splitlines()
    code = max([width(line, "mono", SMALL) for line in lines]) + 14
    d.rect(x, top - 9, code, len(lines) * LEADING + 8, PANEL, radius=3)
    for i, line in enumerate(lines):
        d.text(x + 7, top + 2 + i * LEADING, line, SMALL, "mono")
    at = top
    for name, text in facts.GRAPH[:3]:
        at = d.paragraph(x + code + 12, at, wide - code - 12, f"*{name}:* {text}", BODY, LEADING) + 2
    nodes(d, x, top + 84, wide, ran)
    at = top + 198
    for name, text in facts.GRAPH[3:]:
        at = d.paragraph(x, at, wide, f"*{name}:* {text}", BODY, LEADING) + 2


def nodes(d, x, y, wide, ran):
    """The graph of the example: tensors above their nodes, gradients on the edges, from right to left."""
    names = {"x": "AccumulateGrad", **ran.nodes}
    widths = {t: width(name, "mono", SMALL) + 12 for t, name in names.items()}
    gap = (wide - sum([widths[t] for t in "xhsy"])) / 3
    middle, low, left = y + 34 + HIGH / 2, y + 76 + HIGH / 2, {}
    at = x
    for t in "xhsy":
        left[t] = at
        at += widths[t] + gap
    left["t"] = left["s"]
    for t in "xhsyt":
        leaf, centre = t == "x", (low if t == "t" else middle)
        d.rect(left[t], centre - HIGH / 2, widths[t], HIGH, PALE_VIOLET if leaf else PALE_BLUE, VIOLET if leaf else BLUE, 3)
        d.text(left[t] + widths[t] / 2, centre - 2, names[t], SMALL, "mono", anchor="middle")
        made, waits = ran.created[names[t]], ran.counted[names[t]]
        d.text(left[t] + widths[t] / 2, centre + 8, f"no. {made} · waits for {waits}" if made else f"waits for {waits}", SMALL,
               colour=SOFT, anchor="middle")
    for t in "xhsy":
        at = left[t] + widths[t] / 2
        pill(d, at, y + 6, t, ran.values[t])
        ends = [(at, y + 13), (at, middle - HIGH / 2 - 1)]
        d.line(ends[::-1] if t == "x" else ends, SOFT, arrow=True, dashed=True)
        if t == "x":
            d.text(at + 4, y + 25.5, "variable", SMALL, "mono", SOFT)
        else:
            d.text(at - 4, y + 25.5, "grad_fn", SMALL, "mono", SOFT, "end")
    at = x + wide - 18
    pill(d, at, low, "t", ran.values["t"])
    d.line([(at - 19, low), (left["t"] + widths["t"] + 1, low)], SOFT, arrow=True, dashed=True)
    d.text((at - 19 + left["t"] + widths["t"]) / 2, low + 9, "grad_fn", SMALL, "mono", SOFT, "middle")
    edges(d, left, widths, middle, low, ran)


def pill(d, x, y, name, value):
    """A tensor and its value, centred."""
    colour = VIOLET if name == "x" else BLUE
    d.rect(x - 18, y - 7, 36, 14, "#ffffff", colour, 7)
    d.text(x - 3.5, y + 2.6, name, BODY, "bold", colour, "end")
    d.text(x + 1.5, y + 2.6, f"{value:.1f}", BODY)


def edges(d, left, widths, middle, low, ran):
    """The edges, with the gradient that each has carried."""
    given = {(turn.node, after): [g for g, node in turn.gives if node == after] for turn in ran.turns for _, after in turn.gives}
    name = {"x": "AccumulateGrad", **ran.nodes}

    def labels(before, after):
        return [f"{g:g}" for g in given[name[before], name[after]]]

    for before, after in ("ys", "sh", "hx"):
        start, end = left[before] - 1, left[after] + widths[after] + 1
        found = labels(before, after)
        for i, label in enumerate(found):
            at = middle if len(found) == 1 else middle - 5 + 10 * i
            d.line([(start, at), (end, at)], AMBER, 1, arrow=True)
            d.text((start + end) / 2 + 1.5, at - 2.5 if i == 0 else at + 8, label, SMALL, "bold", AMBER, "middle")
    start, end = (left["y"] + 6, middle + HIGH / 2 + 1), (left["t"] + widths["t"] - 12, low - HIGH / 2 - 1)
    d.line([start, end], AMBER, 1, arrow=True)
    d.text((start[0] + end[0]) / 2 + 5, (start[1] + end[1]) / 2 + 6, labels("y", "t")[0], SMALL, "bold", AMBER)
    start, end = (left["t"] - 1, low), (left["x"] + widths["x"] / 2 + 8, middle + HIGH / 2 + 1)
    d.line([start, (start[0] - 60, low), (end[0], low + 4), end], AMBER, 1, arrow=True, curved=True)
    d.text((start[0] + end[0]) / 2 - 4, low - 4, labels("t", "x")[0], SMALL, "bold", AMBER, "middle")
    at = left["h"] + widths["h"] / 2 + 14
    d.line([(at, middle + HIGH / 2 + 1), (at, middle + HIGH / 2 + 9)], SOFT, arrow=True)
    d.text(at + 5, middle + HIGH / 2 + 8.5, "None", SMALL, "mono", SOFT)
    d.text(left["x"], low + 10, f"x.grad = {ran.grad:g}", SMALL, "bold", AMBER)


# ---- 2: the ready queue -------------------------------------------------------------------------------------


def queue(d, x, y, wide, ran):
    """The rules, and the turns of the example."""
    at = heading(d, x, y, wide, 2, "The ready queue")
    for name, text in facts.QUEUE:
        at = d.paragraph(x, at, wide, f"*{name}* {text}", BODY, LEADING) + GAP
    columns = x, x + 0.3 * wide, x + 0.66 * wide
    at = table(d, columns, at + 6, wide, ("ready, next first", "gives", "dependencies left"))
    for turn in ran.turns:
        end = columns[0]
        for i, node in enumerate(turn.queue):
            made = ran.created[node]
            end = d.text(end, at, f"{', ' if i else ''}{facts.short(node)}{f' {made}' if made else ''}", BODY,
                         "bold" if i == 0 else "sans", INK if i == 0 else SOFT)
        gives: dict[str, list[str]] = {}
        for gradient, node in turn.gives:
            gives.setdefault(facts.short(node), []).append(f"{gradient:g}")
        end = columns[1]
        for i, (node, numbers) in enumerate(gives.items()):
            end = d.text(end, at, f"{', ' if i else ''}{' + '.join(numbers)}", BODY, "bold", AMBER)
            end = d.text(end, at, f" to {facts.short(node)}", BODY)
        if not gives:
            d.text(end, at, f"x.grad = {ran.grad:g}", BODY, "bold", AMBER)
        d.text(columns[2], at, ", ".join([f"{facts.short(node)} {n}" for node, n in turn.waits.items()]) or "–", BODY, colour=SOFT)
        at += ROW
    d.paragraph(x, at + 8, wide, facts.WATCH, BODY, LEADING)


# ---- 3: saved tensors ---------------------------------------------------------------------------------------


def saved(d, x, y, wide, ran):
    """What the nodes of the example save, and the rules."""
    at = heading(d, x, y, wide, 3, "Who saves what")
    columns = x, x + 0.3 * wide, x + 0.56 * wide
    at = table(d, columns, at, wide, ("node", "saves", "how"))
    nothing = [facts.short(node) for node, names in ran.saved.items() if not names and node != "AccumulateGrad"]
    for node, names in ran.saved.items():
        if names:
            d.text(columns[0], at, facts.short(node), BODY, "bold")
            d.text(columns[1], at, ", ".join(sorted(names, reverse=True)), BODY)
            d.text(columns[2], at, "without its history" if names == ["result"] else "the tensor itself", BODY)
            at += ROW
    d.text(columns[0], at, ", ".join(nothing), BODY, "bold")
    d.text(columns[1], at, "no tensor", BODY)
    at += ROW + 7
    for text in facts.VERSIONS:
        at = d.paragraph(x, at, wide, text, BODY, LEADING) + GAP


# ---- 4: hooks -----------------------------------------------------------------------------------------------


def hooks(d, x, y, wide):
    """A railway: two tracks, the stops in columns."""
    top = heading(d, x, y, wide, 4, "The order of hooks")
    start = x + 78
    pitch = (wide - 78) / len(facts.STATIONS)
    tracks = {"h": (top + 22, BLUE), "x": (top + 48, VIOLET)}
    last = {"h": len(facts.STATIONS) - 1, "x": max([i for i, s in enumerate(facts.STATIONS) if s.x])}
    for name, (at, colour) in tracks.items():
        end = d.text(x, at + 3, name, HEADING, "bold", colour)
        d.text(end + 4, at + 3, "computed tensor" if name == "h" else "leaf", BODY, colour=SOFT)
        stop = x + wide if name == "h" else start + last[name] * pitch + 4
        d.line([(start - 10, at), (stop, at)], colour, 2, arrow=name == "h")
    for i, station in enumerate(facts.STATIONS):
        left = start + i * pitch
        d.text(left, top, f"{i + 1}", BODY, "bold", BLUE)
        d.text(left + 7, top, station.name, BODY, "bold")
        if station.given:
            d.text(left + 7, top + LEADING, f"f gets {station.given}", SMALL, colour=SOFT)
        for name, call in (("h", station.h), ("x", station.x)):
            if call is not None:
                at, colour = tracks[name]
                runs = station.name == "the node runs"
                d.circle(left + 4, at, 4.5 if runs else 3.6, colour if runs else "#ffffff", colour, 1.6)
                for j, part in enumerate(call.split(" ") if "(" in call else [call]):
                    face = "sans" if " " in call and "(" not in call and "=" not in call else "mono"
                    d.text(left, at + 12.5 + 8.5 * j, part, SMALL, face)
    at = top + 48 + 34
    for i, rule in enumerate(facts.HOOK_RULES):
        d.paragraph(column(4 * i), at, span(4), rule, BODY, LEADING)


# ---- 5: errors ----------------------------------------------------------------------------------------------


def errors(d, y):
    """Three columns: the code, words of the message, what to do."""
    top = heading(d, column(0), y, span(12), 5, "Errors: words of the message, and what to do")
    d.text(PAGE[0] - MARGIN, y + 14.5, 'mg.explain("MG-E102") prints more', SMALL, "mono", SOFT, "end")
    rows = len(facts.ERRORS) // 3
    for i, (code, words, fix) in enumerate(facts.ERRORS):
        assert words in facts.message(code), f"{code} does not say {words!r}"
        x, at = column(4 * (i // rows)), top + (i % rows) * 24.5
        d.text(x, at, code, SMALL, "mono", BLUE)
        d.text(x + 35, at, words, BODY, "bold")
        d.paragraph(x + 35, at + LEADING, span(4) - 35, fix, BODY, LEADING)


def write(pages):
    """Add the sheet beside its page of the site."""
    front, back = draw(), sheet_back.draw()
    pages.write("teach/cheat-sheet.svg", front.svg())
    pages.write("teach/cheat-sheet-2.svg", back.svg())
    pages.write("teach/cheat-sheet.pdf", front.pdf(back))
