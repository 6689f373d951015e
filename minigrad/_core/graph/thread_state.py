"""What autograd knows per thread: grad mode, the running node and task, the hooks on saved tensors.

Every op asks for it, so asking must be cheap. A ``threading.local`` costs 26 ns, a tenth of a small
op; so, compiled, we keep the State of the thread that asked last beside that thread's number, and one
comparison (2 ns) replaces the look-up for as long as one thread does the work. The numbers are those of
``PyThreadState_GetID``, which are never used twice, unlike thread idents.

    Modes       all that a context manager may change in a thread: no_grad, saved_tensors_hooks ...
      State     the same, and what runs in the thread now: a task, a node

Note [A backward puts the modes back]
    A hook may enter a context and not leave it, or leave one that was entered outside, and may fail in between. After the backward
    the modes of the thread are what they were before it, whatever has happened: they are copied as one object (`copy_modes`), so
    that a mode that is added later cannot be forgotten.

Mirrors ``at::ThreadLocalState`` and the thread-locals of torch/csrc/autograd/engine.cpp.
Read next: ``node.py``.
"""

import threading
import weakref

import cython
from cython.cimports.minigrad._core.graph.capi import thread_id

from minigrad._core.graph.switches import switches

_dual_level = cython.declare(cython.bint, False)


@cython.binding(False)
@cython.cclass
class Modes:
    """What context managers set, for one thread. None of the values is changed in place."""

    def __init__(self):
        self.grad_enabled = True        # no_grad() and its kind
        self.inference = False          # inference_mode()
        self.forward_enabled = True     # forward_ad.set_forward_grad_enabled()
        self.multithreading = True      # set_multithreading_enabled()
        self.grad_layout = True         # enforce_grad_layout_policy()
        self.saved_hooks = ()           # the stack of saved_tensors_hooks: pairs of functions
        self.saved_hooks_disabled = None    # the message of disable_saved_tensors_hooks, if inside one
        self.keeper = None              # what copies saved tensors before a write: allow_mutation_on_saved_tensors
        self.interceptors = ()          # the stack of functions that see each op: interceptor.py


@cython.cfunc
def copy_modes(source: Modes, target: Modes) -> object:
    """Set the modes of `target` to those of `source`. A test holds that none is missing here."""
    target.grad_enabled = source.grad_enabled
    target.inference = source.inference
    target.forward_enabled = source.forward_enabled
    target.multithreading = source.multithreading
    target.grad_layout = source.grad_layout
    target.saved_hooks = source.saved_hooks
    target.saved_hooks_disabled = source.saved_hooks_disabled
    target.keeper = source.keeper
    target.interceptors = source.interceptors
    return None


@cython.binding(False)
@cython.cclass
class State(Modes):
    """The autograd state of one thread. A new thread starts with gradients enabled."""

    def __init__(self):
        Modes.__init__(self)
        self.fast_path = True            # none of the modes is on in which an op has more to do: see `update_derived`
        self.forward = False            # whether tangents travel: forward_ad.py
        self.next_sequence = 0          # number of the next node that this thread makes
        self.node = None                # the node being executed
        self.task = None                # the GraphTask being executed
        self.depth = 0                  # how many backward calls are nested in this thread
        self.interrupt = None           # an exception that has reached a thread which waits for this one: see execute.py

    def modes(self):
        """The modes as they are now, for `restore`."""
        found: Modes = Modes.__new__(Modes) if cython.compiled else Modes()
        copy_modes(self, found)
        return found

    def has(self, modes):
        """Whether all modes are these."""
        return (self.grad_enabled == modes.grad_enabled and self.inference == modes.inference
                and self.forward_enabled == modes.forward_enabled and self.multithreading == modes.multithreading
                and self.grad_layout == modes.grad_layout and self.saved_hooks is modes.saved_hooks
                and self.saved_hooks_disabled is modes.saved_hooks_disabled and self.keeper is modes.keeper
                and self.interceptors is modes.interceptors)

    def restore(self, modes):
        """Set all modes to what they were. See Note [A backward puts the modes back]."""
        self.set_keeper(modes.keeper)
        copy_modes(modes, self)
        self.update_derived()

    def set_modes(self, grad_enabled, inference, forward_enabled):
        """Set the three modes together, and what follows from them."""
        self.grad_enabled = grad_enabled
        self.inference = inference
        self.forward_enabled = forward_enabled
        self.update_derived()

    def update_derived(self):
        """Bring `forward` and `fast_path`, which follow from the modes, up to date."""
        self.forward = _dual_level and self.forward_enabled and not self.inference
        self.fast_path = not self.inference and not self.forward and not self.interceptors

    def set_keeper(self, keeper):
        """Set `keeper`; all threads' writes are announced while one of them has any."""
        if (keeper is None) != (self.keeper is None):
            switches.keeper_entered(-1 if keeper is None else 1)
        self.keeper = keeper

    def set_interceptors(self, interceptors):
        """Set the stack of interceptors, and `fast_path`."""
        self.interceptors = interceptors
        self.update_derived()


_local = threading.local()
_states = weakref.WeakSet()     # of all threads
NOBODY = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_cached_thread = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_cached = cython.declare(State, State())


def _look_up():
    try:
        return _local.state
    except AttributeError:
        _local.state = State()
        _states.add(_local.state)
        _local.state.update_derived()
        return _local.state


def set_dual_level(entered):
    """Say whether a dual level is entered. There is at most one, and it holds for all threads, as in PyTorch."""
    global _dual_level
    _dual_level = entered
    for state in list(_states):
        cython.cast(State, state).update_derived()


def borrow(state):
    """Let the calling thread use `state`, whose own thread waits meanwhile. With None, give it back."""
    global _cached_thread
    if state is None:
        del _local.state
    else:
        _local.state = state
    _cached_thread = NOBODY     # last: whatever the lines above may run asks for the State too


def current():
    """The calling thread's `State`."""
    global _cached, _cached_thread
    if not cython.compiled:
        return _look_up()
    if thread_id() != _cached_thread:
        # The old State may die here, which runs code and so may let another thread in, between whose two assignments
        # and ours nothing may come: so we hold it until both are made, and return our own.
        state = _look_up()
        old = _cached  # noqa: F841
        _cached = state
        _cached_thread = thread_id()
        return state
    return _cached
