"""Saved tensors that a pack hook has packed.

    with saved_tensors_hooks(pack, unpack):
        y = x * x                   packed.data = pack(x), twice; the node does not keep x itself
    y.backward()                    unpack(packed.data), with x's place in the graph

A `PackedTensor` has the packed object and the tensor's place in the graph: for a leaf its accumulator, for a non-leaf
its node and output number. For an output, the place is the node that saved it. So a double backward through packed
values works. A graph that the unpack hook has built is cut off.

There is no version check: only the hook knows what is in the packed object.

Mirrors the hooks of ``torch/csrc/autograd/saved_variable.cpp`` and ``python_saved_variable_hooks.cpp``.
"""

import cython
from cython.cimports.minigrad._core.graph.accumulate_grad import AccumulateGrad, gradient_edge, share_accumulator
from cython.cimports.minigrad._core.graph.capi import call1
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, wrap
from cython.cimports.minigrad._core.record.forward_ad import dual_slot, tangent_of
from cython.cimports.minigrad._core.record.primitive import Plan
from cython.cimports.minigrad._core.record.view_base import base_requires_grad, requires_grad

from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.primitive import Source
from minigrad.errors import AutogradError, AutogradTypeError

switches = cython.declare(Switches, _switches)
SHAPE = cython.declare(cython.int, Source.SHAPE)
NOT_AN_OUTPUT = cython.declare(cython.int, Source.NOT_AN_OUTPUT)


@cython.binding(False)
@cython.freelist(1024)
@cython.cclass
class PackedTensor:
    """A saved tensor, packed. `output` is its output number if the node itself produced it, else NOT_AN_OUTPUT."""

    def value(self, owner, history):
        """Unpack the tensor. `owner` is the node that saved it. Without `history` it need not get its place in the graph."""
        if switches.recording:
            pending = switches.note("unpack", owner, {"hook": self.unpack})
            data = call1(self.unpack, self.data)
            switches.add_to(pending, {"value": data if isinstance(data, TensorBase) else None})
        else:
            data = call1(self.unpack, self.data)
        if not isinstance(data, TensorBase):
            raise AutogradTypeError(
                "MG-E126", "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(data).__name__}",
                node=owner.name(), fix="return the tensor that pack_hook was given, or a copy of it")
        source = cython.cast(TensorBase, data)
        if source._meta is not self.meta and (source._meta.shape != self.meta.shape or source._meta.dtype is not self.meta.dtype):
            self.unlike = source._meta      # not yet an error: the formula may still work. See OpNode.explain_error
        if not history and self.dual is None:
            return source
        if not (self.leaf or self.node is not None or self.output != NOT_AN_OUTPUT or source._node is not None
                or source._leaf_requires_grad or self.dual is not None):
            return source
        tensor = wrap(source._array, source._meta)
        if self.dual is not None:
            extra: AutogradMeta = tensor.extras()
            extra.dual = self.dual
        tensor._counter = source.shared_counter()
        if self.output != NOT_AN_OUTPUT:
            tensor._node = owner
            tensor._output_number = self.output
        elif self.leaf:
            tensor._leaf_requires_grad = True
            if self.node is not None:       # None for a view, made under no_grad, of a tensor that requires a gradient
                share_accumulator(tensor, cython.cast(AccumulateGrad, self.node))
        else:
            tensor._node = self.node
            tensor._output_number = self.number
        return tensor


def pack_tensor(tensor, pack, unpack, output, state, shown=None):
    """Return `tensor` as a `PackedTensor`. The hook is called on `shown` if it is given, else on `tensor`."""
    if tensor._inference:
        raise inference_save_error(tensor)
    version = tensor.version()
    grad_enabled, inference, forward = state.grad_enabled, state.inference, state.forward_enabled
    state.grad_enabled = False          # no other field of the State depends on it
    try:
        data = call1(pack, tensor if shown is None else shown)
    finally:
        if state.inference != inference or state.forward_enabled != forward:        # the hook has changed them
            state.set_modes(grad_enabled, inference, forward)
        state.grad_enabled = grad_enabled
    if tensor.version() != version:
        raise AutogradError(
            "MG-E127", "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects.",
            fix="clone() the tensor in the hook and write to the clone: the user computes with the tensor itself")
    if switches.recording:
        switches.note("pack", None, {"hook": pack, "value": tensor, "kept": type(data).__name__})
    saved: PackedTensor = PackedTensor.__new__(PackedTensor)
    saved.data = data
    saved.unpack = unpack
    saved.output = output
    saved.meta = tensor._meta
    saved.unlike = None
    saved.dual = None
    if state.forward:
        tangent_of(tensor)      # gives a view its own tangent, if its base has one
        saved.dual = dual_slot(tensor.extras())
    saved.node = None if output != NOT_AN_OUTPUT else gradient_edge(tensor)
    saved.number = tensor._output_number
    saved.leaf = tensor._node is None and requires_grad(tensor)
    return saved


def save_early(op, state, args, tensors):
    """Pack the inputs of this op before it runs, if the pack hook waits for no other tensors.

    The pack hook of a recomputation (checkpoint) raises an exception when it has all tensors. So the recomputation does not
    run its last op, which is often a matrix product. The attribute `missing` of the hook says how many tensors it waits for.
    """
    pack, unpack = state.saved_hooks[-1]
    missing: cython.Py_ssize_t = getattr(pack, "missing", 0)
    if missing == 0 or op.variadic:
        return None
    mask: cython.longlong = 0
    i: cython.int
    for i in range(len(tensors)):
        x = tensors[i]
        if isinstance(x, TensorBase) and (gradient_edge(x) is not None
                                          or (cython.cast(TensorBase, x)._view_base is not None and base_requires_grad(x))):
            mask |= cython.cast(cython.longlong, 1) << i
    if mask == 0:
        return None
    plan: Plan = op.plan(mask)
    inputs = []
    for i in range(plan.saved):
        if plan.source[i] < 0:
            break
        if plan.source[i] < SHAPE and isinstance(args[plan.source[i]], TensorBase):
            inputs.append(args[plan.source[i]])
    if missing <= len(inputs):
        for x in inputs:
            pack_tensor(x, pack, unpack, NOT_AN_OUTPUT, state)
    return None


def unpack_error(packed_tensor, node, error):
    """The error for a formula of `node` that failed with `error` because an unpack hook returned an unlike tensor."""
    saved: PackedTensor = packed_tensor
    return AutogradError(
        "MG-E179", f"{node.name()} can't compute its gradient from what an unpack hook returned.", node=node.name(),
        expected=f"a tensor like the one that was packed: {saved.meta.dtype.name} {list(saved.meta.shape)}",
        found=f"{saved.unlike.dtype.name} {list(saved.unlike.shape)}", cause=f"{type(error).__name__}: {error}",
        fix="return from unpack_hook a tensor with the shape and dtype of the tensor that pack_hook was given")


def inference_save_error(tensor):
    """The error for an inference tensor that a formula wants to save."""
    return AutogradError(
        "MG-E176", "Inference tensors cannot be saved for backward: they have no version counter.",
        tensor=f"{tensor._meta.dtype.name} {list(tensor._meta.shape)}",
        fix="clone() the tensor outside inference mode to get a normal tensor, or use no_grad() instead of inference mode")


def check_hooks(pack_hook, unpack_hook):
    """Raise `TypeError` unless both hooks are callable."""
    for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
        if not callable(hook):
            raise AutogradTypeError("MG-E128", f"{name} must be callable, but got {type(hook).__name__}")
