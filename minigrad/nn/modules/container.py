"""`Sequential`, a chain of modules; ``lists.py`` has the other containers. Mirrors ``torch/nn/modules/container.py``."""

# pyright: reportReturnType=false, reportArgumentType=false
# (a mapping as the only argument)

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from minigrad.nn.modules.lists import *  # noqa: F403  (PyTorch has them in this file)
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from minigrad.types import Number, Tensor

__all__ = ["Sequential"]


class Sequential(Module):
    """Run modules in a chain: each takes the output of the one before.

    Args:
        args: modules, or a single `OrderedDict` from name to module.

    Mirrors ``torch.nn.Sequential``.

    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = [(str(i), module) for i, module in enumerate(args)]
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Tensor) -> Tensor:
        for module in self._modules.values():
            input = module(input)
        return input

    def _name(self, index):
        names = list(self._modules)
        try:
            return names[integer(index, "index", type(self).__name__)]
        except IndexError:
            raise IndexError(f"index {index} is out of range") from None

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Tensor | Number) -> Self:
        return type(self)(*self, *other) if isinstance(other, Sequential) else NotImplemented

    def __mul__(self, times: int) -> Self:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return type(self)(*[module for _ in range(times) for module in self])

    __rmul__ = __mul__

    def _renumber(self, modules):
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def append(self, module: Module) -> Self:
        """Add a module at the end. Return this container.

        >>> len(nn.Sequential(nn.ReLU()).append(nn.Tanh()))
        2
        """
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end. Return this container.

        >>> len(nn.Sequential(nn.ReLU()).extend([nn.Tanh(), nn.ReLU()]))
        3
        """
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before the one at `index`. Return this container.

        Raises:
            TypeError: `module` is not a `Module`.
            IndexError: `index` is out of range.

        >>> nn.Sequential(nn.ReLU()).insert(0, nn.Tanh())[0]
        Tanh()
        """
        if not isinstance(module, Module):
            raise TypeError(f"module should be of type: {Module}")
        if not -len(self) <= integer(index, "index", "insert") <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: int | slice) -> Module:
        """Remove the module at index `key`. Return it.

        >>> nn.Sequential(nn.ReLU(), nn.Tanh()).pop(0)
        ReLU()
        """
        module = self[key]
        del self[key]
        return module
