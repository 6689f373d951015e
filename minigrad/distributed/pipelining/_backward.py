"""The backward of a pipeline stage, whole or in two halves: B = I + W.

A stage is a part of a model. Its backward gets the gradient of its outputs, and owes two things: the gradient of its
inputs (dX), for which the stage before is waiting, and those of its parameters (dW), for which nobody is waiting before the
optimizer's step. `stage_backward` (B) computes both. To hand dX on as early as possible, it can be split:

    x --> [ * w1 ] --> relu --> [ * w2 ] --> y          the forward of a stage

    B     dX  <--o<------ relu <------o<-- dY           all that leads to a leaf runs
                 |                    |
                dw1                  dw2

    I     dX  <--o<------ relu <------o<-- dY           only what leads to x runs; each o, an *intermediate*, has a
                g1                   g2                 pre-hook that writes down what arrives: g1, g2

    W            o<-- g1              o<-- g2           later, in whatever order: each o is started again with
                 |                    |                 what arrived at it then, and only what leads to
                dw1                  dw2                w1 or w2 runs

`stage_backward_input` (I) returns dX and the *groups* of parameters (``_groups.py``), which hold the intermediates and what
arrived at them; `stage_backward_weight` (W) takes these. A pipeline fills with Ws the time in which it would wait for
another stage.

It is all done from outside: edges to walk along, pre-hooks, `GradientEdge` as the start and the end of a
run, ``autograd.grad`` and ``autograd.backward``. The engine knows nothing of pipelines.

Invariant: I and W leave in ``.grad`` what B leaves, whatever the graph. For that

  * W *clamps* each intermediate to what arrived in I, by another pre-hook. If a weight is used twice, w -> o1 and w -> o2, and o1
    leads to o2, then the run that starts at both also comes from o1 to o2; but all that was in g2 already.
  * groups are independent, so that the run of none frees what another needs (`independent`).
  * an output that no input leads to (a penalty on the weights) waits in the groups for W, with its gradient.

Mirrors ``torch/distributed/pipelining/_backward.py``. The split is from P. Qi, X. Wan, G. Huang, M. Lin, Zero Bubble Pipeline
Parallelism, 2023, arXiv:2401.10241, where the half for the inputs is called B. Read before: ``_groups.py``.
"""

from minigrad.autograd import backward, grad
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.autograd.graph import GradientEdge, get_gradient_edge
from minigrad.creation import ones_like
from minigrad.distributed.pipelining._debug import failed
from minigrad.distributed.pipelining._groups import (
    construct_reverse_graph,
    get_param_groups,
    independent,
    joined,
    reverse_closure,
)
from minigrad.errors import AutogradAssertionError, AutogradError
from minigrad.tensor import Tensor

__all__ = ["construct_reverse_graph", "get_param_groups", "reverse_closure", "stage_backward", "stage_backward_input",
           "stage_backward_weight"]


def stage_backward(stage_output, output_grads, input_values, outputs_with_grads_idxs=None):
    """Compute the gradients of a stage's inputs, and accumulate those of its parameters: one B.

    Args:
        stage_output: a tensor, or tensors in nested lists, tuples and dicts. What requires no gradient is passed over.
        output_grads: their gradients, in the same nesting; None for a loss, or for a part that has none.
        input_values (list): the stage's inputs. Tensors among them are leaves, or retain their gradient.
        outputs_with_grads_idxs (list of int, optional): deprecated; take these of both lists only.

    Returns:
        tuple: for each input its gradient, or None. It is taken out of ``.grad``, which is None afterwards, so that the
        gradients of one microbatch do not meet those of the next.

    Raises:
        RuntimeError: whatever went wrong, with the shapes of all three arguments; what it was is its ``__cause__``.

    Mirrors ``stage_backward`` of ``torch/distributed/pipelining/_backward.py``.

    >>> from minigrad.distributed.pipelining._backward import stage_backward
    >>> x, w = mg.tensor([1., 2.], requires_grad=True), mg.tensor(3., requires_grad=True)
    >>> stage_backward({"y": x * w}, {"y": mg.ones(2)}, [x])
    (tensor([3., 3.]),)
    >>> w.grad, x.grad
    (tensor(3.), None)
    """
    if outputs_with_grads_idxs is not None:
        stage_output = [stage_output[i] for i in outputs_with_grads_idxs]
        output_grads = [output_grads[i] for i in outputs_with_grads_idxs]
    try:
        found = list(pairs(stage_output, output_grads))
        if found:
            backward([y for y, _ in found], [g for _, g in found])
        gradients = []
        for x in input_values:
            gradients.append(x.grad if isinstance(x, Tensor) else None)
            if isinstance(x, Tensor):
                x.grad = None
        return tuple(gradients)
    except Exception as error:
        raise failed("stage backward", stage_output, output_grads, input_values) from error


def stage_backward_input(stage_outputs_or_loss, output_grads, input_values, weights):
    """Compute the gradients of a stage's inputs alone, and keep what those of its weights need: one I.

    Args:
        stage_outputs_or_loss (list or tuple of Tensor): the outputs; a loss in a list. Those that require no gradient are passed
            over.
        output_grads (list of Tensor or None): the gradient of each output; None for ones everywhere.
        input_values (list): the stage's inputs. No weight may lie behind one of them.
        weights (iterable of Parameter): the stage's parameters. Their ``.grad`` is left alone.

    Returns:
        tuple: the gradient of each input, or None; and the groups for `stage_backward_weight`, dicts with the
        set ``"params"`` of accumulators, the list ``"intermediates"`` of nodes, the list ``"grads"`` of the tuples that arrived
        at these, and, where there are such, the list ``"outputs"`` of edges with their gradients that no input leads to.

    The gradient of an input also gets into its ``.grad``: it is this very tensor if that was None, and otherwise added,
    out of place. The tensors in the groups may share their memory with those returned: do not write to them before W.

    The outputs are detached, so that what W does not need is freed; but not those that are leaves or views, or that others
    of the stage's nodes have used.

    Raises:
        RuntimeError: whatever went wrong, with the shapes of the arguments; what it was is its ``__cause__``. No
            hook is left behind.

    Mirrors ``stage_backward_input`` of ``torch/distributed/pipelining/_backward.py``, and B of arXiv:2401.10241. PyTorch computes
    no gradients of weights for outputs that no input leads to. Hooks on the output of an intermediate run in W once more, but
    to no effect on the gradients.

    >>> from minigrad.distributed.pipelining._backward import stage_backward_input, stage_backward_weight
    >>> x, w = mg.tensor([1., 2.], requires_grad=True), mg.tensor(3., requires_grad=True)
    >>> dinputs, groups = stage_backward_input([(x * w).exp()], [mg.tensor([1., 0.])], [x], [w])
    >>> dinputs
    (tensor([60.2566,  0.0000]),)
    >>> [(node.name(), g) for node, g in zip(groups[0]["intermediates"], groups[0]["grads"])]
    [('MulBackward0', (tensor([20.0855,  0.0000]),))]
    >>> stage_backward_weight([w], groups)
    (None,)
    >>> w.grad
    tensor(20.0855)
    """
    hooks = []
    try:
        outputs = [(y, ones_like(y) if output_grads is None else output_grads[i])
                   for i, y in enumerate(stage_outputs_or_loss) if y.requires_grad]
        roots = [_get_grad_fn_or_grad_acc(y) for y, _ in outputs]
        inputs = [x for x in input_values if isinstance(x, Tensor) and x.requires_grad]
        above = construct_reverse_graph(roots)
        groups = grouped([_get_grad_fn_or_grad_acc(x) for x in inputs], weights, outputs, roots, above)
        for group in groups:
            for i, node in enumerate(group["intermediates"]):
                hooks.append(node.register_prehook(recorder(group["grads"], i)))
        found = [None] * len(inputs)
        if inputs and outputs:
            found = grad([y for y, _ in outputs], inputs, [g for _, g in outputs], retain_graph=True, allow_unused=True)
        # One that is listed twice gets its gradient once.
        for x, g in {id(x): (x, g) for x, g in zip(inputs, found) if g is not None}.values():
            x.grad = g if x.grad is None else x.grad + g        # the groups may hold either
        for (y, _), node in zip(outputs, roots):
            # A node that has saved y needs its history.
            if y.grad_fn is not None and not above.get(node) and not y._is_view():
                y.detach_()
        remaining = iter(found)
        return tuple([next(remaining) if isinstance(x, Tensor) and x.requires_grad else None for x in input_values]), groups
    except Exception as error:
        raise failed("stage backward input", stage_outputs_or_loss, output_grads, input_values) from error
    finally:
        for hook in hooks:
            hook.remove()


def stage_backward_weight(weights, param_groups, retain_graph=False):
    """Accumulate the gradients of a stage's weights, from what `stage_backward_input` has kept: one W.

    Args:
        weights (iterable of Parameter): as given to `stage_backward_input`, or more.
        param_groups (list of dict): as returned by it, all or some, in any order. Only ``"params"`` remains of a group that
            has been used.
        retain_graph (bool): keep what the nodes between intermediates and weights have saved.

    Returns:
        tuple: what ``weight.grad`` was *before*, as in PyTorch. The new gradients are in ``weight.grad``.

    Raises:
        RuntimeError: a group has been used before, or has a parameter that is not among `weights`, and nothing is done; or
            as ``autograd.backward``, and then the group is as it was.

    Mirrors ``stage_backward_weight`` of ``torch/distributed/pipelining/_backward.py``, and W of arXiv:2401.10241. Unlike in
    PyTorch, hooks that wait for the accumulation into a weight are run.

    >>> from minigrad.distributed.pipelining._backward import stage_backward_input, stage_backward_weight
    >>> model = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.ReLU(), mg.nn.Linear(3, 1))
    >>> x = mg.ones(4, 2, requires_grad=True)
    >>> _, groups = stage_backward_input([model(x)], None, [x], model.parameters())
    >>> _ = stage_backward_weight(model.parameters(), groups)
    >>> [w.grad is not None for w in model.parameters()]
    [True, True, True, True]
    """
    weights = list(weights)
    known = {_get_grad_fn_or_grad_acc(weight) for weight in weights}
    for group in param_groups:
        if "grads" not in group:
            raise AutogradError("MG-E231", "stage_backward_weight: this group of parameters has been used already.",
                                expected="a group as stage_backward_input returned it", found=f"one with {sorted(group)} only",
                                fix="call stage_backward_weight once for each stage_backward_input")
        if not group["params"] <= known:
            raise AutogradError("MG-E231", "stage_backward_weight: a parameter of this group is not among `weights`.",
                                found=f"{len(group['params'] - known)} parameters that are not",
                                fix="pass the weights that stage_backward_input was given")
    before = tuple([weight.grad for weight in weights])
    for group in param_groups:
        run_group(group, retain_graph)
    return before


# ---- the steps ------------------------------------------------------------------------------------------------


def grouped(input_nodes, weights, outputs, roots, above):
    """The groups of `stage_backward_input`, with room for what will arrive at their intermediates."""
    inputs = set(input_nodes)
    # The gradient of a weight that is an input as well is computed with those of the inputs.
    params = [node for node in map(_get_grad_fn_or_grad_acc, weights) if node is not None and node not in inputs]
    closure, _ = reverse_closure(inputs, (), above)
    groups = independent(joined(params, closure, set(roots) - closure, above), closure, roots, above)
    for group in groups:
        joints = group["intermediates"]
        if joints & inputs:
            raise AutogradError("MG-E230", "a weight lies behind an input of the stage, which begins there.",
                                fix="pass the stage x.detach().requires_grad_()")
        ends = [(GradientEdge(node, y.output_nr), g) for (y, g), node in zip(outputs, roots)
                if node in joints and node not in closure]
        if ends:
            group["outputs"] = ends
        group["intermediates"] = [node for node in joints if node in closure]
        group["grads"] = [None] * len(group["intermediates"])
    return groups


def recorder(grads, i):
    """A pre-hook that writes down what arrives at a node. It holds the list and not the group, which holds the node."""
    def record(arrived):
        grads[i] = arrived
    return record


def clamp(recorded):
    """A pre-hook that has a node run with what it ran with in I, whatever arrives now."""
    return lambda arrived: recorded


def run_group(group, retain_graph):
    """One run of the engine for all parameters of a group; then the group lets go of the graph."""
    roots = list(group.get("outputs", ()))
    hooks = []
    try:
        for node, recorded in zip(group["intermediates"], group["grads"]):
            roots += [(GradientEdge(node, i), g) for i, g in enumerate(recorded) if g is not None]
            hooks.append(node.register_prehook(clamp(recorded)))
        if roots:
            backward([edge for edge, _ in roots], [g for _, g in roots], retain_graph=retain_graph,
                     inputs=[GradientEdge(node, 0) for node in group["params"]])
    finally:
        for hook in hooks:
            hook.remove()
    for key in ("intermediates", "grads", "outputs"):
        group.pop(key, None)


def pairs(output, gradient):
    """The tensors in `output` that have a graph, each with its gradient.

    A generator of the module, not a function within `stage_backward`: that would be in a cycle with itself, and hold all
    tensors until the garbage collector comes by.
    """
    if isinstance(output, Tensor):
        if output.requires_grad:
            if not isinstance(gradient, Tensor | None):
                raise mismatch(f"Expected Tensor or None gradient but got {type(gradient).__name__}")
            yield output, gradient
    elif gradient is None:
        return
    elif isinstance(output, (tuple, list)):
        if not isinstance(gradient, (tuple, list)):
            raise mismatch(f"grad_value expected to have type {type(output).__name__} but got {type(gradient).__name__}")
        if len(output) != len(gradient):
            raise mismatch(f"Expected len(output_val) == len(grad_val), got {len(output)} != {len(gradient)}")
        for y, g in zip(output, gradient):
            yield from pairs(y, g)
    elif isinstance(output, dict):
        if not isinstance(gradient, dict):
            raise mismatch(f"grad_value expected to have type dict but got {type(gradient).__name__}: Expected dict")
        if set(output) != set(gradient):
            raise mismatch(f"Expected keys {sorted(output, key=str)}, got {sorted(gradient, key=str)}")
        for key, y in output.items():
            yield from pairs(y, gradient[key])


def mismatch(what):
    return AutogradAssertionError("MG-E230", what, fix="nest the gradients as the outputs are nested, with None "
                                  "for what has none")


def _get_grad_fn_or_grad_acc(t):
    """The node that the gradient of a tensor goes to; None if the tensor requires none.

    Raises:
        RuntimeError: for a leaf while gradients are disabled. Mirrors the function of this name in
            ``torch/distributed/pipelining/_backward.py``.
    """
    if not t.requires_grad:
        return None
    if t.is_leaf and not is_grad_enabled():
        raise AutogradError("MG-E232", "Attempted to get grad_fn, but got None. Is this being created in a no-grad context?",
                            fix="call it outside of no_grad()")
    return get_gradient_edge(t).node


def _null_coalesce_accumulate(lhs, rhs):
    """``lhs + rhs``, where None is nothing. Mirrors the function of this name in torch's file."""
    if lhs is None or rhs is None:
        return rhs if lhs is None else lhs
    return lhs + rhs
