"""Writing to tensors that have been saved: the copies that make it harmless.

    with allow_mutation_on_saved_tensors():
        y = b ** 2              b is saved: not b itself, but a handle that stands for its memory at version 0
        b.sin_()                about to write to that memory: a copy of it takes the place of the original
        y.sum().backward()      the handle gives the copy

Saved tensors come by as a pair of saved-tensor hooks, writes through the version counter, which announces them before
they happen (Note [Announcing a write] in ``_core/graph/version.py``). What is about to be written to is whatever shares the
counter: the tensor, its base, its views, wherever in the memory they begin. (PyTorch compares the addresses of first
elements, and lets a write to ``b[1:]`` corrupt a saved ``b`` in silence.)

Mirrors ``allow_mutation_on_saved_tensors`` of ``torch/autograd/graph.py``.
"""

import contextlib
import weakref

from minigrad._core.graph.thread_state import current
from minigrad.autograd.grad_mode import inference_mode, no_grad
from minigrad.errors import AutogradAssertionError, AutogradError

__all__ = ["AllowMutationOnSavedContext", "mutation_allowed"]



class Handle:
    """Stands for a saved tensor; alive as long as a node has it."""


class AllowMutationOnSavedContext:
    """What `allow_mutation_on_saved_tensors` has recorded.

    original            handle -> the tensor that was saved, without history, until its memory is written to
    cloned              handle -> the copy that was made then
    tid_to_weakhandle   memory, shape and version of a tensor -> its handle: who saves the same twice has one copy
    sid_to_tid          (storage, version) -> the keys of all that was saved of it
    """

    def __init__(self):
        self.original = weakref.WeakKeyDictionary()
        self.cloned = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle = weakref.WeakValueDictionary()
        self.sid_to_tid = {}

    def pack(self, tensor):
        """The pack hook: a handle."""
        counter = tensor._version_counter()
        sid = id(counter), counter.value        # the original holds the counter, so that nobody else has its id
        tid = (*sid, tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = Handle()
            self.tid_to_weakhandle[tid] = handle
            self.original[handle] = tensor.detach()     # without history: a saved output would hold its own node
            self.sid_to_tid.setdefault(sid, set()).add(tid)
        return handle

    def unpack(self, handle):
        """The unpack hook: the tensor, or its copy."""
        if current().keeper is not self:
            raise AutogradAssertionError(
                "MG-E178", "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded.", fix="call backward inside the `with` block that the forward ran in")
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_write(self, counter):
        """Copy what has been saved of the storage that is about to be written to."""
        for tid in self.sid_to_tid.pop((id(counter), counter.value), ()):
            handle = self.tid_to_weakhandle.pop(tid, None)
            if handle is not None:
                with inference_mode(False), no_grad():
                    self.cloned[handle] = self.original.pop(handle).clone()

    def clear(self):
        """Forget everything."""
        for records in (self.original, self.cloned, self.tid_to_weakhandle, self.sid_to_tid):
            records.clear()


@contextlib.contextmanager
def mutation_allowed(hooks):
    """The context; `hooks` is the class of saved-tensor hooks."""
    state = current()
    if state.keeper is not None:
        raise AutogradError("MG-E178", "allow_mutation_on_saved_tensors contexts cannot be nested",
                            fix="leave the inner one out: the outer one covers it")
    context = AllowMutationOnSavedContext()
    with hooks(context.pack, context.unpack):
        state.set_keeper(context)
        try:
            yield context
        finally:
            state.set_keeper(None)
            context.clear()
