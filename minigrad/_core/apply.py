"""Running an op: forward on the arrays, and a node for the backward if anything requires a gradient.

An op reaches this file as a `Primitive`, made from a rule class by ``ops/base.py``:

    @op("mul")
    class Mul(Elementwise):             Primitive "mul"
        def vjp_x(g, y): ...              formula of input 0 needs y
        def vjp_y(g, x): ...              formula of input 1 needs x

What a formula needs is what its parameters name: an input, an output (``z``), a non-tensor argument, or
the shape of an input (``x_shape``). So for each set of inputs that require a gradient it is known
beforehand what has to be saved, and nothing else is: for ``x * b`` with a constant ``b`` that is ``b``
alone. A `Plan` is the answer for one such set (a bit mask), made once per op and mask.

    x * b ──> forward ──> out        node = OpNode(Mul, plan of mask 01)
                                     node.saved0 = b, version0 = b's version
                                     node.next_nodes = (x's node, None)

Note [Fast and slow paths]
    `binary` and `unary` first try what nearly always holds: tensors of the public class with identical
    metadata, nothing special switched on. Then forward is one call of a kernel. Everything else
    (broadcasting, type promotion, numbers of odd types, subclasses, forward-mode AD) is in `slow`, which
    gives the same result for the easy cases too, at four times the price.

Note [Fields for three saved values]
    Nine nodes of ten save three values or fewer. They lie in fields of the node, with their versions
    beside them (NOT_A_TENSOR where the value is a number or a shape), and the two notes in saved.py hold
    for them. A `SavedTensor` per value and a list for them made a 200-op chain a fifth slower.

Mirrors the generated ``torch/csrc/autograd/generated/{VariableType,Functions}.cpp``.
Read next: ``engine.py``.
"""

import cython

from minigrad._core.anomaly import Anomaly
from minigrad._core.anomaly import anomaly as _switch
from minigrad._core.promotion import default_dtype, dtype_of_number, result_dtype
from minigrad._core.meta import Device, DType, Meta
from minigrad._core.node import Node
from minigrad._core.saved import SavedTensor
from minigrad._core.state import State
from minigrad._core.tensor import TensorBase
from minigrad.errors import ShapeError, TensorTypeError

if not cython.compiled:
    from minigrad._core.accumulate import edge_of
    from minigrad._core.anomaly import note_creation
    from minigrad._core.meta import meta_of
    from minigrad._core.node import start
    from minigrad._core.saved import check, save, spent, with_history
    from minigrad._core.state import current
    from minigrad._core.tensor import alias, make, plain, wrap

# Where a saved value comes from (Plan.source): argument k is k, its shape SHAPE + k, output j is -1 - j.
SHAPE = cython.declare(cython.int, 100)
# AutogradMeta.creation, see views.py.
DEFAULT = cython.declare(cython.int, 0)
MULTI_OUTPUT_NODE = cython.declare(cython.int, 2)
NO_GRAD_MODE = cython.declare(cython.int, 3)
INFERENCE_MODE = cython.declare(cython.int, 4)
NOT_A_TENSOR = cython.declare(cython.int, -1)
HOLDS_TENSOR = cython.declare(cython.int, 128)      # a bit of OpNode.interior, whose bits 0 to 2 are one per slot
NOT_AN_OUTPUT = cython.declare(cython.int, -1)
# The mask of an op with any number of inputs, whose one formula is told what is needed.
ALL = cython.declare(cython.longlong, -1)
anomaly = cython.declare(Anomaly, _switch)
MOST_SAVED = 12
MOST_NEEDED = 8


@cython.cclass
class Primitive:
    """One op as this file knows it. See ``ops/base.py`` for the class that it is made from.

    name, node_name  ``"mul"``, ``"MulBackward0"``
    params, outputs  names of forward's arguments and results, as the formulas use them
    inputs           how many of the first arguments are tensors
    variadic         the first argument is a tuple of tensors, and the only one that holds tensors
    forward          forward(kernels, *arrays, *others) -> array or tuple of arrays
    formulas         per input: None, or (vjp, names of what it needs)
    joint            or one for all inputs: (vjp, names), called with the needs as a tuple of bools
    kernel           number of the kernel that is the whole forward, -1 if `forward` has to be called
    commutative      two operands whose order does not matter
    floats_only      integers are converted to the default dtype first
    refuses_bool     message of the error for bool operands, or None
    result           dtype of the result if it is not that of the operands
    """

    def __init__(self, rule, name, node_name, params, outputs, inputs, variadic, forward, formulas, joint,
                 kernel, commutative, floats_only, refuses_bool, result, differentiable, view):
        self.rule = rule
        self.name = name
        self.node_name = node_name
        self.params = params
        self.outputs = outputs
        self.inputs = inputs
        self.variadic = variadic
        self.forward = forward
        self.formulas = formulas
        self.joint = joint
        self.kernel = kernel
        self.commutative = commutative
        self.floats_only = floats_only
        self.refuses_bool = refuses_bool
        self.result = result
        self.differentiable = differentiable
        self.view = view
        self.plans = {}
        self.small_plans = [None] * 8

    def plan(self, mask):
        """What to save, and how to call the formulas, if the inputs in `mask` require a gradient."""
        if 0 <= mask < 8:
            found = self.small_plans[mask]
            if found is None:
                found = self.small_plans[mask] = Plan(self, mask)
            return found
        found = self.plans.get(mask)
        if found is None:
            found = self.plans[mask] = Plan(self, mask)
        return found

    def __call__(self, *args):
        return call(self, args)

    def __repr__(self):
        return f"<Primitive {self.name}>"


@cython.cclass
class Plan:
    """What an op saves when a given set of its inputs requires a gradient."""

    def __init__(self, op, mask):
        if not cython.compiled:
            self.source = [0] * MOST_SAVED
            self.count = [0] * 8
            self.slots = [0] * 64
        self.inputs = op.inputs
        names = []
        formulas = []
        i: cython.int
        k: cython.int
        self.joint = None
        if op.joint is not None:
            self.joint, needs = op.joint
            names.extend(needs)
        else:
            for i in range(op.inputs):
                if not (mask >> i) & 1 or op.formulas[i] is None:
                    formulas.append(None)
                    continue
                formula, needs = op.formulas[i]
                formulas.append(formula)
                self.count[i] = len(needs)
                for k in range(len(needs)):
                    if needs[k] not in names:
                        names.append(needs[k])
                    self.slots[MOST_NEEDED * i + k] = names.index(needs[k])
        self.active = 0
        for i in range(len(formulas)):
            if formulas[i] is not None:
                self.active |= cython.cast(cython.longlong, 1) << i
        self.simple = self.joint is None and len(names) <= 3 and op.inputs <= 2
        self.names = tuple(names)
        self.formulas = tuple(formulas)
        self.saved = len(names)
        self.saves_output = False
        self.saves_tensor = False
        for k in range(len(names)):
            name = names[k]
            if name in op.params:
                self.source[k] = op.params.index(name)
            elif name in op.outputs:
                self.source[k] = -1 - op.outputs.index(name)
                self.saves_output = True
            else:
                self.source[k] = SHAPE + op.params.index(name.removesuffix("_shape"))
            self.saves_tensor |= self.source[k] < op.inputs


# ---- the node -----------------------------------------------------------------------------------------


@cython.cclass
class OpNode(Node):
    """The node of a built-in op: the op, the plan, and the values that the plan says to save."""

    def name(self):
        return cython.cast(Primitive, self.op).node_name

    def store(self, slot, value, output):
        """Save `value`, a tensor or not, in `slot`; `output` is its number if this node produced it."""
        version: cython.int = NOT_A_TENSOR
        if isinstance(value, TensorBase):
            self.interior |= HOLDS_TENSOR
            if slot > 2:
                value = save(value, cython.cast(Plan, self.plan).names[slot], output)
            else:
                tensor = cython.cast(TensorBase, value)
                if output != NOT_AN_OUTPUT:
                    value = alias(tensor)
                elif tensor._node is not None:
                    self.interior |= 1 << slot
                version = tensor.version()
        elif cython.cast(Plan, self.plan).source[slot] < SHAPE and type(value) is tuple and any_tensor(value):
            self.interior |= HOLDS_TENSOR
        if slot == 0:
            self.saved0 = value
            self.version0 = version
        elif slot == 1:
            self.saved1 = value
            self.version1 = version
        elif slot == 2:
            self.saved2 = value
            self.version2 = version
        else:
            if self.more is None:
                self.more = []
            self.more.append(value)
        return None

    def value(self, slot, history):
        """What was saved in `slot`. A saved output gets its history back if `history` is set."""
        version: cython.int
        if slot == 0:
            value = self.saved0
            version = self.version0
        elif slot == 1:
            value = self.saved1
            version = self.version1
        elif slot == 2:
            value = self.saved2
            version = self.version2
        else:
            more = self.more
            if more is None:
                raise spent(self)
            value = more[slot - 3]
            if isinstance(value, SavedTensor):
                return cython.cast(SavedTensor, value).value(self, history)
            return value
        if self.freed:          # asked after the value was read: another thread may let go of it at any time
            raise spent(self)
        if version == NOT_A_TENSOR:
            return value
        tensor = cython.cast(TensorBase, value)
        interior: cython.bint = self.interior >> slot & 1
        if tensor.version() != version or (interior and tensor._node is None):
            check(tensor, version, interior, cython.cast(Plan, self.plan).names[slot], self)
        source: cython.int = cython.cast(Plan, self.plan).source[slot]
        if history and source < 0:
            return with_history(tensor, self, -1 - source)
        return tensor

    def release(self):
        if not (self.interior & HOLDS_TENSOR or cython.cast(Plan, self.plan).saves_tensor):
            return None     # shapes and options cost nothing, and so the node may run again
        self.freed = True
        self.saved0 = None
        self.saved1 = None
        self.saved2 = None
        self.more = None
        return None

    def apply(self, grad, wanted, results):
        plan = cython.cast(Plan, self.plan)
        if self.metas is None:
            if grad is None:
                return None
        elif all_undefined(grad):
            return None
        if self.freed and plan.saved > 0:
            raise spent(self)
        if not plan.simple:
            return self.apply_many(grad, wanted, results)
        history: cython.bint = plan.saves_output and current().grad_enabled
        active: cython.longlong = plan.active & wanted
        a = b = c = None
        if plan.saved > 0:
            a = self.value(0, history)
            if plan.saved > 1:
                b = self.value(1, history)
                if plan.saved > 2:
                    c = self.value(2, history)
        if active & 1:
            results[0] = self.one(0, grad, a, b, c)
        if active & 2:
            results[1] = self.one(1, grad, a, b, c)
        return None

    def one(self, i, grad, a, b, c):
        """The formula of input `i`, called with those of the three saved values that it names."""
        plan = cython.cast(Plan, self.plan)
        formula = plan.formulas[i]
        n: cython.int = plan.count[i]
        if n == 0:
            return formula(grad)
        slot: cython.int = plan.slots[MOST_NEEDED * i]
        p = a if slot == 0 else b if slot == 1 else c
        if n == 1:
            return formula(grad, p)
        slot = plan.slots[MOST_NEEDED * i + 1]
        q = a if slot == 0 else b if slot == 1 else c
        if n == 2:
            return formula(grad, p, q)
        slot = plan.slots[MOST_NEEDED * i + 2]
        return formula(grad, p, q, a if slot == 0 else b if slot == 1 else c)

    def apply_many(self, grad, wanted, results):
        """`apply` for any number of inputs, outputs and saved values."""
        plan = cython.cast(Plan, self.plan)
        history = current().grad_enabled
        i: cython.int
        k: cython.int
        values = [self.value(k, history) for k in range(plan.saved)]
        if plan.joint is not None:
            needs = tuple([node is not None and (i > 62 or (wanted >> i) & 1 != 0)
                           for i, node in enumerate(self.next_nodes)])
            for i, result in enumerate(plan.joint(grad, needs, *values)):
                results[i] = result
            return None
        for i in range(plan.inputs):
            if plan.active & wanted & (cython.cast(cython.longlong, 1) << i):
                results[i] = plan.formulas[i](
                    grad, *[values[plan.slots[MOST_NEEDED * i + k]] for k in range(plan.count[i])])
        return None

    def __getattr__(self, name):
        if not name.startswith("_saved_"):
            raise AttributeError(name)
        names = self.saved_names()
        if name[7:] not in names:
            raise AttributeError(f"{self.name()} has not saved {name[7:]!r}; it has saved: {', '.join(names) or 'nothing'}")
        if self.freed:
            raise spent(self)
        return self.value(names.index(name[7:]), True)

    def saved_names(self):
        """What the saved values are called in PyTorch: the x of our rules is ``self``, z ``result``."""
        torch_names = cython.cast(Primitive, self.op).rule.torch_names
        return [torch_names.get(name, name) for name in cython.cast(Plan, self.plan).names]

    def __dir__(self):
        return [*object.__dir__(self), *["_saved_" + name for name in self.saved_names()]]


@cython.cfunc
def all_undefined(grads: list) -> cython.bint:
    for grad in grads:
        if grad is not None:
            return False
    return True


# ---- leaving a node behind ----------------------------------------------------------------------------


def record(op, state, mask, edges, numbers, out, outs, x, y, args):
    """Make the node of an op that has just run, and save what its plan says.

    The arguments of the op are `args`, or, if that is None, `x` and `y`: pairs are frequent enough to be
    worth a tuple less. `out` is the first output, `outs` all of them if there are several.
    """
    node: OpNode = OpNode.__new__(OpNode) if cython.compiled else OpNode()
    plan: Plan = None
    if 0 <= mask < 8:
        plan = op.small_plans[mask]
    if plan is None:
        plan = op.plan(mask)
    node.op = op
    node.plan = plan
    node.next_nodes = edges
    node.input_numbers = numbers
    node.meta = out._meta
    node.sequence = state.next_sequence
    state.next_sequence += 1
    if anomaly.enabled:
        note_creation(node, state)
    if outs is None:
        out._node = node
    else:
        adopt(node, outs)
    k: cython.int
    source: cython.int
    for k in range(plan.saved):
        source = plan.source[k]
        if source < 0:
            node.store(k, out if outs is None else outs[-1 - source], -1 - source)
        elif source < SHAPE:
            node.store(k, args[source] if args is not None else x if source == 0 else y, NOT_AN_OUTPUT)
        else:
            node.store(k, shape_of(args[source - SHAPE] if args is not None else x if source == SHAPE else y),
                       NOT_AN_OUTPUT)
    return node


@cython.cfunc
def adopt(node: Node, outs) -> object:
    """Make `node` the producer of several outputs, except those that have no derivative."""
    metas = []
    i: cython.int
    for i in range(len(outs)):
        out = cython.cast(TensorBase, outs[i])
        metas.append(out._meta)
        if out._meta.dtype.differentiable:
            out._node = node
            out._output_number = i
    node.metas = tuple(metas)
    return None


def shape_of(argument):
    """The shape of a tensor (or None, or a number: the empty shape), the shapes of several."""
    if isinstance(argument, TensorBase):
        return cython.cast(TensorBase, argument)._meta.shape
    if isinstance(argument, tuple):
        return [shape_of(item) for item in argument]
    return ()


# ---- running an op ------------------------------------------------------------------------------------


def binary(op, x, y):
    """Run an elementwise op on two operands. NotImplemented if one of them is no tensor or number."""
    state = current()
    if state.ordinary and plain(x):
        a = cython.cast(TensorBase, x)
        if plain(y):
            b = cython.cast(TensorBase, y)
            if a._meta is b._meta and a._meta.dtype.is_floating_point and op.result is None:
                out = wrap(a._meta.backend.table[op.kernel](a._array, b._array), a._meta)
                if state.grad_enabled and op.differentiable:
                    e = edge_of(a)
                    f = edge_of(b)
                    if e is not None or f is not None:
                        record(op, state, (e is not None) | ((f is not None) << 1), (e, f), numbers_of(a, b),
                               out, None, x, y, None)
                    elif a._view or b._view:
                        remember(op, state, (x, y), (x, y), out, None)
                return out
            if a._meta.dtype is b._meta.dtype and a._meta.dtype.is_floating_point and a._meta.backend is b._meta.backend:
                return broadcast(op, state, a, b)
        elif (type(y) is float or type(y) is int) and a._meta.dtype.is_floating_point:
            array = a._meta.backend.table[op.kernel](a._array, y)
            if op.result is not None:
                return wrap(array, meta_of(array, a._meta.device))
            out = wrap(array, a._meta)
            if state.grad_enabled and op.differentiable:
                e = edge_of(a)
                if e is not None:
                    # a number counts as an input of + - * /, as in PyTorch, but not of x ** 2
                    record(op, state, 1, (e, None) if op.inputs == 2 else (e,),
                           (a._output_number, 0) if a._output_number else None, out, None, x, y, None)
                elif a._view:
                    remember(op, state, (x, y), (x, y)[:op.inputs], out, None)
            return out
    return slow(op, state, (x, y))


@cython.cfunc
def broadcast(op: Primitive, state: State, a: TensorBase, b: TensorBase) -> object:
    """`binary` for two tensors of one dtype whose shapes differ, or whose result has a dtype of its own."""
    try:
        array = a._meta.backend.table[op.kernel](a._array, b._array)
    except ValueError:
        return slow(op, state, (a, b))      # which says what does not fit
    if op.result is not None:
        return wrap(array, meta_of(array, a._meta.device))
    out = wrap(array, broadcast_meta(array, a._meta, b._meta))
    if state.grad_enabled and op.differentiable:
        remember(op, state, (a, b), (a, b), out, None)
    return out


@cython.cfunc
def broadcast_meta(array, a: Meta, b: Meta) -> Meta:
    """The metadata of a result of broadcasting: as a rule that of one of the operands."""
    size: cython.Py_ssize_t = array.size
    if size == a.numel and a.ndim >= b.ndim and size > 0:
        return a
    if size == b.numel and b.ndim >= a.ndim and size > 0:
        return b
    return meta_of(array, a.device)


def unary(op, x):
    """Run an elementwise op on one tensor."""
    state = current()
    if state.ordinary and plain(x):
        a = cython.cast(TensorBase, x)
        if a._meta.dtype.is_floating_point and op.result is None:
            out = wrap(a._meta.backend.table[op.kernel](a._array), a._meta)
            if state.grad_enabled and op.differentiable:
                e = edge_of(a)
                if e is not None:
                    record(op, state, 1, (e,), (a._output_number,) if a._output_number else None,
                           out, None, x, None, None)
                elif a._view:
                    remember(op, state, (x,), (x,), out, None)
            return out
    return slow(op, state, (x,))


@cython.cfunc
def numbers_of(a: TensorBase, b: TensorBase) -> object:
    if a._output_number or b._output_number:
        return (a._output_number, b._output_number)
    return None


def slow(op, state, operands):
    """An elementwise op on any operands: tensors that broadcast, of mixed dtypes, and numbers."""
    if op.commutative and not isinstance(operands[0], TensorBase):
        operands = (operands[1], operands[0])       # 2 * x is x * 2, as in PyTorch
    ranks = []
    first: TensorBase = None
    for x in operands:
        if isinstance(x, TensorBase):
            tensor = cython.cast(TensorBase, x)
            ranks.append((tensor._meta.dtype, 2 if tensor._meta.ndim > 0 else 1))
            first = on_one_device(op, first, tensor)
        else:
            of_number = dtype_of_number(x)
            if of_number is None:
                return NotImplemented
            ranks.append((of_number, 0))
    if first is None:
        return NotImplemented
    dtype: DType = result_dtype(ranks)
    if op.refuses_bool is not None and dtype.name == "bool":
        raise ShapeError("MG-E203", op.refuses_bool)
    if op.floats_only and not dtype.differentiable:
        dtype = default_dtype()
    kernels = first._meta.backend.kernels
    arrays = [kernels.cast(cython.cast(TensorBase, x)._array, dtype.numpy) if isinstance(x, TensorBase)
              else kernels.number(x, dtype.numpy) for x in operands]
    try:
        array = first._meta.backend.table[op.kernel](*arrays)
    except ValueError:
        check_broadcast([cython.cast(TensorBase, x)._meta for x in operands if isinstance(x, TensorBase)])
        raise
    return finish(op, state, operands, operands[:op.inputs], array, first._meta.device)


def call(op, args):
    """Run any other op: tensors first (None where one is optional), then whatever else it takes.

    The public functions have checked the arguments; here it is a programming error if they do not fit.
    """
    state = current()
    i: cython.Py_ssize_t
    first: TensorBase = None
    tensors: tuple = args[0] if op.variadic else args
    inputs: cython.Py_ssize_t = len(tensors) if op.variadic else op.inputs
    arrays: list = list(tensors)
    for i in range(len(arrays)):
        x = arrays[i]
        if isinstance(x, TensorBase):
            arrays[i] = cython.cast(TensorBase, x)._array
            if first is None:
                first = x
            elif cython.cast(TensorBase, x)._meta.device is not first._meta.device:
                on_one_device(op, first, x)
        elif i >= inputs:
            arrays[i] = array_in(x)
        elif x is not None:
            raise not_a_tensor(op, x)
    if first is None:
        raise not_a_tensor(op, None)
    if op.variadic:
        array = op.forward(first._meta.backend.kernels, arrays, *args[1:])
        return finish(op, state, args, tensors, array, first._meta.device)
    array = op.forward(first._meta.backend.kernels, *arrays)
    if op.inputs == 1 and state.ordinary and plain(tensors[0]) and type(array) is not tuple and type(array) is not list:
        out = finish_one(op, array, first._meta.device, None, tensors, DEFAULT)
        if state.grad_enabled and op.differentiable and out._meta.dtype.differentiable:
            edge = edge_of(first)
            if edge is not None:
                record(op, state, 1, (edge,), (first._output_number,) if first._output_number else None,
                       out, None, None, None, args)
            elif first._view:
                remember(op, state, args, tensors[:1], out, None)
        return out
    return finish(op, state, args, tensors[:inputs], array, first._meta.device)


def array_in(argument):
    """What forward gets of an argument that has no derivative: of a tensor (a mask, an index) its array."""
    if isinstance(argument, TensorBase):
        return cython.cast(TensorBase, argument)._array
    if type(argument) is tuple and argument and any_tensor(argument):
        return tuple([array_in(x) for x in argument])
    return argument


@cython.cfunc
def any_tensor(items: tuple) -> cython.bint:
    for x in items:
        if isinstance(x, TensorBase):
            return True
    return False


@cython.cfunc
def finish(op: Primitive, state: State, args: tuple, tensors: tuple, array, device: Device) -> object:
    """Make the result of a forward a tensor (or several), with its place in the graph."""
    cls = None
    for x in tensors:
        if isinstance(x, TensorBase) and not plain(x):
            cls = type(x)._result_class(cls)
    outs = None
    if type(array) is tuple or type(array) is list:
        outs = [finish_one(op, item, device, cls, tensors, MULTI_OUTPUT_NODE) for item in array]
        out = cython.cast(TensorBase, outs[0]) if outs else None
    else:
        out = finish_one(op, array, device, cls, tensors, DEFAULT)
    if state.grad_enabled and op.differentiable and out is not None:
        remember(op, state, args, tensors, out, outs)
    if not state.ordinary:
        mark(op, state, args, tensors, outs if outs is not None else [out])
    return out if outs is None else tuple(outs)


@cython.cfunc
def finish_one(op: Primitive, array, device: Device, cls, tensors: tuple, creation: cython.int) -> TensorBase:
    meta = meta_of(array, device)
    out: TensorBase = wrap(array, meta) if cls is None else make(cls, array, meta)
    if op.view:
        look_at(out, tensors[0], creation)
    return out


def look_at(view, source, creation):
    """Make `view` a view of `source`, or of what that is itself a view of.

    `creation` says how it is made, if gradients are recorded: see Note [How a view was made] in views.py.
    """
    state = current()
    if state.inference:
        creation = INFERENCE_MODE
    elif not state.grad_enabled:
        creation = NO_GRAD_MODE
    extra = view.extras()
    if source._view:
        extra.base = source._extra.base
        inherited = source._extra.creation
        if creation == DEFAULT or inherited == INFERENCE_MODE:
            creation = inherited
    else:
        extra.base = source
    view._counter = source.shared_counter()
    extra.base_version = view._counter.value
    extra.creation = creation
    view._view = True
    view._inference = source._inference
    return None


@cython.cfunc
def remember(op: Primitive, state: State, args: tuple, tensors: tuple, out: TensorBase, outs) -> object:
    """Record the op if one of its inputs requires a gradient."""
    mask: cython.longlong = 0
    numbered: cython.bint = False
    i: cython.Py_ssize_t
    edges = []
    numbers = []
    for i in range(len(tensors)):
        x = tensors[i]
        edge = None
        number = 0
        if isinstance(x, TensorBase):
            edge = edge_of(x)
            if edge is not None:
                number = cython.cast(TensorBase, x)._output_number
                numbered |= number != 0
            if edge is not None or (cython.cast(TensorBase, x)._view and base_requires_grad(x)):
                mask = ALL if op.variadic else mask | (1 << i)
        edges.append(edge)
        numbers.append(number)
    if mask == 0:
        return None
    if outs is None and not out._meta.dtype.differentiable:
        return None
    record(op, state, mask, tuple(edges), tuple(numbers) if numbered else None, out, outs, None, None, args)
    return None


def base_requires_grad(view):
    """A view made under no_grad has no history, but counts as requiring a gradient if its base does."""
    base: TensorBase = view._extra.base
    return base._leaf_requires_grad or base._node is not None


def mark(op, state, args, tensors, outs):
    """Inference mode and forward-mode AD: what holds of few results."""
    for out in outs:
        if state.inference and not cython.cast(TensorBase, out)._view:
            cython.cast(TensorBase, out)._inference = True
    if state.forward_level >= 0 and op.differentiable:
        tangents = [tangent_of(x) for x in tensors]
        if not all_undefined(tangents):
            # The formulas compute with the primal values: for them there are no tangents.
            level = state.forward_level
            state.set_modes(state.grad_enabled, state.inference, -1)
            try:
                results = op.rule.jvp_of(args, outs, tangents)
            finally:
                state.set_modes(state.grad_enabled, state.inference, level)
            for out, tangent in zip(outs, results if type(results) is tuple else (results,)):
                if tangent is not None:
                    cython.cast(TensorBase, out).extras().tangent = tangent


@cython.cfunc
def tangent_of(x) -> object:
    if not isinstance(x, TensorBase):
        return None
    extra = cython.cast(TensorBase, x)._extra
    return None if extra is None else extra.tangent


# ---- errors -------------------------------------------------------------------------------------------


def on_one_device(op, first, tensor):
    if first is not None and first._meta.device is not tensor._meta.device and first._meta.device != tensor._meta.device:
        raise ShapeError(
            "MG-E202", "Expected all tensors to be on the same device, but found at least two devices, "
            f"{first._meta.device} and {tensor._meta.device}, in {op.name}().",
            fix="move one of them: x.to(y.device)")
    return tensor if first is None else first


def not_a_tensor(op, x):
    """The error for an argument that has to be a tensor."""
    return TensorTypeError("MG-E201", f"{op.name}(): argument must be Tensor, not {type(x).__name__}",
                           fix="make it one with minigrad.tensor(...)")


def check_broadcast(metas):
    """Raise if tensors with these metadata cannot be broadcast together."""
    a = metas[0].shape
    for meta in metas[1:]:
        b = meta.shape
        n = max(len(a), len(b))
        wide_a = (1,) * (n - len(a)) + a
        wide_b = (1,) * (n - len(b)) + b
        for dim in range(n):
            if wide_a[dim] != wide_b[dim] and 1 not in (wide_a[dim], wide_b[dim]):
                raise ShapeError(
                    "MG-E204", f"The size of tensor a ({wide_a[dim]}) must match the size of tensor b ({wide_b[dim]}) "
                    f"at non-singleton dimension {dim}",
                    found=f"shapes {list(a)} and {list(b)}",
                    fix="shapes are aligned at the right; sizes must be equal or 1. reshape(), unsqueeze() or "
                        "transpose() one of them")
        a = tuple([q if p == 1 else p for p, q in zip(wide_a, wide_b)])
