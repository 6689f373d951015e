"""An op as the core knows it, and what it saves for its backward.

An op reaches the core as a `Primitive`, made from a rule class by ``ops/base/rule.py``:

    @op("mul")
    class Mul(Elementwise):             Primitive "mul"
        def vjp_x(g, y): ...              formula of input 0 needs y
        def vjp_y(g, x): ...              formula of input 1 needs x

What a formula needs is what its parameters name: an input, an output (``z``), a non-tensor argument, or
the shape or layout of an input (``x_shape``, ``x_by_columns``). So for each set of inputs that require a
gradient it is known beforehand what has to be saved, and nothing else is: for ``x * b`` with a constant ``b``
that is ``b`` alone. A `Plan` is the answer for one such set (a bit mask), made once per op and mask.

Mirrors what PyTorch generates from ``tools/autograd/derivatives.yaml``. Read next: ``op_node.py``.
"""

import cython

# Where a saved value comes from (Plan.source): argument k is k, its shape SHAPE + k, whether it lies by columns
# BY_COLUMNS + k, output j is -1 - j.
SHAPE = cython.declare(cython.int, 100)
BY_COLUMNS = cython.declare(cython.int, 200)
MOST_SAVED = 12
node_class = cython.declare(object, None)       # of op_node.py, which lies above this file
MOST_NEEDED = 8


def use_node_class(function):
    """Supply `node_class` of op_node.py."""
    global node_class
    node_class = function


@cython.binding(False)
@cython.cclass
class Primitive:
    """One op as this file knows it. See ``ops/base/rule.py`` for the class that it is made from.

    name, node_name  ``"mul"``, ``"MulBackward0"``
    params, outputs  names of forward's arguments and results, as the formulas use them
    inputs           how many of the first arguments are tensors
    variadic         the first argument is a tuple of tensors, and the only one that holds tensors
    forward          forward(kernels, *arrays, *others) -> array or tuple of arrays
    formulas         per input: None, or (vjp, names of what it needs)
    joint            or one for all inputs: (vjp, names), called with the needs as a tuple of bools
    kernel           number of the kernel that is the whole forward, -1 if there is none. `forward` calls it too, but we save
                     that call (150 ns); of its arguments only the inputs hold tensors
    commutative      two operands whose order does not matter
    floats_only      integers are converted to the default dtype first
    result           dtype of the result if it differs from the dtype of the operands
    """

    def __init__(self, rule, name, node_name, params, outputs, inputs, variadic, forward, formulas, joint,
                 kernel, commutative, floats_only, result, differentiable, view):
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

    def __repr__(self):
        return f"<Primitive {self.name}>"


@cython.binding(False)
@cython.cclass
class Plan:
    """What an op saves when a given set of its inputs requires a gradient."""

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
                for k in range(len(needs)):
                    if needs[k] not in names:
                        names.append(needs[k])
                    self.slots[MOST_NEEDED * i + k] = names.index(needs[k])
        self.single = self.joint is None and op.inputs == 1     # then its formula takes all that is saved, in order
        self.active = 0
        for i in range(len(formulas)):
            if formulas[i] is not None:
                self.active |= cython.cast(cython.longlong, 1) << i
        self.simple = self.joint is None and len(names) <= 3 and op.inputs <= 2
        # PyTorch's formulas run in the order of their inputs' names, and what runs first under create_graph is the earlier
        # node: in a second backward "other" of mul then comes after "self".
        torch_names = op.rule.torch_names
        self.order = tuple(sorted(range(len(formulas)), key=lambda i: torch_names.get(op.params[i], op.params[i])))
        self.second_first = self.order == (1, 0)
        self.names = tuple(names)
        self.formulas = tuple(formulas)
        self.saved = len(names)
        self.saves_output = False
        self.saves_operand = False      # or an output: what has to go when the node is released
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
