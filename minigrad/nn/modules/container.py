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
        kept = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(kept))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def append(self, module):
        """Add a module at the end. Returns this container."""
        self.add_module(str(len(self)), module)
        return self
