"""Calling a module, and the hooks around that: forward, and backward.

    forward pre-hook    hook(module, args) -> args or None                        before forward
    forward hook        hook(module, args, output) -> output or None              after it
    backward pre-hook   hook(module, grad_output) -> grad_output or None          when the gradients of the outputs are there
    backward hook       hook(module, grad_input, grad_output) -> ... or None      when those of the inputs are computed

There are tables on each module, and one of each kind for all modules, whose hooks come first. A table maps the number of a handle
to the hook and its options. How the backward hooks get to see gradients stands in ``_backward_hook.py``.

Mirrors ``_call_impl`` and the hooks of ``torch/nn/modules/module.py``.
"""

import warnings
from collections import OrderedDict

from minigrad._core.graph.handle import add_hook
from minigrad.nn.modules._backward_hook import BackwardHook
from minigrad.nn.modules._tree import Tree
from minigrad.tensor import Tensor

__all__ = ["Hooked", "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook"]

# The hooks of all modules.
_forward_pre_hooks, _forward_hooks = OrderedDict(), OrderedDict()
_backward_pre_hooks, _backward_hooks = OrderedDict(), OrderedDict()


class Hooked(Tree):
    """What can be called, with hooks around it."""

    def __init__(self):
        super().__init__()
        self._forward_hooks = OrderedDict()         # handle id -> (hook, with_kwargs, always_call)
        self._forward_pre_hooks = OrderedDict()     # handle id -> (hook, with_kwargs)
        self._backward_hooks = OrderedDict()        # handle id -> (hook,)
        self._backward_pre_hooks = OrderedDict()    # handle id -> (hook,)

    def forward(self, *input):
        """What the module computes. Every subclass has its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or _forward_hooks or _forward_pre_hooks or _backward_hooks or _backward_pre_hooks):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_with_hooks(self, args, kwargs):
        output, called = None, set()
        try:
            backward = [hook for (hook,) in (*_backward_hooks.values(), *self._backward_hooks.values())]
            backward_pre = [hook for (hook,) in (*_backward_pre_hooks.values(), *self._backward_pre_hooks.values())]
            for hook in (*_forward_pre_hooks.values(), *self._forward_pre_hooks.values()):
                args, kwargs = self._prepared(hook, args, kwargs)
            ends = None
            if backward or backward_pre:
                ends = BackwardHook(self, backward, backward_pre)
                args = ends.setup_input_hook(args)
            output = self.forward(*args, **kwargs)
            for number, hook in (*_forward_hooks.items(), *self._forward_hooks.items()):
                called.add(number)
                output = self._call_hook(hook, args, kwargs, output)
            if ends is not None:
                if not isinstance(output, (Tensor, tuple)):
                    warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                                  f"received {type(output)}", stacklevel=3)
                output = ends.setup_output_hook(output)
        except Exception:
            for number, hook in (*_forward_hooks.items(), *self._forward_hooks.items()):
                if hook[2] and number not in called:
                    try:
                        output = self._call_hook(hook, args, kwargs, output)
                    except Exception as error:
                        warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as "
                                      f"another error was raised in forward: {error}", stacklevel=3)
            raise
        return output

    def _prepared(self, hook, args, kwargs):
        """The arguments that a forward pre-hook makes of `args` and `kwargs`."""
        function, with_kwargs = hook
        if not with_kwargs:
            result = function(self, args)
            return args if result is None else result if isinstance(result, tuple) else (result,), kwargs
        result = function(self, args, kwargs)
        if result is None:
            return args, kwargs
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}.")
        return result

    def _call_hook(self, hook, args, kwargs, output):
        """What the forward hook makes of `output`."""
        function, with_kwargs, _ = hook
        result = function(self, args, kwargs, output) if with_kwargs else function(self, args, output)
        return output if result is None else result

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call ``hook(module, args)`` before each forward; what it returns replaces the arguments.

        Args:
            hook (callable): returns None, the new arguments as a tuple, or the one new argument.
            prepend (bool): call it before the hooks that are there.
            with_kwargs (bool): call ``hook(module, args, kwargs)``, which returns None or ``(args, kwargs)``.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        >>> layer = nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(mg.tensor([1.]))
        tensor([2.])
        """
        return registered(self._forward_pre_hooks, hook, prepend, with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call ``hook(module, args, output)`` after each forward; what it returns, if not None, replaces the output.

        Args:
            hook (callable)
            prepend (bool): call it before the hooks that are there.
            with_kwargs (bool): call ``hook(module, args, kwargs, output)``.
            always_call (bool): call it, with the output None, also after forward has raised.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        >>> layer = nn.ReLU()
        >>> with layer.register_forward_hook(lambda module, args, output: output * 10):
        ...     layer(mg.tensor([1.]))
        tensor([10.])
        """
        return registered(self._forward_hooks, hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_output)`` in the backward, when the gradients of the module's outputs have been computed.

        Args:
            hook (callable): gets a tuple with the gradient of each output, None where that is no tensor. What it returns, if
                not None, is a tuple as long and goes on in its place.
            prepend (bool): call it before the hooks that are there. Those of all modules come first nevertheless.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        Raises:
            RuntimeError: in the backward: `hook` has returned another number of gradients.

        The outputs are views made by a custom Function: they cannot be written to in place.

        >>> layer = nn.ReLU()
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
        >>> x = mg.ones(1, requires_grad=True)
        >>> layer(x).backward(); x.grad
        tensor([10.])
        """
        return registered(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_input, grad_output)`` in the backward, when the gradients of the module's inputs are computed.

        Args:
            hook (callable): gets a tuple with the gradient of each positional argument and one of each output, None where
                that is no tensor. What it returns, if not None, is a tuple as long as ``grad_input`` and goes on in its place.
            prepend (bool): call it before the hooks that are there. Those of all modules come first nevertheless.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        Raises:
            RuntimeError: in the backward: `hook` has returned another number of gradients.

        If no argument requires a gradient, it is called with None for each of them when those of the outputs are there, and a
        warning says so. Arguments and outputs are views made by a custom Function: they cannot be written to in place.

        >>> layer = nn.Linear(2, 1, bias=False)
        >>> def show(module, grad_input, grad_output):
        ...     print([tuple(g.shape) for g in grad_input], [tuple(g.shape) for g in grad_output])
        >>> handle = layer.register_full_backward_hook(show)
        >>> layer(mg.ones(3, 2, requires_grad=True)).sum().backward()
        [(3, 2)] [(3, 1)]
        """
        return registered(self._backward_hooks, hook, prepend)


def registered(table, hook, prepend, *options):
    """Put a hook with its options into a table, and return its handle."""
    handle = add_hook(table, hook)
    table[handle.id] = (hook, *options)
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook):
    """Call ``hook(module, args)`` before the forward of every module, before the module's own. For debugging.

    Returns:
        A handle whose ``remove()`` takes the hook away.

    Mirrors ``torch.nn.modules.module.register_module_forward_pre_hook``.

    >>> from minigrad.nn.modules.module import register_module_forward_pre_hook
    >>> with register_module_forward_pre_hook(lambda module, args: print(type(module).__name__)):
    ...     _ = nn.Sequential(nn.ReLU(), nn.Tanh())(mg.ones(1))
    Sequential
    ReLU
    Tanh
    """
    return registered(_forward_pre_hooks, hook, False, False)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call ``hook(module, args, output)`` after the forward of every module, before the module's own. For debugging.

    Args:
        hook (callable): what it returns, if not None, replaces the output.
        with_kwargs (bool): call ``hook(module, args, kwargs, output)``.
        always_call (bool): call it, with the output None, also after forward has raised.

    Returns:
        A handle whose ``remove()`` takes the hook away.

    Mirrors ``torch.nn.modules.module.register_module_forward_hook``.

    >>> from minigrad.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: print(type(module).__name__, output)):
    ...     _ = nn.Sequential(nn.ReLU(), nn.Flatten())(mg.ones(1, 1))
    ReLU tensor([[1.]])
    Flatten tensor([[1.]])
    Sequential tensor([[1.]])
    """
    return registered(_forward_hooks, hook, False, with_kwargs, always_call)


def register_module_full_backward_pre_hook(hook):
    """Call ``hook(module, grad_output)`` in the backward of every module: see `Module.register_full_backward_pre_hook`.

    Returns:
        A handle whose ``remove()`` takes the hook away.

    Mirrors ``torch.nn.modules.module.register_module_full_backward_pre_hook``.

    >>> from minigrad.nn.modules.module import register_module_full_backward_pre_hook
    >>> with register_module_full_backward_pre_hook(lambda module, grad_output: print(type(module).__name__, grad_output)):
    ...     y = nn.ReLU()(mg.ones(1, requires_grad=True))
    >>> y.backward()
    ReLU (tensor([1.]),)
    """
    return registered(_backward_pre_hooks, hook, False)


def register_module_full_backward_hook(hook):
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module: see `Module.register_full_backward_hook`.

    Returns:
        A handle whose ``remove()`` takes the hook away.

    Mirrors ``torch.nn.modules.module.register_module_full_backward_hook``.

    >>> from minigrad.nn.modules.module import register_module_full_backward_hook
    >>> with register_module_full_backward_hook(lambda module, grad_input, grad_output: print(type(module).__name__, grad_input)):
    ...     y = nn.Sequential(nn.ReLU(), nn.Flatten())(mg.ones(1, 1, requires_grad=True))
    >>> y.sum().backward()
    Flatten (tensor([[1.]]),)
    ReLU (tensor([[1.]]),)
    Sequential (tensor([[1.]]),)
    """
    return registered(_backward_hooks, hook, False)
