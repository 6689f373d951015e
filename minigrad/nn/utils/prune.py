"""Pruning: set the smallest, or random, elements of a parameter to zero, and keep them there.

    prune.l1_unstructured(layer, "weight", amount=0.5)

    layer.weight_orig       the parameter that the optimizer trains
    layer.weight_mask       a buffer of ones and zeros
    layer.weight            weight_orig * weight_mask, computed by a forward pre-hook

A second pruning of the same parameter prunes what is left: a `PruningContainer` has both methods. `remove` makes the pruned
weight a parameter again.

Mirrors ``torch/nn/utils/prune.py``. Read next: ``_pruning_methods.py``, which computes the masks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.creation import ones_like
from minigrad.errors import TensorTypeError, TensorValueError
from minigrad.nn.modules.module import Module
from minigrad.nn.utils._pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
)
from minigrad.nn.utils.convert_parameters import parameters_to_vector
from minigrad.ops.base.arguments import in_words

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]


def identity(module: Module, name: str) -> Module:
    """Prune nothing, but make the mask and the original parameter. Return the module.

    Args:
        module (Module): the module.
        name (str): the name of its parameter.

    Mirrors ``torch.nn.utils.prune.identity``.

    >>> from minigrad.nn.utils import prune
    >>> prune.identity(nn.Linear(2, 1), "bias").bias_mask
    tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune random elements of a parameter. Return the module.

    Args:
        module (Module): the module.
        name (str): the name of its parameter.
        amount (int or float): a number of elements, or a fraction in [0, 1].

    Mirrors ``torch.nn.utils.prune.random_unstructured``.

    >>> from minigrad.nn.utils import prune
    >>> prune.random_unstructured(nn.Linear(2, 3), "weight", 4).weight_mask.sum()
    tensor(2.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter with the smallest absolute values. Return the module.

    Args:
        module (Module): the module.
        name (str): the name of its parameter.
        amount (int or float): a number of elements, or a fraction in [0, 1].
        importance_scores (Tensor, optional): decide instead of the elements.

    Mirrors ``torch.nn.utils.prune.l1_unstructured``.

    >>> from minigrad.nn.utils import prune
    >>> prune.l1_unstructured(nn.Linear(2, 3), "weight", 0.5).weight_mask.sum()
    tensor(3.)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune random slices of a parameter, such as channels. Return the module.

    Args:
        module (Module): the module.
        name (str): the name of its parameter.
        amount (int or float): a number of slices, or a fraction in [0, 1].
        dim (int): the dimension that the slices are counted along.

    Mirrors ``torch.nn.utils.prune.random_structured``.

    >>> from minigrad.nn.utils import prune
    >>> prune.random_structured(nn.Linear(2, 3), "weight", 2, dim=0).weight_mask.sum()
    tensor(2.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: float, dim: int, importance_scores: Tensor | None = None) -> Module:
    """Prune the slices of a parameter with the smallest norms, such as channels. Return the module.

    Args:
        module (Module): the module.
        name (str): the name of its parameter.
        amount (int or float): a number of slices, or a fraction in [0, 1].
        n (float): the order of the norm.
        dim (int): the dimension that the slices are counted along.
        importance_scores (Tensor, optional): decide instead of the elements.

    Mirrors ``torch.nn.utils.prune.ln_structured``.

    >>> from minigrad.nn.utils import prune
    >>> prune.ln_structured(nn.Linear(2, 3), "weight", 2, n=2, dim=0).weight_mask.sum()
    tensor(2.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
                        importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any) -> None:
    """Prune several parameters together: the amount holds for all of their elements, not for each parameter.

    Args:
        parameters (iterable): pairs (module, name).
        pruning_method (class): `L1Unstructured`, `RandomUnstructured`, or another method whose type is ``"unstructured"``.
        importance_scores (dict, optional): (module, name) -> scores, which decide instead of the elements.
        kwargs: the arguments of the method, such as `amount`.

    Mirrors ``torch.nn.utils.prune.global_unstructured``.

    Raises:
        TypeError: `parameters` is not iterable, `importance_scores` is not a dict, or the method has another type.

    >>> from minigrad.nn.utils import prune
    >>> a, b = nn.Linear(2, 1), nn.Linear(3, 1)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=0.4)
    >>> (a.weight_mask.sum() + b.weight_mask.sum()).item()
    3.0
    """
    if not isinstance(parameters, Iterable):
        raise TensorTypeError("MG-E368", "global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TensorTypeError("MG-E368", "global_unstructured(): importance_scores must be of type dict")
    pairs: list[Any] = [parameter_pair(pair) for pair in parameters]
    if not (isinstance(pruning_method, type) and issubclass(pruning_method, BasePruningMethod)):
        raise TensorTypeError("MG-E368", "global_unstructured(): argument 'pruning_method' must be a class of pruning methods, "
                              f"not {in_words(pruning_method)}")
    scores = parameters_to_vector([importance_scores.get(pair, getattr(*pair)) for pair in pairs])
    masks = parameters_to_vector([getattr(module, name + "_mask", ones_like(getattr(module, name))) for module, name in pairs])
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TensorTypeError("MG-E368", 'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                              f"{pruning_method} of type {method.PRUNING_TYPE}")
    mask = PruningContainer(method).compute_mask(scores, masks)
    at = 0
    for module, name in pairs:
        tensor = getattr(module, name)
        custom_from_mask(module, name, mask[at:at + tensor.numel()].view_as(tensor))
        at += tensor.numel()


def parameter_pair(pair):
    """Return `pair` as a tuple; raise `TypeError` unless it is (module, name)."""
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], Module) and isinstance(pair[1], str)):
        raise TensorTypeError("MG-E368", "global_unstructured(): argument 'parameters' must be pairs (module, name), not "
                              f"{in_words(pair)}")
    return tuple(pair)


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter with a mask of your own. Return the module.

    Args:
        module (Module): the module.
        name (str): the name of its parameter.
        mask (Tensor): ones and zeros, of the shape of the parameter.

    Mirrors ``torch.nn.utils.prune.custom_from_mask``.

    >>> from minigrad.nn.utils import prune
    >>> prune.custom_from_mask(nn.Linear(2, 1), "bias", mg.zeros(1)).bias.abs()
    tensor([0.], grad_fn=<AbsBackward0>)
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """End the pruning of a parameter: the pruned values become the parameter. Return the module.

    Args:
        module (Module): the module.
        name (str): the name of its parameter.

    Mirrors ``torch.nn.utils.prune.remove``.

    Raises:
        ValueError: the parameter has not been pruned.

    >>> from minigrad.nn.utils import prune
    >>> layer = prune.identity(nn.Linear(2, 1), "weight")
    >>> list(prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    instance(module, Module, "module", "remove")
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise TensorValueError("MG-E368", f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of this module, or of a module below, is pruned.

    Args:
        module (Module): the module.

    Mirrors ``torch.nn.utils.prune.is_pruned``.

    >>> from minigrad.nn.utils import prune
    >>> prune.is_pruned(nn.Linear(2, 1)), prune.is_pruned(nn.Sequential(prune.identity(nn.Linear(2, 1), "weight")))
    (False, True)
    """
    instance(module, Module, "module", "is_pruned")
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values())
