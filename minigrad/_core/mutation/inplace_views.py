"""In-place ops that change the shape and no number: ``x.t_()``, ``x.squeeze_()``, ``x.resize_(2)``.

    y = x * 1
    y.t_()              the array is another view of the same memory, the history one op longer:
                        y.grad_fn = TBackward1 ── edge 0 ──> MulBackward0

They increase the version, because a node that saved y needs its old shape. They are errors where an in-place write is an
error. But they overwrite nothing: elements that share one place in memory do no harm, and on a view the base keeps its
history.

    v = y[:1]
    v.t_()              v.grad_fn = TBackward1 ── edge 0 ──> SliceBackward0;      y.grad_fn as before

After a later write to the memory, v's history is regenerated from the base, by v's new strides.

Mirrors the ``inplace_view`` functions of the generated ``VariableType.cpp`` and ``ADInplaceOrViewType.cpp``.
"""

import cython
from cython.cimports.minigrad._core.graph.accumulate_grad import forget_accumulator, gradient_edge, known_accumulator
from cython.cimports.minigrad._core.graph.metadata import meta_of
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.mutation.inplace import check_inplace, inference_write_error
from cython.cimports.minigrad._core.mutation.views import set_history
from cython.cimports.minigrad._core.record.forward_ad import tangent_of
from cython.cimports.minigrad._core.record.op_node import OpNode, describe_argument, new_node
from cython.cimports.minigrad._core.record.primitive import Plan
from cython.cimports.minigrad._core.record.saved_tensor import describe_meta
from cython.cimports.minigrad._core.record.view_base import requires_grad

from minigrad._core.record.forward_ad import refuse_tangents
from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.record.primitive import Source
from minigrad.errors import AutogradError

SHAPE = cython.declare(cython.int, Source.SHAPE)


def apply_inplace_view(op, target, others):
    """Run the view op `op` on `target` itself, with the arguments `others`. Returns `target`."""
    state = current()
    node: OpNode = None
    edge = None
    k: cython.int
    if state.grad_enabled and requires_grad(target):
        check_inplace(target)       # before `gradient_edge`, which raises another error for a stale view
        edge = gradient_edge(target)
    args = (target, *others)
    tangent = tangent_of(target) if state.forward else None
    try:
        array = op.forward(target._meta.backend.kernels, target._array, *others)
    except ValueError as error:
        raise translate_kernel_error(op.name, error) from None
    if edge is not None:
        plan: Plan = op.plan(1)
        node = new_node(plan, state, meta_of(array, target._meta.device))
        node.connect((edge,), (target._output_number,) if target._output_number else None)
        for k in range(plan.saved):
            source: cython.int = plan.source[k]
            node.store(k, args[source] if source < SHAPE else describe_argument(source, args), -1, state)
    set_array(target, array, op.name)
    if tangent is not None:
        state.set_modes(state.grad_enabled, state.inference, False)
        try:
            apply_inplace_view(op, tangent, others)
        finally:
            state.set_modes(state.grad_enabled, state.inference, True)
    if node is not None:
        set_history(target, node, 0)
        if target._view_base is not None:
            target._base_version = target.version()
    return target


def set_array(target, array, name):
    """Make `array` the array of `target`, and increase the version. `name` is the function that does it."""
    if target._inference and not current().inference:
        raise inference_write_error(target)
    counter = target.shared_counter()
    counter.bump(name)
    target._array = array
    target._meta = meta_of(array, target._meta.device)
    return None


def set_source(target, source):
    """Make `target` use the memory of `source`. This has no derivative, so it is an error if `target` requires a gradient."""
    refuse_tangents("set_", (target,), "it has not been implemented yet")
    if current().grad_enabled and requires_grad(target):
        check_inplace(target)
        raise AutogradError("MG-E211", "derivative for set_ is not implemented", tensor=describe_meta(target._meta),
                            fix="x.detach().set_(...), or an assignment: x = source")
    set_array(target, source._array, "set_")
    old = known_accumulator(target)
    if old is not None:
        old.hooked = True               # the hooks of the leaf, also those added later, run in the old graph too
        forget_accumulator(target)      # a new graph makes a new one, for gradients of the new shape
    return target
