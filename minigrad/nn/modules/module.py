"""`Module`, the base class of all layers and models.

A module has parameters, buffers and modules as attributes, so a model is a tree:

    model._parameters, _buffers, _modules       name -> what was assigned under that name
    model.encoder.weight                        found by __getattr__, in these three tables

An attribute has one kind: a name is in one of the three tables or in ``__dict__``, never in two of them.

This file has the class with its attributes, modes and conversions. Longer methods are functions of three other files, and the class
binds them: walks over the tree (``_tree.py``), hooks around the call (``_hooks.py``), and the state dict (``_state.py``,
``_loading.py``).

Mirrors ``torch/nn/modules/module.py``. Read next: ``_tree.py``.
"""

# pyright: reportAttributeAccessIssue=false
# (methods are bound from _tree.py, _hooks.py and _state.py)

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import TYPE_CHECKING

from minigrad._core.graph.metadata import Device, DType
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import empty_like
from minigrad.dtypes import as_device
from minigrad.errors import AutogradNotImplementedError
from minigrad.nn.modules import _hooks, _loading, _state, _tree
from minigrad.nn.modules._hooks import (
    _backward_hooks,
    _backward_pre_hooks,
    _buffer_registration_hooks,
    _forward_hooks,
    _forward_pre_hooks,
    _module_registration_hooks,
    _parameter_registration_hooks,
    call_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from minigrad.nn.modules._loading import _IncompatibleKeys  # noqa: F401  (programs import it from here)
from minigrad.nn.parameter import Buffer, Parameter, is_lazy
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, Self

    from minigrad.types import DeviceLike

__all__ = ["Module", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
           "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
           "register_module_module_registration_hook", "register_module_parameter_registration_hook"]


# PyTorch's names for the tables of hooks that serve all modules.
_global_forward_pre_hooks, _global_forward_hooks = _forward_pre_hooks, _forward_hooks
_global_backward_pre_hooks, _global_backward_hooks = _backward_pre_hooks, _backward_hooks
_global_parameter_registration_hooks = _parameter_registration_hooks
_global_buffer_registration_hooks, _global_module_registration_hooks = _buffer_registration_hooks, _module_registration_hooks

try:
    from minigrad.nn.modules._quick import quicken
except ModuleNotFoundError:     # not compiled: Python's own look-up and call remain
    def quicken(cls, base):
        """Do nothing."""


def _addindent(text, spaces):
    """`text` with its second and further lines indented: for programs that write their own ``__repr__``."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[" " * spaces + line if line.strip() else "" for line in rest]])


class Module:
    """Base class of layers and models. Mirrors ``torch.nn.Module``.

    A subclass calls ``super().__init__()`` in its ``__init__`` and then assigns parameters and modules. Its ``forward`` computes.
    Calling the module runs ``forward`` with the hooks around it.

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
    _version = 1                # of the format of the state dict
    # A module without such hooks uses these empty tables (handle id -> hook). See _state.py.
    _state_dict_pre_hooks = _state_dict_hooks = MappingProxyType({})
    _load_state_dict_pre_hooks = _load_state_dict_post_hooks = MappingProxyType({})
    # Likewise: the ids of forward hooks with options, and whether the backward hooks are full ones. See _hooks.py.
    _forward_pre_hooks_with_kwargs = _forward_hooks_with_kwargs = _forward_hooks_always_called = MappingProxyType({})
    _is_full_backward_hook: bool | None = None
    dump_patches = False        # PyTorch's, without effect
    call_super_init = False     # whether __init__ passes its arguments on to the next class, for classes with several bases

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        quicken(cls, Module)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            found = (f"an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else
                     f"{len(args)} positional arguments, but takes none")
            raise TypeError(f"{type(self).__name__}.__init__() got {found}: pass none to super().__init__(), or set "
                            "call_super_init = True in the class to pass them on to its next base")
        set_attribute = super().__setattr__         # our own __setattr__ reads the tables, which do not exist yet
        set_attribute("_parameters", {})
        set_attribute("_buffers", {})
        set_attribute("_non_persistent_buffers_set", set())
        set_attribute("_modules", {})
        set_attribute("_forward_hooks", OrderedDict())          # these four: handle id -> hook
        set_attribute("_forward_pre_hooks", OrderedDict())
        set_attribute("_backward_hooks", OrderedDict())
        set_attribute("_backward_pre_hooks", OrderedDict())
        set_attribute("training", True)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- the call -------------------------------------------------------------------------------------------

    def forward(self, *input: Any) -> Any:
        """Compute the output of the module. Every subclass defines its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or _forward_hooks or _forward_pre_hooks or _backward_hooks or _backward_pre_hooks):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    _call_with_hooks = _hooks.call_with_hooks
    _call_impl = _wrapped_call_impl = __call__      # PyTorch's names for it
    register_forward_pre_hook = _hooks.register_forward_pre_hook
    register_forward_hook = _hooks.register_forward_hook
    register_full_backward_pre_hook = _hooks.register_full_backward_pre_hook
    register_full_backward_hook = _hooks.register_full_backward_hook
    register_backward_hook = _hooks.register_backward_hook

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: in PyTorch, it compiles the call of this module. The arguments have no effect.

        >>> layer = nn.ReLU()
        >>> layer.compile()
        >>> layer(mg.ones(1))
        tensor([1.])
        """

    # ---- attributes -----------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__.get("_parameters"), self.__dict__.get("_modules"), self.__dict__.get("_buffers")
        if isinstance(value, (Parameter, Module, Buffer)) and tables[0] is None:
            raise AttributeError(f"cannot assign {type(value).__name__} before Module.__init__() call: call super().__init__() "
                                 "first")
        if isinstance(value, Parameter):
            self._remove_from_others(name, tables[0])
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._remove_from_others(name, tables[1])
            self._modules[name] = call_registration_hooks(_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer):
            self._remove_from_others(name, tables[2])
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
            self._modules[name] = call_registration_hooks(_module_registration_hooks, self, name, None)
        elif tables[2] is not None and name in tables[2]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{type(value).__name__}' as buffer '{name}' (minigrad.Tensor, minigrad.nn.Buffer "
                                "or None expected)")
            self._buffers[name] = call_registration_hooks(_buffer_registration_hooks, self, name, value)
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_modules" in own:       # __init__ has run
            if name in own["_parameters"]:      # no loop over the tables: every forward comes here
                return own["_parameters"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
            if name in own["_modules"]:
                return own["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def __setstate__(self, state):
        # Without this, `copy` and `pickle` would ask the __getattr__ of a subclass for it, on a module without attributes.
        self.__dict__.update(state)

    def _remove_from_others(self, name, table):
        """Remove `name` everywhere except in `table`, where the new value keeps its position in the order."""
        self.__dict__.pop(name, None)
        for other in (self._parameters, self._buffers, self._modules):
            if other is not table:
                other.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _check_name(self, name, kind):
        """Raise unless `name` is free and fit for a parameter, buffer or module."""
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._parameters and name not in self._buffers and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`. None reserves the name.

        Raises:
            KeyError: the name is taken or empty, or contains a dot.
            TypeError: `param` is not a `Parameter`.
            ValueError: `param` is not a leaf.

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
        if param is not None and _parameter_registration_hooks:
            param = call_registration_hooks(_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor that belongs to the state of the module but is not a parameter.

        Args:
            name (str): the name of the attribute.
            tensor (Tensor, optional): None reserves the name.
            persistent (bool): save the buffer in the state dict.

        Raises:
            KeyError: the name is taken or empty, or contains a dot.
            TypeError: `tensor` is not a tensor.

        >>> m = nn.Module()
        >>> m.register_buffer('mean', mg.zeros(1))
        >>> list(m.state_dict())
        ['mean']
        """
        self._check_name(name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (minigrad.Tensor or None required)")
        self._buffers[name] = call_registration_hooks(_buffer_registration_hooks, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under `name`. None reserves the name.

        Raises:
            KeyError: the name is taken or empty, or contains a dot.
            TypeError: `module` is not a `Module`.

        >>> m = nn.Module()
        >>> m.add_module('act', nn.ReLU())
        >>> m.act
        ReLU()
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, "module")
        self._modules[name] = call_registration_hooks(_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name for `add_module`.

        >>> m = nn.Module()
        >>> m.register_module('act', nn.ReLU())
        >>> m.act
        ReLU()
        """
        self.add_module(name, module)

    # ---- the tree -------------------------------------------------------------------------------------------

    named_modules, modules = _tree.named_modules, _tree.modules
    named_children, children = _tree.named_children, _tree.children
    named_parameters, parameters = _tree.named_parameters, _tree.parameters
    named_buffers, buffers = _tree.named_buffers, _tree.buffers
    get_submodule, get_parameter, get_buffer = _tree.get_submodule, _tree.get_parameter, _tree.get_buffer
    apply, _named_members = _tree.apply, _tree._named_members

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at the path `target`, such as ``"encoder.0"``.

        Args:
            target (str): names of modules, joined by dots. All except the last must exist.
            module (Module): the new module.
            strict (bool): raise unless there is a module at that path already.

        Raises:
            ValueError: `target` is empty, or `module` is not a module.
            AttributeError: there is no such path, or it leads to something that is not a module.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> m.set_submodule('1', nn.Tanh()); m[1]
        Tanh()
        """
        path, _, name = _tree.path_of(target, "set_submodule").rpartition(".")
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and name not in parent._modules:
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    # ---- the state dict -------------------------------------------------------------------------------------

    state_dict, load_state_dict = _state.state_dict, _loading.load_state_dict
    get_extra_state, set_extra_state = _state.get_extra_state, _state.set_extra_state
    register_state_dict_pre_hook = _state.register_state_dict_pre_hook
    register_state_dict_post_hook = _state.register_state_dict_post_hook
    register_load_state_dict_pre_hook = _state.register_load_state_dict_pre_hook
    register_load_state_dict_post_hook = _state.register_load_state_dict_post_hook
    _register_state_dict_hook = _state._register_state_dict_hook
    _register_load_state_dict_pre_hook = _state._register_load_state_dict_pre_hook
    _save_to_state_dict, _load_from_state_dict = _state._save_to_state_dict, _loading._load_from_state_dict
    _complete_state_dict = _loading._complete_state_dict

    # ---- modes ----------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set training mode on this module and all modules below. Layers such as `Dropout` depend on it. Return this module.

        Raises:
            ValueError: `mode` is not a bool.

        >>> nn.Dropout().eval().train().training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """The same as ``train(False)``.

        >>> nn.Dropout().eval().training
        False
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters. Return this module.

        >>> any(p.requires_grad for p in nn.Linear(2, 1).requires_grad_(False).parameters())
        False
        """
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or to zeros if `set_to_none` is False.

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

    # ---- conversions ----------------------------------------------------------------------------------------

    def _apply(self, fn, recurse=True):
        """Replace the data ``t`` of every parameter, gradient and buffer by ``fn(t)``, in the modules below first."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                with no_grad():
                    param.data = fn(param.data)
                    if param.grad is not None:
                        grad = fn(param.grad)
                        param.grad = None
                        param.grad = grad
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                buffer.data = fn(buffer.data)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating point parameters and buffers to a dtype, or move all of them to a device. Return this module.

        Args:
            args, kwargs: as for `Tensor.to`: a dtype, a device, both, or a tensor that has both.

        Raises:
            TypeError: the dtype is not a floating point or complex one.
            NotImplementedError: a parameter is on the device "meta", and has no values to move: see `to_empty`.

        >>> nn.Linear(2, 1).to(mg.float64).weight.dtype
        minigrad.float64
        """
        for value in (*args, *kwargs.values()):
            if isinstance(value, DType) and not value.differentiable:
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={value}")

        candidates = (*args, kwargs.get("device"))
        device = next((a.device if isinstance(a, Tensor) else a for a in candidates if isinstance(a, (str, Device, Tensor))), None)

        memory_format = kwargs.pop("memory_format", None)

        def convert(t):
            if t.is_meta and device is not None and as_device(device) is not t.device:
                raise AutogradNotImplementedError(
                    "MG-E312", "Cannot copy out of meta tensor; no data! Please use nn.Module.to_empty() instead of nn.Module.to() "
                    "when moving module from meta to a different device.")
            if memory_format is not None and t.ndim in (4, 5):
                return t.to(*args, **kwargs, memory_format=memory_format)
            return t.to(*args, **kwargs) if t.is_floating_point() or t.is_complex() else t.to(device=device)
        return self._apply(convert)

    def type(self, dst_type: DType) -> Self:
        """Convert every parameter and buffer to a dtype. Return this module.

        Raises:
            RuntimeError: a parameter requires a gradient, and tensors of `dst_type` cannot have gradients.

        >>> nn.Linear(2, 1).type(mg.float64).weight.dtype
        minigrad.float64
        """
        return self._apply(lambda t: t.type(dst_type))

    def to_empty(self, *, device: DeviceLike | None, recurse: bool = True) -> Self:
        """Give every parameter and buffer new, uninitialized memory. Return this module.

        Args:
            device: the device of the new memory.
            recurse (bool): include the modules below.

        >>> nn.Linear(2, 1).to_empty(device="cpu").weight.shape
        minigrad.Size([1, 2])
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32. Return this module.

        >>> nn.Linear(2, 1, dtype=mg.float64).float().weight.dtype
        minigrad.float32
        """
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64. Return this module.

        >>> nn.Linear(2, 1).double().weight.dtype
        minigrad.float64
        """
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def share_memory(self) -> Self:
        """Return this module: see `Tensor.share_memory_`, which says that processes share no memory here.

        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     nn.Linear(2, 1).share_memory()
        Linear(in_features=2, out_features=1, bias=True)
        """
        return self._apply(lambda t: t.share_memory_())

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16. Return this module.

        >>> nn.Linear(2, 1).half().weight.dtype
        minigrad.float16
        """
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16. Return this module.

        Raises:
            ModuleNotFoundError: the package ml_dtypes is not installed.

        >>> nn.Linear(2, 1).bfloat16().weight.dtype
        minigrad.bfloat16
        """
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cuda(self, device: DeviceLike | None = None) -> Self:
        """Move all parameters and buffers to a GPU. Return this module.

        Args:
            device (optional): the GPU; the current one by default.

        Raises:
            RuntimeError: there is no GPU that minigrad can use.

        >>> layer = nn.Linear(2, 1)
        >>> layer = layer.cuda() if mg.cuda.is_available() else layer
        """
        return self._apply(lambda t: t.cuda(device))

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU. Return this module.

        >>> nn.Linear(2, 1).cpu()
        Linear(in_features=2, out_features=1, bias=True)
        """
        return self._apply(lambda t: t.cpu())

    # ---- printing -------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Return what a subclass shows between the brackets of its ``repr``."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) < 2 and not self._modules:
            return f"{self._get_name()}({extra})"
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _get_name(self):
        return type(self).__name__
