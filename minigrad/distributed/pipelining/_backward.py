"""The backward of a pipeline stage, whole or in two halves: B = I + W.

A stage is a part of a model. Its backward gets the gradients of its outputs and computes two things: the gradients of its
inputs (dX) and the gradients of its parameters (dW). The stage before waits for dX. Only the optimizer's step needs dW.
`stage_backward` (B) computes both. To pass dX on as early as possible, we split B into two halves:

    x --> [ * w1 ] --> relu --> [ * w2 ] --> y          the forward of a stage

    B     dX  <--o<------ relu <------o<-- dY           all nodes run
                 |                    |
                dw1                  dw2

    I     dX  <--o<------ relu <------o<-- dY           only nodes that lead to x run; each o is an *intermediate*:
                g1                   g2                 its pre-hook records the gradient that arrives, g1 or g2

    W            o<-- g1              o<-- g2           later, in any order: the engine starts again at each o, with
                 |                    |                 the recorded gradient, and only nodes that lead to w1 or w2
                dw1                  dw2                run

`stage_backward_input` (I) returns dX and the *groups* of parameters (``_groups.py``), which hold the intermediates and the
recorded gradients. `stage_backward_weight` (W) takes the groups. While a stage waits for another stage, it runs its Ws.

The engine has no code for pipelines. This file uses the edges of nodes, pre-hooks, `GradientEdge` as start and end of a run,
``autograd.grad`` and ``autograd.backward``. After I, nodes that W will not run, such as relu, drop what they have saved
(`release_nodes`): the paper counts on this memory.

Invariant: for every graph, I and W leave the same ``.grad`` as B. Therefore

  * W *clamps* each intermediate: a pre-hook replaces the arriving gradient by the one that I recorded. A weight may be used twice,
    w -> o1 and w -> o2. If o1 leads to o2, the run that starts at both also passes from o1 to o2, but g2 has that part already.
  * no group's run frees a node that another group needs (`unite_dependent_groups`).
  * an output that depends on no input, such as a penalty on the weights, waits for W in the groups, with its gradient.

Mirrors ``torch/distributed/pipelining/_backward.py``. The split is from P. Qi, X. Wan, G. Huang, M. Lin, Zero Bubble Pipeline
Parallelism, 2023, arXiv:2401.10241. There, the half for the inputs is called B. Read before: ``_groups.py``.
"""

from minigrad._core.engine.node_call import release_nodes
from minigrad.autograd import backward, grad
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.autograd.graph import GradientEdge, get_gradient_edge
from minigrad.creation import ones_like
from minigrad.distributed.pipelining._debug import stage_error
from minigrad.distributed.pipelining._groups import (
    construct_reverse_graph,
    get_param_groups,
    join_params,
    nodes_below,
    reverse_closure,
    unite_dependent_groups,
)
from minigrad.errors import AutogradAssertionError, AutogradError
from minigrad.tensor import Tensor

__all__ = ["construct_reverse_graph", "get_param_groups", "reverse_closure", "stage_backward", "stage_backward_input",
           "stage_backward_weight"]


def stage_backward(stage_output, output_grads, input_values, outputs_with_grads_idxs=None):
    """Compute the gradients of a stage's inputs, and accumulate the gradients of its parameters: one B.

    Args:
        stage_output: a tensor, or tensors in nested lists, tuples and dicts. Tensors that require no gradient are skipped.
        output_grads: their gradients, nested in the same way. None stands for the gradient of a loss, or for no gradient.
        input_values (list): the stage's inputs. Tensors among them are leaves, or retain their gradient.
        outputs_with_grads_idxs (list of int, optional): deprecated. If given, only these elements of both lists count.

    Returns:
        tuple: the gradient of each input, or None. The ``.grad`` of the inputs is None afterwards, so that the gradients of two
        microbatches are not added.

    Raises:
        RuntimeError: the backward failed. The message has the shapes of all three arguments, and ``__cause__`` is the first error.

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
        found = list(match_gradients(stage_output, output_grads))
        if found:
            backward([y for y, _ in found], [g for _, g in found])
        gradients = []
        for x in input_values:
            gradients.append(x.grad if isinstance(x, Tensor) else None)
            if isinstance(x, Tensor):
                x.grad = None
        return tuple(gradients)
    except Exception as error:
        raise stage_error("stage backward", stage_output, output_grads, input_values) from error


def stage_backward_input(stage_outputs_or_loss, output_grads, input_values, weights):
    """Compute only the gradients of a stage's inputs, and keep what the gradients of its weights need: one I.

    Args:
        stage_outputs_or_loss (list or tuple of Tensor): the outputs, or a list with the loss. Outputs that require no gradient are
            skipped.
        output_grads (list of Tensor or None): the gradient of each output; None for ones everywhere.
        input_values (list): the stage's inputs. No weight may lie behind one of them.
        weights (iterable of Parameter): the stage's parameters. Their ``.grad`` is left alone.

    Returns:
        tuple: the gradient of each input, or None; and the groups for `stage_backward_weight`. A group is a dict with the set
        ``"params"`` of accumulators, the list ``"intermediates"`` of nodes, and the list ``"grads"`` with the tuple of gradients
        that arrived at each of them. If outputs depend on no input, their group has a list ``"outputs"`` of edges and gradients.

    The gradient of an input also goes to its ``.grad``: if that is None, it becomes this tensor; otherwise the sum, out of place.
    The tensors in the groups may share memory with the returned ones: do not write to them before W.

    The nodes that W does not need drop what they have saved, so another backward through them is an error. The outputs are
    detached, so that the nodes above the last intermediates are freed; leaves, views, and outputs that other nodes of the stage
    have used stay attached.

    Raises:
        RuntimeError: the backward failed. The message has the shapes of the arguments, and ``__cause__`` is the first error. All
            hooks are removed.

    Mirrors ``stage_backward_input`` of ``torch/distributed/pipelining/_backward.py``, and B of arXiv:2401.10241. For outputs
    that depend on no input, PyTorch computes no gradients of weights; and it keeps what the nodes between two intermediates have
    saved. Hooks on the output of an intermediate run again in W, but do not change the gradients.

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
        nodes = [_get_grad_fn_or_grad_acc(x) for x in inputs]
        closure, _ = reverse_closure(nodes, (), above)
        groups = make_groups(nodes, closure, weights, outputs, roots, above)
        for group in groups:
            for i, node in enumerate(group["intermediates"]):
                hooks.append(node.register_prehook(make_recorder(group["grads"], i)))
        found = [None] * len(inputs)
        if inputs and outputs:
            found = grad([y for y, _ in outputs], inputs, [g for _, g in outputs], retain_graph=True, allow_unused=True)
        # An input that is listed twice gets its gradient once.
        for x, g in {id(x): (x, g) for x, g in zip(inputs, found) if g is not None}.values():
            x.grad = g if x.grad is None else x.grad + g        # the groups may hold either
        release_nodes(closure - nodes_of_w(groups, above))
        for (y, _), node in zip(outputs, roots):
            # A node that has saved y needs its history.
            if y.grad_fn is not None and not above.get(node) and not y._is_view():
                y.detach_()
        remaining = iter(found)
        return tuple([next(remaining) if isinstance(x, Tensor) and x.requires_grad else None for x in input_values]), groups
    except Exception as error:
        raise stage_error("stage backward input", stage_outputs_or_loss, output_grads, input_values) from error
    finally:
        for hook in hooks:
            hook.remove()


def stage_backward_weight(weights, param_groups, retain_graph=False):
    """Accumulate the gradients of a stage's weights, from the groups of `stage_backward_input`: one W.

    Args:
        weights (iterable of Parameter): the weights that `stage_backward_input` got, or more.
        param_groups (list of dict): the groups that it returned, all or some, in any order. Afterwards a group has only
            ``"params"``.
        retain_graph (bool): keep the saved tensors of the nodes between intermediates and weights.

    Returns:
        tuple: each ``weight.grad`` as it was *before*, as in PyTorch. The new gradients are in ``weight.grad``.

    Raises:
        RuntimeError: a group has been used before, or has a parameter that is not among `weights`; then nothing has run. Or an
            error of ``autograd.backward``; then the group is unchanged.

    Mirrors ``stage_backward_weight`` of ``torch/distributed/pipelining/_backward.py``, and W of arXiv:2401.10241. Unlike
    PyTorch's, it runs the post-accumulate-grad hooks of the weights.

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


def make_groups(input_nodes, closure, weights, outputs, roots, above):
    """Make the groups of `stage_backward_input`, with an empty place for each gradient that will arrive."""
    inputs = set(input_nodes)
    # If a weight is an input too, I computes its gradient.
    params = [node for node in map(_get_grad_fn_or_grad_acc, weights) if node is not None and node not in inputs]
    groups = unite_dependent_groups(join_params(params, closure, set(roots) - closure, above), closure, roots, above)
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


def nodes_of_w(groups, above):
    """Return the nodes between the inputs and the outputs that W will run.

    These are the intermediates, and, in a group of several, the nodes by which a run passes from one to another.
    """
    found = set()
    for group in groups:
        joints = group["intermediates"]
        found.update(joints)
        if len(joints) > 1:
            found |= nodes_below(joints) & reverse_closure(group["params"], (), above)[0]
    return found


def make_recorder(grads, i):
    """Make a pre-hook that records the arriving gradients in the list `grads`.

    It does not refer to the group: the group refers to the node, and the node to the hook.
    """
    def record(arrived):
        grads[i] = arrived
    return record


def make_clamp(recorded):
    """Make a pre-hook that replaces the arriving gradients by the recorded ones."""
    return lambda arrived: recorded


def run_group(group, retain_graph):
    """Run the engine once for all parameters of a group. Then drop the group's references to the graph."""
    roots = list(group.get("outputs", ()))
    hooks = []
    try:
        for node, recorded in zip(group["intermediates"], group["grads"]):
            roots += [(GradientEdge(node, i), g) for i, g in enumerate(recorded) if g is not None]
            hooks.append(node.register_prehook(make_clamp(recorded)))
        if roots:
            backward([edge for edge, _ in roots], [g for _, g in roots], retain_graph=retain_graph,
                     inputs=[GradientEdge(node, 0) for node in group["params"]])
    finally:
        for hook in hooks:
            hook.remove()
    for key in ("intermediates", "grads", "outputs"):
        group.pop(key, None)


def match_gradients(output, gradient):
    """Yield each tensor of `output` that requires a gradient, with its gradient.

    This is no function inside `stage_backward`: it calls itself, so it would be in a reference cycle, which keeps all tensors until
    the garbage collector runs.
    """
    if isinstance(output, Tensor):
        if output.requires_grad:
            if not isinstance(gradient, Tensor | None):
                raise nesting_error(f"Expected Tensor or None gradient but got {type(gradient).__name__}")
            yield output, gradient
    elif gradient is None:
        return
    elif isinstance(output, (tuple, list)):
        if not isinstance(gradient, (tuple, list)):
            raise nesting_error(f"grad_value expected to have type {type(output).__name__} but got {type(gradient).__name__}")
        if len(output) != len(gradient):
            raise nesting_error(f"Expected len(output_val) == len(grad_val), got {len(output)} != {len(gradient)}")
        for y, g in zip(output, gradient):
            yield from match_gradients(y, g)
    elif isinstance(output, dict):
        if not isinstance(gradient, dict):
            raise nesting_error(f"grad_value expected to have type dict but got {type(gradient).__name__}: Expected dict")
        if set(output) != set(gradient):
            raise nesting_error(f"Expected keys {sorted(output, key=str)}, got {sorted(gradient, key=str)}")
        for key, y in output.items():
            yield from match_gradients(y, gradient[key])


def nesting_error(what):
    """Return the error for gradients that are not nested like the outputs."""
    return AutogradAssertionError("MG-E230", what, fix="nest the gradients as the outputs are nested, with None "
                                  "for what has none")


def _get_grad_fn_or_grad_acc(t):
    """Return the node that receives the gradient of a tensor, or None if the tensor requires none.

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
    """Return ``lhs + rhs``; if one is None, the other. Mirrors the function of this name in torch's file."""
    if lhs is None or rhs is None:
        return rhs if lhs is None else lhs
    return lhs + rhs
