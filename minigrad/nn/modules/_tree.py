"""The tree that a model is: attributes that are parameters, buffers or modules, and ways to walk over them.

    model._parameters, _buffers, _modules       name -> what was assigned under that name
    model.encoder.weight                        found by __getattr__, in these three
    named_parameters(), modules(), ...          this module and all below it, in order of assignment

`Module` is what users see of it; all else that it does walks this tree.

Mirrors ``torch/nn/modules/module.py``.
"""

from minigrad.nn.parameter import Buffer, Parameter
from minigrad.tensor import Tensor


class Tree:
    """The attributes of a `Module`."""

    def __init__(self):
        set_attribute = super().__setattr__         # ours looks at the tables
        set_attribute("_parameters", {})
        set_attribute("_buffers", {})
        set_attribute("_non_persistent_buffers_set", set())
        set_attribute("_modules", {})

    def __setstate__(self, state):
        # without this, `copy` and `pickle` would ask a subclass's __getattr__ for it, on a module that has nothing yet
        self.__dict__.update(state)

    # ---- attributes -------------------------------------------------------------------------------------

    def __setattr__(self, name, value):
        tables = self.__dict__.get("_parameters"), self.__dict__.get("_modules"), self.__dict__.get("_buffers")
        if isinstance(value, (Parameter, Tree, Buffer)) and tables[0] is None:
            raise AttributeError(f"cannot assign {type(value).__name__} before Module.__init__() call: call super().__init__() "
                                 "first")
        if isinstance(value, Parameter):
            self._forget(name, tables[0])
            self.register_parameter(name, value)
        elif isinstance(value, Tree):
            self._forget(name, tables[1])
            self._modules[name] = value
        elif isinstance(value, Buffer):
            self._forget(name, tables[2])
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
        own = self.__dict__
        if "_modules" in own:       # not before __init__ has run
            if name in own["_parameters"]:      # written out: every forward comes here
                return own["_parameters"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
            if name in own["_modules"]:
                return own["_modules"][name]
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

    def _forget(self, name, home):
        """Remove whatever is registered as `name`, but in the table `home`, where what replaces it takes its place in the order."""
        self.__dict__.pop(name, None)
        for table in (self._parameters, self._buffers, self._modules):
            if table is not home:
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
        if module is not None and not isinstance(module, Tree):
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

    def set_submodule(self, target, module, strict=False):
        """Put a module in the place that `target`, such as ``"encoder.0"``, names.

        Args:
            target (str)
            module (Module)
            strict (bool): there has to be a module already.

        Raises:
            ValueError: `target` is empty, or `module` is no module.
            AttributeError: there is no such place.

        >>> m = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> m.set_submodule('1', nn.Tanh()); m[1]
        Tanh()
        """
        path, _, name = target.rpartition(".")
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and name not in parent._modules:
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

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
