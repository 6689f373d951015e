"""Primitive: an op as the core knows it. Plan: the values that an op saves for its backward.

``ops/base/rule.py`` makes a `Primitive` from each rule class and hands it to the core:

    @op("mul")
    class Mul(Elementwise):             Primitive "mul"
        def vjp_x(g, y): ...              formula of input 0 needs y
        def vjp_y(g, x): ...              formula of input 1 needs x

The parameters of a formula name the values that it needs: an input, an output (``z``), a non-tensor argument, or
the shape or layout of an input (``x_shape``, ``x_by_columns``). So the set of inputs that require a gradient decides
which values to save. For ``x * b`` with a constant ``b``, the node saves only ``b``. A `Plan` has the values for one such
set (a bit mask). It is made once for each op and mask.

Mirrors what PyTorch generates from ``tools/autograd/derivatives.yaml``. Read next: ``op_node.py``.
"""

import cython

MOST_SAVED = 12     # values that a plan can save: the length of Plan.source
MOST_NEEDED = 8     # values that a formula can need: Plan.slots has so many places for each input
node_class = cython.declare(object, None)       # supplied by op_node.py, which is above this file


class Source:
    """The numbers in `Plan.source`, which say where a saved value comes from.

        k                   argument k
        SHAPE + k           the shape of argument k
        BY_COLUMNS + k      whether argument k is stored by columns
        -1 - j              output j
    """

    SHAPE = 100
    BY_COLUMNS = 200
    NOT_AN_OUTPUT = -1      # not a source: it stands for j where a saved value is not an output


SHAPE = cython.declare(cython.int, Source.SHAPE)
BY_COLUMNS = cython.declare(cython.int, Source.BY_COLUMNS)


def use_node_class(function):
    """Supply the function `node_class` of op_node.py."""
    global node_class
    node_class = function


@cython.binding(False)
@cython.cclass
class Primitive:
    """One op, made from its rule class by ``ops/base/rule.py``.

    name, node_name  ``"mul"``, ``"MulBackward0"``
    params, outputs  names of forward's arguments and results, as the formulas use them
    inputs           how many of the first arguments are tensors
    variadic         the first argument is a tuple of tensors, and the only one that holds tensors
    forward          forward(kernels, *arrays, *others) -> array or tuple of arrays
    write            write(kernels, *arrays, *others) stores the result of forward in the first array; or None
    formulas         for each input: None, or (vjp, names of the values that it needs)
    joint            instead of these, one for all inputs: (vjp, names), called with a tuple of bools that says which
                     inputs need a gradient
    kernel           the number of the kernel that is the whole forward, or -1. `forward` calls it too, but a direct call
                     saves 150 ns. Only the inputs among its arguments hold tensors
    commutative      the op has two operands whose order does not matter
    floats_only      integers are converted to the default dtype first
    result           dtype of the result if it differs from the dtype of the operands
    """

    def __init__(self, rule, name, node_name, params, outputs, inputs, variadic, forward, write, formulas, joint,
                 kernel, commutative, floats_only, result, differentiable, view):
        self.rule = rule
        self.name = name
        self.node_name = node_name
        self.params = params
        self.outputs = outputs
        self.inputs = inputs
        self.variadic = variadic
        self.forward = forward
        self.write = write
        self.formulas = formulas
        self.joint = joint
        self.kernel = kernel
        self.commutative = commutative
        self.floats_only = floats_only
        self.result = result
        self.differentiable = differentiable
        self.view = view
        self.plans = {}
        self.small_plans = [None] * 8

    def plan(self, mask):
        """The `Plan` for the case that the inputs in the bit mask `mask` require a gradient."""
        if self.joint is not None:      # a joint formula needs the same values for every set
            mask = 0
        if 0 <= mask < 8:
            found = self.small_plans[mask]
            if found is None:
                found = self.small_plans[mask] = Plan(self, mask)   # pyright: ignore[reportCallIssue]  (made with Nones)
            return found
        found = self.plans.get(mask)
        if found is None:
            found = self.plans[mask] = Plan(self, mask)
        return found

    def __repr__(self):
        return f"<Primitive {self.name}>"


@cython.binding(False)
@cython.cclass
class Plan:
    """The values that an op saves, and how its formulas use them, for one set of inputs that require a gradient."""

    def __init__(self, op, mask):
        if not cython.compiled:
            self.source = [0] * MOST_SAVED
            self.count = [0] * 8
            self.slots = [0] * 64
        self.op = op
        self.node_class = node_class(op.node_name)
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
                names.extend([name for name in needs if name not in names])
            tensors = (*op.params[:op.inputs], *op.outputs)
            if op.inputs > 1:
                names.sort(key=lambda name: name not in tensors)    # tensors first: their slots are cheaper than a `SavedTensor`
            for i in range(op.inputs):
                if formulas[i] is not None:
                    for k, name in enumerate(op.formulas[i][1]):
                        self.slots[MOST_NEEDED * i + k] = names.index(name)
        self.single = self.joint is None and op.inputs == 1     # then the formula takes all saved values, in order
        self.active = 0
        for i in range(len(formulas)):
            if formulas[i] is not None:
                self.active |= cython.cast(cython.longlong, 1) << i
        self.lends = getattr(op.rule, "reads_g_once", False)
        self.simple = self.joint is None and len(names) <= 3 and op.inputs <= 2
        # PyTorch runs the formulas in the order of their inputs' names. The order matters under create_graph: the formula that
        # runs first makes the earlier nodes, and a second backward runs the later nodes first.
        torch_names = op.rule.torch_names
        self.order = tuple(sorted(range(len(formulas)), key=lambda i: torch_names.get(op.params[i], op.params[i])))
        self.second_first = self.order == (1, 0)
        self.names = tuple(names)
        self.formulas = tuple(formulas)
        self.saved = len(names)
        self.saves_output = False
        self.saves_operand = False      # whether it saves an input or an output, which `release` has to drop
        for k in range(len(names)):
            name = names[k]
            if name in op.params:
                self.source[k] = op.params.index(name)
            elif name in op.outputs:
                self.source[k] = -1 - op.outputs.index(name)
                self.saves_output = True
            elif name.endswith("_shape"):
                self.source[k] = SHAPE + op.params.index(name.removesuffix("_shape"))
            else:
                self.source[k] = BY_COLUMNS + op.params.index(name.removesuffix("_by_columns"))
            self.saves_operand |= self.source[k] < op.inputs
