"""The panels of a step-through: the graph, and the tables beside it.

Each cell that changes has its key (``_timeline.py``): ``data-t`` for its text, ``data-c`` for its state. A row with an empty state
is hidden.
"""

from minigrad.viz._page import escape, tag
from minigrad.viz._picture import Arrow, Box, Line, Value, lay_out, svg
from minigrad.viz._timeline import Timeline, TimelineStep

__all__ = ["about_graph", "boxes_and_arrows", "occurring", "panels"]

COLUMN = 460        # a graph that is wider than this, in pixels, gets the whole width of the page
EXPORTS = [("svg", "SVG", "save the graph at this step as SVG"), ("animate", "▶ SVG", "save all steps as an animated SVG")]
LEGEND = [("wait", "waits"), ("ready", "ready"), ("run", "runs"), ("done", "done"), ("fail", "failed")]


def panels(timeline: Timeline, steps: list[TimelineStep], value: Value) -> str:
    """All panels. `value` gives the text of a key after the last step."""
    present = occurring(timeline, steps)
    picture, width = graph(timeline, present, value)
    columns = [picture, source(timeline, value) + tasks(timeline, steps, value) + grads(timeline, present, value),
               saved(timeline, present, value) + storages(timeline, value)]
    return tag("div", "".join([tag("div", column, cls="mg-col") for column in columns]) + legend(),
               cls="mg-panels mg-wide" if width > COLUMN else "mg-panels")


def occurring(timeline, steps):
    """The nodes that the steps need: those that they name, and all nodes of their backwards."""
    found = {step.event.node for step in steps}
    for task in {step.event.task for step in steps} & set(timeline.tasks):
        found.update([item["node"] for item in timeline.tasks[task]])
    return [name for name in timeline.nodes if name in found]


# ---- pieces -------------------------------------------------------------------------------------------------


def cell(key, value, style=""):
    """A cell with the text of a key."""
    return tag("td", escape(value(key)), cls=style or False, data_t=key)


def number(text):
    return tag("td", escape(text), cls="mg-num")


def head(text, scope="row", **attributes):
    return tag("th", text, scope=scope, **attributes)


def code(text):
    """A name as code. A long one may be broken before Backward0."""
    return tag("code", escape(text).replace("Backward", "<wbr>Backward"))


def row(key, value, cells, node=""):
    """A row that is shown while the text of its key is not empty."""
    return tag("tr", cells, data_c=key, data_v=value(key), data_n=node or False)


def panel(name, title, inner, beside="", scrolls=True, marks=""):
    """A panel with its heading. `marks` stand below what scrolls."""
    box = tag("div", inner, cls="mg-scroll", tabindex="0", role="group", aria_label=title) if scrolls else inner
    line = tag("div", tag("span", title, cls="mg-title") + beside, cls="mg-headline")
    return tag("div", line + box + marks, cls=f"mg-panel mg-panel-{name}")


def table(heads, body):
    """A table. A head that begins with # is the head of a column of numbers."""
    cells = [head(text.lstrip("#"), "col", cls="mg-num" if text.startswith("#") else False) for text in heads]
    return tag("table", tag("thead", tag("tr", "".join(cells))) + body)


def rows(found):
    return tag("tbody", "".join(found))


# ---- panels -------------------------------------------------------------------------------------------------


def boxes_and_arrows(timeline, present):
    """The boxes and arrows of the graph of these nodes."""
    boxes = []
    for name in present:
        lines = [Line(timeline.title(name), "mg-name"), Line("", "", f"{name}.t", 13)]
        lines += [Line("", "", key, timeline.rooms[key]) for key in (f"{name}.v", f"{name}.d") if timeline.rooms.get(key)]
        boxes.append(Box(name, lines, "leaf" if timeline.ops[name] == "AccumulateGrad" else "op", name))
    known = set(present)
    arrows = [Arrow(edge.source, edge.target, f"e{i}") for i, edge in enumerate(timeline.edges)
              if edge.source in known and edge.target in known]
    return boxes, arrows


def graph(timeline, present, value):
    """The picture of the graph, and its width."""
    boxes, arrows = boxes_and_arrows(timeline, present)
    layout = lay_out(boxes, arrows)
    exports = [tag("button", text, type="button", cls="mg-js", data_do=name, title=about, aria_label=about)
               for name, text, about in EXPORTS]
    picture = svg(boxes, arrows, layout, about_graph(boxes), value)
    return panel("graph", "Graph", picture, tag("span", " ".join(exports))), layout.width


def about_graph(boxes):
    """The picture in words, for screen readers."""
    return f"a graph of {len(boxes)} nodes; the gradients go downward"


def tasks(timeline, steps, value):
    """The ready queue of each backward, and the dependencies of its nodes."""
    found = []
    for task in dict.fromkeys([step.event.task for step in steps]):
        if task not in timeline.tasks:
            continue
        key = f"t{task}"
        chips = "".join([tag("span", escape(name)) for name in value(f"{key}.q").split()])
        queue = tag("span", chips, cls="mg-queue", data_q=True, data_t=f"{key}.q")
        inside = f", {timeline.depths[task]} deep" if timeline.depths[task] else ""
        title = tag("tr", head(f"backward {task}{inside}. Ready: {queue}", "rowgroup", colspan="5"),
                    cls="mg-task")
        lines = [task_row(timeline, f"{key}.{item['node']}", item, value) for item in timeline.tasks[task]]
        found.append(tag("tbody", title + "".join(lines), data_c=f"{key}.s", data_v=value(f"{key}.s")))
    return panel("tasks", "Ready queue and dependencies",
                 table(["node", "#made", "#waits", "state", "gradient"], "".join(found)))


def task_row(timeline, key, item, value):
    """A node in the table of its backward."""
    name = item["node"]
    state = tag("td", tag("span", escape(value(f"{key}.x")), cls="mg-state", data_t=f"{key}.x"))
    made = number("last" if item["made"] is None else str(item["made"]))
    return row(f"{key}.s", value, head(code(timeline.title(name))) + made + cell(f"{key}.w", value, "mg-num") + state
               + cell(f"{key}.b", value, "mg-mono"), name)


def grads(timeline, present, value):
    """The gradients that have arrived: at leaves, at tensors with retain_grad(), and as results of grad()."""
    found = [row(f"{name}.g", value, head(code(f"{name} {timeline.called(name).removesuffix('.grad') or timeline.ops[name]}"))
                 + cell(f"{name}.g", value, "mg-mono") + cell(f"{name}.h", value), name) for name in present]
    return panel("grads", "Gradients that have arrived", table(["of", "gradient", "how"], rows(found)))


def saved(timeline, present, value):
    """The saved values of the nodes, and whether their storages have been written to."""
    found = []
    for name in present:
        for key, _, data in timeline.saved.get(name, ()):
            where, versions = f"packed: {data.get('packed')}", number("") + number("")
            if "storage" in data:
                where = timeline.storage(data["storage"])
                versions = number(str(data["saved"])) + cell(f"{data['storage']}.v", value, "mg-num")
            state = tag("td", tag("span", cls="mg-kept", data_c=f"{key}.s", data_v=value(f"{key}.s")))
            cells = head(code(f"{name} {data['name']}")) + tag("td", code(where)) + versions + state
            found.append(row(f"{key}.s", value, cells, name))
    total = sum([size or 0 for size in timeline.sizes.values()])
    meter = tag("meter", min="0", max=str(max(total, 1)), value=value("kept.n") or "0", aria_label="bytes kept")
    return panel("saved", "Saved for the backward",
                 meter + table(["saved by", "storage", "#at version", "#now", "state"], rows(found)),
                 tag("span", escape(value("kept")), data_t="kept"))


def storages(timeline, value):
    """The storages and their versions."""
    found = []
    for name, size in timeline.sizes.items():
        looks = timeline.looks.get(name)
        what = tag("td", f"{looks['dtype']} {looks['shape']}" if looks else "", cls="mg-nowrap")
        what += number("" if size is None else f"{size:,}")
        found.append(row(f"{name}.v", value, head(code(timeline.storage(name))) + what
                         + cell(f"{name}.v", value, "mg-num") + cell(f"{name}.o", value)))
    heads = ["storage", "holds", "#bytes", "#version", "last write"]
    return panel("storages", "Storages and versions", table(heads, rows(found)))


def source(timeline, value):
    """The text of the program with the line that runs; if it is not known, only the line that called the op."""
    if not timeline.program:
        line = tag("code", escape(value("src.l")), cls="mg-source", data_t="src.l")
        return panel("source", "Source line of the op", line, tag("code", escape(value("src.f")), data_t="src.f"), scrolls=False)
    found = []
    for title, lines in timeline.program:
        items, following = [], 1
        for number, text in lines:
            key = timeline.lines[title, number, text.strip()]
            items.append(tag("li", tag("code", escape(text) or " "), data_c=key, data_v=value(key),
                             value=False if number == following else str(number)))
            following = number + 1
        found.append((tag("p", escape(title), cls="mg-file"), tag("ol", "".join(items), role="list")))
    marks = tag("p", tag("span", "▶ runs now") + tag("span", escape(value("src.l")), data_t="src.l")
                + tag("code", escape(value("src.f")), data_t="src.f"), cls="mg-marks")
    title, text = found[0] if len(found) == 1 else ("", "".join([part for parts in found for part in parts]))
    return panel("source", "Program", text, title, marks=marks)


def legend():
    """The meaning of the colours and shapes."""
    states = "".join([tag("span", words, cls="mg-state", data_v=state) for state, words in LEGEND])
    words = [tag("span", text) for text in ("round: a leaf", "gradients go downward", "s1, s2: storages")]
    inner = tag("div", tag("span", "Legend", cls="mg-title") + states + "".join(words), cls="mg-legend")
    return tag("div", inner, cls="mg-panel mg-panel-legend")
