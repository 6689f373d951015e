"""The node of a custom operator: an ordinary `Function`, made once per operator.

    op(xs, y, n)            xs a list of tensors
      flat                  (xs[0], xs[1], y, n, call)      what Function.apply gets, so that each tensor has an edge
        forward             runs the kernel, then the user's setup_context(ctx, inputs, output)
        backward            gradients back into lists ──> the user's backward(ctx, *grads) ──> flat again

`Formula` is what the operator and the class share: neither holds the other, so that an operator that was replaced is
freed at once, and a graph that was built with it can still be differentiated.

What the user sees of the hidden last argument is nothing: not in `needs_input_grad`, not in the count of gradients.

Mirrors ``torch/_library/autograd.py``.
"""

from minigrad.autograd.function import Function
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor

METADATA = "_mg_metadata"       # where ctx keeps its `Structure`


class Formula:
    """How an operator is differentiated; None: not yet known. Looked up when the backward runs.

    operator, schema        the name by which errors call it, ``ns::name``; and its `FunctionSchema`
    """

    def __init__(self, operator, schema):
        self.operator = operator
        self.schema = schema
        self.backward = None
        self.setup_context = None


class Call:
    """One call of an operator on its way through `Function.apply`: what the graph is not to keep.

    run             computes the output
    inputs          the positional arguments, with defaults
    keywords        those that cannot be given by position, a dict
    dirty           the tensors that it writes to and that require a gradient
    """

    __slots__ = ("dirty", "inputs", "keywords", "run", "structure")
    structure: "Structure"          # set when the kernel has run

    def __init__(self, run, inputs, keywords, dirty):
        self.run = run
        self.inputs = inputs
        self.keywords = keywords
        self.dirty = dirty


class Structure:
    """Where lists of tensors stood: for each argument and each output the length of a list, -1 for anything else."""

    __slots__ = ("inputs", "outputs")

    def __init__(self, inputs, outputs):
        self.inputs = inputs
        self.outputs = outputs


def lengths(arguments, values):
    """The length of each list of tensors among `values`, -1 for anything else."""
    return [len(x) if a.spreads and x is not None else -1 for a, x in zip(arguments, values)]


def flatten(arguments, values):
    """`values` with the lists of tensors among them opened."""
    flat = []
    for a, x in zip(arguments, values):
        if a.spreads and x is not None:
            flat.extend(x)
        else:
            flat.append(x)
    return flat


def unflatten(counts, flat):
    """The inverse of `flatten`, given the `lengths`."""
    values, i = [], 0
    for n in counts:
        values.append(flat[i] if n < 0 else list(flat[i:i + n]))
        i += max(n, 0) + (n < 0)
    return values


def autograd_class(formula):
    """The `Function` whose nodes differentiate by `formula`."""
    def forward(ctx, *flat):
        call = flat[-1]
        counts = lengths(formula.schema.positional, call.inputs)
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
        call.structure = Structure(counts, lengths(formula.schema.returns, outputs))
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
                "an operator that writes to its arguments has none: wrap it in a Function, or call it under no_grad()")
        structure = getattr(ctx, METADATA)
        found = formula.backward(ctx, *unflatten(structure.outputs, grads))
        return (*flat_gradients(ctx, formula.schema, structure.inputs, found), None)

    name = "GeneratedBackwardFor_" + "_".join((*formula.operator.split("::"), formula.schema.overload_name))
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def flat_gradients(ctx, schema, counts, found):
    """What the user's backward has returned, one gradient per tensor, if it is built like the arguments."""
    grads = list(found) if isinstance(found, tuple) else [found]
    n = len(counts)
    while len(grads) > n and grads[-1] is None:
        grads.pop()
    lists = any([count >= 0 for count in counts])
    if len(grads) != n and not lists:
        raise AutogradError(
            "MG-E277", f"function {ctx.name()} returned an incorrect number of gradients (expected {n}, got {len(grads)})",
            node=ctx.name(), expected=f"one per positional argument of {schema}",
            fix="return a tuple of gradients, with None for what is no tensor")
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
            found=f"({', '.join(map(described, grads))})",
            fix="return a list where the argument is a list, and None for what has no gradient")
    return flat


def described(grad):
    if isinstance(grad, (list, tuple)):
        return f"a {type(grad).__name__} of {len(grad)}"
    return "None" if grad is None else f"a {type(grad).__name__}"
