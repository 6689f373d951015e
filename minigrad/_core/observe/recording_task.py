"""A run of the engine that notes each of its steps for the recorders. See ``recorder.py``.

    GraphTask.run           the loop: take, compute, deliver                          graph_task.py
    RecordingTask.run       the same steps in the same order, each with a note        here

`execute` chooses the class once for each backward. So an ordinary run has no checks for recorders, and this class need not
be fast. Every node goes through `run_watched`. Each step calls the method of `GraphTask`; this class only adds the notes.

Invariant: nothing here holds a gradient while the engine adds to it or accumulates it. Otherwise the engine would no longer
be its only holder (Notes [Adding in place] and [Stealing a gradient]). So we drop each gradient after a look, and compare ids.

Read next: ``minigrad/_debug/record.py``, which shows the events.
"""

import cython
from cython.cimports.minigrad._core.function.node import PyNode
from cython.cimports.minigrad._core.graph.accumulate_grad import AccumulateGrad
from cython.cimports.minigrad._core.graph.capi import check_signals
from cython.cimports.minigrad._core.observe.graph_memory import current_version, list_saved

from minigrad._core.engine.execute import use_recording_task
from minigrad._core.engine.stream_task import StreamTask
from minigrad._core.graph.accumulate_grad import LAST as _LAST
from minigrad._core.graph.node import Node
from minigrad._core.graph.summary import summarize
from minigrad._core.graph.switches import switches
from minigrad._core.observe.graph_memory import sequence_of
from minigrad._core.record.history import save_location, short_location

LAST = cython.declare(cython.ulonglong, _LAST)


@cython.binding(False)
@cython.cclass
class RecordingTask(StreamTask):
    """A `GraphTask` that notes each of its steps for the recorders.

    grads_in    summaries of the gradients that the running node was called on
    computed    summaries of its results, by edge
    holds       how many tensors it has saved
    """

    def run(self, root, state):
        """Run all nodes, beginning with `root`, whose buffer has its gradient."""
        node: Node
        executed: cython.Py_ssize_t = 0
        try:
            self.note_start(root)
            self.ready = root
            switches.note("enqueue", root, {"last": None})
            while True:
                check_signals()
                node = self.choose_next()
                if node is None:
                    break
                executed += self.runs(node)
                while len(self.results) < node.edges:
                    self.results.append(None)
                state.node = node
                self.run_watched(node)
        except BaseException as error:
            switches.note("error", state.node, {"type": type(error).__name__, "code": getattr(error, "code", None),
                                             "message": str(error).split("\n")[0]})
            raise
        finally:
            self.join()
        switches.note("end", root, {"nodes": executed, "callbacks": len(self.callbacks)})
        return None

    def note_start(self, root):
        """Note the task, the dependencies of its nodes, and the gradient that it begins with."""
        node: Node
        nodes = self.nodes_reached(root)
        switches.note("begin", root, {"keep_graph": bool(self.keep_graph), "create_graph": bool(self.create_graph),
                                   "selective": bool(self.selective), "nodes": nodes})
        made = {number: i for i, number in enumerate(sorted([node.sequence for node in nodes if node.sequence != LAST]), 1)}
        counts = []
        for item in nodes:
            node = cython.cast(Node, item)
            counts.append({
                "node": node, "waits": self.waits(node, 0), "needed": not self.selective or self.needed(node) != 0,
                "made": made.get(node.sequence),
                "next": [[following, node.input_number(i) if following is not None else 0]
                         for i, following in enumerate(node.next_nodes())],
                "saved": list_saved_by(node), "at": short_location(save_location(node)),
                "leaf": cython.cast(AccumulateGrad, node).variable if isinstance(node, AccumulateGrad) else None})
        switches.note("count", root, {"nodes": counts})
        buffer = self.buffer(root)
        for number, grad in enumerate(buffer if isinstance(buffer, list) else [buffer]):
            if grad is not None or not isinstance(buffer, list):
                switches.note("receive", root, {"from": None, "input": number, "gradient": grad, "before": None, "after": grad,
                                             "how": "undefined" if grad is None else "first", "waits": 0})

    def nodes_reached(self, root):
        """All nodes that have been counted: the root, then the inner nodes with the latest first, then the leaves."""
        node: Node
        seen = {root}
        stack = [root]
        found = []
        while stack:
            node = cython.cast(Node, stack.pop())
            found.append(node)
            for following in node.next_nodes():
                if following is not None and following not in seen:
                    seen.add(following)
                    stack.append(following)
        inner = sorted([node for node in found[1:] if node.sequence != LAST], key=sequence_of, reverse=True)
        return [root, *inner, *[node for node in found[1:] if node.sequence == LAST]]

    def choose_next(self):
        """Take the node that runs next out of the queue. None if the queue is empty."""
        node: Node
        node = self.pop()
        if node is None:
            return None
        others = sorted(self.waiting_nodes(), key=sequence_of, reverse=True)
        rule = "only" if not others else "accumulate" if node.sequence == LAST else "latest"
        runs = bool(self.runs(node))
        switches.note("dequeue", node, {"gradient": self.buffer(node), "others": others, "rule": rule, "runs": runs})
        return node

    # ---- around a node ------------------------------------------------------------------------------------

    def capture(self, node, grad):
        switches.note("result", node, {"gradient": grad, "positions": [position for _, position in self.captures[node]]})
        return StreamTask.capture(self, node, grad)

    def note_call(self, node, grad):
        """Note the values that a built-in op will unpack. For a Function and for packed tensors, unpacking itself notes it."""
        self.grads_in = [summarize(g) for g in grad] if isinstance(grad, list) else [summarize(grad)]
        if isinstance(node, PyNode) or self.grads_in.count(None) == len(self.grads_in):
            return None
        for _, _, name, value, version in list_saved(node, False):
            if version is not None:
                switches.note("unpack", node, {"name": name, "value": value, "saved": version, "now": current_version(value)})
        return None

    def finish(self, node, before):
        i: cython.Py_ssize_t
        self.computed = [summarize(self.results[i]) for i in range(node.edges)]
        if not isinstance(node, AccumulateGrad):
            switches.note("compute", node, {"gradients": self.grads_in, "results": self.computed})
        self.holds = len(list_saved(node, False))
        return StreamTask.finish(self, node, before)

    def deliver(self, node, checked):
        """The steps of `StreamTask.deliver`, with notes between them. The results have been validated."""
        following: Node
        i: cython.Py_ssize_t
        left: cython.int
        number: cython.int
        self.meet(node)
        if not self.keep_graph and self.holds > 0:
            switches.note("release", node, {"tensors": self.holds})
        for i in range(node.edges):
            grad = self.results[i]
            self.results[i] = None
            following = node.next_node(i)
            if following is None or (self.selective and self.needed(following) == 0):
                continue
            number = node.input_number(i)
            summary = summarize(grad)
            raw = self.computed[i]
            changed = (summary is not None and raw is not None
                       and (summary["shape"] != raw["shape"] or summary["dtype"] != raw["dtype"]))
            before = summarize(self.slot(following, number))
            how = self.add(following, number, grad)
            grad = None
            left = self.waits(following, 1)
            switches.note("receive", following, {
                "from": node, "edge": i, "input": number, "gradient": summary, "fitted": raw if changed else None,
                "before": before, "after": self.slot(following, number), "how": how, "waits": left})
            if left == 0:
                self.push(following)
                switches.note("enqueue", following, {"last": node})
        return None

    def add(self, node, number, grad):
        """Add `grad` to a buffer. Returns how: "undefined", "first", "in place" or "out of place"."""
        if grad is None:
            return "undefined"
        old: cython.size_t = object_id(self.slot(node, number))
        self.receive(node, number, grad)
        return "first" if old == 0 else "in place" if object_id(self.slot(node, number)) == old else "out of place"

    # ---- the buffer and the count of a node -----------------------------------------------------------------

    def buffer(self, node):
        return node.grad if node.task == self.id else self.scratch(node).grad

    def slot(self, node, number):
        """The gradient that has arrived for output `number` of `node`, or None."""
        found = self.buffer(node)
        return found[number] if isinstance(found, list) else found

    def waits(self, node, less):
        """Decrease the dependencies of `node` by `less`. Returns how many gradients it still waits for."""
        if node.task == self.id:
            node.dependencies -= less
            return node.dependencies
        scratch = self.scratch(node)
        scratch.dependencies -= less
        return scratch.dependencies


def list_saved_by(node):
    """The saved values of `node` as dicts."""
    return [{"name": name, "value": value, "saved": version, "now": None if version is None else current_version(value)}
            for _, _, name, value, version in list_saved(node, False)]


@cython.cfunc
def object_id(x) -> cython.size_t:
    """The id of an object, or 0 for None. Compare it only while the object is alive."""
    return 0 if x is None else id(x)


use_recording_task(RecordingTask)
