"""How a module's backward hooks see the gradients of its inputs and outputs.

A module is no node: it is a stretch of the graph between its inputs and its outputs. To look at what passes through both ends,
each end gets a node of its own, a custom Function that changes nothing:

    inputs --> identity --> forward --> identity --> outputs
                  |                        |
                  |                        post-hook: keeps grad_output, calls the pre-hooks
                  post-hook: calls the hooks with grad_input and the grad_output that was kept

The hooks are post-hooks of these nodes, so what they return goes on instead of the gradients. Inputs and outputs that are no
tensors pass by, and have None as their gradient; and if no input requires a gradient, so that there is no node in front, the
hooks are called at the outputs.

Mirrors BackwardHook of ``torch/utils/hooks.py``.
"""

import warnings

from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor

__all__ = ["BackwardHook"]


class BackwardHookFunction(Function):
    """Its arguments, unchanged: a node for what passes here. Mirrors ``torch.nn.modules._functions.BackwardHookFunction``."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *grads):
        return grads


class BackwardHook:
    """The backward hooks of one call of a module. Mirrors ``torch.utils.hooks.BackwardHook``.

    Args:
        module (Module): what hooks are called with.
        user_hooks (list): called as ``hook(module, grad_input, grad_output)``.
        user_pre_hooks (list): called as ``hook(module, grad_output)``.

    >>> from minigrad.utils.hooks import BackwardHook
    >>> hook = BackwardHook(None, [lambda module, grad_input, grad_output: print(grad_input, grad_output)], [])
    >>> x, = hook.setup_input_hook((mg.ones(1, requires_grad=True),))
    >>> y = hook.setup_output_hook(x * 3)
    >>> y.backward()
    (tensor([3.]),) (tensor([1.]),)
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None            # between the two ends
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index = None     # which inputs are tensors; None: none of them requires a gradient
        self.output_tensors_index = None

    def setup_input_hook(self, args):
        """The arguments of the module, a tuple, with the tensors among them led through a node."""
        self.n_inputs = len(args)
        args, node, self.input_tensors_index = through_a_node(args)
        if node is not None:
            node.register_hook(self.at_the_inputs)
        return args

    def setup_output_hook(self, result):
        """What the module returned, led through a node: a tensor, a tuple, or anything else, which stays as it is."""
        single = not isinstance(result, tuple)
        values = (result,) if single else result
        self.n_outputs = len(values)
        values, node, self.output_tensors_index = through_a_node(values)
        if node is not None:
            node.register_hook(self.at_the_outputs)
        return values[0] if single else values

    def at_the_outputs(self, _, grad_outputs):
        """Keep the gradients of the outputs, after the pre-hooks: what reached the node, so that None stays None."""
        index = self.output_tensors_index or ()
        grads = spread(index, grad_outputs, self.n_outputs)
        for hook in self.user_pre_hooks:
            grads = replaced(grads, hook(self.module, grads), "pre hook", "grad_output")
        if self.input_tensors_index is not None:
            self.grad_outputs = grads
        else:
            warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no "
                          "inputs require gradients: grad_input is None for each of them.", stacklevel=2)
            for hook in self.user_hooks:
                result = hook(self.module, (None,) * self.n_inputs, grads)
                if result is not None and not (isinstance(result, tuple) and all(grad is None for grad in result)):
                    raise AutogradError("MG-E245", f"{name_of(hook)}: Backward hook for Modules where no input requires gradient "
                                        "should always return None or None for all gradients.")
        return tuple([grads[i] for i in index])

    def at_the_inputs(self, grad_inputs, _):
        """Call the hooks."""
        if self.grad_outputs is None:       # the gradient came here by another way, as a second derivative does
            return None
        index = self.input_tensors_index or ()
        grads = spread(index, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            grads = replaced(grads, hook(self.module, grads, self.grad_outputs), "hook", "grad_input")
        self.grad_outputs = None
        return tuple([grads[i] for i in index])


def through_a_node(values):
    """`values` with the tensors led through a `BackwardHookFunction`; its node; and where tensors are.

    The node and the places are None, and the values as they were, if no tensor requires a gradient or none are recorded.
    """
    index = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any(values[i].requires_grad for i in index)):
        return values, None, None
    led = BackwardHookFunction.apply(*[values[i] for i in index])
    node = next(value.grad_fn for value in led if value.grad_fn is not None)
    changed = list(values)
    for i, value in zip(index, led):
        changed[i] = value
    return tuple(changed) if type(values) is tuple else type(values)(*changed), node, index


def spread(index, grads, size):
    """The gradients of tensors in their places among `size` values; None for the others."""
    places = [None] * size
    for i, grad in zip(index, grads):
        places[i] = grad
    return tuple(places)


def replaced(grads, result, kind, what):
    """`result` in the place of `grads`, if it is not None and there are as many."""
    if result is None:
        return grads
    found = len(result) if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
    if found != len(grads):
        raise AutogradError("MG-E245", f"Backward {kind} returned an invalid number of {what}, got {found}, but expected "
                            f"{len(grads)}",
                            fix=f"return a tuple with one entry for each {what.removeprefix('grad_')}, or None")
    return tuple(result)


def name_of(hook):
    return getattr(hook, "__name__", type(hook).__name__)
