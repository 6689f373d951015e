"""Lists and dicts of modules and parameters. Unlike plain lists and dicts, they register their entries.

Mirrors ``torch/nn/modules/container.py``.
"""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false
import operator
from itertools import chain
from typing import TYPE_CHECKING

from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.arguments import in_words
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Self

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList"]


class ModuleList(Module):
    """A list of modules. They belong to the module that has the list. Mirrors ``torch.nn.ModuleList``.

    Args:
        modules (iterable of Module, optional): the entries.

    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or [])

    def _set(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[self._name(idx)]

    def _name(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __setitem__(self, idx: Any, module: Module | None) -> None:
        setattr(self, self._name(idx), module)

    def __delitem__(self, idx: Any) -> None:
        modules = list(self)
        del modules[idx]
        self._set(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Any) -> Any:
        return type(self)(chain(self, other))

    def append(self, module: Module | None) -> Self:
        """Add a module at the end. Return this list."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end. Return this list.

        Raises:
            TypeError: `modules` is not iterable.
        """
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: Tensor, module: Module | None) -> None:
        """Insert a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._set(modules)

    def pop(self, key: Any) -> Any:
        """Remove the module at index `key`. Return it."""
        module = self[key]
        del self[key]
        return module

    def __repr__(self) -> str:
        modules, lines, start = list(self), [], 0
        if not modules:
            return type(self).__name__ + "()"
        for i in range(1, len(modules) + 1):        # group equal neighbours: (0-2): 3 x ReLU()
            if i == len(modules) or repr(modules[i]) != repr(modules[start]):
                text = repr(modules[start]).replace("\n", "\n  ")
                lines.append(f"({start}): {text}" if i - start == 1 else f"({start}-{i - 1}): {i - start} x {text}")
                start = i
        return type(self).__name__ + "(\n  " + "\n  ".join(lines) + "\n)"


class _Dict:
    """The methods that both dicts share. Keys are names, in order of assignment."""

    def __contains__(self, key: Any) -> bool:
        return key in self.keys()

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def values(self) -> list[Any]:
        """The values, in order."""
        return [self[key] for key in self.keys()]

    def items(self) -> list[Any]:
        """Pairs (name, value), in order."""
        return [(key, self[key]) for key in self.keys()]

    def pop(self, key: Any) -> Any:
        """Remove the value named `key`. Return it."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self.keys()):
            del self[key]

    def update(self, other: Any) -> None:
        """Assign all entries of a mapping, or of an iterable of pairs.

        Raises:
            TypeError: `other` is neither.
        """
        if not hasattr(other, "__iter__"):
            raise TypeError(f"{type(self).__name__}.update should be called with an iterable of key/value pairs, but got "
                            f"{type(other).__name__}")
        for pair in other.items() if hasattr(other, "items") else other:
            try:
                key, value = pair
            except (TypeError, ValueError) as error:
                raise type(error)(f"{type(self).__name__}.update should be called with an iterable of key/value pairs, but one of "
                                  f"its elements is not a pair: {in_words(pair)}") from None
            self[key] = value


class ModuleDict(_Dict, Module):
    """A dict of modules. They belong to the module that has the dict. Mirrors ``torch.nn.ModuleDict``.

    Args:
        modules (mapping or iterable of pairs, optional): from name to module.

    >>> layers = nn.ModuleDict({"act": nn.ReLU()})
    >>> layers["act"]
    ReLU()
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def keys(self) -> Any:
        """The names, in order."""
        return self._modules.keys()

    def __getitem__(self, key: Any) -> Any:
        return self._modules[key]

    def __setitem__(self, key: Any, module: Module | None) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: Any) -> None:
        del self._modules[key]


def describe(value, kind):
    """The line that describes a parameter, or another object, in the ``repr`` of its container."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.shape)
    return f"{'Parameter' if isinstance(value, Parameter) else 'Tensor'} containing: [{kind(value)} of size {size}]"


def type_name(tensor):
    """PyTorch's legacy name for the type of a tensor, such as FloatTensor."""
    names = {"float64": "Double", "float32": "Float", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short"}
    return f"minigrad.{names.get(tensor.dtype.name, tensor.dtype.name)}Tensor"


class ParameterList(Module):
    """A list of parameters. They belong to the module that has the list. Mirrors ``torch.nn.ParameterList``.

    Args:
        values (iterable, optional): the entries. A tensor becomes a parameter; any other object stays as it is.

    >>> weights = nn.ParameterList([mg.zeros(2), mg.zeros(3)])
    >>> [p.shape for p in weights]
    [minigrad.Size([2]), minigrad.Size([3])]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or [])

    def _name(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, self._name(idx))

    def __setitem__(self, idx: int | slice, param: Any) -> None:
        setattr(self, self._name(idx), as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Any) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a parameter at the end. Return this list."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end. Return this list.

        Raises:
            TypeError: `values` is not iterable, or is a tensor.
        """
        if not hasattr(values, "__iter__") or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {describe(p, lambda t: t.dtype)}" for i, p in enumerate(self))

    def __repr__(self) -> str:
        return repr_of(self)


class ParameterDict(_Dict, Module):
    """A dict of parameters. They belong to the module that has the dict. Mirrors ``torch.nn.ParameterDict``.

    Args:
        parameters (mapping or iterable of pairs, optional): from name to value. A tensor becomes a parameter; any other object
            stays as it is.

    >>> weights = nn.ParameterDict({"left": mg.zeros(2)})
    >>> list(weights.state_dict())
    ['left']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        self.update(parameters or {})

    def keys(self) -> Any:
        """The names, in order."""
        return self._keys.keys()

    def __getitem__(self, key: Any) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._keys[str(key)] = None
        setattr(self, str(key), as_parameter(value))

    def __delitem__(self, key: Any) -> None:
        del self._keys[key]
        delattr(self, key)

    def update(self, other: Any) -> None:
        """Assign all entries of a mapping, or of an iterable of pairs. As in PyTorch, those of a plain dict are sorted by name."""
        super().update(sorted(other.items()) if type(other) is dict else other)

    def get(self, key: Any, default: Any = None) -> bool:
        """Return the value named `key`, or `default`."""
        return self[key] if key in self else default        # noqa: SIM401 (this is the method)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value named `key`. If there is no such name, assign `default` to it first."""
        if key not in self:
            self[key] = default
        return self[key]

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {describe(p, type_name)}" for key, p in self.items())

    def __repr__(self) -> str:
        return repr_of(self)


def as_parameter(value):
    """Convert a tensor to a parameter. Return any other object as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def repr_of(container):
    """The ``repr`` of a container, with a line for each entry."""
    text = container.extra_repr().replace("\n", "\n  ")
    return f"{type(container).__name__}(\n  {text}\n)" if text else f"{type(container).__name__}()"
