"""`mg.debug.record`: what the engine did, and why, as a table, as JSON, and as a picture.

    with mg.debug.record() as r:
        loss.backward()
    print(r)            step  event    node              what                why
    r.events            the same as a list of `Event`                                    events.py
    r.to_json()         the same for other programs: record.schema.json
    r.to_dot()          the graph, with the gradients on its edges and the order of the nodes, for Graphviz
    mg.viz.step(r)      a page that steps through the record; a notebook shows it for `r`

Read next: ``_core/observe/recorder.py``, which records the events; ``_core/observe/recording_task.py``, where most events are.
"""

import functools
import sys

from minigrad._core.graph.switches import switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.observe.recorder import Recorder
from minigrad._debug.events import Event, kind_of
from minigrad._debug.tables import table
from minigrad.errors import AutogradError

__all__ = ["Record"]


class Record:
    """Context manager that records the steps of the engine in all threads. See `mg.debug.record`, which creates it."""

    def __init__(self, names):
        self._recorder = Recorder()
        self._given = names

    def __enter__(self):
        if self._recorder in switches.recorders:
            raise AutogradError("MG-E240", "this record is being taken already: its `with` has been entered",
                                fix="mg.debug.record() makes another one; two may be taken at once")
        frame = sys._getframe(1)
        self._recorder.start(frame.f_code.co_filename, frame.f_lineno)
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
        """The events, oldest first: a list of `Event`."""
        ops = self._recorder.ops
        return [Event(step, kind, node, ops.get(node, ""), *rest)
                for step, (kind, node, *rest) in enumerate(list(self._recorder.events), 1)]

    @property
    def nodes(self):
        """The ops of the named nodes: a dict such as ``{"n1": "SumBackward0"}``."""
        return dict(self._recorder.ops)

    @property
    def names(self):
        """The program's names of nodes and storages: a dict such as ``{"n2": "y", "s1": "x"}``."""
        return dict(self._recorder.called)

    @property
    def storages(self):
        """The bytes of each storage: a dict such as ``{"s1": 8}``. The value is None if the record saw no tensor on it."""
        return {name: told["bytes"] for name, told in self._recorder.storages.items()}

    @property
    def program(self):
        """The text of the program: a dict file -> list of lines. A file whose text cannot be read has no lines."""
        return {file: list(lines) for file, lines in self._recorder.program.items()}

    @property
    def entered(self):
        """The file and the line of the ``with`` of the record; None before it has been entered."""
        return self._recorder.entered

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
        return "\n".join(table(rows, align_right=(0,)))

    def to_json(self, indent=None):
        """Return the record as JSON text. ``Record.schema()`` describes its form.

        Args:
            indent (int, optional): the spaces per level; None for one line.
        """
        import json  # not at the top: few programs write a record, and json and importlib take a tenth of the import of minigrad
        events = [{key: value for key, value in event._asdict().items() if key != "op"} for event in self.events]
        told = {"version": 1, "nodes": self.nodes, "storages": self.storages, "names": self.names, "order": self.order,
                "events": events}
        return json.dumps(told, indent=indent, allow_nan=False)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the step-through. It comes from above, because ``viz`` imports this file."""
        return upcalls.page(self)

    @staticmethod
    @functools.cache
    def schema():
        """Return the JSON schema of `to_json` as a dict. It is the file ``minigrad/record.schema.json``."""
        import json
        from importlib import resources
        return json.loads(resources.files("minigrad").joinpath("record.schema.json").read_text(encoding="utf-8"))

    def to_dot(self):
        """Return the recorded graphs in the language of Graphviz: ``dot -Tsvg``.

        The label of a node has its name, its op, and its position in the order. The label of an edge has the dtype and shape of
        the gradient that passed along it. Nodes that did not run are dashed, and so are edges without a gradient.
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
            lines.append(f'    {name} [label="{name} {escape(op)}{when}"{shape}{"" if name in ran else ", style=dashed"}];')
        for name, i, following, _ in dict.fromkeys(edges):
            gradient = passed.get((name, i))
            label = "style=dashed" if gradient is None else f'label="{gradient}"'
            lines.append(f"    {name} -> {following} [{label}];")
        return "\n".join([*lines, "}"])


def escape(text):
    """Escape `text` for use between quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
