"""The node of a custom operator: an ordinary `Function`. Each operator has its own class.

    op(xs, y, n)            xs is a list of tensors
      flatten               (xs[0], xs[1], y, n, call)      the arguments of Function.apply: each tensor has an edge
        forward             runs the kernel, then the user's setup_context(ctx, inputs, output)
        backward            puts the gradients into lists, calls the user's backward(ctx, *grads), and flattens its result

The operator and the class share a `Formula`, and do not refer to each other. So a replaced operator is freed immediately, and a
graph that was recorded with it can still be differentiated.

`call` is a hidden last argument: it is not in `needs_input_grad`, and the user's backward returns no gradient for it.

Mirrors ``torch/_library/autograd.py``.
"""

from minigrad.autograd.function import Function
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor

METADATA = "_mg_metadata"       # the attribute of ctx with its `Structure`


class Formula:
    """The formula for the derivative of an operator. The functions are None before `register_autograd`. The backward reads them.

    operator, schema        the name of the operator, ``ns::name``, and its `FunctionSchema`
    """

    def __init__(self, operator, schema):
        self.operator = operator
        self.schema = schema
        self.backward = None
        self.setup_context = None


class Call:
    """One call of an operator: data for the forward that the graph must not keep alive.

    run             a function that computes the output
    inputs          the positional arguments, with defaults
    keywords        the keyword-only arguments, a dict
    dirty           the tensors that the operator writes to and that require a gradient
    """

    __slots__ = ("dirty", "inputs", "keywords", "run", "structure")
    structure: "Structure"          # set after the kernel has run

    def __init__(self, run, inputs, keywords, dirty):
        self.run = run
        self.inputs = inputs
        self.keywords = keywords
        self.dirty = dirty


class Structure:
    """For each argument and each output: the length, if it is a list of tensors, and otherwise -1."""

    __slots__ = ("inputs", "outputs")

    def __init__(self, inputs, outputs):
        self.inputs = inputs
        self.outputs = outputs


def count_tensors(arguments, values):
    """Return the length of each list of tensors in `values`, and -1 for other values."""
    return [len(x) if a.spreads and x is not None else -1 for a, x in zip(arguments, values)]


def flatten(arguments, values):
    """Return `values` with the elements of each list of tensors instead of the list."""
    flat = []
    for a, x in zip(arguments, values):
        if a.spreads and x is not None:
            flat.extend(x)
        else:
            flat.append(x)
    return flat


def unflatten(counts, flat):
    """The inverse of `flatten`; `counts` is the result of `count_tensors`."""
    values, i = [], 0
    for n in counts:
        values.append(flat[i] if n < 0 else list(flat[i:i + n]))
        i += max(n, 0) + (n < 0)
    return values


def make_function(formula):
    """Make the `Function` whose backward uses `formula`."""
    def forward(ctx, *flat):
        call = flat[-1]
        counts = count_tensors(formula.schema.positional, call.inputs)
        ctx.needs_input_grad = tuple(unflatten(counts, ctx.needs_input_grad[:-1]))
        output = call.run()
        outputs = () if output is None else output if isinstance(output, tuple) else (output,)
        if formula.setup_context is not None:
            if formula.schema.keywords:
                formula.setup_context(ctx=ctx, inputs=tuple(call.inputs), keyword_only_inputs=call.keywords, output=output)
            else:
                formula.setup_context(ctx=ctx, inputs=tuple(call.inputs), output=output)
        if hasattr(ctx, METADATA):
            raise AutogradError("MG-E279", f"Please don't set ctx.{METADATA}; minigrad uses it to store info", node=ctx.name(),
                                fix="choose another name in setup_context")
        call.structure = Structure(counts, count_tensors(formula.schema.returns, outputs))
        setattr(ctx, METADATA, call.structure)
        if call.dirty:
            ctx.mark_dirty(*call.dirty)
        flat_outputs = (*call.dirty, *flatten(formula.schema.returns, outputs))
        return flat_outputs[0] if len(flat_outputs) == 1 else flat_outputs

    def backward(ctx, *grads):
        if formula.backward is None:
            raise AutogradError(
                "MG-E276", f"Trying to backward through {formula.operator} but no autograd formula was registered. Please use "
                "register_autograd to add one.", node=ctx.name(),
                fix="op.register_autograd(backward, setup_context=setup_context)" if formula.schema.is_functional() else
                "wrap the operator in a Function, or call it under no_grad(): it writes to its arguments")
        structure = getattr(ctx, METADATA)
        found = formula.backward(ctx, *unflatten(structure.outputs, grads))
        return (*flatten_gradients(ctx, formula.schema, structure.inputs, found), None)

    name = "GeneratedBackwardFor_" + "_".join((*formula.operator.split("::"), formula.schema.overload_name))
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def flatten_gradients(ctx, schema, counts, found):
    """Flatten the gradients that the user's backward has returned. Raise unless it has the structure of the arguments."""
    grads = list(found) if isinstance(found, tuple) else [found]
    n = len(counts)
    while len(grads) > n and grads[-1] is None:
        grads.pop()
    lists = any([count >= 0 for count in counts])
    if len(grads) != n and not lists:
        raise AutogradError(
            "MG-E277", f"function {ctx.name()} returned an incorrect number of gradients (expected {n}, got {len(grads)})",
            node=ctx.name(), expected=f"one for each positional argument of {schema}",
            fix="return a tuple of gradients, with None for an argument that is not a tensor")
    flat = []
    fits = len(grads) == n
    for count, grad in zip(counts, grads):
        if count < 0:
            fits = fits and (grad is None or isinstance(grad, Tensor) or not lists)
            flat.append(grad)
        else:
            fits = fits and isinstance(grad, list) and len(grad) == count and all(
                [g is None or isinstance(g, Tensor) for g in grad])
            flat.extend(grad if fits else ())
    if not fits:
        raise AutogradError(
            "MG-E277", "Expected the return from backward to be of the same structure as the inputs.", node=ctx.name(),
            expected=f"({', '.join(['a tensor or None' if c < 0 else f'a list of {c}' for c in counts])})",
            found=f"({', '.join(map(describe, grads))})",
            fix="return a list for an argument that is a list, and None for an argument without a gradient")
    return flat


def describe(grad):
    """Describe a gradient for a message: ``a list of 2``, ``None``, ``a Tensor``."""
    if isinstance(grad, (list, tuple)):
        return f"a {type(grad).__name__} of {len(grad)}"
    return "None" if grad is None else f"a {type(grad).__name__}"
