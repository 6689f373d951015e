"""Adadelta. Mirrors ``torch/optim/adadelta.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, apply_weight_decay, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Adadelta (Zeiler, "ADADELTA: an adaptive learning rate method", 2012).

        v ← ρ v + (1 - ρ) g²
        d = √(u + ε) / √(v + ε) g           d has the unit of the parameters
        u ← ρ u + (1 - ρ) d²
        w ← w - lr d

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the factor of the step d.
        rho (float): ρ.
        eps (float): ε.
        weight_decay (float): λ; λ w is added to the gradient.
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, capturable: without effect.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.Adadelta``.

    Raises:
        ValueError: an option is out of range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adadelta([w], eps=0.25)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([-0.2403], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1.0,
                 rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, foreach: bool | None = None, *,
                 capturable: bool = False, maximize: bool = False, differentiable: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "rho", rho, lambda rho: 0 <= rho <= 1)
        check_option(self, "eps", eps)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        if not state:
            state["step"] = 0
            state["square_avg"] = zeros_like(param)
            state["acc_delta"] = zeros_like(param)
        state["step"] += 1
        grad = apply_weight_decay(param, grad, group)
        square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-float(group["lr"]))
