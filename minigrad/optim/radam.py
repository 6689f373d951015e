"""RAdam. Mirrors ``torch/optim/radam.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, apply_weight_decay, check_betas, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """Rectified Adam: in the first steps it ignores v.

    Liu et al., "On the variance of the adaptive learning rate and beyond", 2020.

        m ← β₁ m + (1 - β₁) g           v ← β₂ v + (1 - β₂) g²
        ρₜ = ρ - 2 t β₂ᵗ / (1 - β₂ᵗ)    ρ = 2 / (1 - β₂) - 1 is its limit
        w ← w - lr m / (1 - β₁ᵗ) r / (√(v / (1 - β₂ᵗ)) + ε / √(1 - β₂ᵗ))        if ρₜ > 5, with
                                        r² = (ρₜ - 4) (ρₜ - 2) ρ / ((ρ - 4) (ρ - 2) ρₜ)
        w ← w - lr m / (1 - β₁ᵗ)        otherwise

    ρₜ tells how many gradients v averages.

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        betas (pair of float): β₁ and β₂.
        eps (float): ε.
        weight_decay (float): λ; λ w is added to the gradient.
        decoupled_weight_decay (bool): multiply w by 1 - lr λ instead.
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, capturable: without effect.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.RAdam``.

    Raises:
        ValueError: an option is out of range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "eps", eps)
        check_betas(self, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
                                  "differentiable": differentiable})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        t = state["step"]
        grad = apply_weight_decay(param, grad, group)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        rate, correction = float(group["lr"]) / (1 - beta1 ** t), 1 - beta2 ** t
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2 ** t / correction
        if length > 5:
            r = math.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            param.addcdiv_(mean, square.sqrt().add_(group["eps"]), value=-rate * r * math.sqrt(correction))
        else:
            param.add_(mean, alpha=-rate)
