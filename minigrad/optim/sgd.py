"""Stochastic gradient descent. Mirrors ``torch/optim/sgd.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import empty_like
from minigrad.ops.base.arguments import truth
from minigrad.optim.optimizer import Optimizer, check, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum.

        g ← g + λ w                     weight_decay λ
        b ← μ b + (1 - τ) g             momentum μ, dampening τ; b = g in the first step
        g ← g + μ b  or  b              nesterov or not
        w ← w - lr g

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        momentum (float): μ.
        dampening (float): τ.
        weight_decay (float): λ.
        nesterov (bool): use Nesterov momentum (Sutskever et al., "On the importance of initialization and momentum in
            deep learning", 2013).
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, fused: without effect: a step is always one fused kernel per parameter.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.SGD``.

    Raises:
        ValueError: an option is negative, or `nesterov` is used without momentum or with dampening.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-3,
                 momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        check_options(self, lr, weight_decay, foreach, fused, differentiable)
        check_option(self, "momentum", momentum)
        nesterov = truth(nesterov, "nesterov", "SGD")
        check(not nesterov or (momentum > 0 and dampening == 0), "Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
                                  "fused": fused})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        momentum = group["momentum"]
        buffer = state.get("momentum_buffer") if momentum else None
        first = buffer is None
        if momentum and buffer is None:
            buffer = state["momentum_buffer"] = empty_like(param)
        param._meta.backend.kernels.sgd_(
            param._array, grad._array, None if buffer is None else buffer._array, float(group["lr"]), momentum, group["dampening"],
            group["weight_decay"], group["nesterov"], group["maximize"], first)
