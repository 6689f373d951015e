"""Views under in-place ops: a write to shared memory changes the history of the base and of all its views.

    a = tensor([1., 2., 3.], requires_grad=True) * 1        base
    v = a[0:2]                                              view of a
    v.mul_(5)                                               writes to a's memory as well

A write through a view is an op on the *base*: it replaces a part of the base. So the base's history becomes a
`CopySlices` node. It takes the gradient of the base and passes the written part through the op:

    a.grad_fn = CopySlices ── edge 0 ──> the old grad_fn of a
                    │ inner: MulBackward0     ── edge 1.. ──> the other operands of the write

After the write, the grad_fn of every view of the base is wrong: it does not know the write. These views are *stale*: the
version of the storage is not the version at which their grad_fn was made (`_base_version`). A stale grad_fn is regenerated
on its next use (`refresh`). The new grad_fn is one node that takes the view from the base by its strides, whatever chain of
views had made it.

    v.grad_fn = AsStridedBackward0 ──> a.grad_fn = CopySlices

Note [How a view was made]
    Not every view may get a new grad_fn like this. If a view is one of several outputs (chunk, split, unbind), its node
    produced the other outputs too. A view made under no_grad has no node. A view made in inference mode must not have a
    node. A view returned by a custom Function has the user's backward, which a regenerated grad_fn would bypass. For
    these views, an in-place write or a use of a stale grad_fn is an error. `TensorBase._creation` says how a view was made.

Note [The result of a write in its own formula]
    The formula of exp_ uses the result. So a second derivative goes back through the node of the write. But that node
    is in no graph: `CopySlices` runs it and releases its saved values. So if the gradient is recorded, `CopySlices` runs
    a *twin* of the node, which the graph of the gradient then owns. (PyTorch gives the result the grad_fn of the view
    instead, which it must find again at unpack.)

Note [The gradient of a write, in place]
    The gradient of the old base is the gradient of the new one, but for the part that was written. PyTorch copies it for each
    write. We change the part in place if nobody but the engine holds the gradient: then the backward of n writes, to n rows
    of a matrix, moves n rows and not n matrices. The conditions are those of Note [Adding in place]. The number of references
    is only known in compiled code, so interpreted code always copies.

Mirrors ``torch/csrc/autograd/variable.{h,cpp}`` (DifferentiableViewMeta, rebase_history, grad_fn) and
``functions/tensor.cpp`` (CopySlices).
"""

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.accumulate_grad import gradient_edge
from cython.cimports.minigrad._core.graph.anomaly import note_creation
from cython.cimports.minigrad._core.graph.capi import call_rest, call_rest2, is_part_of, owns_rows, recycle, reference_count
from cython.cimports.minigrad._core.graph.node import clear_node, retain_output
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, is_exclusive, wrap
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.forward_ad import locate_in_real_base
from cython.cimports.minigrad._core.record.history import describe_writes
from cython.cimports.minigrad._core.record.op_node import record
from cython.cimports.minigrad._core.record.saved_tensor import describe_meta, error_freed, op_name
from cython.cimports.minigrad._core.record.view_base import base_requires_grad

from minigrad._core.graph.accumulate_grad import use_refresh
from minigrad._core.graph.locks import sharing
from minigrad._core.graph.metadata import Meta
from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.view_base import CreationMeta
from minigrad.errors import AutogradError

switches = cython.declare(Switches, _switches)
ndarray = cython.declare(object, np.ndarray)
DEFAULT = cython.declare(cython.int, CreationMeta.DEFAULT)
MULTI_OUTPUT_NODE = cython.declare(cython.int, CreationMeta.MULTI_OUTPUT_NODE)
NO_GRAD_MODE = cython.declare(cython.int, CreationMeta.NO_GRAD_MODE)
INFERENCE_MODE = cython.declare(cython.int, CreationMeta.INFERENCE_MODE)


def locate_view(view):
    """The place of `view` in its base: (base's strides, shape, strides, offset), in elements.

    After an assignment to ``.data``, the view and its base may be in different memory. Like PyTorch, we still use the
    strides and the offset in the new memory. It is an error if that place is outside the base.
    """
    base: TensorBase = view._view_base
    where: tuple = locate_in_real_base(view, base)
    if where[3] >= 0 or not view._meta.numel:
        return where
    offset = view.storage_offset() - base.storage_offset()
    if (view._meta.dtype is not base._meta.dtype or offset < 0
            or offset * view._array.itemsize + extent_in_bytes(view) > extent_in_bytes(base)):
        raise AutogradError("MG-E115", "a view out of bounds for the storage of its base, since an assignment to .data, "
                            "can neither be written to nor get a new history.", tensor=describe_meta(view._meta),
                            found=f"a base {describe_meta(base._meta)}", fix="make the view again after the assignment")
    return (*where[:3], offset)


@cython.cfunc
def extent_in_bytes(tensor: TensorBase) -> object:
    """The number of bytes from the start of the first element to the end of the last."""
    if not tensor._meta.numel:
        return 0
    return sum([(n - 1) * s for n, s in zip(tensor._array.shape, tensor._array.strides)], tensor._array.itemsize)


# ---- a write through a view --------------------------------------------------------------------------------


@cython.binding(False)
@cython.cclass
class CopySlices(Node):
    """The grad_fn of a base after a write to one of its views."""

    def explain_error(self, error):
        inner: Node = self.inner
        return error if inner is None else inner.explain_error(error)

    def compute(self, grad, wanted, results):
        if grad is None:
            return None
        inner: Node = self.inner
        if inner is None:           # checked after it was read: another thread may release the node at any time
            raise error_freed(self)
        mine: Meta = self.output_meta(0)
        theirs: Meta = inner.output_meta(0)
        recording: cython.bint = current().grad_enabled
        if recording:
            inner = inner.twin()
        found: list = [None] * inner.edges
        i: cython.Py_ssize_t
        p: cython.Py_ssize_t = self.position
        old: cython.bint = self.next_node(p) is not None and (p > 62 or wanted >> p & 1)      # the old history needs a gradient
        if recording or inner.plan is None or mine.dtype is not theirs.dtype or current().forward:
            whole = self.compute_by_ops(grad, inner, wanted, found, old)
        else:
            whole = self.compute_by_kernels(grad, inner, wanted, found, old)
        for i in range(len(found)):
            if self.next_node(i) is not None:
                results[i] = found[i] if i != p else whole
        return None

    def compute_by_kernels(self, grad, inner, wanted, found, old):
        """Run `inner` on its part of the gradient. Returns the gradient of the old base if `old`, else None."""
        # See Note [The gradient of a write, in place]. Only the engine has a reference: counted before `tensor` adds one.
        ours: cython.bint = cython.compiled and reference_count(grad) == 1
        tensor = cython.cast(TensorBase, grad)
        ours = ours and tensor._node is None and not tensor._leaf_requires_grad and is_exclusive(tensor)
        meta: Meta = self.output_meta(0)
        backend = meta.backend
        array = tensor._array
        seen = call_rest(backend.as_strided, array, self.geometry, 0)
        inner.compute(wrap(backend.copy(seen), inner.output_meta(0)), wanted, found)
        if not old:
            return None
        written = found[self.position]      # None: the op does not depend on the old values, so their gradient is 0
        if ours and type(array) is ndarray and owns_rows(array) and is_part_of(seen, array):
            if written is None:
                backend.kernels.fill_(seen, 0)
            else:
                backend.copy_(seen, cython.cast(TensorBase, written)._array)
            recycle(backend.recycler, seen)
            return grad
        written = 0 if written is None else cython.cast(TensorBase, written)._array
        return wrap(call_rest2(backend.as_strided_scatter, array, written, self.geometry, 0), meta)

    def compute_by_ops(self, grad, inner, wanted, found, old):
        """`compute_by_kernels` with ops instead of kernels, so that the result can be differentiated again."""
        mine: Meta = self.output_meta(0)
        theirs: Meta = inner.output_meta(0)
        from_complex = mine.dtype.is_complex and not theirs.dtype.is_complex        # a write to x.real
        to_complex = theirs.dtype.is_complex and not mine.dtype.is_complex          # or to view_as_complex(x)
        whole = upcalls.as_real(grad) if from_complex else grad
        part = upcalls.as_strided(whole, *self.geometry)
        seen = upcalls.as_complex(part) if to_complex else part
        inner.compute(upcalls.clone(seen), wanted, found)
        if not old:
            return None
        written = found[self.position]
        if written is None:
            written = upcalls.zeros_like(seen)
        if to_complex:
            written = upcalls.as_real(upcalls.cast(written, theirs.dtype))
        whole = upcalls.as_strided_scatter(whole, written, *self.geometry)
        return upcalls.as_complex(whole) if from_complex else whole

    def release(self):
        inner: Node = self.inner
        if inner is not None:
            inner.release()
            self.inner = None
        return None


@cython.cfunc
def new_copy_slices(base: TensorBase, inner: Node, geometry: tuple, position: cython.int) -> CopySlices:
    """The node of a write by `inner` to the part `geometry` of `base`. Edge `position` of `inner` leads to the old history.

    `position` is 0, except for a custom Function.
    """
    node: CopySlices = CopySlices.__new__(CopySlices)
    clear_node(node)
    node.inner = inner
    node.plan = inner.plan      # validate.py reads it: whether the node belongs to a built-in op
    node.geometry = geometry
    node.position = position
    node.meta = base._meta
    node.copy_edges(inner)
    node.lead_to(position, gradient_edge(base), base._output_number)
    node.sequence = inner.sequence
    if switches.notes_nodes:
        note_creation(node, current())
    return node


def rebase_history(target, node, geometry, number=0, position=0):
    """Make `node` the grad_fn of `target`, after its op has written to `target` in place.

    `geometry` is the result of `check_inplace`. `target` is output `number` of the op, and edge `position` of `node` leads
    to the old history of `target`.
    """
    if target._view_base is not None:
        base: TensorBase = target._view_base
        set_history(base, new_copy_slices(base, node, geometry, position), 0)
        regenerate_grad_fn(target, geometry)
    else:
        set_history(target, node, number)


@cython.cfunc
def set_history(tensor: TensorBase, node: Node, number: cython.int) -> object:
    """Make `tensor` output `number` of `node`. Its hooks stay on the old node; a retained gradient moves to the new node."""
    extra: AutogradMeta = tensor._extra
    old: Node = tensor._node
    if extra is not None:
        extra.hooks = None
        if extra.retains_grad and old is not None:
            move_retained_grad(old, tensor._output_number, node, number)
    tensor._node = node
    tensor._output_number = number
    tensor._leaf_requires_grad = False
    return None


@cython.cfunc
def move_retained_grad(old: Node, number: cython.int, new: Node, new_number: cython.int) -> object:
    """Move a retained gradient from output `number` of `old` to output `new_number` of `new`."""
    if old.extra is not None and old.extra.retains is not None:
        tensor = old.extra.retains.pop(number, None)
        if tensor is not None:
            retain_output(new, new_number, tensor)
    return None


# ---- stale views -------------------------------------------------------------------------------------------


def refresh(view: TensorBase):
    """Regenerate the grad_fn of a view if the storage has been written to since the view was made."""
    with sharing:       # also compiled: the op that takes views is imported with its first use, which lets other threads run
        refresh_once(view)


@cython.cfunc
def refresh_once(view: TensorBase) -> object:
    if view._node is None and not base_requires_grad(view):
        return None
    if view._base_version == view.version():
        return None
    check_creation(view, True)
    return regenerate_grad_fn(view, locate_view(view))


@cython.cfunc
def regenerate_grad_fn(view: TensorBase, geometry: tuple) -> object:
    """Give a view a new grad_fn, which takes the view from the base, with its present history, by its strides."""
    base: TensorBase = view._view_base
    old: Node = view._node
    number = view._output_number
    edge: Node = gradient_edge(base)
    view._output_number = 0
    # `edge` is None if the base has no history but the view had one: the user made the view require a gradient
    strides, shape, steps, offset = geometry
    args: tuple = (base, strides, shape, steps, offset)
    mixed: cython.bint = view._meta.dtype is not base._meta.dtype
    if mixed:
        args = (*args, view._meta.dtype.is_complex)
    record(upcalls.as_strided_parts_op if mixed else upcalls.as_strided_op, current(), 1, 1, edge, None,
           (base._output_number,) if base._output_number else None, view, None, None, args)
    if old is not None and view._extra is not None and view._extra.retains_grad:
        move_retained_grad(old, number, view._node, 0)
    view._base_version = view.version()
    return None


# ---- views that must not be written to ------------------------------------------------------------------------------


@cython.cfunc
def check_creation(view: TensorBase, indirect: cython.bint) -> object:
    """Raise if `view` was made in a way that forbids in-place writes to it or, `indirect`, to its base."""
    how: cython.int = view._creation
    if how == DEFAULT:
        return None
    created = "created in inference mode" if how == INFERENCE_MODE else \
        "" if how == MULTI_OUTPUT_NODE else "created in no_grad mode"
    if view._node is None:
        start_of = f"A view was {created or 'created without a history'}"
    else:
        start_of = f"Output {view._output_number} of {op_name(view._node)} is a view"
        if how in (NO_GRAD_MODE, INFERENCE_MODE):
            start_of += f" of a view which was {created}"
        else:
            created = ""
    if indirect:
        event = "its base or another view of its base has been modified inplace"
    else:
        event = "is being modified inplace"
    if created:
        event += " in normal mode" if how == INFERENCE_MODE else " with grad mode enabled"
    if how == MULTI_OUTPUT_NODE:
        reason = "This view is the output of a function that returns multiple views. Such functions do not allow the " \
                 "output views to be modified inplace."
        fix = "replace the inplace operation by an out-of-place one"
    elif how == NO_GRAD_MODE:
        reason = "Given that this use case is ambiguous and error-prone, it is forbidden."
        fix = "make the view and write to it both inside the no_grad block (if the write is not to be tracked) or both " \
              "outside (if it is)"
    elif how == INFERENCE_MODE:
        reason = "Given that this use case is ambiguous and error-prone, it is forbidden."
        fix = "make the view and write to it both inside the inference_mode block (if the write is not to be tracked) or " \
              "both outside (if it is)"
    else:
        reason = "This view was created inside a custom Function (or because an input was returned as-is) and the autograd " \
                 "logic to handle view+inplace would override the custom backward associated with the custom Function."
        fix = "clone the output of the custom Function"
    story = describe_writes(view, view._base_version, None) if indirect else None
    raise AutogradError("MG-E120", f"{start_of} and {event}. {reason}", where=story, fix=fix)


use_refresh(refresh)
