"""The base class of all layers and models.

A module is a tree: its attributes that are parameters, buffers or modules are entered in three dicts as they
are assigned, and everything else (parameters(), state_dict(), train(), to()) walks that tree.

Mirrors ``torch/nn/modules/module.py``.
"""

import warnings
from collections import OrderedDict, namedtuple

from minigrad._core.handle import add_hook
from minigrad._core.meta import DType
from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import MinigradError
from minigrad.nn.parameter import Buffer, Parameter
from minigrad.tensor import Tensor

__all__ = ["Module"]

_IncompatibleKeys = namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))


class StateDictError(MinigradError, RuntimeError):
    """A state dict does not fit the module that loads it."""


class Module:
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
        super().__setattr__("training", True)
        super().__setattr__("_parameters", {})
        super().__setattr__("_buffers", {})
        super().__setattr__("_non_persistent_buffers_set", set())
        super().__setattr__("_modules", {})
        super().__setattr__("_forward_hooks", OrderedDict())
        super().__setattr__("_forward_pre_hooks", OrderedDict())

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

    # ---- attributes -------------------------------------------------------------------------------------

    def __setattr__(self, name, value):
        tables = self.__dict__.get("_parameters"), self.__dict__.get("_modules"), self.__dict__.get("_buffers")
        if isinstance(value, (Parameter, Module, Buffer)) and tables[0] is None:
            raise AttributeError(f"cannot assign {type(value).__name__} before Module.__init__() call: call super().__init__() "
                                 "first")
        if isinstance(value, Parameter):
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, Buffer):
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        elif tables[0] is not None and name in tables[0]:
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as parameter '{name}' (minigrad.nn.Parameter or None "
                                "expected)")
            self._parameters[name] = None
        elif tables[1] is not None and name in tables[1]:
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as child module '{name}' (minigrad.nn.Module or None "
                                "expected)")
            self._modules[name] = None
        elif tables[2] is not None and name in tables[2]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{type(value).__name__}' as buffer '{name}' (minigrad.Tensor, minigrad.nn.Buffer "
                                "or None expected)")
            self._buffers[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        for table in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _forget(self, name):
        """Remove whatever is registered as `name`."""
        self.__dict__.pop(name, None)
        for table in (self._parameters, self._buffers, self._modules):
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _check_name(self, name, what):
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._parameters and name not in self._buffers and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Add a parameter under `name`; None reserves the name.

        Raises:
            KeyError: the name is taken, empty, or has a dot.
            TypeError: `param` is no `Parameter`.

        >>> m = nn.Module()
        >>> m.register_parameter('w', nn.Parameter(mg.zeros(1)))
        >>> m.w
        Parameter containing:
        tensor([0.], requires_grad=True)
        """
        self._check_name(name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (minigrad.nn.Parameter or None "
                            "required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly.")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but no parameter. With `persistent` it is part of the state dict.

        Raises:
            KeyError: the name is taken, empty, or has a dot.
            TypeError: `tensor` is no tensor.

        >>> m = nn.Module()
        >>> m.register_buffer('mean', mg.zeros(1))
        >>> list(m.state_dict())
        ['mean']
        """
        self._check_name(name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (minigrad.Tensor or None required)")
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_module(self, name, module):
        """Add a child module under `name`.

        >>> m = nn.Module()
        >>> m.register_module('act', nn.ReLU())
        >>> m.act
        ReLU()
        """
        self.add_module(name, module)

    def add_module(self, name, module):
        """Add a child module under `name`.

        Raises:
            KeyError: the name is taken, empty, or has a dot.
            TypeError: `module` is no `Module`.

        >>> m = nn.Module()
        >>> m.add_module('act', nn.ReLU())
        >>> m.act
        ReLU()
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, "module")
        self._modules[name] = module

    # ---- walking the tree ---------------------------------------------------------------------------------

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Pairs (name, module) of this module, named `prefix`, and all below it.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> [name for name, _ in m.named_modules()]
        ['', '0', '1']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """This module and all below it.

        >>> [type(m).__name__ for m in nn.Sequential(nn.ReLU(), nn.Tanh()).modules()]
        ['Sequential', 'ReLU', 'Tanh']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self):
        """Pairs (name, module) of the direct children.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> [name for name, _ in m.named_children()]
        ['0', '1']
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The direct children.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> list(m.children())
        [Linear(in_features=2, out_features=1, bias=True), ReLU()]
        """
        for _, module in self.named_children():
            yield module

    def _named_members(self, table, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for where, module in modules:
            for name, value in getattr(module, table).items():
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield where + ("." if where else "") + name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs (name, parameter), such as ``("layer1.weight", ...)``.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> [name for name, _ in m.named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters, of modules below too if `recurse`: what an optimiser is given.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> [tuple(p.shape) for p in m.parameters()]
        [(1, 2), (1,)]
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Pairs (name, buffer).

        >>> m = nn.Module()
        >>> m.register_buffer('mean', mg.zeros(1))
        >>> list(m.named_buffers())
        [('mean', tensor([0.]))]
        """
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers, of modules below too if `recurse`.

        >>> m = nn.Module()
        >>> m.register_buffer('mean', mg.zeros(1))
        >>> list(m.buffers())
        [tensor([0.])]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """The module below this one that `target`, such as ``"encoder.0"``, names. Raises `AttributeError`.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> m.get_submodule('1')
        ReLU()
        """
        module = self
        for name in target.split(".") if target else ():
            if name not in module._modules:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}` that is a module")
            module = module._modules[name]
        return module

    def get_parameter(self, target):
        """The parameter that `target`, such as ``"encoder.0.weight"``, names. Raises `AttributeError`.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> m.get_parameter('0.bias').shape
        minigrad.Size([1])
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._parameters:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}` that is a parameter")
        return module._parameters[name]

    def get_buffer(self, target):
        """The buffer that `target`, such as ``"encoder.0.mean"``, names. Raises `AttributeError`.

        >>> m = nn.Module()
        >>> m.register_buffer('mean', mg.zeros(1))
        >>> m.get_buffer('mean')
        tensor([0.])
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer of {type(module).__name__}")
        return module._buffers[name]

    def apply(self, fn):
        """Call ``fn(module)`` on every module, children first. Returns this module.

        >>> _ = nn.Sequential(nn.ReLU(), nn.Tanh()).apply(lambda m: print(type(m).__name__))
        ReLU
        Tanh
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

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
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own = self.state_dict(keep_vars=True)
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        problems = []
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{key}"' for key in unexpected) + ". ")
        if strict and missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ". ")
        for key, value in state_dict.items():
            if key in own and not isinstance(value, Tensor):
                problems.append(f"{key}: expected a minigrad.Tensor, but got {type(value).__name__}.")
            elif key in own and tuple(value.shape) != tuple(own[key].shape):
                problems.append(f"size mismatch for {key}: copying a param with shape {list(value.shape)} from checkpoint, the "
                                f"shape in current model is {list(own[key].shape)}.")
        if problems:
            raise StateDictError("MG-E401", f"Error(s) in loading state_dict for "
                                 f"{type(self).__name__}:\n\t" + "\n\t".join(problems),
                                 fix="nothing has been loaded. strict=False skips missing and unexpected keys")
        for key, value in state_dict.items():
            if key in own:
                self._load(key, own[key], value, assign)
        return _IncompatibleKeys(missing, unexpected)

    def _load(self, key, own, value, assign):
        """Take over one entry of a state dict."""
        if not assign:
            with no_grad():
                own.copy_(value)
            return
        path, _, name = key.rpartition(".")
        module = self.get_submodule(path)
        if name in module._parameters:
            module._parameters[name] = value if isinstance(value, Parameter) else Parameter(value, own.requires_grad)
        else:
            module._buffers[name] = value

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
