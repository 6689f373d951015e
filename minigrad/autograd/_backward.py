"""`backward` and `grad`: their arguments are checked here, and then one task of the engine runs.

    roots      (node, output number, gradient)      where the task starts      root_edges, root_gradient
    targets    (node, input number)                 where gradients are kept   accumulation_edges, target_edge

``minigrad.autograd`` shows both functions. Other files of this folder import them from here, so that no import goes in a circle.

Mirrors ``torch/autograd/__init__.py``. Read next: ``_core/engine/execute.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad._arguments import listed
from minigrad._core.graph.accumulate_grad import grad_accumulator
from minigrad._core.graph.metadata import Size
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.surface.variable import new_tensor
from minigrad._warnings import warn_once
from minigrad.autograd.graph import (
    GradientEdge,
    _edge,
    _engine_run_backward,  # pyright: ignore[reportAttributeAccessIssue]
    _run_from_tensors,  # pyright: ignore[reportAttributeAccessIssue]
)
from minigrad.creation import zeros
from minigrad.errors import AutogradAssertionError, AutogradError, AutogradTypeError, TensorValueError
from minigrad.ops.shape.cat_split import stack
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["backward", "grad"]


def backward(tensors: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
             grad_tensors: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None,
             create_graph: bool = False, grad_variables: Tensor | Sequence[Tensor | None] | None = None,
             inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = None) -> None:
    """Compute the sum of gradients of given tensors with respect to graph leaves, adding them to ``.grad``.

    Args:
        tensors (Tensor, GradientEdge, or sequence of them): the roots, which are differentiated.
        grad_tensors (Tensor or sequence, optional): the gradient of each root, of the same shape. None is enough for
            a single real number: its gradient is then 1.
        retain_graph (bool, optional): keep what the nodes saved, for a second backward. The default is the value of
            `create_graph`.
        create_graph (bool): record the backward itself, for higher derivatives.
        grad_variables: the old name of `grad_tensors`.
        inputs (sequence of Tensor or GradientEdge, optional): accumulate into these only.

    Raises:
        RuntimeError: a tensor has no graph; a gradient is missing, or of another shape; the graph has been
            freed; a tensor that was saved has been modified since.
        TypeError: a gradient is not a tensor.

    After an error no further node runs. Leaves that were reached before it keep their new ``.grad``.
    Mirrors ``torch.autograd.backward``.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> mg.autograd.backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    if (grad_variables is None and inputs is None and not create_graph
            and _run_from_tensors(tensors, grad_tensors, None, bool(retain_graph), False) is not None):
        return      # a single loss, the usual case: a third of the cost of the checks below
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise AutogradError("MG-E108", "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                                "`backward()`. Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    sources = None if inputs is None else as_inputs(inputs, "backward")
    roots, grads = root_edges(tensors, grad_tensors, "backward", "tensors")
    targets = None if sources is None else accumulation_edges(sources)
    if create_graph:
        warn_of_cycle()
    keep = create_graph if retain_graph is None else bool(retain_graph)
    _engine_run_backward(roots, grads, keep, bool(create_graph), targets, True)


def grad(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
         inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
         grad_outputs: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple[Tensor, ...]:
    """Compute and return the sum of gradients of outputs with respect to the inputs.

    Args:
        outputs (Tensor, GradientEdge, or sequence): the roots, which are differentiated.
        inputs (Tensor, GradientEdge, sequence, or dict): differentiate with respect to these. They are not changed.
        grad_outputs (Tensor or sequence, optional): the gradient of each output, of the same shape. None is enough for
            a single real number: its gradient is then 1.
        retain_graph (bool, optional): keep what the nodes saved. The default is the value of `create_graph`.
        create_graph (bool): record the backward itself, for higher derivatives.
        only_inputs: deprecated and ignored.
        allow_unused (bool, optional): return None, instead of raising, for an input that the outputs do not depend on.
        is_grads_batched (bool): the first dimension of each grad_output is a batch dimension. The results have it too.
        materialize_grads (bool): return zeros instead of None; implies `allow_unused`.

    Returns:
        tuple of Tensor (or a dict with the keys of `inputs`): of the shapes of `inputs`. They may share memory
        with each other: do not write to them.

    Raises:
        RuntimeError: as `backward`; and for an input that requires no gradient or was not used.
        ValueError: `materialize_grads` together with ``allow_unused=False``.

    Mirrors ``torch.autograd.grad``.

    >>> x = mg.tensor(3., requires_grad=True)
    >>> g, = mg.autograd.grad(x ** 3, x, create_graph=True)
    >>> mg.autograd.grad(g, x)
    (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise TensorValueError("MG-E108", "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                               "allow_unused=False.")
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
                      "parts of the graph, please use minigrad.autograd.backward.", FutureWarning, stacklevel=2)
    keys = list(inputs) if type(inputs) is dict else None
    sources = as_inputs(inputs, "grad")
    keep = bool(create_graph if retain_graph is None else retain_graph)
    found = None if is_grads_batched else _run_from_tensors(outputs, grad_outputs, sources, keep, bool(create_graph))
    if found is None:   # the arguments are not the usual ones: check each of them
        targets = [target_edge(x) for x in sources]
        if is_grads_batched:
            found = grad_of_batch(outputs, grad_outputs, sources, retain_graph, create_graph, allow_unused, materialize_grads)
        else:
            roots, grads = root_edges(outputs, grad_outputs, "grad", "outputs")
            found = _engine_run_backward(roots, grads, keep, bool(create_graph), targets, False)
    for i, g in enumerate(found):
        if g is None:
            found[i] = none_or_zeros(sources[i], i, allow_unused or materialize_grads, materialize_grads, create_graph)
    return tuple(found) if keys is None else dict(zip(keys, found))  # pyright: ignore[reportReturnType]


# ---- arguments ------------------------------------------------------------------------------------------


def as_inputs(inputs, function):
    """The `inputs` argument as a list of tensors and edges."""
    if isinstance(inputs, (Tensor, GradientEdge)):
        return [inputs]
    if type(inputs) is dict:
        inputs = inputs.values()
    elif hasattr(inputs, "keys"):
        raise AutogradTypeError("MG-E107", f"{function}(): a mapping of inputs must be a dict, not {type(inputs).__name__}")
    found = listed(inputs, "inputs", function, "Tensor or an iterable of Tensors")
    if not found:
        raise AutogradError("MG-E107", f"`inputs` argument to `{function}()` cannot be empty.",
                            fix="leave it out to compute the gradients of all leaves")
    return found


def accumulation_edges(inputs):
    """The edges that ``backward(inputs=)`` accumulates into. A non-leaf among the inputs retains its gradient from now on."""
    edges = [_edge(x, "all inputs") for x in inputs]
    for x in inputs:
        if isinstance(x, Tensor) and not x.requires_grad:
            raise AutogradError("MG-E107", "can't retain_grad on Tensor that has requires_grad=False",
                                fix="x.requires_grad_() before it is used")
    for x in inputs:                # only after the checks, so that an error changes nothing
        if isinstance(x, Tensor):
            x.retain_grad()
    return [(grad_accumulator(x) if node is None else node, number) for x, (node, number) in zip(inputs, edges)]


def target_edge(x):
    """The edge on which the gradient of `x`, an element of ``grad(inputs=)``, arrives."""
    node, number = _edge(x, "all inputs")
    if isinstance(x, Tensor) and not x.requires_grad:
        raise AutogradError("MG-E107", "One of the differentiated Tensors does not require grad",
                            fix="x.requires_grad_() before it is used")
    if node is None:
        node = grad_accumulator(x)
    return node, number


def none_or_zeros(x, index, allow_unused, materialize, create_graph):
    """Return None or zeros for an element of ``grad(inputs=)`` that no gradient has reached, or raise, as the flags say."""
    if not allow_unused:
        raise AutogradError("MG-E109", f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
                            "Set allow_unused=True if this is the desired behavior.")
    if not materialize:
        return None
    if isinstance(x, GradientEdge):
        raise AutogradError("MG-E109", "materialize_grads cannot be used when the given input is a GradientEdge and no gradient "
                            "arrives: there is no tensor to take the zeros' shape from")
    return zeros(tuple(x.shape), dtype=x.dtype, device=x.device, requires_grad=bool(create_graph))


def root_edges(tensors, gradients, function, name):
    """The roots of a backward as edges, and a checked gradient for each."""
    single = isinstance(tensors, (Tensor, GradientEdge))
    roots = [tensors] if single else listed(tensors, name, function, "Tensor or an iterable of Tensors")
    if not roots:
        raise AutogradError("MG-E107", "'outputs' argument to the backward cannot be empty: no tensor was given")
    if gradients is None:
        given = [None] * len(roots)
    elif isinstance(gradients, Tensor):
        given = [gradients]
    else:
        given = listed(gradients, "grad_" + name, function, "Tensor or an iterable of Tensors")
    if len(given) != len(roots):
        raise AutogradError("MG-E108", f"got {len(roots)} tensors and {len(given)} gradients")
    edges = []
    grads = []
    for i, (root, g) in enumerate(zip(roots, given)):
        if not isinstance(root, (Tensor, GradientEdge)):
            raise AutogradAssertionError("MG-E107", "Expected output to be a Tensor or a GradientEdge, but got "
                                         f"{type(root).__name__} at index {i}", fix="pass a tensor, or a list or tuple of tensors")
        node, number = _edge(root, "roots")
        if node is None:
            node = None if isinstance(root, GradientEdge) else grad_accumulator(root)
            if node is None:
                raise AutogradError("MG-E110", f"element {i} of tensors does not require grad and does not have a grad_fn",
                                    fix="nothing on the way to it required a gradient: set requires_grad=True on the parameters, "
                                        "and do not compute it under no_grad() or through detach()")
        edges.append((node, number))
        grads.append(root_gradient(root, node, number, g, i))
    return edges, grads


def root_gradient(root, node, number, g, index):
    """Check the gradient `g` of a root; if it is None, return 1."""
    meta = root._meta if isinstance(root, Tensor) else node._input_metadata[number]
    if isinstance(root, GradientEdge) and is_no_record(meta):
        raise AutogradError("MG-E191", f"output {number} of {node.name()} has no gradient to start from: it is not a tensor, or "
                            "not differentiable", node=node.name(), fix="start from another output")
    if g is None:
        if not isinstance(root, GradientEdge) and not root.requires_grad:
            return None
        if meta.numel != 1:
            raise AutogradError("MG-E108", "grad can be implicitly created only for scalar outputs",
                                found=f"shape {list(meta.shape)}",
                                fix="reduce it first, for instance with .sum() or .mean(), or pass its gradient: "
                                    "y.backward(mg.ones_like(y))")
        if not meta.dtype.is_floating_point:
            raise AutogradError("MG-E108", "grad can be implicitly created only for real scalar outputs but got "
                                f"minigrad.{meta.dtype.name}", fix="take .real or .abs() first, or pass the gradient")
        return new_tensor(Tensor, meta.backend.kernels.full(meta.shape, 1, meta.dtype.numpy), device=meta.device)
    if not isinstance(g, Tensor):
        raise AutogradTypeError("MG-E108", f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if tuple(g.shape) != meta.shape:
        raise AutogradError("MG-E108", f"Mismatch in shape: grad_output[{index}] has a shape of {g.shape} and "
                            f"output[{index}] has a shape of {Size(meta.shape)}.")
    if g.dtype.is_complex != meta.dtype.is_complex:
        raise AutogradError("MG-E108", f"For complex Tensors, both grad_output and output are required to have the same dtype. "
                            f"Mismatch in dtype: grad_output[{index}] has a dtype of {g.dtype} and output[{index}] has a "
                            f"dtype of {meta.dtype}.")
    return g


def is_no_record(meta):
    """Whether `meta` stands for an output of a custom Function that has no gradient."""
    from minigrad._core.function.node import NO_RECORD  # not at the top: most programs have no custom Function
    return meta is NO_RECORD


def warn_of_cycle():
    warn_once("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
              "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this.", 3)


def grad_of_batch(outputs, grad_outputs, inputs, retain_graph, create_graph, allow_unused, materialize_grads):
    """Call `grad` once per row of the gradients, and stack the results."""
    single = isinstance(outputs, (Tensor, GradientEdge))
    outputs = [outputs] if single else list(outputs)
    gradients = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or ())
    if len(gradients) != len(outputs):
        raise AutogradError("MG-E108", f"got {len(outputs)} tensors and {len(gradients)} gradients")
    for i, (g, y) in enumerate(zip(gradients, outputs)):
        if isinstance(y, GradientEdge):
            node, number = _edge(y, "outputs")
            shape, what = node._input_metadata[number].shape, "Batched grads of another shape are not supported with GradientEdge. "
        else:
            shape, what = tuple(y.shape), ""
        if g.ndim == 0 or tuple(g.shape[1:]) != shape:
            raise AutogradError("MG-E108", f"{what}If `is_grads_batched=True`, we interpret the first dimension of each "
                                "grad_output as the batch dimension. The sizes of the remaining dimensions are expected to match "
                                f"the shape of corresponding output, but a mismatch was detected: grad_output[{i}] has a shape of "
                                f"{Size(g.shape[1:])} and output[{i}] has a shape of {Size(shape)}.")
    n = gradients[0].shape[0]
    keep = create_graph if retain_graph is None else retain_graph
    rows = [grad(outputs, inputs, [g[i] for g in gradients], True if i < n - 1 else keep, create_graph, True, allow_unused, False,
                 materialize_grads) for i in range(n)]
    return [None if column[0] is None else stack(column) for column in zip(*rows)]


# Shown to users as functions of the package: in tracebacks, in the stubs, in pickles.
backward.__module__ = grad.__module__ = "minigrad.autograd"

upcalls.backward = backward
