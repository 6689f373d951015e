"""A record as a timeline: the nodes, edges and storages in it, and what each step changes in the panels.

The state of all panels is one flat dict: key -> text. Before the first step every text is empty; a `TimelineStep` has the keys that
its event sets. To show step k, set the keys of all steps up to k. The keys:

    n2.s  n2.t          a node in the graph: its state, and the state in words
    n2.v  n2.d          its value, with the program's name for it, and the gradient that has arrived
    e3.s  e3.t          edge 3: "now" or "passed", and the gradient on it
    t1.s  t1.q          task 1: "on" or "over", and its ready queue
    t1.n2.s  .w  .b     a node in the table of task 1: its state, its dependencies, its input buffer
    n3.g  n3.h          the .grad of a leaf, or of a tensor that retains it, and how it was written
    s1.v  s1.o          a storage: its version, and the last op that wrote to it
    n2:0.s              the first value that n2 has saved: "kept", "read", "freed", "wrong"
    kept                the memory that saved values keep alive
    p5.s                line 5 of the program's text: "run" if it runs, "from" if it made the node that runs, "run from" if both
    src.f  src.l        the file and the line that called the op; with the program's text src.l says about the node

This file knows no HTML. Each event is read twice, so the time is linear in the length of the record.

Read next: ``_step_builder.py``, which builds the steps; ``_step_through.py``, which makes the page.
"""

from typing import Any, NamedTuple

from minigrad._debug.events import Event, summarize
from minigrad._debug.record import Record
from minigrad.viz._formulas import formulas
from minigrad.viz._program import Passage, passages

__all__ = ["Edge", "Quiz", "Saved", "Timeline", "TimelineStep", "brief"]

NARROW = 19         # the largest number of letters of a line in a box


class Edge(NamedTuple):
    """An edge of the graph: its node, its number there, the node that it leads to, and the number of that node's output."""

    source: str
    number: int
    target: str
    output: int


class Saved(NamedTuple):
    """A value that a node has saved: its key, the node, and its entry in the record."""

    key: str
    node: str
    data: dict[str, Any]


class Quiz(NamedTuple):
    """A question with its possible answers, the right answer, and the reason."""

    question: str
    options: list[str]
    answer: str
    why: str


class TimelineStep:
    """One step: its event, the keys that it changes, the question to ask before it, and the formula that it computes."""

    def __init__(self, event: Event):
        self.event = event
        self.changes: dict[str, str] = {}
        self.quiz: Quiz | None = None
        self.formula = ""


class Timeline:
    """The nodes, edges, storages and backwards of a record, collected in one pass over its events."""

    def __init__(self, record: Record):
        self.events = record.events
        self.ops = record.nodes
        self.names = record.names
        self.sizes = record.storages
        self.nodes: dict[str, None] = {}            # in order of appearance
        self.edges: list[Edge] = []
        self.edge: dict[tuple[str, int], int] = {}  # (node, number of its edge) -> place in `edges`
        self.leaves: dict[str, str] = {}            # AccumulateGrad -> storage of its leaf
        self.places: dict[str, dict[str, Any]] = {}     # node -> the line that made it
        self.saved: dict[str, list[Saved]] = {}     # node -> its saved values
        self.tasks: dict[int, list[dict[str, Any]]] = {}    # task -> the entry of each node in its event `count`
        self.depths: dict[int, int] = {}
        self.looks: dict[str, dict[str, Any]] = {}  # storage -> dtype and shape of a tensor on it
        self.turns: dict[tuple[int | None, str | None], int] = {}     # (task, node) -> the step of its turn
        self.errors: dict[int | None, Event] = {}    # task -> the error that it ended with
        self.rooms: dict[str, int] = {}     # key -> the largest number of letters of its text
        self.values: dict[str, dict[str, Any]] = {}     # node -> its result, or the tensor of a leaf, if some node has read it
        self.began: dict[int | None, dict[str, Any]] = {}       # task -> the line that began it
        for event in self.events:
            self.see(event)
        noted = [event.data["at"] for event in self.events if "at" in event.data]
        self.program: list[Passage] = passages(record, [*noted, *self.places.values()])
        self.lines: dict[tuple[str, int, str], str] = {}    # (file, number, text) -> key of the line
        for title, lines in self.program:
            for number, line in lines:
                self.lines.setdefault((title, number, line.strip()), f"p{len(self.lines)}.s")

    def see(self, event):
        """Collect what an event shows."""
        data = event.data
        if event.kind == "made":
            self.nodes.setdefault(event.node)
            self.places[event.node] = data["at"]
        elif event.kind == "begin":
            self.began[event.task] = data["at"]
        elif event.kind == "count":
            self.tasks[event.task] = data["nodes"]
            self.depths[event.task] = event.depth
            for item in data["nodes"]:
                self.add_node(item)
        elif event.kind == "dequeue":
            self.turns[event.task, event.node] = event.step
        elif event.kind == "unpack" and "name" in data and data["saved"] == data["now"]:
            self.values.setdefault(self.source_of(event.node, data["name"]), data["value"])
        elif event.kind == "accumulate":
            self.looks.setdefault(data["storage"], data["grad"])
        elif event.kind == "error":
            self.errors[event.task] = event

    def source_of(self, node, name):
        """The node whose first result `node` has saved as `name`: itself, or the one behind an edge. Empty if that is not known."""
        _, rules, names = formulas(self.ops[node])
        for i, (letter, _) in enumerate(rules):
            if names.get(letter) == name and (node, i) in self.edge:
                edge = self.edges[self.edge[node, i]]
                return "" if edge.output else edge.target
        return node if rules and names.get("z") == name else ""

    def add_node(self, item):
        """Collect the edges, the saved values and the leaf of a node of a backward."""
        name = item["node"]
        self.nodes.setdefault(name)
        if "at" in item:
            self.places.setdefault(name, item["at"])
        if "leaf" in item:
            self.leaves[name] = item["leaf"]["storage"]
            self.looks.setdefault(item["leaf"]["storage"], item["leaf"])
        for i, (following, output) in enumerate(item["next"]):
            if following is not None and (name, i) not in self.edge:
                self.edge[name, i] = len(self.edges)
                self.edges.append(Edge(name, i, following, output))
        if name not in self.saved:      # the first entry: a later one may have fewer, after a release
            self.saved[name] = [Saved(f"{name}:{i}", name, entry) for i, entry in enumerate(item["saved"])]
            for entry in item["saved"]:
                if "storage" in entry:
                    self.looks.setdefault(entry["storage"], entry)

    def line_at(self, place: dict[str, Any] | None) -> str:
        """The key of the line of the program at a place; empty if it is not shown."""
        return "" if place is None else self.lines.get((place["file"], place["line"], place["source"]), "")

    def called(self, node: str) -> str:
        """The program's name for the result of a node, or for the gradient that it accumulates; empty if there is no name."""
        leaf = self.leaves.get(node)
        return self.names.get(node, "") if leaf is None else f"{self.names.get(leaf, 'leaf')}.grad"

    def with_value(self, node: str) -> str:
        """The result of a node and its name in the program, as ``h = 4``; of a leaf, the leaf. Empty if it is not known."""
        leaf, value = self.leaves.get(node), self.values.get(node)
        called = self.names.get(node if leaf is None else leaf, "")
        return brief(called, value) if value is not None else called if leaf is None else ""

    def title(self, node: str) -> str:
        """The name of a node and its op."""
        return f"{node} {self.ops[node]}"

    def storage(self, name: str) -> str:
        """The name of a storage, with the program's name for it."""
        return f"{name} {self.names[name]}" if name in self.names else name


def brief(called: str, value: dict[str, Any]) -> str:
    """A tensor and its name as a line in a box: with its numbers, or with its shape if they are too long."""
    line = f"{called} = {summarize(value)}".strip()
    return line if len(line) <= NARROW else f"{called}: {value.get('shape', '')}" if called else ""
