"""The older package `functorch`, whose transforms are `minigrad.func` now. With `as_torch`, ``import functorch`` gives this module.

    f, params = make_functional(model)              f(params, x) is model(x) with these parameters
    f, params, buffers = make_functional_with_buffers(model)
    f, params, buffers = combine_state_for_ensemble(models)         vmap(f, (0, 0, None))(params, buffers, x)

`func.functional_call` and `func.stack_module_state` have replaced these. Mirrors ``torch/_functorch/make_functional.py``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from minigrad._arguments import listed
from minigrad.errors import ArgumentError
from minigrad.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from minigrad.func._arguments import check_models, check_module
from minigrad.ops import stack
from minigrad.ops.base.arguments import truth

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.nn import Module
    from minigrad.types import Tensor

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "grad", "grad_and_value", "hessian",
           "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap"]


class FunctionalModuleWithBuffers:
    """A module as a function of its parameters and buffers, which are tuples in the order of the module's own."""

    def __init__(self, model):
        self.stateless_model = copy.deepcopy(check_module(model, "model", type(self).__name__))
        self.param_names = [name for name, _ in model.named_parameters()]
        self.buffer_names = [name for name, _ in model.named_buffers()]

    def __call__(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        given = {**dict(zip(self.param_names, listed(params, "params", name, "sequence of Tensors"))),
                 **dict(zip(self.buffer_names, listed(buffers, "buffers", name, "sequence of Tensors")))}
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function of its parameters."""

    def __call__(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:     # pyright: ignore[reportIncompatibleMethodOverride]
        return super().__call__(params, (), *args, **kwargs)


def parameters_of(model, disable_autograd_tracking):
    """Copies of the parameters: leaves, without `requires_grad` if that is asked for."""
    disable_autograd_tracking = truth(disable_autograd_tracking, "disable_autograd_tracking", "make_functional")
    return tuple([p.detach().clone().requires_grad_(p.requires_grad and not disable_autograd_tracking) for p in model.parameters()])


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """The pair (f, params) with ``f(params, x) = model(x)``. Mirrors ``functorch.make_functional``.

    Args:
        model (Module): it stays as it is.
        disable_autograd_tracking (bool): the params do not require gradients.

    Raises:
        RuntimeError: the model has buffers.

    >>> from minigrad.functorch import grad, make_functional
    >>> f, params = make_functional(nn.Linear(2, 1))
    >>> [g.shape for g in grad(lambda params: f(params, mg.ones(1, 2)).sum())(params)]
    [minigrad.Size([1, 2]), minigrad.Size([1])]
    """
    function = FunctionalModule(model)
    if function.buffer_names:
        raise ArgumentError("MG-E259", "make_functional(model): `model` has buffers. Please use "
                            "make_functional_with_buffers(model) instead.")
    return function, parameters_of(model, disable_autograd_tracking)


def make_functional_with_buffers(
        model: Module,
        disable_autograd_tracking: bool = False) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The triple (f, params, buffers) with ``f(params, buffers, x) = model(x)``.

    Mirrors ``functorch.make_functional_with_buffers``.

    Args:
        model (Module): it stays as it is.
        disable_autograd_tracking (bool): the params do not require gradients.

    >>> from minigrad.functorch import make_functional_with_buffers
    >>> f, params, buffers = make_functional_with_buffers(nn.BatchNorm1d(2).eval())
    >>> len(params), len(buffers), f(params, buffers, mg.ones(1, 2)).shape
    (2, 3, minigrad.Size([1, 2]))
    """
    function = FunctionalModuleWithBuffers(model)
    buffers = tuple([b.detach().clone() for b in model.buffers()])
    return function, parameters_of(model, disable_autograd_tracking), buffers


def combine_state_for_ensemble(
        models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The triple (f, params, buffers) for several models of one class: each parameter and buffer stacked. For `vmap`.

    Args:
        models (list of Module): at least one, all in the same mode.

    Mirrors ``functorch.combine_state_for_ensemble``.

    Raises:
        RuntimeError: there is no model, or they differ in class or mode.

    >>> from minigrad.functorch import combine_state_for_ensemble, vmap
    >>> f, params, buffers = combine_state_for_ensemble([nn.Linear(2, 1) for _ in range(3)])
    >>> vmap(f, (0, 0, None))(params, buffers, mg.ones(4, 2)).shape
    minigrad.Size([3, 4, 1])
    """
    parts = [make_functional_with_buffers(model) for model in check_models(models, "combine_state_for_ensemble")]
    params, buffers = [tuple([stack(same).detach() for same in zip(*[part[i] for part in parts])]) for i in (1, 2)]
    return parts[0][0], params, buffers
