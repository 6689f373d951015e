"""A record as a timeline: what there is at all, and what each step changes of what the panels show.

The state of all panels is one flat dict from keys to texts. Before the first step every text is empty; a `TimelineStep` holds the
keys that its event sets. So going to step k means to set the keys of the steps up to k, for us as for the page:

    n2.s  n2.t          a node in the graph: its state, and that in words
    e3.s  e3.t          edge 3: "now" or "passed", and the gradient on it
    t1.s  t1.q          task 1: "on" or "over", and its ready queue
    t1.n2.s  .w  .b     a node in the table of task 1: its state, what it waits for, its buffer
    n3.g  n3.h          the .grad of a leaf, or of a tensor that retains it, and how it came there
    s1.v  s1.o          a storage: its version, and what wrote to it
    n2:0.s              the first value that n2 has saved: "kept", "read", "freed", "wrong"
    kept                the memory that saved values keep
    src.f  src.l        where the op of the node was called

Nothing here knows HTML. Each event is looked at twice: the cost is linear in the record.

Read next: ``_step_builder.py``, which says what each kind of event changes; ``_step_through.py``, which makes the page.
"""

from typing import Any, NamedTuple

from minigrad._record import Event, Record

__all__ = ["Edge", "Quiz", "Saved", "Timeline", "TimelineStep"]


class Edge(NamedTuple):
    """An edge of the graph: which edge of which node, and where it leads."""

    source: str
    number: int
    target: str


class Saved(NamedTuple):
    """A value that a node has saved: its key, and what the record says of it."""

    key: str
    node: str
    data: dict[str, Any]


class Quiz(NamedTuple):
    """A question: what is asked, what may be answered, the right answer, and why it is right."""

    question: str
    options: list[str]
    answer: str
    why: str


class TimelineStep:
    """One step: its event, the keys that it changes, and the question to ask before it."""

    def __init__(self, event: Event):
        self.event = event
        self.changes: dict[str, str] = {}
        self.quiz: Quiz | None = None


class Timeline:
    """What there is in a record: found in one walk over its events."""

    def __init__(self, record: Record):
        self.events = record.events
        self.ops = record.nodes
        self.names = record.names
        self.sizes = record.storages
        self.nodes: dict[str, None] = {}            # in order of appearance
        self.edges: list[Edge] = []
        self.edge: dict[tuple[str, int], int] = {}  # (node, number of its edge) -> place in `edges`
        self.leaves: dict[str, str] = {}            # AccumulateGrad -> storage of its leaf
        self.places: dict[str, dict[str, Any]] = {}     # node -> where it was made
        self.saved: dict[str, list[Saved]] = {}     # node -> what it has saved
        self.tasks: dict[int, list[dict[str, Any]]] = {}    # task -> what its `count` says of each node
        self.depths: dict[int, int] = {}
        self.looks: dict[str, dict[str, Any]] = {}  # storage -> dtype and shape of a tensor on it
        self.turns: dict[tuple[int | None, str | None], int] = {}     # (task, node) -> the step of its turn
        self.errors: dict[int | None, Event] = {}    # task -> the error that it ended with
        for event in self.events:
            self.see(event)

    def see(self, event):
        """Learn from an event what there is."""
        data = event.data
        if event.kind == "made":
            self.nodes.setdefault(event.node)
            self.places[event.node] = data["at"]
        elif event.kind == "count":
            self.tasks[event.task] = data["nodes"]
            self.depths[event.task] = event.depth
            for item in data["nodes"]:
                self.counted(item)
        elif event.kind == "dequeue":
            self.turns[event.task, event.node] = event.step
        elif event.kind == "accumulate":
            self.looks.setdefault(data["storage"], data["grad"])
        elif event.kind == "error":
            self.errors[event.task] = event

    def counted(self, item):
        """Learn of a node of a backward: its edges, what it has saved, its leaf."""
        name = item["node"]
        self.nodes.setdefault(name)
        if "at" in item:
            self.places.setdefault(name, item["at"])
        if "leaf" in item:
            self.leaves[name] = item["leaf"]["storage"]
            self.looks.setdefault(item["leaf"]["storage"], item["leaf"])
        for i, (following, _) in enumerate(item["next"]):
            if following is not None and (name, i) not in self.edge:
                self.edge[name, i] = len(self.edges)
                self.edges.append(Edge(name, i, following))
        if name not in self.saved:      # what it has later is less
            self.saved[name] = [Saved(f"{name}:{i}", name, entry) for i, entry in enumerate(item["saved"])]
            for entry in item["saved"]:
                if "storage" in entry:
                    self.looks.setdefault(entry["storage"], entry)

    def called(self, node: str) -> str:
        """What the program calls the result of a node, or the gradient that it accumulates; or nothing."""
        leaf = self.leaves.get(node)
        return self.names.get(node, "") if leaf is None else f"{self.names.get(leaf, 'leaf')}.grad"

    def title(self, node: str) -> str:
        """A node with its op."""
        return f"{node} {self.ops[node]}"

    def storage(self, name: str) -> str:
        """What to call a storage."""
        return f"{name} {self.names[name]}" if name in self.names else name
