"""Writes to saved tensors: a copy is made before each write, so the backward still has the old values.

    with allow_mutation_on_saved_tensors():
        y = b ** 2              b is saved as a handle, which stands for its memory at version 0
        b.sin_()                before the write, the handle gets a copy of that memory
        y.sum().backward()      the handle is unpacked to the copy

A pair of saved-tensor hooks sees each tensor that is saved. The version counter announces each write before it happens
(Note [Announcing a write] in ``_core/graph/version.py``). A write affects all tensors that share the counter: the tensor, its
base and its views. (PyTorch compares the addresses of first elements, so a write to ``b[1:]`` silently corrupts a saved ``b``.)

Mirrors ``allow_mutation_on_saved_tensors`` of ``torch/autograd/graph.py``.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING

from minigrad._core.graph.thread_state import current
from minigrad.autograd.grad_mode import inference_mode, no_grad
from minigrad.errors import AutogradAssertionError, AutogradError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["AllowMutationOnSavedContext", "allow_mutation"]


class Handle:
    """Stands for a saved tensor; alive as long as a node has it."""


class AllowMutationOnSavedContext:
    """The records of `allow_mutation_on_saved_tensors`.

    original            handle -> the tensor that was saved, without history, until its memory is written to
    cloned              handle -> the copy that was made before that write
    tid_to_weakhandle   memory, shape and version of a tensor -> its handle: a tensor saved twice is copied once
    sid_to_tid          (version counter, version) -> the keys of all tensors saved with it
    """

    def __init__(self) -> None:
        self.original = weakref.WeakKeyDictionary()
        self.cloned = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle = weakref.WeakValueDictionary()
        self.sid_to_tid = {}

    def pack(self, tensor: Tensor) -> Any:
        """The pack hook: return a handle."""
        counter = tensor._version_counter()  # pyright: ignore[reportAttributeAccessIssue]
        sid = id(counter), counter.value        # the original keeps the counter alive, so its id stays unique
        tid = (*sid, tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = Handle()
            self.tid_to_weakhandle[tid] = handle
            self.original[handle] = tensor.detach()     # detached: otherwise a saved output would keep its own node alive
            self.sid_to_tid.setdefault(sid, set()).add(tid)
        return handle

    def unpack(self, handle: Any) -> bool:
        """The unpack hook: return the tensor, or its copy."""
        if current().keeper is not self:
            raise AutogradAssertionError(
                "MG-E178", "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded.", fix="call backward inside the `with` block that the forward ran in")
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_write(self, counter: Any) -> None:
        """Copy the saved tensors whose storage is about to be written to."""
        for tid in self.sid_to_tid.pop((id(counter), counter.value), ()):
            handle = self.tid_to_weakhandle.pop(tid, None)
            if handle is not None:
                with inference_mode(False), no_grad():
                    self.cloned[handle] = self.original.pop(handle).clone()

    def clear(self) -> None:
        """Forget everything."""
        for records in (self.original, self.cloned, self.tid_to_weakhandle, self.sid_to_tid):
            records.clear()


@contextlib.contextmanager
def allow_mutation(hooks: type[Any]) -> Iterator[AllowMutationOnSavedContext]:
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
