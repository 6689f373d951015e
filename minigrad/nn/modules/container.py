"""Modules made of modules. Mirrors ``torch/nn/modules/container.py``."""

import operator
from collections import OrderedDict

from minigrad.nn.modules.module import Module

__all__ = ["Sequential"]


class Sequential(Module):
    """Runs modules one after the other, each on the result of the one before.

    Args:
        args: modules, or one `OrderedDict` from name to module.

    Mirrors ``torch.nn.Sequential``.

    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = [(str(i), module) for i, module in enumerate(args)]
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _name(self, index):
        names = list(self._modules)
        try:
            return names[operator.index(index)]
        except IndexError:
            raise IndexError(f"index {index} is out of range") from None

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name(index), module)

    def __delitem__(self, index):
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        for name in names:
            delattr(self, name)
        self._number_anew(list(self))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        return type(self)(*self, *other) if isinstance(other, Sequential) else NotImplemented

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return type(self)(*[module for _ in range(times) for module in self])

    __rmul__ = __mul__

    def _number_anew(self, modules):
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def append(self, module):
        """Add a module at the end. Returns this container.

        >>> len(nn.Sequential(nn.ReLU()).append(nn.Tanh()))
        2
        """
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add modules at the end. Returns this container.

        >>> len(nn.Sequential(nn.ReLU()).extend([nn.Tanh(), nn.ReLU()]))
        3
        """
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Add a module before the one at `index`. Returns this container.

        Raises:
            TypeError: `module` is no `Module`.
            IndexError: `index` is out of range.

        >>> nn.Sequential(nn.ReLU()).insert(0, nn.Tanh())[0]
        Tanh()
        """
        if not isinstance(module, Module):
            raise TypeError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._number_anew(modules)
        return self

    def pop(self, key):
        """Remove the module at index `key`, and return it.

        >>> nn.Sequential(nn.ReLU(), nn.Tanh()).pop(0)
        ReLU()
        """
        module = self[key]
        del self[key]
        return module
