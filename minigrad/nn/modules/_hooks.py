"""Hooks around the call of a module: in the forward and in the backward.

    forward pre-hook    hook(module, args) -> args or None                            before forward
    forward hook        hook(module, args, output) -> output or None                  after forward
    backward pre-hook   hook(module, grad_output) -> grad_output or None              when the gradients of the outputs are known
    backward hook       hook(module, grad_input, grad_output) -> grad_input or None   when the gradients of the inputs are known

Each module has one table per kind. Four tables of this file serve all modules, and their hooks run first. Three further tables have
hooks on the registration of parameters, buffers and modules. A table maps the id of a
handle to the hook, as in PyTorch, so programs may read and clear it. Few hooks have options (``with_kwargs``, ``always_call``). The
ids of these hooks are in further tables, which a module gets with its first such hook. ``_backward_hook.py`` explains how the
backward hooks see gradients.

Mirrors ``_call_impl`` and the hooks of ``torch/nn/modules/module.py``. Read next: ``_backward_hook.py``.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING

from minigrad._core.graph.handle import RemovableHandle, add_hook
from minigrad.nn.modules._backward_hook import BackwardHook
from minigrad.ops.base.arguments import truth
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from minigrad.nn.modules.module import Module

# The hooks of all modules.
_forward_pre_hooks, _forward_hooks = OrderedDict(), OrderedDict()
_backward_pre_hooks, _backward_hooks = OrderedDict(), OrderedDict()
# The ids of those that have options.
_forward_pre_hooks_with_kwargs, _forward_hooks_with_kwargs = OrderedDict(), OrderedDict()
_forward_hooks_always_called = OrderedDict()
# Whether the backward hooks of all modules are full ones; it has no meaning while there are none.
_kind = {"full": True}
# Hooks on the registration of parameters, buffers and modules.
_parameter_registration_hooks, _buffer_registration_hooks, _module_registration_hooks = OrderedDict(), OrderedDict(), OrderedDict()


# ---- the call: `Module.__call__` comes here if there is a hook --------------------------------------------------


def call_with_hooks(module, args, kwargs):
    """Return ``module.forward(*args, **kwargs)`` with all hooks around it."""
    output, called = None, set()
    try:
        backward_pre = [*_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        backward, partial = [], []      # full hooks, and those of `register_backward_hook`
        (backward if _kind["full"] else partial).extend(_backward_hooks.values())
        (partial if module._is_full_backward_hook is False else backward).extend(module._backward_hooks.values())
        for number, hook in (*_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            with_kwargs = number in _forward_pre_hooks_with_kwargs or number in module._forward_pre_hooks_with_kwargs
            args, kwargs = call_forward_pre_hook(hook, with_kwargs, module, args, kwargs)
        ends = None
        if backward or backward_pre:
            ends = BackwardHook(module, backward, backward_pre)
            args = ends.setup_input_hook(args)
        output = module.forward(*args, **kwargs)
        for number, hook in (*_forward_hooks.items(), *module._forward_hooks.items()):
            called.add(number)
            output = call_forward_hook(number, hook, module, args, kwargs, output)
        if ends is not None:
            if not isinstance(output, (Tensor, tuple)):
                warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                              f"received {type(output)}", stacklevel=3)
            output = ends.setup_output_hook(output)
        if partial:
            hook_last_node(module, partial, args, output)
    except Exception:
        for number, hook in (*_forward_hooks.items(), *module._forward_hooks.items()):
            always_call = number in _forward_hooks_always_called or number in module._forward_hooks_always_called
            if always_call and number not in called:
                try:
                    output = call_forward_hook(number, hook, module, args, kwargs, output)
                except Exception as error:
                    warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as "
                                  f"another error was raised in forward: {error}", stacklevel=3)
        raise
    return output


def call_forward_pre_hook(hook, with_kwargs, module, args, kwargs):
    """Call a forward pre-hook, and return the arguments for forward: the old ones or those that the hook returned."""
    if not with_kwargs:
        result = hook(module, args)
        return args if result is None else result if isinstance(result, tuple) else (result,), kwargs
    result = hook(module, args, kwargs)
    if result is None:
        return args, kwargs
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}.")
    return result


def call_forward_hook(number, hook, module, args, kwargs, output):
    """Call a forward hook, and return the output: the old one or what the hook returned."""
    with_kwargs = number in _forward_hooks_with_kwargs or number in module._forward_hooks_with_kwargs
    result = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
    return output if result is None else result


def hook_last_node(module, hooks, args, output):
    """Register the hooks of `register_backward_hook` at the node that made `output`, or its first tensor."""
    first: Any = output
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next((part for part in first.values() if isinstance(part, Tensor)), None)
        elif isinstance(first, (tuple, list)) and first:
            first = first[0]
        else:
            return      # there is no tensor, so no node
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grad_input, grad_output, hook=hook: hook(module, grad_input, grad_output))
    outputs = output if isinstance(output, tuple) else (output,)
    tensors = all(isinstance(part, Tensor) for part in (*args, *outputs))
    sources = {part.grad_fn for part in args if isinstance(part, Tensor) and part.grad_fn is not None}
    direct = tensors and all(part.grad_fn is node for part in outputs)
    if not direct or sources != {previous for previous, _ in node.next_functions}:
        warnings.warn("Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be "
                      "removed in future versions. This hook will be missing some grad_input. Please use "
                      "register_full_backward_hook to get the documented behavior.", FutureWarning, stacklevel=4)


# ---- hooks of one module: methods of `Module` -------------------------------------------------------------------


def register_forward_pre_hook(module: Module, hook: Callable[..., Any], *, prepend: bool = False,
                              with_kwargs: bool = False) -> RemovableHandle:
    """Call ``hook(module, args)`` before each forward. What it returns replaces the arguments.

    Args:
        hook (callable): returns None, a tuple with the new arguments, or a single new argument.
        prepend (bool): call it before the hooks that the module already has.
        with_kwargs (bool): call ``hook(module, args, kwargs)`` instead, which returns None or ``(args, kwargs)``.

    Returns:
        A handle whose ``remove()`` removes the hook.

    >>> layer = nn.ReLU()
    >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    >>> layer(mg.tensor([1.]))
    tensor([2.])
    """
    return register(module, "_forward_pre_hooks", hook, prepend, _forward_pre_hooks_with_kwargs=with_kwargs)


def register_forward_hook(module: Module, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
                          always_call: bool = False) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after each forward. What it returns replaces the output.

    Args:
        hook (callable): returns None or the new output.
        prepend (bool): call it before the hooks that the module already has.
        with_kwargs (bool): call ``hook(module, args, kwargs, output)`` instead.
        always_call (bool): call it also if forward raises; the output is then None.

    Returns:
        A handle whose ``remove()`` removes the hook.

    >>> layer = nn.ReLU()
    >>> with layer.register_forward_hook(lambda module, args, output: output * 10):
    ...     layer(mg.tensor([1.]))
    tensor([10.])
    """
    return register(module, "_forward_hooks", hook, prepend, _forward_hooks_with_kwargs=with_kwargs,
                    _forward_hooks_always_called=always_call)


def register_full_backward_pre_hook(module: Module, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` in the backward, when the gradients of the module's outputs have been computed.

    Args:
        hook (callable): gets a tuple with the gradient of each output, or None for an output that is not a tensor. It returns
            None or a tuple of the same length, which replaces the gradients.
        prepend (bool): call it before the hooks that the module already has. The hooks of all modules still run first.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Raises:
        RuntimeError: in the backward: `hook` has returned the wrong number of gradients.

    The outputs become views that a custom Function made: you cannot write to them in place.

    >>> layer = nn.ReLU()
    >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
    >>> x = mg.ones(1, requires_grad=True)
    >>> layer(x).backward(); x.grad
    tensor([10.])
    """
    return register(module, "_backward_pre_hooks", hook, prepend)


def register_full_backward_hook(module: Module, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in the backward, when the gradients of the module's inputs are computed.

    Args:
        hook (callable): gets two tuples: the gradient of each positional argument and of each output, with None for a value that
            is not a tensor. It returns None or a tuple of the same length as ``grad_input``, which replaces that one.
        prepend (bool): call it before the hooks that the module already has. The hooks of all modules still run first.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Raises:
        RuntimeError: in the backward: `hook` has returned the wrong number of gradients.

    If no argument requires a gradient, the hook runs when the gradients of the outputs are known. Its ``grad_input`` is then a
    tuple of None, and a warning says so. Arguments and outputs become views that a custom Function made: you cannot write to them
    in place.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> def show(module, grad_input, grad_output):
    ...     print([tuple(g.shape) for g in grad_input], [tuple(g.shape) for g in grad_output])
    >>> handle = layer.register_full_backward_hook(show)
    >>> layer(mg.ones(3, 2, requires_grad=True)).sum().backward()
    [(3, 2)] [(3, 1)]
    """
    choose_kind(module, True)
    return register(module, "_backward_hooks", hook, prepend)


def register_backward_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Deprecated: use `register_full_backward_hook`. Call ``hook(module, grad_input, grad_output)`` at the last node of forward.

    The gradients are those of the node that made the output. They are the gradients of the module's inputs only if forward is a
    single op, whose inputs are the inputs of the module. Otherwise, and if an input is a leaf, a warning says so.

    Args:
        hook (callable): returns None, or a tuple that replaces ``grad_input``.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Raises:
        RuntimeError: the module has a full backward hook.

    >>> layer = nn.ReLU()
    >>> handle = layer.register_backward_hook(lambda module, grad_input, grad_output: print(grad_input, grad_output))
    >>> layer(mg.ones(1, requires_grad=True) * 1).backward()
    (tensor([1.]),) (tensor([1.]),)
    """
    choose_kind(module, False)
    return register(module, "_backward_hooks", hook, False)


def choose_kind(module, full):
    """Record that the backward hooks of a module are `full` or not; raise if it has hooks of the other kind."""
    if module._is_full_backward_hook is (not full):
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one "
                           "of them: call register_full_backward_hook for all.")
    module.__dict__["_is_full_backward_hook"] = full


def register(module, table, hook, prepend, **options):
    """Put a hook into a module's table of that name, and return its handle. Each true option names a table for the hook's id."""
    chosen = []
    for name, wanted in options.items():
        if wanted:
            chosen.append(module.__dict__.setdefault(name, OrderedDict()))
    return add(getattr(module, table), hook, prepend, chosen)


def add(table, hook, prepend=False, option_tables=()):
    """Put a hook into `table`, and its id into `option_tables`. Return its handle, which removes it from all of them."""
    handle = add_hook(table, hook)
    if option_tables:
        del table[handle.id]
        handle = RemovableHandle(table, extra_dict=list(option_tables))
        table[handle.id] = hook
        for options in option_tables:
            options[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


# ---- hooks of all modules: functions of `minigrad.nn.modules.module` ---------------------------------------------


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module, and before the module's own hooks. For debugging.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Mirrors ``torch.nn.modules.module.register_module_forward_pre_hook``.

    >>> from minigrad.nn.modules.module import register_module_forward_pre_hook
    >>> with register_module_forward_pre_hook(lambda module, args: print(type(module).__name__)):
    ...     _ = nn.Sequential(nn.ReLU(), nn.Tanh())(mg.ones(1))
    Sequential
    ReLU
    Tanh
    """
    return add(_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module, and before the module's own hooks. For debugging.

    Args:
        hook (callable): returns None or the new output.
        with_kwargs (bool): call ``hook(module, args, kwargs, output)`` instead.
        always_call (bool): call it also if forward raises; the output is then None.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Mirrors ``torch.nn.modules.module.register_module_forward_hook``.

    >>> from minigrad.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: print(type(module).__name__, output)):
    ...     _ = nn.Sequential(nn.ReLU(), nn.Flatten())(mg.ones(1, 1))
    ReLU tensor([[1.]])
    Flatten tensor([[1.]])
    Sequential tensor([[1.]])
    """
    with_kwargs = truth(with_kwargs, "with_kwargs", "register_module_forward_hook")
    always_call = truth(always_call, "always_call", "register_module_forward_hook")
    options = [_forward_hooks_with_kwargs] * bool(with_kwargs) + [_forward_hooks_always_called] * bool(always_call)
    return add(_forward_hooks, hook, False, options)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` in the backward of every module: see `Module.register_full_backward_pre_hook`.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Mirrors ``torch.nn.modules.module.register_module_full_backward_pre_hook``.

    >>> from minigrad.nn.modules.module import register_module_full_backward_pre_hook
    >>> with register_module_full_backward_pre_hook(lambda module, grad_output: print(type(module).__name__, grad_output)):
    ...     y = nn.ReLU()(mg.ones(1, requires_grad=True))
    >>> y.backward()
    ReLU (tensor([1.]),)
    """
    return add(_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module: see `Module.register_full_backward_hook`.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Mirrors ``torch.nn.modules.module.register_module_full_backward_hook``.

    >>> from minigrad.nn.modules.module import register_module_full_backward_hook
    >>> with register_module_full_backward_hook(lambda module, grad_input, grad_output: print(type(module).__name__, grad_input)):
    ...     y = nn.Sequential(nn.ReLU(), nn.Flatten())(mg.ones(1, 1, requires_grad=True))
    >>> y.sum().backward()
    Flatten (tensor([[1.]]),)
    ReLU (tensor([[1.]]),)
    Sequential (tensor([[1.]]),)
    """
    choose_kind_of_all(True)
    return add(_backward_hooks, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Deprecated: use `register_module_full_backward_hook`. Call ``hook(module, grad_input, grad_output)`` at the last node of each
    module: see `Module.register_backward_hook`.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Raises:
        RuntimeError: there is a full backward hook for all modules.

    Mirrors ``torch.nn.modules.module.register_module_backward_hook``.

    >>> from minigrad.nn.modules.module import register_module_backward_hook
    >>> with register_module_backward_hook(lambda module, grad_input, grad_output: print(type(module).__name__, grad_input)):
    ...     y = nn.ReLU()(mg.ones(1, requires_grad=True) * 1)
    >>> y.backward()
    ReLU (tensor([1.]),)
    """
    choose_kind_of_all(False)
    return add(_backward_hooks, hook)


def choose_kind_of_all(full):
    """Record that the backward hooks of all modules are `full` or not; raise if there are hooks of the other kind."""
    if _backward_hooks and _kind["full"] is not full:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use "
                           "only one of them.")
    _kind["full"] = full


# ---- hooks on what a module registers ------------------------------------------------------------------------------


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, param)`` whenever a module registers a parameter. What it returns is registered instead.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Mirrors ``torch.nn.modules.module.register_module_parameter_registration_hook``.

    >>> from minigrad.nn.modules.module import register_module_parameter_registration_hook
    >>> with register_module_parameter_registration_hook(lambda module, name, param: print(name, tuple(param.shape))):
    ...     layer = nn.Linear(3, 2)
    weight (2, 3)
    bias (2,)
    """
    return add(_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever a module registers a buffer. What it returns is registered instead.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Mirrors ``torch.nn.modules.module.register_module_buffer_registration_hook``.

    >>> from minigrad.nn.modules.module import register_module_buffer_registration_hook
    >>> with register_module_buffer_registration_hook(lambda module, name, buffer: print(name)):
    ...     layer = nn.BatchNorm1d(2)
    running_mean
    running_var
    num_batches_tracked
    """
    return add(_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a module registers a module. What it returns is registered instead.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Mirrors ``torch.nn.modules.module.register_module_module_registration_hook``.

    >>> from minigrad.nn.modules.module import register_module_module_registration_hook
    >>> with register_module_module_registration_hook(lambda module, name, submodule: print(name, submodule)):
    ...     model = nn.Sequential(nn.ReLU())
    0 ReLU()
    """
    return add(_module_registration_hooks, hook)


def call_registration_hooks(hooks, module, name, value):
    """Call the hooks of one kind of registration. Return the value to register: `value` or what a hook returned."""
    for hook in hooks.values():
        result = hook(module, name, value)
        value = value if result is None else result
    return value
