"""NAdam. Mirrors ``torch/optim/nadam.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, apply_weight_decay, check_betas, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["NAdam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum (Dozat, "Incorporating Nesterov momentum into Adam", 2016).

        m ← β₁ m + (1 - β₁) g           v ← β₂ v + (1 - β₂) g²
        μₜ = β₁ (1 - 0.96^(t ψ) / 2)    momentum_decay ψ
        w ← w - lr ((1 - μₜ) / (1 - Π μ) g + μₜ₊₁ / (1 - μₜ₊₁ Π μ) m) / (√(v / (1 - β₂ᵗ)) + ε)       Π μ = μ₁ ... μₜ

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        betas (pair of float): β₁ and β₂.
        eps (float): ε.
        momentum_decay (float): ψ.
        weight_decay (float): λ; λ w is added to the gradient.
        decoupled_weight_decay (bool): multiply w by 1 - lr λ instead.
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, capturable: without effect.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.NAdam``.

    Raises:
        ValueError: an option is out of range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8944], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 2e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "eps", eps)
        check_betas(self, betas)
        check_option(self, "momentum_decay", momentum_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr, decay = float(group["lr"]), group["momentum_decay"]
        if not state:
            state["step"] = 0
            state["mu_product"] = 1.0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        t = state["step"]
        grad = apply_weight_decay(param, grad, group)
        mu, mu_next = [beta1 * (1 - 0.5 * 0.96 ** (n * decay)) for n in (t, t + 1)]
        state["mu_product"] *= mu
        product = state["mu_product"]
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.sqrt().div_(math.sqrt(1 - beta2 ** t)).add_(group["eps"])
        param.addcdiv_(grad, root, value=-lr * (1 - mu) / (1 - product))
        param.addcdiv_(mean, root, value=-lr * mu_next / (1 - product * mu_next))
