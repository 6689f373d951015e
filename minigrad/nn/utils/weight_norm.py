"""The older form of weight norm: a forward pre-hook computes the weight. Mirrors ``torch/nn/utils/weight_norm.py``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.errors import ArgumentError, MinigradError, TensorValueError
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter, is_lazy
from minigrad.nn.utils.parametrizations import norm_except_dim
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from typing import Any

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class MissingParameterError(MinigradError, AttributeError, KeyError, ValueError):
    """A module has no parameter of this name. PyTorch's `weight_norm` raises an AttributeError, its `spectral_norm` a KeyError."""


class WeightNorm:
    """The forward pre-hook of `weight_norm`: it computes the weight from its norm g and its direction v.

    Args:
        name (str): the name of the weight.
        dim (int, optional): there is a norm for each index of this dimension. None: a single norm.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = instance(name, str, "name", "weight_norm")
        self.dim = -1 if dim is None else integer(dim, "dim", "weight_norm")

    def compute_weight(self, module: Module) -> Any:
        """Return g v / |v|.

        Args:
            module (Module): the layer with both.
        """
        instance(module, Module, "module", "compute_weight")
        v = getattr(module, self.name + "_v")
        return v * (getattr(module, self.name + "_g") / norm_except_dim(v, self.dim))

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Register the hook and the two parameters.

        Args:
            module (Module): the layer.
            name, dim: as in the constructor.

        Raises:
            RuntimeError: the weight has a weight norm.
            AttributeError: there is no such weight.
            IndexError: the weight has no dimension `dim`.
            ValueError: the weight has no values yet.
        """
        if find_hook(module, WeightNorm, name) is not None:
            raise ArgumentError("MG-E367", f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = find_parameter(module, name, "weight_norm")
        if is_lazy(weight):
            raise TensorValueError("MG-E367", "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                                   "to run the dummy forward before applying weight normalization")
        norm = norm_except_dim(weight, hook.dim)
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm.data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again.

        Args:
            module (Module): the layer.
        """
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def find_hook(module, kind, name):
    """Return the id of the forward pre-hook of a class `kind` for the tensor `name`, or None."""
    instance(module, Module, "module", kind.__name__)
    return next((i for i, hook in module._forward_pre_hooks.items() if isinstance(hook, kind) and hook.name == name), None)


def find_parameter(module, name, function):
    """Return the parameter of a module with a name; raise `MissingParameterError` if there is none."""
    weight = module._parameters.get(instance(name, str, "name", function))
    if weight is None:
        raise MissingParameterError("MG-E367", f"{function}(): {type(module).__name__} has no parameter with name {name!r}",
                                    expected=f"one of {', '.join(module._parameters) or 'none'}")
    return weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Deprecated: use ``nn.utils.parametrizations.weight_norm``. Compute a weight as g v / |v| before each forward.

    Args:
        module (Module): a layer.
        name (str): the name of its weight.
        dim (int, optional): there is a norm for each index of this dimension. None: a single norm.

    Returns:
        The module. Its parameters are ``weight_g`` and ``weight_v``.

    Mirrors ``torch.nn.utils.weight_norm``.

    Raises:
        RuntimeError: the weight has a weight norm.
        AttributeError: there is no such weight.
        IndexError: it has no dimension `dim`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = nn.utils.weight_norm(nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn("`minigrad.nn.utils.weight_norm` is deprecated in favor of `minigrad.nn.utils.parametrizations.weight_norm`.",
                  FutureWarning, stacklevel=2)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Remove a weight norm: the weight becomes a parameter again.

    Args:
        module (Module): a layer.
        name (str): the name of its weight.

    Returns:
        The module.

    Mirrors ``torch.nn.utils.remove_weight_norm``.

    Raises:
        ValueError: the weight has no weight norm.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = nn.utils.weight_norm(nn.Linear(3, 2))
    >>> [name for name, _ in nn.utils.remove_weight_norm(layer).named_parameters()]
    ['bias', 'weight']
    """
    number = find_hook(module, WeightNorm, name)
    if number is None:
        raise TensorValueError("MG-E367", f"weight_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(number).remove(module)
    return module
