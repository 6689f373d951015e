"""Modules and parameters in lists and dicts, so that they are found. Mirrors ``torch/nn/modules/container.py``."""

# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false

import operator
from itertools import chain

from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.rule import in_words
from minigrad.tensor import Tensor

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList"]


class ModuleList(Module):
    """A list of modules, which are modules of the one that has the list. Mirrors ``torch.nn.ModuleList``.

    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or [])

    def _set(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[self._name(idx)]

    def _name(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __setitem__(self, idx, module):
        setattr(self, self._name(idx), module)

    def __delitem__(self, idx):
        modules = list(self)
        del modules[idx]
        self._set(modules)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return type(self)(chain(self, other))

    def append(self, module):
        """Add a module at the end. Returns this list."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add modules at the end. Returns this list.

        Raises:
            TypeError: `modules` cannot be iterated over.
        """
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Add a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._set(modules)

    def pop(self, key):
        """Remove the module at `key`, and return it."""
        module = self[key]
        del self[key]
        return module

    def __repr__(self):
        modules, lines, start = list(self), [], 0
        if not modules:
            return type(self).__name__ + "()"
        for i in range(1, len(modules) + 1):        # equal ones together
            if i == len(modules) or repr(modules[i]) != repr(modules[start]):
                text = repr(modules[start]).replace("\n", "\n  ")
                lines.append(f"({start}): {text}" if i - start == 1 else f"({start}-{i - 1}): {i - start} x {text}")
                start = i
        return type(self).__name__ + "(\n  " + "\n  ".join(lines) + "\n)"


class _Dict:
    """What the two dicts share: names in the order in which they were assigned."""

    def __contains__(self, key):
        return key in self.keys()

    def __len__(self):
        return len(self.keys())

    def __iter__(self):
        return iter(self.keys())

    def values(self):
        """The values, in order."""
        return [self[key] for key in self.keys()]

    def items(self):
        """Pairs of name and value, in order."""
        return [(key, self[key]) for key in self.keys()]

    def pop(self, key):
        """Remove what is called `key`, and return it."""
        value = self[key]
        del self[key]
        return value

    def clear(self):
        """Remove all."""
        for key in list(self.keys()):
            del self[key]

    def update(self, other):
        """Assign all of a mapping, or of pairs.

        Raises:
            TypeError: it is neither.
        """
        if not hasattr(other, "__iter__"):
            raise TypeError(f"{type(self).__name__}.update should be called with an iterable of key/value pairs, but got "
                            f"{type(other).__name__}")
        for pair in other.items() if hasattr(other, "items") else other:
            try:
                key, value = pair
            except (TypeError, ValueError) as error:
                raise type(error)(f"{type(self).__name__}.update should be called with an iterable of key/value pairs, but one of "
                                  f"its elements is no pair: {in_words(pair)}") from None
            self[key] = value


class ModuleDict(_Dict, Module):
    """A dict of modules, which are modules of the one that has the dict. Mirrors ``torch.nn.ModuleDict``.

    >>> layers = nn.ModuleDict({"act": nn.ReLU()})
    >>> layers["act"]
    ReLU()
    """

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})

    def keys(self):
        """The names, in order."""
        return self._modules.keys()

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]


def shown(value, kind):
    """How a parameter, or whatever else, is shown in its list."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.shape)
    return f"{'Parameter' if isinstance(value, Parameter) else 'Tensor'} containing: [{kind(value)} of size {size}]"


def type_name(tensor):
    """The old name of the type of a tensor: FloatTensor."""
    names = {"float64": "Double", "float32": "Float", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short"}
    return f"minigrad.{names.get(tensor.dtype.name, tensor.dtype.name)}Tensor"


class ParameterList(Module):
    """A list of parameters, which are parameters of the module that has the list. Mirrors ``torch.nn.ParameterList``.

    Tensors become parameters; anything else stays what it is.

    >>> weights = nn.ParameterList([mg.zeros(2), mg.zeros(3)])
    >>> [p.shape for p in weights]
    [minigrad.Size([2]), minigrad.Size([3])]
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(values or [])

    def _name(self, idx):
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, self._name(idx))

    def __setitem__(self, idx, param):
        setattr(self, self._name(idx), as_parameter(param))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def append(self, value):
        """Add a parameter at the end. Returns this list."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values):
        """Add parameters at the end. Returns this list.

        Raises:
            TypeError: `values` cannot be iterated over, or is a tensor.
        """
        if not hasattr(values, "__iter__") or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({i}): {shown(p, lambda t: t.dtype)}" for i, p in enumerate(self))

    def __repr__(self):
        return lines_of(self)


class ParameterDict(_Dict, Module):
    """A dict of parameters, which are parameters of the module that has the dict. Mirrors ``torch.nn.ParameterDict``.

    Tensors become parameters; anything else stays what it is.

    >>> weights = nn.ParameterDict({"left": mg.zeros(2)})
    >>> list(weights.state_dict())
    ['left']
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        self.update(parameters or {})

    def keys(self):
        """The names, in order."""
        return self._keys.keys()

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        self._keys[str(key)] = None
        setattr(self, str(key), as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def update(self, other):
        """Assign all of a mapping, or of pairs; those of a plain dict by their names, as PyTorch does."""
        super().update(sorted(other.items()) if type(other) is dict else other)

    def get(self, key, default=None):
        """What is called `key`, or `default`."""
        return self[key] if key in self else default        # noqa: SIM401 (this is the method)

    def setdefault(self, key, default=None):
        """What is called `key`; if nothing is, `default` is from now on."""
        if key not in self:
            self[key] = default
        return self[key]

    def extra_repr(self):
        return "\n".join(f"  ({key}): {shown(p, type_name)}" for key, p in self.items())

    def __repr__(self):
        return lines_of(self)


def as_parameter(value):
    """A tensor as a parameter; anything else as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def lines_of(container):
    """A line for each entry."""
    text = container.extra_repr().replace("\n", "\n  ")
    return f"{type(container).__name__}(\n  {text}\n)" if text else f"{type(container).__name__}()"
