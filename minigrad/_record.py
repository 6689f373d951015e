"""`mg.debug.record`: what the engine did, and why next: as a table, as JSON, and as a picture.

    with mg.debug.record() as r:
        loss.backward()
    print(r)            step  event    node              what                why
    r.events            the same as a list of `Event`
    r.to_json()         the same for other programs: record.schema.json
    r.to_dot()          the graph, with the gradients on its edges and the order of the nodes, for Graphviz
    mg.viz.step(r)      a page to step through it, which is what a notebook shows for a record

Each event is told in words from its data here, and only here, so that no two of these can disagree.

Read next: ``_core/observe/recorder.py``, which takes the events down; ``_core/observe/recording_task.py``, which has most of them.
"""

import functools
import sys
import textwrap
from typing import Any, NamedTuple

from minigrad._core.graph.switches import switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.observe.recorder import Recorder
from minigrad.errors import AutogradError

__all__ = ["Event", "Record"]

SHOWN = 8       # nodes of a list, at most
WIDE = 80       # letters of an error, at most


class Event(NamedTuple):
    """One thing that happened. See `debug.record`.

    step        its number, from 1
    kind        what it is: "dequeue", "unpack", ...
    node        the name of the node, such as n2; None where there is none
    op          what that node is, such as MulBackward0; empty where there is none
    task        which backward it belongs to, from 1; None outside of any
    depth       how many backwards that one is nested in
    thread      the number of the thread, from 1
    data        what else there is to say, by kind: see the schema
    """

    step: int
    kind: str
    node: str | None
    op: str
    task: int | None
    depth: int
    thread: int
    data: dict[str, Any]

    @property
    def what(self):
        """What happened, in words."""
        return WORDS[self.kind](self.data)[0]

    @property
    def why(self):
        """Why, or how it came about, in words."""
        return WORDS[self.kind](self.data)[1]


class Record:
    """Context manager: take down what the engine does, in all threads. Made by `mg.debug.record`, where its docs are."""

    def __init__(self, names):
        self._recorder = Recorder()
        self._given = names

    def __enter__(self):
        if self._recorder in switches.recorders:
            raise AutogradError("MG-E240", "this record is being taken already: its `with` has been entered",
                                fix="mg.debug.record() makes another one; two may be taken at once")
        self._recorder.start()
        return self

    def __exit__(self, *exc_info):
        self._recorder.stop()
        frame = sys._getframe(1)
        here = frame.f_globals if frame.f_code.co_name == "<module>" else {}
        found = {name: value for name, value in list(here.items()) if isinstance(value, TensorBase) and not name.startswith("_")}
        self._recorder.call({**self._given, **found})
        self._given = {}

    @property
    def events(self):
        """What happened, oldest first: a list of `Event`."""
        ops = self._recorder.ops
        return [Event(step, kind, node, ops.get(node, ""), *rest)
                for step, (kind, node, *rest) in enumerate(list(self._recorder.events), 1)]

    @property
    def nodes(self):
        """What the names stand for: a dict such as ``{"n1": "SumBackward0"}``."""
        return dict(self._recorder.ops)

    @property
    def names(self):
        """What the program calls the nodes and storages: a dict such as ``{"n2": "y", "s1": "x"}``."""
        return dict(self._recorder.called)

    @property
    def storages(self):
        """The storages that occur, and the bytes of each: a dict such as ``{"s1": 8}``; None where no tensor on it was seen."""
        return {name: told["bytes"] for name, told in self._recorder.storages.items()}

    @property
    def order(self):
        """The names of the nodes in the order in which they ran."""
        return [event.node for event in self.events if event.kind == "dequeue" and event.data["runs"]]

    def __repr__(self):
        events = self.events
        if not events:
            return "nothing recorded"
        threads = max([event.thread for event in events]) > 1
        rows = [("step", "event", "node", "what", "why", *["thread"] * threads)]
        rows += [(str(event.step), "  " * event.depth + event.kind, f"{event.node} {event.op}" if event.node else "",
                  event.what, event.why, *[str(event.thread)] * threads) for event in events]
        widths = [max(map(len, column)) for column in zip(*rows)]
        first, *others = widths
        return "\n".join(["  ".join([row[0].rjust(first), *[cell.ljust(width) for cell, width in zip(row[1:], others)]]).rstrip()
                          for row in rows])

    def to_json(self, indent=None):
        """All of it as JSON text, in the form that ``Record.schema()`` describes.

        Args:
            indent (int, optional): spaces per level; None for one line.
        """
        import json  # here, as few programs write a record: with what finds the schema, a tenth of importing minigrad
        events = [{key: value for key, value in event._asdict().items() if key != "op"} for event in self.events]
        told = {"version": 1, "nodes": self.nodes, "storages": self.storages, "names": self.names, "order": self.order,
                "events": events}
        return json.dumps(told, indent=indent, allow_nan=False)

    def _repr_html_(self):
        from minigrad import viz  # which stands above, and is seldom asked for
        return viz.step(self)._repr_html_()

    @staticmethod
    @functools.cache
    def schema():
        """The JSON schema of `to_json`, a dict. Also in the file ``minigrad/record.schema.json``."""
        import json
        from importlib import resources
        return json.loads(resources.files("minigrad").joinpath("record.schema.json").read_text(encoding="utf-8"))

    def to_dot(self):
        """The graphs behind the backwards in the language of Graphviz: ``dot -Tsvg``.

        A node is labelled with its name, its op, and when it ran; what did not run is dashed. An edge carries the dtype and shape
        of the gradient that went along it; where none did it is dashed.
        """
        ran = {}
        for i, name in enumerate(self.order, 1):
            ran.setdefault(name, []).append(str(i))
        edges, passed, drawn = [], {}, []
        for event in self.events:
            if event.kind == "count":
                for node in event.data["nodes"]:
                    drawn.append(node["node"])
                    edges += [(node["node"], i, *edge) for i, edge in enumerate(node["next"]) if edge[0] is not None]
            elif event.kind == "receive" and event.data["from"] and event.data["gradient"]:
                passed[event.data["from"], event.data["edge"]] = kind_of(event.data["gradient"])
        lines = ["digraph backward {", '    node [shape=ellipse, fontname="sans-serif"];', '    edge [fontname="sans-serif"];']
        for name in dict.fromkeys(drawn):
            op = self.nodes[name]
            when = f"\\nran {', '.join(ran[name])}" if name in ran else ""
            shape = ", shape=box" if op == "AccumulateGrad" else ""
            lines.append(f'    {name} [label="{name} {escaped(op)}{when}"{shape}{"" if name in ran else ", style=dashed"}];')
        for name, i, following, _ in dict.fromkeys(edges):
            gradient = passed.get((name, i))
            label = "style=dashed" if gradient is None else f'label="{gradient}"'
            lines.append(f"    {name} -> {following} [{label}];")
        return "\n".join([*lines, "}"])


def escaped(text):
    """`text` between quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


# ---- in words ---------------------------------------------------------------------------------------------


def kind_of(value):
    """The dtype and shape of a tensor."""
    return f"{value['dtype']} {value['shape']}" if "dtype" in value else value["type"]


def shown(value):
    """A tensor in few words."""
    if value is None:
        return "nothing"
    if "numbers" in value:
        numbers = text_of(value["numbers"])
        empty = f" {value['shape']}" if 0 in value["shape"] else ""
        return numbers + empty + ("" if value["dtype"] == "float32" else f" {value['dtype']}")
    rest = ", ".join([f"{key} {text_of(value[key])}" for key in ("min", "max", "mean", "largest") if key in value])
    return kind_of(value) + (f", {rest}" if rest else "")


def text_of(numbers):
    """Nested lists of numbers, four digits of each."""
    if isinstance(numbers, list):
        return f"[{', '.join(map(text_of, numbers))}]"
    return f"{numbers:.4g}" if isinstance(numbers, float) else str(numbers)


def several(values):
    """Several tensors in few words."""
    return ", ".join([shown(value) for value in values]) or "nothing"


def listed(names):
    """Several names, of many the first."""
    return ", ".join(names[:SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > SHOWN else "")


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def begun(data):
    kept = "the graph is kept" if data["keep_graph"] else "saved tensors are freed on the way"
    recorded = "; what it computes has a graph again" if data["create_graph"] else ""
    selective = "; only what leads to its inputs runs" if data["selective"] else ""
    return f"a backward over {count(len(data['nodes']), 'node')}", kept + recorded + selective


def counted(data):
    nodes = data["nodes"]
    left = len([node for node in nodes if not node["needed"]])
    return (listed([f"{node['node']}: {node['waits']}" for node in nodes]),
            "gradients to wait for: one per edge that leads there" + (f"; {count(left, 'node')} not needed" if left else ""))


def received(data):
    if data["from"] is None:
        return shown(data["gradient"]), "where it begins" + (f", input {data['input']}" if data["input"] else "")
    what = shown(data["gradient"])
    if data["how"] in ("in place", "out of place"):
        what = f"{shown(data['before'])} + {what} = {shown(data['after'])}"
    where = f", input {data['input']}" if data["input"] else ""
    how = {"undefined": "", "first": ""}.get(data["how"], f", added {data['how']}")
    fitted = f", made of {kind_of(data['fitted'])}" if data["fitted"] else ""
    waits = f"; waits for {data['waits']} more" if data["waits"] else ""
    return what, f"from {data['from']}{where}{fitted}{how}{waits}"


def dequeued(data):
    since = f"ready since step {data['since']}" if data["since"] else "ready"
    others = listed(data["others"])
    rule = {"only": "the only one", "latest": f"made later than {others}",
            "accumulate": f"an AccumulateGrad runs at once, before {others}"}
    result = "" if data["runs"] else "; it does not run, its gradient is the result"
    gradient = data["gradient"]
    return several(gradient) if isinstance(gradient, list) else shown(gradient), f"{since}; {rule[data['rule']]}{result}"


def hooked(data):
    before = several(data["before"])
    if "after" not in data:
        return f"{data['function']}: {before}", f"{data['hook']}; it did not return"
    changed = "replaced" if data["replaced"] else "left as it was" if data["after"] == data["before"] else \
        ".grad dropped" if data["after"] == [None] else "changed in place"
    return f"{data['function']}: {before}" + ("" if changed == "left as it was" else f" -> {several(data['after'])}"), \
        f"{data['hook']}: {changed}"


def unpacked(data):
    if "hook" in data:
        return shown(data["value"]) if data.get("value") else "", f"by the unpack hook {data['hook']}"
    version = "unchanged" if data["saved"] == data["now"] else "it has been written to"
    return f"{data['name']} = {shown(data['value'])}", f"saved at version {data['saved']}, now {data['now']}: {version}"


HOW = {"stolen": "nobody else has the gradient: it becomes .grad itself",
       "copied": "a copy: somebody else may see the gradient, or it lies otherwise in memory",
       "in place": "added in place to what was there", "cloned": "a clone, with history",
       "out of place": "a new sum, with history"}

# kind -> data -> (what, why)
WORDS = {
    "made": lambda d: ("a new node", f"while {d['by']} runs" if d["by"] else "the forward pass"),
    "write": lambda d: (f"{d['op']}: version {d['version']}", "a write in place"),
    "pack": lambda d: (f"{shown(d['value'])} -> {d['kept']}", f"by the pack hook {d['hook']}"),
    "begin": begun,
    "count": counted,
    "receive": received,
    "enqueue": lambda d: ("ready", f"{d['last']} was the last to wait for" if d["last"] else "waits for nothing"),
    "dequeue": dequeued,
    "hook": hooked,
    "retain": lambda d: (f".grad = {shown(d['grad'])}", "retain_grad()"),
    "unpack": unpacked,
    "compute": lambda d: (f"{several(d['gradients'])} -> {several(d['results'])}", ""),
    "release": lambda d: (count(d["tensors"], "saved tensor"), "the graph is not to be kept"),
    "accumulate": lambda d: (f".grad = {shown(d['grad'])}", HOW[d["how"]]),
    "result": lambda d: (shown(d["gradient"]) if not isinstance(d["gradient"], list) else several(d["gradient"]),
                         "the result for " + ", ".join([f"input {position}" for position in d["positions"]])),
    "error": lambda d: (textwrap.shorten(f"{d['type']}: {d['message']}", WIDE, placeholder=" ..."), d["code"] or ""),
    "end": lambda d: (count(d["nodes"], "node") + (" have run" if d["nodes"] != 1 else " has run"),
                      "nothing is ready" + (f"; {count(d['callbacks'], 'callback')} to call" if d["callbacks"] else "")),
}
