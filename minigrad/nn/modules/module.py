"""The base class of all layers and models.

A module is a tree of parameters, buffers and modules: how it is kept and walked over stands in ``_tree.py``, loading
a state dict in ``_loading.py``. Here is what one does with a module: call it, hook into it, convert it, save it.

Mirrors ``torch/nn/modules/module.py``.
"""

import warnings
from collections import OrderedDict

from minigrad._core.handle import add_hook
from minigrad._core.meta import DType
from minigrad.autograd.grad_mode import no_grad
from minigrad.nn.modules._loading import load
from minigrad.nn.modules._tree import Tree

__all__ = ["Module"]


class Module(Tree):
    """Base class of layers and models. Mirrors ``torch.nn.Module``.

    A subclass assigns parameters and further modules in ``__init__``, after ``super().__init__()``, and computes in
    ``forward``; calling the module runs that, with the hooks around it.

    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return 2 * self.linear(x)
    >>> model = Twice()
    >>> [name for name, p in model.named_parameters()]
    ['linear.weight', 'linear.bias']
    """

    training = True

    def __init__(self):
        super().__init__()
        self.training = True
        self._forward_hooks = OrderedDict()
        self._forward_pre_hooks = OrderedDict()

    def forward(self, *input):
        """What the module computes. Every subclass has its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if not self._forward_pre_hooks and not self._forward_hooks:
            return self.forward(*args, **kwargs)
        output, due = None, list(self._forward_hooks.values())
        try:
            for hook, with_kwargs in list(self._forward_pre_hooks.values()):
                if with_kwargs:
                    result = hook(self, args, kwargs)
                    if result is not None:
                        if not isinstance(result, tuple) or len(result) != 2:
                            raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                                               f"but got {result}.")
                        args, kwargs = result
                else:
                    result = hook(self, args)
                    if result is not None:
                        args = result if isinstance(result, tuple) else (result,)
            output = self.forward(*args, **kwargs)
            while due:
                output = self._call_hook(due.pop(0), args, kwargs, output)
        except Exception:
            for hook in due:
                if hook[2]:
                    try:
                        output = self._call_hook(hook, args, kwargs, output)
                    except Exception as error:
                        warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as "
                                      f"another error was raised in forward: {error}", stacklevel=2)
            raise
        return output

    def _call_hook(self, hook, args, kwargs, output):
        """What the forward hook makes of `output`."""
        function, with_kwargs, _ = hook
        result = function(self, args, kwargs, output) if with_kwargs else function(self, args, output)
        return output if result is None else result

    # ---- hooks ----------------------------------------------------------------------------------------------

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
        return self._add_hook(self._forward_pre_hooks, hook, prepend, with_kwargs)

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
        return self._add_hook(self._forward_hooks, hook, prepend, with_kwargs, always_call)

    @staticmethod
    def _add_hook(table, hook, prepend, *options):
        handle = add_hook(table, hook)
        table[handle.id] = (hook, *options)
        if prepend:
            table.move_to_end(handle.id, last=False)
        return handle

    # ---- modes and conversions ------------------------------------------------------------------------------

    def train(self, mode=True):
        """Set training mode (which `Dropout` heeds) on this module and all below. Returns this module.

        Raises:
            ValueError: `mode` is no bool.

        >>> nn.Dropout().eval().train().training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """``train(False)``

        >>> nn.Dropout().eval().training
        False
        """
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Set `requires_grad` of all parameters. Returns this module.

        >>> any(p.requires_grad for p in nn.Linear(2, 1).requires_grad_(False).parameters())
        False
        """
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Reset the gradients of all parameters, to None or to zeros.

        >>> m = nn.Linear(2, 1)
        >>> m(mg.ones(2)).sum().backward()
        >>> m.zero_grad()
        >>> m.bias.grad is None
        True
        """
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    param.grad.detach_()
                    param.grad.zero_()

    def _convert(self, fn):
        """Replace the numbers of every parameter, gradient and buffer by ``fn`` of them."""
        for module in self.modules():
            for param in module._parameters.values():
                if param is not None:
                    with no_grad():
                        param.data = fn(param.data)
                        if param.grad is not None:
                            grad = fn(param.grad)
                            param.grad = None
                            param.grad = grad
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Convert floating point parameters and buffers to a dtype, or move all to a device. Returns this module.

        >>> nn.Linear(2, 1).to(mg.float64).weight.dtype
        minigrad.float64
        """
        for value in (*args, *kwargs.values()):
            if isinstance(value, DType) and not value.differentiable:
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={value}")

        def convert(t):
            return t.to(*args, **kwargs) if t.is_floating_point() or t.is_complex() else t
        return self._convert(convert)

    def float(self):
        """Floating point parameters and buffers as float32.

        >>> nn.Linear(2, 1, dtype=mg.float64).float().weight.dtype
        minigrad.float32
        """
        return self._convert(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        """Floating point parameters and buffers as float64.

        >>> nn.Linear(2, 1).double().weight.dtype
        minigrad.float64
        """
        return self._convert(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        """Floating point parameters and buffers as float16.

        >>> nn.Linear(2, 1).half().weight.dtype
        minigrad.float16
        """
        return self._convert(lambda t: t.half() if t.is_floating_point() else t)

    def cpu(self):
        """Everything in the memory of the CPU.

        >>> nn.Linear(2, 1).cpu()
        Linear(in_features=2, out_features=1, bias=True)
        """
        return self

    # ---- state ----------------------------------------------------------------------------------------------

    def state_dict(self, *, destination=None, prefix="", keep_vars=False):
        """A dict from name to tensor with all parameters and persistent buffers.

        The tensors share the memory of the module's, detached unless `keep_vars`.

        >>> list(nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        destination = OrderedDict() if destination is None else destination
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return destination

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy parameters and buffers from a state dict.

        Args:
            state_dict (dict): from name to tensor, as `state_dict` gives it.
            strict (bool): raise if a key is missing or unexpected.
            assign (bool): take the tensors themselves instead of copying their numbers.

        Returns:
            A named tuple of the lists ``missing_keys`` and ``unexpected_keys``.

        Raises:
            RuntimeError: a shape differs; with `strict`, a key is missing or unexpected. It lists all of these,
                and nothing has been loaded.
            TypeError: `state_dict` is no mapping.

        >>> a, b = nn.Linear(2, 1), nn.Linear(2, 1)
        >>> a.load_state_dict(b.state_dict())
        IncompatibleKeys(missing_keys=[], unexpected_keys=[])
        >>> a.weight.tolist() == b.weight.tolist()
        True
        """
        return load(self, state_dict, strict, assign)

    # ---- looks ------------------------------------------------------------------------------------------------

    def extra_repr(self):
        """What a subclass wants to show of itself between the brackets."""
        return ""

    def __repr__(self):
        lines = []
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(([extra] if extra else []) + lines) + "\n)"
