"""The steps of a timeline: what each kind of event changes in the panels. See ``_timeline.py`` for the keys.

`StepBuilder` goes over the events and follows the state of the engine: the ready queues, the dependencies of each node, the saved
values. It has a method for each kind of event, named after the kind.

Read next: ``_quiz.py``, for the questions; ``_step_through.py``.
"""

import heapq
from typing import Any

from minigrad._debug.events import kind_of, summarize
from minigrad.viz._formulas import explain
from minigrad.viz._quiz import whether_it_raises, which_is_next
from minigrad.viz._timeline import Saved, Timeline, TimelineStep, brief

__all__ = ["build_steps"]

LISTED = 12         # the largest number of nodes shown for a queue
WIDE = 26           # the largest number of letters of a value in a table
OF_ENGINE = {"GraphRoot", "AccumulateGrad"}     # nodes that no op of the program makes
ELSEWHERE = {"begin", "count", "receive", "enqueue", "end"}     # events that do not change the line of the program
STATES = {"made": "made", "wait": "waits", "ready": "ready", "run": "runs", "done": "done", "skip": "not needed",
          "result": "is a result", "fail": "failed"}


def build_steps(timeline: Timeline) -> list[TimelineStep]:
    """A step for each event."""
    builder = StepBuilder(timeline)
    return [builder.build(event) for event in timeline.events]


class StepBuilder:
    """The state of the engine and of the panels after each event."""

    def __init__(self, timeline: Timeline):
        self.timeline = timeline
        self.state: dict[str, str] = {}
        self.now: TimelineStep
        self.ready: dict[int, dict[str, None]] = {}     # task -> the nodes in its queue
        self.waiting: dict[int, dict[str, None]] = {}   # task -> the nodes that wait for gradients
        self.made: dict[int, dict[str, int | None]] = {}    # task -> node -> its sequence number
        self.running: dict[int, str] = {}               # task -> the node that runs
        self.asked: set[int] = set()                    # tasks with a question about their running node
        self.turn: dict[int, int] = {}                  # task -> the number of nodes that have run
        self.ran: dict[str, str] = {}                   # node -> its turn when it last ran
        self.passing: list[str] = []                    # keys of the edges that are "now"
        self.marks = "", ""                             # keys of the marked lines of the program: it runs; it made the node
        self.held: dict[str, dict[str, None]] = {}      # storage -> keys of the saved values on it that are alive
        self.intact: dict[str, list[Saved]] = {}        # storage -> those saved values on it that no op has written to
        self.bytes = 0
        self.unpacked: dict[int, dict[str, Any]] = {}   # task -> the saved values that its running node has read

    def set(self, key, text):
        """Set the text of a key, if it changes."""
        self.timeline.rooms[key] = max(self.timeline.rooms.get(key, 0), len(text))
        if self.state.get(key, "") != text:
            self.state[key] = self.now.changes[key] = text

    def build(self, event):
        self.now = TimelineStep(event)
        for key in self.passing:
            self.set(key, "passed")
        self.passing = []
        self.move(event)
        if event.kind not in ELSEWHERE:
            self.source(event)
        if event.kind in ("unpack", "compute", "release", "accumulate", "error"):
            if event.task in self.running and event.task not in self.asked and event.node == self.running[event.task]:
                self.asked.add(event.task)
                self.now.quiz = whether_it_raises(self.timeline, event)
        act = getattr(self, f"on_{event.kind}", None)
        if act is not None:
            act(event, event.data)
        return self.now

    def move(self, event):
        """Move the marks in the program: to the line that runs, and to the line that made the node that runs."""
        runs, node = self.marks
        if event.kind in ("made", "write"):
            runs, node = self.timeline.line_at(event.data["at"]), ""
        elif event.task is not None:
            runs = self.timeline.line_at(self.timeline.began[event.task])
            if event.kind in ("begin", "end") or event.op in OF_ENGINE:
                node = ""
            elif event.kind not in ELSEWHERE:
                node = self.timeline.line_at(self.timeline.places.get(event.node))
        for key in {key: None for key in (*self.marks, runs, node) if key}:
            self.set(key, " ".join(["run"] * (key == runs) + ["from"] * (key == node)))
        self.marks = runs, node

    def source(self, event):
        """Show the line of the program that called the op of the event; if it is marked in the program, say whose it is."""
        place = event.data.get("at") or self.timeline.places.get(event.node)
        if event.op in OF_ENGINE:
            file, line = "", "no op of the program: the engine's own node"
        elif self.timeline.line_at(place):
            verb = "makes" if event.kind == "made" else "▷ made"
            file, line = "", f"{verb} {self.timeline.title(event.node)}" if event.node else ""
        elif place is not None:
            file, line = f"{place['file']}:{place['line']}", place["source"] or "(its text cannot be read)"
        elif event.node is None:
            return
        else:
            file, line = "", "unknown: made before the record began (put the forward pass inside, too)"
        self.set("src.f", file)
        self.set("src.l", line)

    def node(self, name, state, words, task):
        """Set the state of a node, in the graph and in the table of its task."""
        self.set(f"{name}.s", state)
        self.set(f"{name}.t", words)
        if task is not None:
            self.set(f"t{task}.{name}.s", state)
            self.set(f"t{task}.{name}.x", STATES[state])

    def texts(self, name):
        """Show the value of a node, and for a leaf the name of its gradient."""
        self.set(f"{name}.v", self.timeline.with_value(name))
        if name in self.timeline.leaves and f"{name}.d" not in self.state:
            self.set(f"{name}.d", self.timeline.called(name))

    def queue(self, task):
        """Show a queue in the order in which its nodes run, which the record has."""
        ready = self.ready[task]
        first = heapq.nsmallest(LISTED, ready, key=lambda name: (self.timeline.turns.get((task, name), len(self.timeline.events)),
                                                                 self.made[task].get(name) is not None,
                                                                 -(self.made[task].get(name) or 0)))
        more = [f"+{len(ready) - LISTED}"] if len(ready) > LISTED else []
        self.set(f"t{task}.q", " ".join([*first, *more]))

    def settle(self, task):
        """Mark the node that ran last in this task as done."""
        name = self.running.pop(task, None)
        if name is not None and self.state[f"{name}.s"] == "run":
            self.node(name, "done", f"ran {self.ran[name]}", task)

    # ---- saved values ----------------------------------------------------------------------------------------

    def keep(self, saved, version):
        """Note a saved value; `version` is the current version of its storage."""
        storage = saved.data.get("storage")
        intact = storage is None or saved.data["saved"] == version
        self.set(f"{saved.key}.s", "kept" if intact else "wrong")
        if storage is not None:
            held = self.held.setdefault(storage, {})
            if not held:
                self.bytes += self.timeline.sizes[storage] or 0
            held[saved.key] = None
            if intact:
                self.intact.setdefault(storage, []).append(saved)
        self.total()

    def drop(self, saved):
        """Note that a saved value is freed."""
        if self.state.get(f"{saved.key}.s", "freed") == "freed":
            return
        self.set(f"{saved.key}.s", "freed")
        storage = saved.data.get("storage")
        if storage is not None:
            del self.held[storage][saved.key]
            if not self.held[storage]:
                del self.held[storage]
                self.bytes -= self.timeline.sizes[storage] or 0
        self.total()

    def total(self):
        number = len(self.held)
        self.set("kept", f"{self.bytes:,} bytes in {number} storage{'' if number == 1 else 's'}")
        self.set("kept.n", str(self.bytes))

    # ---- the kinds of events ------------------------------------------------------------------------------------

    def on_made(self, event, data):
        self.node(event.node, "made", "made", None)
        self.texts(event.node)
        for saved in self.timeline.saved.get(event.node, ()):
            if "storage" in saved.data:
                self.set(f"{saved.data['storage']}.v", str(saved.data["saved"]))
            self.keep(saved, saved.data.get("saved"))

    def on_write(self, event, data):
        self.set(f"{data['storage']}.v", str(data["version"]))
        self.set(f"{data['storage']}.o", f"{data['op']}, {data['at']['file']}:{data['at']['line']}")
        for saved in self.intact.pop(data["storage"], ()):
            if self.state[f"{saved.key}.s"] != "freed":
                self.set(f"{saved.key}.s", "wrong")

    def on_begin(self, event, data):
        self.set(f"t{event.task}.s", "on")
        self.ready[event.task], self.waiting[event.task], self.made[event.task] = {}, {}, {}
        self.turn[event.task] = 0

    def on_count(self, event, data):
        task = event.task
        for item in data["nodes"]:
            name = item["node"]
            self.made[task][name] = item["made"]
            self.set(f"t{task}.{name}.w", str(item["waits"]))
            self.texts(name)
            if item["needed"]:
                self.node(name, "wait", waits_for(item["waits"]), task)
                self.waiting[task][name] = None
            else:
                self.node(name, "skip", "not needed", task)
            for saved, entry in zip(self.timeline.saved[name], item["saved"]):
                if "storage" in entry:
                    self.set(f"{entry['storage']}.v", str(entry["now"]))
                if f"{saved.key}.s" not in self.state:
                    self.keep(saved, entry.get("now"))
            if "leaf" in item:
                self.set(f"{item['leaf']['storage']}.v", str(item["leaf"]["now"]))

    def on_receive(self, event, data):
        task, name = event.task, event.node
        if data["from"] is not None:
            edge = f"e{self.timeline.edge[data['from'], data['edge']]}"
            self.passing.append(f"{edge}.s")
            self.set(f"{edge}.s", "now" if data["gradient"] else "none")
            self.set(f"{edge}.t", short_value(data["gradient"]))
            self.set(f"t{task}.{name}.w", str(data["waits"]))
            self.set(f"{name}.t", waits_for(data["waits"]))
        self.set(f"t{task}.{name}.b", short_value(data["after"]) if data["after"] else "")
        if data["after"]:
            self.set(f"{name}.d", brief(f"g{data['input'] or ''}", data["after"]))

    def on_enqueue(self, event, data):
        self.node(event.node, "ready", "ready", event.task)
        self.ready[event.task][event.node] = None
        self.waiting[event.task].pop(event.node, None)
        self.queue(event.task)

    def on_dequeue(self, event, data):
        task, name = event.task, event.node
        self.settle(task)
        self.now.quiz = which_is_next(self.timeline, event, self.ready[task], self.waiting[task], self.turn[task])
        self.ready[task].pop(name, None)
        self.queue(task)
        if data["runs"]:
            self.turn[task] += 1
            self.ran[name] = ordinal(self.turn[task])
            self.running[task] = name
            self.unpacked[task] = {}
            self.asked.discard(task)
            self.node(name, "run", "runs", task)
        else:
            self.node(name, "result", "is a result", task)
        self.set(f"t{task}.{name}.b", "")

    def on_compute(self, event, data):
        self.now.formula = explain(event.op, self.unpacked.get(event.task, {}), data["gradients"], data["results"])

    def on_unpack(self, event, data):
        if "name" in data:
            self.unpacked[event.task][data["name"]] = data["value"]
        for saved in self.timeline.saved.get(event.node, ()):
            if saved.data["name"].partition("[")[0] == data.get("name") or ("packed" in saved.data and "hook" in data):
                wrong = data.get("saved") != data.get("now")
                self.set(f"{saved.key}.s", "wrong" if wrong else "read")

    def on_release(self, event, data):
        for saved in self.timeline.saved.get(event.node, ()):
            self.drop(saved)

    def on_accumulate(self, event, data):
        self.set(f"{event.node}.g", summarize(data["grad"]))
        self.set(f"{event.node}.d", brief(self.timeline.called(event.node), data["grad"]))
        self.set(f"{event.node}.h", data["how"])
        if f"{data['storage']}.v" not in self.state:
            self.set(f"{data['storage']}.v", "0")

    def on_retain(self, event, data):
        self.set(f"{event.node}.g", summarize(data["grad"]))
        self.set(f"{event.node}.h", "retain_grad()")

    def on_hook(self, event, data):
        """A post-accumulate hook may change the gradient of its leaf, or drop it."""
        if data["hook"] == "post-accumulate hook" and data.get("after", data["before"]) != data["before"]:
            self.set(f"{event.node}.g", "; ".join(["None" if grad is None else summarize(grad) for grad in data["after"]]))
            self.set(f"{event.node}.h", f"by {data['function']}")

    def on_result(self, event, data):
        self.set(f"{event.node}.g", event.what)
        self.set(f"{event.node}.h", event.why)

    def on_error(self, event, data):
        name = self.running.pop(event.task, event.node)
        if name is not None:
            self.node(name, "fail", "✗ failed", event.task)
        self.set(f"t{event.task}.s", "failed")

    def on_end(self, event, data):
        self.settle(event.task)
        self.set(f"t{event.task}.s", "over")


def short_value(value):
    """A tensor as text for a narrow column: its numbers if they are few, else its dtype and shape. The step itself shows more."""
    return summarize(value) if value is None or len(summarize(value)) <= WIDE else kind_of(value)


def waits_for(number):
    """The dependencies of a node as text."""
    return f"waits for {number}"


def ordinal(number):
    """1st, 2nd, 3rd, ..."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
