"""Forward-mode AD: each op computes the tangents of its results from the tangents of its inputs.

    with dual_level():
        x = make_dual(p, t)         x has the tangent t
        y = x * x                   mul runs, then its jvp on the tangents of its inputs: y has the tangent 2 x t
        x.mul_(3)                   writes to x and to its tangent

A tensor together with its tangent is a dual number. The tangent is in ``AutogradMeta.dual``. An op whose inputs have no
tangents has no extra work, and outside a level no tensor has a tangent. The ops that compute a tangent have no tangents
themselves: levels do not nest. But these ops are recorded like all others. So a jvp has a backward (reverse over forward),
and a backward of tensors with tangents has a jvp (forward over reverse).

Note [Tangents of views]
    A view shows a part of its base. The view's tangent shows the same part of the base's tangent, in the same memory.
    So a write to one of the two also changes the tangent of the other. (No other two tensors share the memory of their
    tangents: `copy_if_aliased`.) If the base got its tangent after the view was made, `tangent_of` makes the view's
    tangent on first use. If a write gives a tangent to a view and the base has none, the base gets a tangent of zeros,
    and the view's tangent is a view of that (`set_tangent`). All this works only if a tangent has the memory layout of
    its tensor. We copy a tangent with another layout.

Mirrors ``torch/csrc/autograd/autograd_meta.cpp`` (Note [Forward Grad View/inplace]) and ``forward_grad.cpp``.
Read next: ``minigrad/autograd/forward_ad.py``.
"""

from weakref import ref as weak_ref

import cython
from cython.cimports.minigrad._core.graph.capi import owns_rows
from cython.cimports.minigrad._core.graph.metadata import DType
from cython.cimports.minigrad._core.graph.thread_state import current, set_dual_level
from numpy import ndarray

from minigrad._core.graph.tensor import AutogradMeta, Dual, TensorBase
from minigrad._core.graph.thread_state import State
from minigrad._core.graph.upcalls import upcalls
from minigrad.errors import AutogradNotImplementedError

FEW = 1000
# Weak references to all slots with a tangent: the tangents are removed when the level ends.
_duals: list = []
_many = cython.declare(cython.Py_ssize_t, 1000)


def enter_level():
    """Begin a level: from now on, ops in all threads compute tangents. Returns the number of the level, 0."""
    set_dual_level(True)
    return 0


def exit_level():
    """End the level and remove the tangents of all tensors. A tangent that the program holds stays alive."""
    global _many
    set_dual_level(False)
    for ref in _duals:
        dual = ref()
        if dual is not None:
            dual.tangent = None
    _duals.clear()
    _many = FEW


@cython.cfunc
def store_tangent(extra: AutogradMeta, tangent) -> object:
    """Put `tangent` into the slot of `extra`, and note the slot in `_duals`."""
    global _many
    dual: Dual = dual_slot(extra)
    dual.tangent = tangent
    _duals.append(weak_ref(dual))
    if len(_duals) > _many:
        _duals[:] = [ref for ref in _duals if ref() is not None]
        _many = max(FEW, 2 * len(_duals))
    return None


def dual_slot(extra):
    """The slot for the tangent, made now if there is none. A saved tensor shares it, even before the tangent is computed."""
    if extra.dual is None:
        extra.dual = Dual()
    return extra.dual


@cython.cfunc
def own_tangent(x: TensorBase) -> object:
    """The tangent in the slot of `x`, or None. Unlike `tangent_of` it does not look at the base."""
    return None if x._extra is None or x._extra.dual is None else x._extra.dual.tangent


def tangent_of(x):
    """The tangent of `x`; None if it has none or is not a tensor. See Note [Tangents of views]."""
    if not isinstance(x, TensorBase):
        return None
    tensor = cython.cast(TensorBase, x)
    tangent = own_tangent(tensor)
    if tangent is not None:
        return tangent
    root: TensorBase = tangent_root(tensor)
    if root is None or own_tangent(root) is None:
        return None
    state: State = current()
    enabled: cython.bint = state.forward_enabled
    state.set_modes(state.grad_enabled, state.inference, False)
    try:
        tangent = view_tangent(own_tangent(root), tensor, root)
    finally:
        state.set_modes(state.grad_enabled, state.inference, enabled)
    store_tangent(tensor.extras(), tangent)
    return tangent


@cython.cfunc
def tangent_root(x: TensorBase) -> TensorBase | None:
    """The tensor whose tangent contains that of the view `x`. None if `x` is not a view, or ``.data`` gave it other memory."""
    if x._view_base is None or (x._extra is not None and x._extra.primal):
        return None
    root: TensorBase = x._view_base if x._extra is None or x._extra.root is None else x._extra.root
    if x._meta.numel and locate_in_real_base(x, root)[3] < 0:
        return None
    return root


@cython.cfunc
def locate_in_base(x: TensorBase, base: TensorBase) -> tuple:
    """The place of `x` in `base`: (base's strides, shape, strides, offset), in elements. A negative offset: not in `base`."""
    return x._meta.backend.geometry(x._array, base._array)


def locate_in_real_base(x, base):
    """`locate_in_base`, also for a complex and a real tensor: then both count as pairs of real numbers."""
    if x._meta.dtype is base._meta.dtype:
        return locate_in_base(x, base)
    kernels = x._meta.backend.kernels
    return kernels.geometry(array_as_real(kernels, x), array_as_real(kernels, base))


@cython.cfunc
def array_as_real(kernels, x: TensorBase) -> object:
    """The array of `x`; a complex array as pairs of real numbers."""
    return kernels.view_as_real(x._array) if x._meta.dtype.is_complex else x._array


@cython.cfunc
def view_tangent(tangent: TensorBase, view: TensorBase, root: TensorBase) -> object:
    """The part of `tangent`, the tangent of `root`, that corresponds to `view`."""
    if view._meta.dtype is root._meta.dtype:
        return upcalls.view_strided(tangent, *locate_in_base(view, root))
    tangent = upcalls.cast(tangent, root._meta.dtype)
    return upcalls.view_parts(tangent, *locate_in_real_base(view, root), view._meta.dtype.is_complex)


def set_tangent(x, tangent, in_place):
    """Give `x`, which has no tangent, the tangent `tangent` of its shape. `in_place`: because of a write to `x`."""
    root: TensorBase = tangent_root(x) if in_place else None
    if root is not None and tangent_of(root) is None:
        if root._meta.dtype is x._meta.dtype and same_layout(tangent, root) and same_layout(tangent, x):
            set_tangent(root, tangent, False)
        else:
            dtype = tangent._meta.dtype if root._meta.dtype is x._meta.dtype else root._meta.dtype
            store_tangent(root.extras(), zeros_in_layout(root, dtype))
            shown = view_tangent(own_tangent(root), x, root)
            shown.copy_(tangent)
            tangent = shown
    if not same_layout(tangent, x) and not overlaps_itself(x):
        copied = zeros_in_layout(x, tangent._meta.dtype)
        copied.copy_(tangent)
        tangent = copied
    store_tangent(x.extras(), tangent)
    return None


@cython.cfunc
def same_layout(tangent: TensorBase, x: TensorBase) -> cython.bint:
    """Whether the two have the same layout in storages of the same size: then a view of one has the same strides in the other."""
    if tangent._meta.shape != x._meta.shape:
        return False
    if type(tangent._array) is ndarray and type(x._array) is ndarray and owns_rows(tangent._array) and owns_rows(x._array):
        return True     # two whole storages, row by row: no need to ask for the places
    mine, its = locate_in_memory(tangent), locate_in_memory(x)
    if mine[0] != its[0] or mine[1] != its[1]:
        return False
    for size, step, other in zip(x._meta.shape, mine[2], its[2]):
        if size > 1 and step != other:
            return False
    return True


@cython.cfunc
def locate_in_memory(x: TensorBase) -> tuple:
    """(the size of the storage of `x`, the offset of `x` in it, the strides of `x`), all in elements."""
    kernels = x._meta.backend.kernels
    memory = kernels.storage(x._array)
    _, _, strides, offset = kernels.geometry(x._array, memory)
    return memory.shape[0], offset, strides


def overlaps_itself(x):
    """Whether several elements of `x` have the same place in memory, as in the result of expand()."""
    for size, stride in zip(x._meta.shape, x._array.strides):
        if size > 1 and stride == 0:
            return True
    return False


@cython.cfunc
def zeros_in_layout(x: TensorBase, dtype: DType) -> object:
    """Zeros with the memory layout of `x`, including gaps."""
    made = upcalls.cast(upcalls.zeros_like(x), dtype)
    if same_layout(made, x):
        return made
    size, offset, strides = locate_in_memory(x)
    return upcalls.view_strided(cython.cast(object, x).new_zeros((size,), dtype=dtype), (1,), x._meta.shape, strides, offset)


def set_primal(view):
    """Separate the tangent of `view`, a view of a whole tensor, from its base: for the primal of a dual tensor."""
    view.extras().primal = True


# ---- ops -------------------------------------------------------------------------------------------------------


def push_tangents(op, args, tensors, outs, state):
    """Compute the tangents of `outs`, the results of `op` on `args`, from the tangents of `tensors`, its tensor inputs."""
    tangents = [tangent_of(x) for x in tensors]
    if not any_tangent(tangents):
        return None
    # The formulas compute with primal values, so tangents are disabled here.
    state.set_modes(state.grad_enabled, state.inference, False)
    try:
        results = op.rule.jvp_of(args, outs, tangents)
        for out, tangent in zip(outs, results if type(results) is tuple else (results,)):
            if tangent is None or not cython.cast(TensorBase, out)._meta.dtype.differentiable:
                continue
            if op.view:
                store_tangent(cython.cast(TensorBase, out).extras(), tangent)    # the same view
            else:
                set_tangent(out, copy_if_aliased(tangent, tangents), False)
    finally:
        state.set_modes(state.grad_enabled, state.inference, True)
    return None


def before_write(op, target, args, state):
    """Copy the operands and tangents that `op` will overwrite, for `after_write`. Returns None if there are no tangents."""
    tensors = args[0] if op.variadic else args[:op.inputs]
    tangents = [tangent_of(x) for x in tensors]
    if not any_tangent(tangents):
        return None
    state.set_modes(state.grad_enabled, state.inference, False)
    try:
        old = tuple([copy_if_shared(x, target) for x in args])
        mine = tangents[0]      # `after_write` writes to it, but the formula may save it
        tangents = [t if t is None else copy_if_shared(t, mine) for t in tangents]
    finally:
        state.set_modes(state.grad_enabled, state.inference, True)
    return old, tangents, mine


@cython.cfunc
def copy_if_shared(x, target: TensorBase | None) -> object:
    """Return `x`, or a copy if it shares memory with `target`."""
    if target is None or not isinstance(x, TensorBase):
        return x
    tensor = cython.cast(TensorBase, x)
    if tensor is target or (tensor._counter is not None and tensor._counter is target._counter):
        return upcalls.clone(x)
    return x


def after_write(op, target, before, state):
    """After `op` has written to `target`, write to the tangent of `target`. `before` comes from `before_write`."""
    args, tangents, mine = before
    state.set_modes(state.grad_enabled, state.inference, False)
    try:
        tangent = op.rule.jvp_of(args, [target], tangents) if op.differentiable else None
        if mine is None:
            if tangent is not None:
                set_tangent(target, copy_if_aliased(tangent, tangents), True)
        elif tangent is None:
            mine.zero_()
        else:
            mine.copy_(tangent)
    finally:
        state.set_modes(state.grad_enabled, state.inference, True)
    return None


@cython.cfunc
def copy_if_aliased(tangent: TensorBase, tangents: list) -> object:
    """Return `tangent`, or a copy if it shares memory with one of `tangents`: a write to one must not change the other."""
    for other in tangents:
        if other is tangent or (other is not None and tangent._counter is not None
                                and cython.cast(TensorBase, other)._counter is tangent._counter):
            return upcalls.clone(tangent)
    return tangent


@cython.cfunc
def any_tangent(tangents: list) -> cython.bint:
    for tangent in tangents:
        if tangent is not None:
            return True
    return False


def refuse_tangents(name, tensors, why):
    """Raise if one of `tensors` has a tangent: the function `name` would drop it."""
    if not current().forward:
        return
    for x in tensors:
        if tangent_of(x) is not None:
            raise AutogradNotImplementedError(
                "MG-E290", f"Trying to use forward AD with {name} that does not support it because {why}",
                fix="call it outside the dual_level(), or remove the tangent first: x.detach()")
