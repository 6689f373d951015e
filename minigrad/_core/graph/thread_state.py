"""The autograd state of each thread: grad mode, the running node and task, the hooks on saved tensors.

Every op reads it, so reading must be cheap. A ``threading.local`` costs 26 ns, a tenth of a small op. So compiled code
caches the State of the last thread that read it, with the number of that thread. While one thread does the work, one
comparison (2 ns) replaces the look-up. The number comes from ``PyThreadState_GetID``: unlike a thread ident, it is never
used again.

    Modes       everything that a context manager may change in a thread: no_grad, saved_tensors_hooks ...
      State     the modes, and the task and the node that run in the thread now

Note [A backward puts the modes back]
    A hook may enter a context and not leave it, or leave a context that was entered outside, and it may fail in between.
    Whatever happens, after the backward the thread has the modes that it had before. They are copied as one object
    (`copy_modes`), so that nobody can forget a mode that is added later.

Mirrors ``at::ThreadLocalState`` and the thread-locals of torch/csrc/autograd/engine.cpp.
Read next: ``node.py``.
"""

import weakref
from _thread import _local as ThreadLocal  # threading.local, without the import of threading

import cython
from cython.cimports.minigrad._core.graph.capi import thread_id

from minigrad._core.graph.locks import new_lock
from minigrad._core.graph.switches import switches

_dual_level = cython.declare(cython.bint, False)
_deriving = new_lock()


@cython.binding(False)
@cython.cclass
class Modes:
    """The modes of one thread, which context managers set. No value is ever changed in place."""

    def __init__(self):
        self.grad_enabled = True        # no_grad(), enable_grad(), set_grad_enabled()
        self.inference = False          # inference_mode()
        self.forward_enabled = True     # forward_ad.set_forward_grad_enabled()
        self.multithreading = True      # set_multithreading_enabled()
        self.grad_layout = True         # enforce_grad_layout_policy()
        self.saved_hooks = ()           # the stack of saved_tensors_hooks: pairs of functions
        self.saved_hooks_disabled = None    # the message of disable_saved_tensors_hooks(), or None outside of it
        self.keeper = None              # copies saved tensors before a write: allow_mutation_on_saved_tensors()
        self.interceptors = ()          # the stack of interceptors: interceptor.py
        self.autocast = None            # converts the arguments of ops: minigrad/amp/autocast_mode.py. None outside of autocast()


@cython.cfunc
def copy_modes(source: Modes, target: Modes) -> object:
    """Copy all modes from `source` to `target`. A test checks that none is missing here."""
    target.grad_enabled = source.grad_enabled
    target.inference = source.inference
    target.forward_enabled = source.forward_enabled
    target.multithreading = source.multithreading
    target.grad_layout = source.grad_layout
    target.saved_hooks = source.saved_hooks
    target.saved_hooks_disabled = source.saved_hooks_disabled
    target.keeper = source.keeper
    target.interceptors = source.interceptors
    target.autocast = source.autocast
    return None


@cython.binding(False)
@cython.cclass
class State(Modes):
    """The autograd state of one thread. A new thread starts with gradients enabled.

    Only its thread uses it, except that `set_dual_level` updates the derived fields of all threads. Locked: that (`_deriving`).
    """

    def __init__(self):
        Modes.__init__(self)
        self.fast_path = True           # whether no mode is on that gives an op more work: see `update_derived`
        self.forward = False            # whether ops compute tangents: forward_ad.py
        self.next_sequence = 0          # number of the next node that this thread makes
        self.node = None                # the node being executed
        self.task = None                # the GraphTask being executed
        self.depth = 0                  # how many backward calls are nested in this thread
        self.interrupt = None           # an exception that reached the thread that waits for this one: execute.py

    def modes(self):
        """A copy of the modes as they are now, for `restore`."""
        found: Modes = Modes.__new__(Modes) if cython.compiled else Modes()
        copy_modes(self, found)
        return found

    def has(self, modes):
        """Whether this state has exactly these modes."""
        return (self.grad_enabled == modes.grad_enabled and self.inference == modes.inference
                and self.forward_enabled == modes.forward_enabled and self.multithreading == modes.multithreading
                and self.grad_layout == modes.grad_layout and self.saved_hooks is modes.saved_hooks
                and self.saved_hooks_disabled is modes.saved_hooks_disabled and self.keeper is modes.keeper
                and self.interceptors is modes.interceptors and self.autocast is modes.autocast)

    def restore(self, modes):
        """Set all modes to the copy `modes`. See Note [A backward puts the modes back]."""
        self.set_keeper(modes.keeper)
        copy_modes(modes, self)
        self.update_derived()

    def set_modes(self, grad_enabled, inference, forward_enabled):
        """Set these three modes together, and update the derived fields."""
        self.grad_enabled = grad_enabled
        self.inference = inference
        self.forward_enabled = forward_enabled
        self.update_derived()

    def update_derived(self):
        """Update `forward` and `fast_path`, which are derived from the modes."""
        if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
            derive(self)
        else:
            with _deriving:
                derive(self)

    def set_keeper(self, keeper):
        """Set `keeper`. While any thread has a keeper, the writes of all threads are announced."""
        if (keeper is None) != (self.keeper is None):
            switches.keeper_entered(-1 if keeper is None else 1)
        self.keeper = keeper

    def set_interceptors(self, interceptors):
        """Set the stack of interceptors, and update `fast_path`."""
        self.interceptors = interceptors
        self.update_derived()

    def set_autocast(self, autocast):
        """Set what converts the arguments of ops, or None, and update `fast_path`."""
        self.autocast = autocast
        self.update_derived()


@cython.cfunc
def derive(state: State) -> object:
    state.forward = _dual_level and state.forward_enabled and not state.inference
    state.fast_path = not state.inference and not state.forward and not state.interceptors and state.autocast is None
    return None


_local = ThreadLocal()
_states = weakref.WeakSet()     # the State of every thread
NOBODY = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_cached_thread = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_cached = cython.declare(State, State())


def _look_up():
    try:
        return _local.state
    except AttributeError:
        _local.state = State()
        with _deriving:
            _states.add(_local.state)
        _local.state.update_derived()
        return _local.state


def set_dual_level(entered):
    """Set whether a dual level is entered. As in PyTorch there is at most one level, and it is common to all threads."""
    global _dual_level
    _dual_level = entered
    with _deriving:
        states = list(_states)
    for state in states:
        cython.cast(State, state).update_derived()


def borrow(state):
    """Let the calling thread use `state` while that state's own thread waits. With None, return to the thread's own state."""
    global _cached_thread
    if state is None:
        del _local.state
    else:
        _local.state = state
    _cached_thread = NOBODY     # last, because code that runs during the lines above may call `current`


def current():
    """The calling thread's `State`."""
    global _cached, _cached_thread
    if not cython.compiled:
        return _look_up()
    if thread_id() != _cached_thread:
        # If the old State died between the two assignments, its finalizers could let another thread run, which would assign
        # both variables too. So `old` holds it until both assignments are done, and we return our own State.
        state = _look_up()
        old = _cached  # noqa: F841
        _cached = state
        _cached_thread = thread_id()
        return state
    return _cached
