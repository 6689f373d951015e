"""The version counter: how many times a storage has been written to.

    a = tensor([1., 2.])        storage S, version 0        a ──┐
    b = a[0]                    a view: the same counter    b ──┼──> VersionCounter(value=0)
    c = a.detach()              the same counter            c ──┘
    a.mul_(2)                   value=1, seen through all three

A tensor that nobody has viewed, detached or written to has no counter object at all: it stands for
version 0, and most tensors of a forward pass live and die so. The counter is made when somebody
first shares it (`TensorBase.shared_counter`).

Note [Announcing a write]
    Every write to memory that autograd should know of calls `bump`, and calls it *before* it writes: so the one
    place in which versions go up is also the one in which a write can be noted with its file and line (`mg.debug`),
    and in which what is about to be overwritten can still be copied (`allow_mutation_on_saved_tensors`). A
    write that fails afterwards has counted for nothing, which does no harm: versions are compared by `!=`.

Invariant: every tensor on one storage holds the *same* counter, except those made by ``.data``,
whose point is to escape it.

Mirrors ``c10::VariableVersion`` (c10/core/TensorImpl.h).
Read next: ``saved_tensor.py``, where versions are compared.
"""

from collections import deque

import cython
from cython.cimports.minigrad._core.graph.switches import Switches, user_location
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.graph.switches import switches as _switches

LOGGED = 1000       # how many writes to one storage are remembered: the latest
switches = cython.declare(Switches, _switches)


@cython.binding(False)
@cython.no_gc       # a log holds numbers and strings: no cycle can go through it
@cython.freelist(64)
@cython.cclass
class VersionCounter:
    """The number of in-place writes to one storage. `log`: of those that were noted, (version, op, file, line)."""

    def __init__(self):
        self.value = 0
        self.log = None

    def bump(self, name):
        """Count a write that is about to happen; `name` says which. See Note [Announcing a write]."""
        if switches.notes_writes:
            announce(self, name)
        self.value += 1
        return None


@cython.cfunc
def announce(counter: VersionCounter, name) -> object:
    """Tell those who want to know of the write that is about to happen."""
    keeper = current().keeper
    if keeper is not None:
        keeper.before_write(counter)
    if switches.recording:
        switches.note("write", None, {"storage": counter, "op": name, "version": counter.value + 1})
    if switches.notes_locations:
        if counter.log is None:
            counter.log = deque(maxlen=LOGGED)
        counter.log.append((counter.value + 1, name, *user_location()))
    return None
