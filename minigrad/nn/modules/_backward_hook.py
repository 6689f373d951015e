"""How a module's backward hooks see the gradients of its inputs and outputs.

A module is not a node: it is the part of the graph between its inputs and its outputs. To see the gradients at both ends, we put a
node at each end, a custom Function that changes nothing:

    inputs --> identity --> forward --> identity --> outputs
                  |                        |
                  |                        post-hook: calls the pre-hooks, stores grad_output
                  post-hook: calls the hooks with grad_input and the stored grad_output

The hooks run in post-hooks of these nodes, so their results replace the gradients. Inputs and outputs that are not tensors bypass
the nodes, and their gradient is None. If no input requires a gradient, no node is at the inputs: the hooks run at the outputs.

Mirrors BackwardHook of ``torch/utils/hooks.py``.
"""

import warnings

from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor

__all__ = ["BackwardHook"]


class BackwardHookFunction(Function):
    """The identity, as a node of the graph. Mirrors ``torch.nn.modules._functions.BackwardHookFunction``."""

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
        module (Module): the first argument of the hooks.
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
        self.grad_outputs = None            # set at the outputs, used and reset at the inputs
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index = None     # positions of the tensors; None if no input requires a gradient
        self.output_tensors_index = None

    def setup_input_hook(self, args):
        """Return `args`, the tuple of the module's arguments, with its tensors passed through a node."""
        self.n_inputs = len(args)
        args, node, self.input_tensors_index = apply_identity(args)
        if node is not None:
            node.register_hook(self.call_hooks_at_inputs)
        return args

    def setup_output_hook(self, result):
        """Return `result`, a tensor or a tuple, with its tensors passed through a node. Another `result` stays as it is."""
        single = not isinstance(result, tuple)
        values = (result,) if single else result
        self.n_outputs = len(values)
        values, node, self.output_tensors_index = apply_identity(values)
        if node is not None:
            node.register_hook(self.call_hooks_at_outputs)
        return values[0] if single else values

    def call_hooks_at_outputs(self, _, grad_outputs):
        """Call the pre-hooks, and store the gradients of the outputs for the hooks. An undefined gradient stays None."""
        index = self.output_tensors_index or ()
        grads = scatter(index, grad_outputs, self.n_outputs)
        for hook in self.user_pre_hooks:
            grads = replace_gradients(grads, hook(self.module, grads), "pre hook", "grad_output")
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

    def call_hooks_at_inputs(self, grad_inputs, _):
        """Call the hooks with the gradients of the inputs and the stored gradients of the outputs."""
        if self.grad_outputs is None:       # the gradient did not pass the outputs, as in a second derivative
            return None
        index = self.input_tensors_index or ()
        grads = scatter(index, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            grads = replace_gradients(grads, hook(self.module, grads, self.grad_outputs), "hook", "grad_input")
        self.grad_outputs = None
        return tuple([grads[i] for i in index])


def apply_identity(values):
    """Pass the tensors among `values` through a `BackwardHookFunction`. Return (new values, its node, positions of the tensors).

    If no tensor requires a gradient, or gradients are disabled, return (`values`, None, None).
    """
    index = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any(values[i].requires_grad for i in index)):
        return values, None, None
    tensors = BackwardHookFunction.apply(*[values[i] for i in index])
    node = next(tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None)
    changed = list(values)
    for i, tensor in zip(index, tensors):
        changed[i] = tensor
    return tuple(changed) if type(values) is tuple else type(values)(*changed), node, index


def scatter(index, grads, size):
    """Return a tuple of length `size` with `grads` at the positions `index`, and None at the others."""
    scattered = [None] * size
    for i, grad in zip(index, grads):
        scattered[i] = grad
    return tuple(scattered)


def replace_gradients(grads, result, kind, what):
    """Return `result`, what a hook returned, or `grads` if it is None; raise unless both have the same length."""
    if result is None:
        return grads
    found = len(result) if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
    if found != len(grads):
        raise AutogradError("MG-E245", f"Backward {kind} returned an invalid number of {what}, got {found}, but expected "
                            f"{len(grads)}",
                            fix=f"return a tuple with one entry for each {what.removeprefix('grad_')}, or None")
    return tuple(result)


def name_of(hook):
    """The name of a hook, for messages."""
    return getattr(hook, "__name__", type(hook).__name__)
