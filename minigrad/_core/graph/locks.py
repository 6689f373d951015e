"""The locks of interpreted code, for what several threads share.

Note [Interpreted threads take turns]
    Two threads may use one tensor, one node and one table of hooks. A line such as ``self.value += 1`` reads, adds and
    writes, and the other thread may run in between: under the GIL, where Python changes threads, and on a free-threaded
    Python at any time. So interpreted code takes a lock for each such line. Compiled, no other thread runs between two
    lines of C, because the extension modules need the GIL (setup.py says so to CPython). So compiled code takes none of
    these locks, and ``if cython.compiled:`` chooses.

    lock            in                      what it protects                    without it
    `sharing`       graph/version.py        a version's increment               a write that nobody notices
                    graph/tensor.py,        a counter, the extra fields of a    two threads make one each, and what is in one
                    graph/node.py,          tensor or node, a node's metadata,  of the two is lost
                    record/history.py       a storage's log: made on first use
                    engine/tensor_hooks.py  the addition to a retained grad     a gradient that is lost
                    mutation/views.py       a stale view's new grad_fn          two new nodes, and hooks on one of them
    `registering`   graph/handle.py         the tables of hooks                 Note [Two threads, one table of hooks]
    `_making`       graph/accumulate_grad   a leaf's AccumulateGrad             two nodes for one leaf
    a node's own    graph/accumulate_grad   the addition into ``.grad``         a gradient that is lost (compiled too: a
                                                                                kernel lets other threads run)
    `claiming`      engine/dependencies     which task has a node's fields      two tasks use one buffer
    `_counting`     graph/switches.py       the derived switches                a recorder or a keeper that sees no writes
    `_deriving`     graph/thread_state.py   the derived modes of a thread       ops without tangents inside a dual level

    The locks are reentrant, because the garbage collector may run a finalizer while we hold one, and the finalizer may use
    tensors. No lock is held while a hook or a formula runs. (docs/notes/threads.md has the user's side of this.)
    ``tests/core/test_interleavings.py`` changes threads at each instruction that a lock protects, with the lock and without it.

Mirrors nothing: PyTorch has ``std::atomic`` versions (c10/core/TensorImpl.h), and a mutex in each node.
Read next: ``version.py``.
"""

import os
from _thread import RLock  # what threading.RLock() makes, by way of a Python function

__all__ = ["new_lock", "registering", "sharing"]


def new_lock():
    """A reentrant lock that is free again after a fork: the thread that holds it does not exist in the child."""
    lock = RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lock._at_fork_reinit)
    return lock


sharing = new_lock()
registering = new_lock()
