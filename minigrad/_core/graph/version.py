"""The version counter: how many times a storage has been written to.

    a = tensor([1., 2.])        storage S, version 0        a ──┐
    b = a[0]                    a view: the same counter    b ──┼──> VersionCounter(value=0)
    c = a.detach()              the same counter            c ──┘
    a.mul_(2)                   value=1, seen through all three

A tensor that was never viewed, detached or written to has no counter object: its version is 0. Most tensors of a
forward pass never get a counter. `TensorBase.shared_counter` makes it when it is first needed.

Note [Announcing a write]
    Every write to memory that autograd should know of calls `bump` *before* it writes. So `bump` is the only place where
    versions go up. There a write can be noted with its file and line (`mg.debug`), and the numbers that it overwrites can
    still be copied (`allow_mutation_on_saved_tensors`). A write that fails afterwards has increased the version without
    need. That does no harm: versions are compared by `!=`.

Invariant: all tensors on one storage hold the *same* counter. The exception is ``.data``, whose purpose is to escape it.

Mirrors ``c10::VariableVersion`` (c10/core/TensorImpl.h).
Read next: ``record/saved_tensor.py``, where versions are compared.
"""

from collections import deque

import cython
from cython.cimports.minigrad._core.graph.switches import Switches, user_location
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.graph.locks import sharing
from minigrad._core.graph.switches import switches as _switches

LOGGED = 1000       # the log of a storage has its latest writes, at most this many
switches = cython.declare(Switches, _switches)


@cython.binding(False)
@cython.no_gc       # a log holds only numbers and strings, so no cycle can pass through it
@cython.freelist(64)
@cython.cclass
class VersionCounter:
    """The number of in-place writes to one storage. `log` has (version, op, file, line) for each write that was noted.

    Locked: the increment, because a lost one could restore a version that a node has saved (`sharing`).
    """

    def __init__(self):
        self.value = 0
        self.log = None

    def bump(self, name):
        """Count a write that is about to happen; `name` is its op. See Note [Announcing a write]."""
        if switches.notes_writes:
            announce(self, name)
        if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
            self.value += 1
        else:
            with sharing:
                self.value += 1
        return None


@cython.cfunc
def announce(counter: VersionCounter, name) -> object:
    """Announce a write that is about to happen to the keeper, the recorders and the log."""
    keeper = current().keeper
    if keeper is not None:
        keeper.before_write(counter)
    if switches.recording:
        switches.note("write", None, {"storage": counter, "op": name, "version": counter.value + 1})
    if switches.notes_locations:
        place = user_location()
        with sharing:       # two threads must not begin two logs
            if counter.log is None:
                counter.log = deque(maxlen=LOGGED)
            counter.log.append((counter.value + 1, name, *place))
    return None
