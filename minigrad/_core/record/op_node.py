"""The node of a built-in op: its plan, and the values that the plan says to save.

    x * b ──> forward ──> out        node = OpNode(plan of mul, mask 01)
                                     node.saved0 = b, version0 = b's version
                                     node.next0 = x's node, node.next_rest = None

Note [Fields for three saved values]
    Nine nodes of ten save at most three values. The node has fields for these values and for their versions: `saved0`, `saved1`
    and `saved_rest`. (The version is NOT_A_TENSOR if the value is a number or a shape.) The two notes in saved_tensor.py hold for
    them too. With a list of `SavedTensor` objects instead, a chain of 200 ops was a fifth slower. If there are more than three
    values, `saved_rest` is such a list, of all after the second.

Note [Lending a gradient]
    For dx = g y, PyTorch makes a new tensor, and then frees g. We write dx over g if nobody but the engine holds g, under the
    conditions of Note [Adding in place]: so a third less memory is read and written, and no tensor is made. `OpNode.compute`
    lends g to the last formula of the node. The next elementwise op on g, which is the only one in the formula that reads it
    (`reads_g_once` in ops/base/rule.py), writes its result to g's memory and returns g itself. Nothing is lent under create_graph
    or a mode, or if there is a weak reference to g. Interpreted code never lends: it does not know the number of references.

Mirrors the generated ``torch/csrc/autograd/generated/Functions.cpp``. Read next: ``saved_tensor.py``.
"""

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.anomaly import note_creation
from cython.cimports.minigrad._core.graph.capi import (
    as_tuple,
    call1,
    call2,
    call3,
    call4,
    call_rest,
    call_rest2,
    call_saved,
    has_weak_reference,
    named_subclass,
    new_tuple,
    owns_rows,
    put_item,
    reference_count,
)
from cython.cimports.minigrad._core.graph.node import allocate_node, clear_node, keep_nodes
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import is_exclusive
from cython.cimports.minigrad._core.graph.thread_state import State, current
from cython.cimports.minigrad._core.record.packed_tensor import PackedTensor, inference_save_error, pack_tensor, unpack_error
from cython.cimports.minigrad._core.record.saved_tensor import (
    SavedTensor,
    SavedTuple,
    alias_output,
    check_version,
    error_freed,
    restore_history,
    save,
    save_tuple,
)

from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.primitive import MOST_NEEDED as _MOST_NEEDED
from minigrad._core.record.primitive import Plan, Source, use_node_class

SHAPE = cython.declare(cython.int, Source.SHAPE)
BY_COLUMNS = cython.declare(cython.int, Source.BY_COLUMNS)
MOST_NEEDED = cython.declare(cython.int, _MOST_NEEDED)
NOT_A_TENSOR = cython.declare(cython.int, -1)
HOLDS_TENSOR = cython.declare(cython.int, 128)      # a bit of OpNode.interior, whose bits 0 to 2 are one per slot
NOT_AN_OUTPUT = cython.declare(cython.int, Source.NOT_AN_OUTPUT)
switches = cython.declare(Switches, _switches)
ndarray = cython.declare(object, np.ndarray)


@cython.binding(False)
@cython.cclass
class OpNode(Node):
    """The node of a built-in op: the op, the plan, and the values that the plan says to save."""

    def name(self):
        return cython.cast(Plan, self.plan).op.node_name

    def twin(self):
        if not cython.cast(Plan, self.plan).saves_output:
            return self
        node: OpNode = new_node(self.plan, current(), self.meta)
        node.copy_edges(self)
        node.saved0, node.saved1, node.saved_rest = self.saved0, self.saved1, self.saved_rest
        node.version0, node.version1, node.version2 = self.version0, self.version1, self.version2
        node.interior, node.freed = self.interior, self.freed
        return node

    @cython.nonecheck(False)
    def store(self, slot, value, output, state):
        """Save `value`, a tensor or not, in `slot`. `output` is its output number if this node produced it."""
        version: cython.int = NOT_A_TENSOR
        if isinstance(value, TensorBase):
            self.interior |= HOLDS_TENSOR
            if state.saved_hooks:
                pack, unpack = state.saved_hooks[-1]
                value = pack_tensor(value, pack, unpack, output, state)
            elif slot > 1 and cython.cast(Plan, self.plan).saved > 3:
                value = save(value, cython.cast(Plan, self.plan).names[slot], output, state)
            else:
                tensor = cython.cast(TensorBase, value)
                if output != NOT_AN_OUTPUT:
                    value = alias_output(tensor, state)
                elif tensor._node is not None:
                    self.interior |= 1 << slot
                elif tensor._inference:
                    raise inference_save_error(tensor)
                version = tensor.version()
        elif type(value) is tuple and contains_tensor(value):
            self.interior |= HOLDS_TENSOR
            value = save_tuple(value, cython.cast(Plan, self.plan).names[slot], state)
        self.put(slot, value, version)
        return None

    def put(self, slot, value, version):
        """Put `value` into `slot`, with the version that it must have when it is unpacked."""
        if slot == 0:
            self.saved0 = value
            self.version0 = version
        elif slot == 1:
            self.saved1 = value
            self.version1 = version
        elif cython.cast(Plan, self.plan).saved == 3:
            self.saved_rest = value
            self.version2 = version
        else:
            if self.saved_rest is None:
                self.saved_rest = [None] * (cython.cast(Plan, self.plan).saved - 2)
            cython.cast(list, self.saved_rest)[slot - 2] = value
        return None

    @cython.nonecheck(False)
    def value(self, slot, history):
        """Unpack the value in `slot`. With `history`, a saved output gets its history back."""
        version: cython.int
        if slot == 0:
            value = self.saved0
            version = self.version0
        elif slot == 1:
            value = self.saved1
            version = self.version1
        elif cython.cast(Plan, self.plan).saved == 3:
            value = self.saved_rest
            version = self.version2
        else:
            rest: list = self.saved_rest
            if rest is None:
                raise error_freed(self)
            value = rest[slot - 2]
            if isinstance(value, SavedTensor):
                return cython.cast(SavedTensor, value).value(self, history)
            return self.unpack_value(value, history)
        if self.freed:          # checked after the value was read: another thread may release the node at any time
            raise error_freed(self)
        if version == NOT_A_TENSOR:
            return self.unpack_value(value, history)
        tensor = cython.cast(TensorBase, value)
        interior: cython.bint = self.interior >> slot & 1
        source: cython.int = cython.cast(Plan, self.plan).source[slot]
        if tensor.version() != version or (interior and tensor._node is None):
            check_version(tensor, version, interior, cython.cast(Plan, self.plan).names[slot], self,
                          -1 - source if source < 0 else NOT_AN_OUTPUT)
        if history and source < 0:
            return restore_history(tensor, self, -1 - source)
        return tensor

    def unpack_value(self, value, history):
        """Unpack a saved value that is not a plain tensor: a packed tensor, a tuple, a number or a shape."""
        if isinstance(value, PackedTensor):
            return cython.cast(PackedTensor, value).value(self, history or current().grad_enabled)
        if isinstance(value, SavedTuple):
            return cython.cast(SavedTuple, value).value(self)
        return value

    def release(self):
        if not (self.interior & HOLDS_TENSOR or cython.cast(Plan, self.plan).saves_operand):
            return None     # shapes and options cost nothing, so the node keeps them and may run again
        self.freed = True
        self.saved0 = None
        self.saved1 = None
        self.saved_rest = None
        return None

    def explain_error(self, error):
        """If an unpack hook returned a tensor of another shape or dtype, say that this is why the formula failed."""
        if not isinstance(error, Exception):
            return error
        for slot in range(cython.cast(Plan, self.plan).saved):
            held = self.saved_in(slot)
            for saved in cython.cast(SavedTuple, held).items if isinstance(held, SavedTuple) else (held,):
                if isinstance(saved, PackedTensor) and cython.cast(PackedTensor, saved).unlike is not None:
                    return unpack_error(saved, self, error)
        return error

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.nonecheck(False)
    def compute(self, grad, wanted, results):
        plan = cython.cast(Plan, self.plan)
        if type(self.meta) is not tuple:
            if grad is None:
                return None
        elif all_undefined(grad):
            return None
        if self.freed and plan.saved > 0:
            raise error_freed(self)
        lent: cython.bint = False
        if plan.single and not self.interior & HOLDS_TENSOR:        # nothing to unpack
            if plan.active & wanted & 1:
                lent = lend(plan, grad)
                try:
                    results[0] = call_saved(plan.formulas[0], grad, self.saved0, self.saved1, self.saved_rest, plan.saved)
                finally:
                    if lent:
                        cython.cast(TensorBase, grad)._lent = False
            return None
        if not plan.simple:
            return self.compute_many(grad, wanted, results)
        history: cython.bint = plan.saves_output and current().grad_enabled
        active: cython.longlong = plan.active & wanted
        a = b = c = None
        if plan.saved > 0:
            a = self.value(0, history)
            if plan.saved > 1:
                b = self.value(1, history)
                if plan.saved > 2:
                    c = self.value(2, history)
        last: cython.int = 0 if active & 1 and (plan.second_first or not active & 2) else 1
        if active == 3:
            results[1 - last] = self.one(1 - last, grad, a, b, c)
        if active:
            lent = lend(plan, grad)
            try:
                results[last] = self.one(last, grad, a, b, c)
            finally:
                if lent:
                    cython.cast(TensorBase, grad)._lent = False
        return None

    @cython.nonecheck(False)
    def one(self, i, grad, a, b, c):
        """Call the formula of input `i` with the saved values that it needs, of the three `a`, `b` and `c`."""
        plan = cython.cast(Plan, self.plan)
        formula = plan.formulas[i]
        n: cython.int = plan.count[i]
        if n == 0:
            return call1(formula, grad)
        slot: cython.int = plan.slots[MOST_NEEDED * i]
        p = a if slot == 0 else b if slot == 1 else c
        if n == 1:
            return call2(formula, grad, p)
        slot = plan.slots[MOST_NEEDED * i + 1]
        q = a if slot == 0 else b if slot == 1 else c
        if n == 2:
            return call3(formula, grad, p, q)
        slot = plan.slots[MOST_NEEDED * i + 2]
        return call4(formula, grad, p, q, a if slot == 0 else b if slot == 1 else c)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def compute_many(self, grad, wanted, results):
        """`compute` for any number of inputs, outputs and saved values."""
        plan = cython.cast(Plan, self.plan)
        history = current().grad_enabled
        i: cython.int
        k: cython.int
        values: tuple = new_tuple(plan.saved)
        for k in range(plan.saved):
            put_item(values, k, self.value(k, history))
        if plan.single:
            if plan.active & wanted & 1:
                results[0] = call_rest(plan.formulas[0], grad, values, 0)
            return None
        if plan.joint is not None:
            needs: tuple = new_tuple(self.edges)
            needed: cython.bint = False
            for i in range(self.edges):
                need: cython.bint = self.next_node(i) is not None and (i > 62 or (wanted >> i) & 1 != 0)
                put_item(needs, i, need)
                needed |= need
            if needed:
                for i, result in enumerate(call_rest2(plan.joint, grad, as_tuple(needs), values, 0)):
                    results[i] = result
            return None
        for i in plan.order:
            if plan.active & wanted & (cython.cast(cython.longlong, 1) << i):
                saved = [values[plan.slots[MOST_NEEDED * i + k]] for k in range(plan.count[i])]
                results[i] = call_rest(plan.formulas[i], grad, saved, 0)
        return None

    def saved_in(self, slot):
        """The content of `slot`, not unpacked; None after the node was released, and for a slot that does not exist."""
        if slot < 2:
            return self.saved0 if slot == 0 else self.saved1 if slot == 1 else None
        rest = self.saved_rest
        return rest if rest is None or cython.cast(Plan, self.plan).saved == 3 else cython.cast(list, rest)[slot - 2]

    def __getattr__(self, name):
        return _attributes[0](self, name)

    def __dir__(self):
        return [*object.__dir__(self), *_attributes[1](self)]


_attributes = cython.declare(tuple, ())         # supplied by saved_attributes.py


def use_attributes(look_up, list_names):
    """Supply the functions `look_up` and `list_names` of saved_attributes.py."""
    global _attributes
    _attributes = (look_up, list_names)


@cython.cfunc
def lend(plan: Plan, grad) -> cython.bint:
    """Let the next op on `grad` overwrite it, if nobody else will read it. See Note [Lending a gradient]."""
    if not cython.compiled or not plan.lends or reference_count(grad) != 1:
        return False
    tensor = cython.cast(TensorBase, grad)
    state: State = current()
    if (state.grad_enabled or not state.fast_path or tensor._extra is not None or tensor._node is not None
            or tensor._leaf_requires_grad or has_weak_reference(tensor) or not is_exclusive(tensor)
            or type(tensor._array) is not ndarray or not owns_rows(tensor._array)):
        return False
    tensor._lent = True
    return True


def contains_tensor(items):
    """Whether one of `items` is a tensor."""
    for item in items:
        if isinstance(item, TensorBase):
            return True
    return False


def all_undefined(grads):
    """Whether all gradients are None."""
    for grad in grads:
        if grad is not None:
            return False
    return True


# ---- making a node ------------------------------------------------------------------------------------

_classes = {}       # name -> subclass of OpNode
keep_nodes(OpNode)


def node_class(name):
    """The class of nodes with this name: a subclass of `OpNode`, so that ``type(y.grad_fn).__name__`` is the op's name."""
    found = _classes.get(name)
    if found is None:
        found = _classes.setdefault(name, named_subclass(OpNode, name))     # another thread may have made one meanwhile
    return found


use_node_class(node_class)


@cython.nonecheck(False)
def new_node(plan, state, meta):
    """Make a node for `plan`, without edges. `meta` describes the first output of its op."""
    node = cython.cast(OpNode, allocate_node(OpNode, plan.node_class))
    if not cython.compiled:
        clear_node(node)
    node.plan = plan
    node.meta = meta
    node.sequence = state.next_sequence
    state.next_sequence += 1
    if switches.notes_nodes:
        note_creation(node, state)
    return node


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.nonecheck(False)
def record(op, state, mask, edges, next0, next1, numbers, out, x, y, args):
    """Make the node of an op with one or two inputs and one output, and save the values that its plan names.

    The arguments of the op are `args`, or `x` and `y` if `args` is None: a pair is so frequent that we avoid a tuple for it.
    """
    plan: Plan = op.small_plans[mask]
    if plan is None:
        plan = op.plan(mask)
    node: OpNode = new_node(plan, state, out._meta)
    node.edges = edges
    node.next0 = next0
    node.next_rest = next1 if numbers is None else numbers if edges == 1 else (next1, *numbers)
    out._node = node
    k: cython.int
    source: cython.int
    for k in range(plan.saved):
        source = plan.source[k]
        if source < 0:
            node.store(k, out, -1 - source, state)
        elif source >= SHAPE:
            node.put(k, describe_argument(source, args if args is not None else (x, y)), NOT_A_TENSOR)
        elif op.kernel >= 0 and source >= op.inputs:
            node.put(k, args[source] if args is not None else y, NOT_A_TENSOR)
        else:
            node.store(k, args[source] if args is not None else x if source == 0 else y, NOT_AN_OUTPUT, state)
    return node


def record_many(op, state, mask, nodes, numbers, out, outs, args):
    """`record` for any number of inputs and outputs. `outs` are all outputs, or None if `out` is the only one."""
    plan: Plan = op.plan(mask)
    node: OpNode = new_node(plan, state, out._meta)
    node.connect(nodes, numbers)
    if outs is None:
        out._node = node
    else:
        set_outputs(node, outs)
    k: cython.int
    source: cython.int
    for k in range(plan.saved):
        source = plan.source[k]
        if source < 0:
            node.store(k, out if outs is None else outs[-1 - source], -1 - source, state)
        elif source >= SHAPE:
            node.put(k, describe_argument(source, args), NOT_A_TENSOR)
        else:
            node.store(k, args[source], NOT_AN_OUTPUT, state)
    return node


@cython.cfunc
def set_outputs(node: Node, outs) -> object:
    """Make `node` the grad_fn of the outputs that have a derivative. The tuple `node.meta` ends with the last such output."""
    metas = []
    known: cython.int = 0
    i: cython.int
    for i in range(len(outs)):
        out = cython.cast(TensorBase, outs[i])
        metas.append(out._meta)
        if out._meta.dtype.differentiable:
            out._node = node
            out._output_number = i
            known = i + 1
    node.meta = tuple(metas[:known])
    return None


def describe_argument(source, args):
    """The shape of an argument, or whether it is stored by columns: `source` says which, see `Source`."""
    if source < BY_COLUMNS:
        return shape_of(args[source - SHAPE])
    tensor = cython.cast(TensorBase, args[source - BY_COLUMNS])
    return tensor._meta.backend.kernels.by_columns(tensor._array)


@cython.cfunc
def shape_of(argument) -> object:
    """The shape of a tensor; a tuple of shapes for a tuple; the empty shape for None or a number."""
    if isinstance(argument, TensorBase):
        return cython.cast(TensorBase, argument)._meta.shape
    if not isinstance(argument, tuple):
        return ()
    shapes: tuple = new_tuple(len(argument))
    i: cython.Py_ssize_t
    for i in range(len(argument)):
        put_item(shapes, i, shape_of(argument[i]))
    return as_tuple(shapes)
