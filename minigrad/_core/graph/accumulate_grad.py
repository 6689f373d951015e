"""AccumulateGrad: the node at the end of every path, which adds the gradient to a leaf's ``.grad``.

    w = tensor(2., requires_grad=True)
    y = w * 3                       y.grad_fn.next_functions == ((<AccumulateGrad>, 0), (None, 0))
    y.backward()                    AccumulateGrad:  w.grad is None  ->  w.grad = tensor(3.)

A leaf has one such node for as long as a graph holds the node. When the last graph is dropped, the node is freed, and the next
graph makes another.

Note [A leaf and its node]
    The node owns the leaf, so the leaf must not own the node, or the two would keep each other alive. Interpreted, the leaf has a
    weak reference. Compiled, its `AutogradMeta` has a borrowed one: the address of the node. (A weak reference is an object of its
    own. To make and free it took a thirtieth of the time of a network of single numbers.) The node holds that record too, as
    `home`, and empties the field when it dies (`leave_leaf`). So the collector may not empty `home` before (`no_gc_clear`); it
    breaks a cycle at the leaf. A leaf that was saved with hooks and unpacked shares the node, and owns it: no graph's node
    refers to such a leaf.

Note [Stealing a gradient]
    The first gradient of a leaf need not be copied if only the engine holds it: its tensor *becomes* ``.grad``. We know
    it by counting references: one to the tensor (the engine's, which is about to drop it) and one to its array (the
    tensor's). A gradient has more references if a hook has kept it, the user passed it in, or it goes to two leaves.
    Then we copy it. The gradient must also have the memory layout of the leaf, because optimizers walk both together.

    A gradient may also arrive as a view, whose array does not own its memory: the gradient of a linear layer's weight
    is the transpose of a transposed product. If it shows the whole base in the same order, and only it holds the base,
    the base becomes ``.grad`` (`is_whole_base`).

Mirrors ``torch/csrc/autograd/functions/accumulate_grad.{h,cpp}``. Read next: ``../README.md``.
"""

from _thread import RLock  # what threading.RLock() makes, by way of a Python function

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.anomaly import note_creation
from cython.cimports.minigrad._core.graph.capi import is_c_contiguous, owns_rows, reference_count
from cython.cimports.minigrad._core.graph.hooks import run_post_accumulate_hooks
from cython.cimports.minigrad._core.graph.metadata import make_meta
from cython.cimports.minigrad._core.graph.node import clear_node
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, is_exclusive, wrap
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.graph.locks import new_lock
from minigrad._core.graph.metadata import Meta
from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.upcalls import upcalls
from minigrad.errors import AutogradError, ShapeError

if not cython.compiled:     # compiled, these are in _capi/accumulators.h
    from minigrad._core.graph.capi import accumulator_of, allocate_accumulator, keep_accumulators, leave_leaf, set_accumulator

# How many references the gradient has while `compute` runs, if only the engine holds it: ownership.py.
SOLE_OWNER = cython.declare(cython.Py_ssize_t, -1)
# The sequence number of every AccumulateGrad. It is the largest number, so a leaf takes its gradient as soon as that is
# complete, and the engine can free the buffer.
LAST = 0xFFFFFFFFFFFFFFFF
LAST_SEQUENCE = cython.declare(cython.ulonglong, LAST)      # the same as a C number
# What happened to a gradient, and the name of that in the record.
IN_PLACE, STOLEN, COPIED = cython.declare(cython.int, 0), cython.declare(cython.int, 1), cython.declare(cython.int, 2)
HOW = ("in place", "stolen", "copied")
switches = cython.declare(Switches, _switches)
ndarray = cython.declare(object, np.ndarray)
# Interpreted, two threads might make two nodes for one leaf. See Note [Two threads, one table of hooks].
_making = new_lock()


@cython.binding(False)
@cython.no_gc_clear
@cython.cclass
class AccumulateGrad(Node):
    """The node that adds the gradient that reaches it to ``variable.grad``. `new_accumulator` makes it.

    Locked: each addition into ``.grad`` and each replacement of it, so that none is lost (`lock`); the making of the node,
    because a leaf has one (`_making`).
    """

    def __init__(self):
        clear_node(self)
        self.lock = RLock()     # compiled, this constructor does not run, and `lock` is None

    def __dealloc__(self):
        # Only compiled code runs this, and not for a node of the kind that is kept: see accumulators.h.
        leave_leaf(self)

    def compute(self, grad, wanted, results):
        """Accumulate the gradient. There are no results: a leaf has no edges."""
        leaf = self.variable
        if leaf._node is not None:
            raise AutogradError(
                "MG-E104", "leaf variable has been moved into the graph interior",
                node=self.name(), fix="do not give a leaf a history between forward and backward")
        extra = leaf.extras()
        if grad is not None and leaf._leaf_requires_grad:
            if current().grad_enabled:
                self.accumulate_with_history(grad)
            else:
                # See Note [Stealing a gradient]. We count here, where we know all holders, and before the call below, whose
                # argument is one more reference. If there are post-hooks, the engine holds one more reference too.
                owners: cython.Py_ssize_t = SOLE_OWNER + 1 if self.extra is not None and self.extra.post_hooks else SOLE_OWNER
                nobody_else: cython.bint = reference_count(grad) == owners
                self.accumulate(grad, nobody_else)
        if extra.post_accumulate_hooks:
            run_post_accumulate_hooks(extra.post_accumulate_hooks, leaf)
        return None

    def accumulate(self, new, exclusive):
        """Add the gradient `new` to ``.grad``. `exclusive`: only the engine holds `new`."""
        leaf = self.variable
        extra = leaf._extra
        how: cython.int = IN_PLACE
        mine = new
        while True:
            present = extra.grad        # read once: another thread may set it to None, or to a tensor, at any time
            if present is not None:
                with lock_accumulation(self):
                    add_in_place(present, mine)
                how = IN_PLACE
                break
            if how == IN_PLACE:         # the first time round
                how = STOLEN
                new = reshape_to_leaf(new, leaf)
                forward: cython.bint = current().forward        # then the copy keeps the tangent
                mine = steal(new, leaf) if exclusive and not forward else None
                if mine is None:
                    how = COPIED
                    if forward:
                        mine = upcalls.clone(new)
                    else:
                        mine = wrap(leaf._meta.backend.kernels.copy_with_layout(new._array, leaf._array), new._meta)
            if replace_grad(self, None, mine):      # not if another thread was faster, or making the copy ran a backward
                break
        if switches.recording:
            switches.note("accumulate", self, {"gradient": new, "grad": extra.grad, "how": HOW[how]})

    def accumulate_with_history(self, new):
        """Under ``create_graph=True``: add out of place, as a recorded op.

        Recording may run the user's hooks, so we do not hold the lock. If another thread has changed ``.grad`` meanwhile, we
        add again.
        """
        extra = self.variable.extras()
        while True:
            old = extra.grad
            total = upcalls.copied(reshape_to_leaf(new, self.variable)) if old is None else old + new
            if replace_grad(self, old, total):
                break
        if switches.recording:
            switches.note("accumulate", self, {"gradient": new, "grad": total, "how": "cloned" if old is None else "out of place"})


@cython.cfunc
def reshape_to_leaf(grad: TensorBase, leaf: TensorBase) -> TensorBase:
    """`grad` in the shape of `leaf`, which differs if `leaf` got another shape in place after the forward (``leaf.t_()``).

    Raises `ShapeError` if it does not broadcast to that shape.
    """
    if grad._meta is leaf._meta or grad._meta.shape == leaf._meta.shape:
        return grad
    broadcast = broadcast_shape([leaf._meta, grad._meta])
    if broadcast != leaf._meta.shape:
        raise ShapeError("MG-E204", f"output with shape {list(leaf._meta.shape)} doesn't match the broadcast shape "
                         f"{list(broadcast)}",
                         tensor="the gradient of a leaf whose shape has changed since the forward",
                         fix="change the shape of a leaf before the forward, or after the backward")
    return cython.cast(object, grad).expand(leaf._meta.shape)


@cython.cfunc
def replace_grad(node: AccumulateGrad, old, new) -> cython.bint:
    """Replace the gradient `old` with `new`. Returns False if another thread has replaced `old` meanwhile."""
    if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
        return swap_grad(node.variable._extra, old, new)
    else:
        with lock_accumulation(node):
            return swap_grad(node.variable._extra, old, new)


@cython.cfunc
def swap_grad(extra: AutogradMeta, old, new) -> cython.bint:
    if extra.grad is not old:
        return False
    extra.grad = new
    return True


@cython.cfunc
def lock_accumulation(node: AccumulateGrad) -> object:
    """The lock of `node`. Two threads may run backward into one leaf, and a kernel lets other threads run while it adds.

    The lock is reentrant, because a finalizer may run a backward while we add. It is made on first use, which an ordinary
    training step does not need: a lock for each leaf cost 1,200 instructions.
    """
    if node.lock is None:
        lock = RLock()
        if node.lock is None:       # making the lock may have run other code, which made one
            node.lock = lock
    return node.lock


keep_accumulators(AccumulateGrad)


def set_sole_owner(count):
    """Set SOLE_OWNER."""
    global SOLE_OWNER
    SOLE_OWNER = count


def gradient_meta(leaf):
    """The `Meta` that the gradient of `leaf` must have: the leaf's own, except for the dtype if ``grad_dtype`` is set."""
    extra = leaf._extra
    if extra is None or not extra.chose_grad_dtype:
        return leaf._meta
    if extra.grad_dtype is None:
        return Meta(leaf._meta.shape, None, leaf._meta.device)      # any dtype is allowed
    return make_meta(leaf._meta.shape, extra.grad_dtype, leaf._meta.device)


def choose_grad_dtype(leaf, dtype):
    """Set ``leaf.grad_dtype``. It also holds for graphs that exist already."""
    extra = leaf.extras()
    extra.chose_grad_dtype = True
    extra.grad_dtype = dtype
    node = known_accumulator(leaf)
    if node is not None:
        node.meta = gradient_meta(leaf)


@cython.cfunc
def steal(grad: TensorBase, leaf: TensorBase) -> TensorBase | None:
    """Return the tensor that may become ``.grad``: `grad`, which only the engine holds, or its base. None if neither may."""
    kernels = leaf._meta.backend.kernels
    if grad._node is not None or grad._leaf_requires_grad:
        return None
    tensor = grad
    if grad._view_base is not None:
        tensor = grad._view_base
        if not is_whole_base(grad):
            return None
    elif not is_exclusive(grad):
        return None
    mine, theirs = tensor._array, leaf._array
    # the usual case, without the time of two calls of kernels
    by_rows: cython.bint = (type(mine) is ndarray and type(theirs) is ndarray and owns_rows(mine) and is_c_contiguous(theirs)
                            and (tensor._meta is leaf._meta or tensor._meta.shape == leaf._meta.shape))
    if not by_rows and (not kernels.owns(mine) or not (kernels.obeys_layout(mine, theirs) or not current().grad_layout)):
        return None
    if grad._view_base is not None:
        tensor._counter = None      # only the view has it now, and the view is about to be freed
    return tensor


@cython.cfunc
def is_whole_base(view: TensorBase) -> cython.bint:
    """Whether `view` shows its whole base in the same order, and only `view` holds the base, its array and its counter."""
    base: TensorBase = view._view_base
    mine = view._array
    array = base._array
    counter = base._counter
    # Each count includes our own reference. The caller and the view hold the base, the base and the view's array hold the
    # base's array, and both tensors hold the counter.
    return (reference_count(base) == 3 and reference_count(mine) == 2 and reference_count(array) == 3
            and reference_count(counter) == 3 and counter.value == 0
            and base._node is None and not base._leaf_requires_grad and base._extra is None
            and base._meta is view._meta and mine.strides == array.strides)


@cython.cfunc
def add_in_place(old: TensorBase, new: TensorBase) -> object:
    """``old += new``. The user may hold `old`, so its version goes up."""
    if old._inference and not current().inference:
        raise AutogradError(
            "MG-E123", "Inplace update to inference tensor outside InferenceMode is not allowed: the .grad to add to was "
            "computed in inference mode.", tensor=f"{old._meta.dtype.name} {list(old._meta.shape)}",
            fix="run all backwards inside the mode, or all outside; or set x.grad = x.grad.clone() in between")
    if (old._meta is new._meta or old._meta.fits(new._meta)) and not current().forward:
        counter = old.shared_counter()
        counter.bump("accumulation into .grad")
        old._meta.backend.kernels.add_(old._array, new._array)
    else:
        cython.cast(object, old).add_(new)


def grad_accumulator(leaf):
    """The AccumulateGrad node of `leaf`, made now if no graph holds one.

    None if `leaf` gets no gradient of its own. Example: a view made under no_grad, which counts as requiring a gradient if
    its base does.
    """
    if not leaf._leaf_requires_grad:
        return None
    node = known_accumulator(leaf)
    if node is not None:
        return node
    if cython.compiled:     # See Note [Two threads, one table of hooks]
        return new_accumulator(leaf)
    else:
        with _making:
            return new_accumulator(leaf)


def find_accumulator(leaf):
    """`grad_accumulator`; for a leaf that no longer requires a gradient, the node that a graph still holds, or None."""
    node = grad_accumulator(leaf)
    return known_accumulator(leaf) if node is None else node


def known_accumulator(leaf):
    """The AccumulateGrad node of `leaf` that a graph holds, or None."""
    return None if leaf._extra is None else accumulator_of(leaf._extra)


def forget_accumulator(leaf):
    """Let `leaf` get another AccumulateGrad node in the next graph."""
    if leaf._extra is not None:
        set_accumulator(leaf._extra, None)
        leaf._extra.shared_accumulator = None
    return None


def share_accumulator(leaf, node):
    """Let the gradient of `leaf` go to `node`, the node of another leaf. See Note [A leaf and its node]."""
    leaf.extras().shared_accumulator = node
    return None


@cython.cfunc
def new_accumulator(leaf: TensorBase) -> AccumulateGrad:
    """Make the node for `leaf`. If another thread has made one meanwhile, return that."""
    node: AccumulateGrad = allocate_accumulator(AccumulateGrad)
    extra = leaf.extras()
    node.variable = leaf
    node.meta = gradient_meta(leaf)
    node.sequence = LAST_SEQUENCE
    node.hooked = bool(extra.hooks) or bool(extra.post_accumulate_hooks)
    node.home = extra
    other = accumulator_of(extra)       # the lines above may have run the collector, and with it code that made one
    if other is not None:
        return other
    set_accumulator(extra, node)
    if switches.notes_nodes:
        note_creation(node, current())
    return node


@cython.nonecheck(False)
def gradient_edge(tensor):
    """The node to which the gradient of `tensor` goes: its grad_fn, or a leaf's accumulator. None if it needs no gradient."""
    if tensor._view_base is not None and tensor._base_version != tensor._counter.value:
        _refresh(tensor)
    if tensor._node is not None:
        return tensor._node
    if tensor._leaf_requires_grad:
        return grad_accumulator(tensor)
    return None


# `refresh` of views.py, which is above this file: it regenerates the grad_fn of a stale view.
_refresh = cython.declare(object, None)


def use_refresh(function):
    """Supply `refresh` of views.py."""
    global _refresh
    _refresh = function
