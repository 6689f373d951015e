"""The record: what the engine does, as plain data, noted while it happens.

    with mg.debug.record() as r:        a Recorder joins `watch.recorders`
        loss.backward()                 events:  ("dequeue", "n2", task 1, depth 0, thread 1, {"gradient": ..., "rule": ...})
    print(r)                            a table of them                             minigrad/_record.py

Who has something to tell calls ``watch.note(kind, node, data)``, behind ``if watch.recording``. What it may tell is a node,
a tensor, a function, or what JSON knows, and lists of these; `Recorder.plain` turns it at once into names and
numbers:

    node         its name, n1, n2, ... in order of first appearance
    tensor       a summary: dtype, shape, and the numbers if they are few
    function     its name

So a record holds no tensor and no node: it keeps nothing alive, changes no count of references by which the engine decides
(Note [Stealing a gradient]), and never looks at what has been freed since. It is the same, compiled or interpreted.

The kinds of events, and what their data is, are in ``minigrad/record.schema.json``.

Mirrors nothing: PyTorch's engine cannot be watched. Read next: ``recorded.py``, where most events are.
"""

import itertools
import threading
import weakref

import numpy as np

from minigrad._core.history import in_place
from minigrad._core.node import Node
from minigrad._core.state import current
from minigrad._core.tensor import TensorBase
from minigrad._core.watch import watch

FEW = 8         # so many numbers of a tensor are noted one by one
_switching = threading.Lock()


class Recorder:
    """Takes down events, with names for the nodes in them. `events` are tuples (kind, node, task, depth, thread, data)."""

    def __init__(self):
        self.events = []
        self.ops = {}           # name of a node -> what it is: MulBackward0
        self._names = {}        # id of a node -> (weak reference to it, name)
        self._tasks = {}        # number of a task -> its number here
        self._threads = weakref.WeakKeyDictionary()     # thread -> its number here; the idents of threads are used again
        self._numbers = itertools.count(1)
        self._since = {}        # (task, node) -> number of the event that put the node into the queue
        self._lock = threading.RLock()      # what is noted allocates, and a finaliser may run a backward

    def note(self, kind, node, data):
        """Take down an event. Returns its data, which `add_to` may add to later."""
        state = current()
        depth, task = -1, state.task
        while task is not None:
            depth, task = depth + 1, task.outer
        with self._lock:
            name = None if node is None else self.name(node)
            data = {key: self.plain(value) for key, value in data.items()}
            number = None if state.task is None else self._tasks.setdefault(state.task.id, len(self._tasks) + 1)
            thread = self._threads.get(threading.current_thread())
            if thread is None:
                thread = self._threads[threading.current_thread()] = next(self._numbers)
            self.events.append((kind, name, number, max(depth, 0), thread, data))
            if kind == "enqueue":
                self._since[number, name] = len(self.events)
            elif kind == "dequeue":
                data["since"] = self._since.pop((number, name), None)
            elif kind == "write":
                data["op"] = in_place(data["op"])
        return data

    def add_to(self, data, more):
        """Add to the data of an event what was not known then."""
        with self._lock:
            data.update([(key, self.plain(value)) for key, value in more.items()])

    def name(self, node):
        """The name of a node in this record."""
        ref, name = self._names.get(id(node), (None, ""))
        if ref is None or ref() is not node:        # new, or where a node has been that is gone
            name = f"n{len(self.ops) + 1}"
            self.ops[name] = node.name()
            self._names[id(node)] = weakref.ref(node), name
        return name

    def plain(self, value):
        """`value` as names, numbers and texts."""
        if isinstance(value, Node):
            return self.name(value)
        if isinstance(value, TensorBase):
            return summary(value)
        if isinstance(value, (list, tuple)):
            return [self.plain(item) for item in value]
        if isinstance(value, dict):
            return {key: self.plain(item) for key, item in value.items()}
        return getattr(value, "__name__", type(value).__name__) if callable(value) else value

    def start(self):
        """Begin to take down what all threads do."""
        with _switching:
            watch.recorders = (*watch.recorders, self)
            watch.settle()

    def stop(self):
        """Take down no more."""
        with _switching:
            watch.recorders = tuple([recorder for recorder in watch.recorders if recorder is not self])
            watch.settle()


def summary(tensor):
    """What a tensor holds now: its dtype and shape, and few numbers. None stays None; what is no tensor is named."""
    if tensor is None:
        return None
    if not isinstance(tensor, TensorBase):
        return {"type": type(tensor).__name__}
    array = tensor._array
    told = {"dtype": tensor._meta.dtype.name, "shape": list(tensor._meta.shape)}
    if tensor._meta.numel <= FEW:
        told["numbers"] = numbers(array.tolist())
    elif tensor._meta.dtype.is_complex:
        told["largest"] = number(float(abs(array).max()))
    else:
        wide = array.astype("float64")
        with np.errstate(all="ignore"):     # infinities and NaNs are what one looks for
            told["min"], told["max"], told["mean"] = [number(float(x)) for x in (wide.min(), wide.max(), wide.mean())]
    return told


def numbers(values):
    """Nested lists of numbers, as they are shown."""
    return [numbers(item) for item in values] if isinstance(values, list) else number(values)


def number(value):
    """A number to six digits, which both modes agree on; what JSON has no number for as a text."""
    if isinstance(value, int):
        return value
    if isinstance(value, complex):
        return f"{value:.6g}"
    return float(f"{value:.6g}") if abs(value) < float("inf") else str(value)


def called(kind, hook, seen, *args):
    """Call ``hook(*args)`` and note it; `seen` are the gradients that the hook may change, or the leaf that has it."""
    leaf = isinstance(seen, TensorBase)
    pending = watch.note("hook", current().node, {"hook": kind, "function": hook, "before": [seen.grad] if leaf else seen})
    result = hook(*args)
    after = [seen.grad] if leaf else seen if result is None else result if isinstance(result, tuple) else [result]
    watch.add_to(pending, {"after": [summary(x) for x in after], "replaced": result is not None})
    return result
