"""Adam. Mirrors ``torch/optim/adam.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, check_betas, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Adam"]


class Adam(Optimizer):
    """Adam (Kingma & Ba, "Adam: a method for stochastic optimization", 2015).

        m ← β₁ m + (1 - β₁) g
        v ← β₂ v + (1 - β₂) g²
        w ← w - lr (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε)

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        betas (pair of float): β₁ and β₂.
        eps (float): ε.
        weight_decay (float): λ; λ w is added to the gradient.
        amsgrad (bool): divide by the largest v so far (Reddi et al., "On the convergence of Adam and beyond", 2018).
        maximize (bool): maximize the objective instead of minimizing it.
        decoupled_weight_decay (bool): multiply w by 1 - lr λ instead, as AdamW does.
        foreach, capturable, fused: without effect: a step is always one fused kernel per parameter.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.Adam``.

    Raises:
        ValueError: an option is out of range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, fused, differentiable)
        check_option(self, "eps", eps)
        check_betas(self, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable,
                                  "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        param._meta.backend.kernels.adam_(
            param._array, grad._array, state["exp_avg"]._array, state["exp_avg_sq"]._array,
            state["max_exp_avg_sq"]._array if group["amsgrad"] else None, int(state["step"]), float(group["lr"]), beta1, beta2,
            group["eps"], group["weight_decay"], group["decoupled_weight_decay"], group["maximize"])
