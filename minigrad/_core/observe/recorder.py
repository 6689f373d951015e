"""The record: the steps of the engine as plain data, noted while they happen.

    with mg.debug.record() as r:        a Recorder joins `switches.recorders`
        loss.backward()                 events:  ("dequeue", "n2", task 1, depth 0, thread 1, {"gradient": ..., "rule": ...})
    print(r)                            a table of the events                       minigrad/_debug/record.py

Code that has an event calls ``switches.note(kind, node, data)``, behind ``if switches.recording``. The data may be a node, a
tensor, a function, any JSON value, or lists and dicts of these. `Recorder.plain` converts it immediately to names and numbers:

    node         its name, n1, n2, ... in order of first appearance
    storage      its name, s1, s2, ...: tensors that share a version counter share the name
    tensor       a summary: dtype, shape, and the numbers if there are few
    function     its name

So a record holds no tensor and no node. It keeps nothing alive, and it changes no reference count that the engine uses
(Note [Stealing a gradient]). Compiled and interpreted code make the same record.

The kinds of events and their data are in ``minigrad/record.schema.json``.

Mirrors nothing: PyTorch's engine cannot be watched. Read next: ``recording_task.py``, where most events are.
"""

import itertools
import linecache
import threading
import weakref

from minigrad._core.graph.node import Node
from minigrad._core.graph.summary import describe_type, summarize
from minigrad._core.graph.switches import switches, user_location
from minigrad._core.graph.tensor import TensorBase, owner_of
from minigrad._core.graph.thread_state import current
from minigrad._core.graph.version import VersionCounter
from minigrad._core.observe import recording_task  # noqa: F401  (the engine runs it while there is a recorder)
from minigrad._core.record.history import grad_of, inplace_name, log_of, node_of, short_location, version_counter

_switching = threading.Lock()


class Recorder:
    """Records events. `events` is a list of tuples (kind, node, task, depth, thread, data); nodes are given by name."""

    def __init__(self):
        self.events = []
        self.ops = {}           # name of a node -> its kind: MulBackward0
        self.storages = {}      # name of a storage -> {"bytes": its size, or None if no tensor on it was seen}
        self.called = {}        # name of a node or storage -> its name in the user's program
        self.program = {}       # file of the program -> its lines, after the end of the record
        self.entered = None     # (file, line) of the `with` of the record
        self._names = {}        # id of a node -> (weak reference to it, name)
        self._memory = {}       # id of the log of a version counter, or of the only tensor on a storage -> (weak reference, name)
        self._alone = {}        # the entries of `_memory` that are for a tensor
        self._tasks = {}        # number of a task -> its number in this record
        self._threads = weakref.WeakKeyDictionary()     # thread -> its number in this record; thread idents are used again
        self._numbers = itertools.count(1)
        self._since = {}        # (task, node) -> number of the event that put the node into the queue
        self._lock = threading.RLock()      # reentrant: noting allocates memory, so a finalizer may run, and with it a backward

    def note(self, kind, node, data):
        """Record an event. Returns its data, to which `add_to` may add later."""
        state = current()
        depth, task = -1, state.task
        while task is not None:
            depth, task = depth + 1, task.outer
        with self._lock:
            name = None if node is None else self.name(node)
            if kind in ("made", "write", "begin"):
                place = user_location()
                self.program.setdefault(place[0], [])
                data = {**data, "at": short_location(place)}
            elif kind == "count":
                data = {"nodes": [self.describe_counted(item) for item in data["nodes"]]}
            elif kind == "accumulate":
                data = {**data, "storage": self.storage(data["grad"])}
            elif kind == "unpack" and "saved" in data:
                data = {**data, "storage": self.storage(data["value"])}
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
                data["op"] = inplace_name(data["op"])
        return data

    def add_to(self, data, more):
        """Add `more` to the data of an event that was recorded before."""
        with self._lock:
            data.update([(key, self.plain(value)) for key, value in more.items()])

    def name(self, node):
        """The name of a node in this record."""
        ref, name = self._names.get(id(node), (None, ""))
        if ref is None or ref() is not node:        # a new node, perhaps with the id of a freed node
            name = f"n{len(self.ops) + 1}"
            self.ops[name] = node.name()
            self._names[id(node)] = weakref.ref(node), name
        return name

    def storage(self, memory):
        """The name of a storage, given by a tensor on it or by its version counter.

        The key of a storage is the log of its counter. A storage without a counter has only one tensor, which is the key.
        """
        tensor = memory if isinstance(memory, TensorBase) else None
        counter = memory if tensor is None else version_counter(tensor)
        key = tensor if counter is None else log_of(counter)
        name = self.find_name(key)
        if name is None and counter is not None:
            self.update_derived()
            name = self.find_name(key)
        if name is None:
            name = f"s{len(self.storages) + 1}"
            self.storages[name] = {"bytes": None}
            self._memory[id(key)] = weakref.ref(key), name
            if counter is None:
                self._alone[id(key)] = self._memory[id(key)]
        if tensor is not None:
            self.storages[name]["bytes"] = storage_size(tensor)
        return name

    def find_name(self, key):
        """The name of the storage with this key, or None if it has no name yet."""
        ref, name = self._memory.get(id(key), (None, None))
        return name if ref is not None and ref() is key else None

    def update_derived(self):
        """Change the key of storages that have got a counter since they were named, and drop the freed ones."""
        for key, (ref, name) in list(self._alone.items()):
            tensor = ref()
            if tensor is None:
                del self._alone[key]
            elif version_counter(tensor) is not None:
                log = log_of(version_counter(tensor))
                self._memory[id(log)] = weakref.ref(log), name
                del self._alone[key]

    def describe_counted(self, item):
        """The data of a node that will run: its saved values, and for an AccumulateGrad the leaf."""
        described = {key: value for key, value in item.items() if value is not None or key == "made"}
        described["saved"] = [
            {"name": entry["name"], "packed": type(entry["value"]).__name__} if entry["saved"] is None else
            {"name": entry["name"], **describe_type(entry["value"]), "storage": self.storage(entry["value"]),
             "saved": entry["saved"], "now": entry["now"]} for entry in item["saved"]]
        if item["leaf"] is not None:
            counter = version_counter(item["leaf"])
            version = 0 if counter is None else counter.value
            described["leaf"] = {**describe_type(item["leaf"]), "storage": self.storage(item["leaf"]), "now": version}
        return described

    def call(self, names):
        """Note the names that tensors have in the user's program: a dict of tensors. The first name of a tensor counts."""
        with self._lock:
            self.update_derived()
            for name, tensor in names.items():
                for thing, called in ((tensor, name), (grad_of(tensor), f"{name}.grad")):
                    if thing is not None:
                        counter = version_counter(thing)
                        self.called.setdefault(self.find_name(thing if counter is None else log_of(counter)), called)
                node = node_of(tensor)
                ref, known = self._names.get(id(node), (None, None))
                if node is not None and ref is not None and ref() is node:
                    self.called.setdefault(known, name)
            self.called.pop(None, None)

    def plain(self, value, depth=6):
        """Convert `value` to names, numbers and strings. Below `depth` levels, containers become the name of their type."""
        if isinstance(value, Node):
            return self.name(value)
        if isinstance(value, TensorBase):
            return summarize(value)
        if isinstance(value, VersionCounter):
            return self.storage(value)
        if isinstance(value, (list, tuple, dict)) and not depth:
            return type(value).__name__
        if isinstance(value, (list, tuple)):
            return [self.plain(item, depth - 1) for item in value]
        if isinstance(value, dict):
            return {key: self.plain(item, depth - 1) for key, item in value.items()}
        return getattr(value, "__name__", type(value).__name__) if callable(value) else value

    def start(self, file, line):
        """Begin to record the events of all threads. `file` and `line` are the place of the ``with``."""
        self.entered = file, line
        self.program.setdefault(file, [])
        with _switching:
            switches.recorders = (*switches.recorders, self)
            switches.update_derived()

    def stop(self):
        """Stop recording, and keep the text of the program as it is now."""
        with _switching:
            switches.recorders = tuple([recorder for recorder in switches.recorders if recorder is not self])
            switches.update_derived()
        with self._lock:
            self.program = {file: linecache.getlines(file) for file in self.program}


def storage_size(tensor):
    """The size of the storage of `tensor` in bytes."""
    return owner_of(tensor._array).nbytes
