"""Adamax. Mirrors ``torch/optim/adamax.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.ops import maximum
from minigrad.optim.optimizer import Optimizer, apply_weight_decay, check_betas, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adam with a running maximum of |g| instead of the root mean square (Kingma & Ba, 2015, section 7).

        m ← β₁ m + (1 - β₁) g
        u ← max(β₂ u, |g| + ε)
        w ← w - lr / (1 - β₁ᵗ) m / u

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        betas (pair of float): β₁ and β₂.
        eps (float): ε.
        weight_decay (float): λ; λ w is added to the gradient.
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, capturable: without effect.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.Adamax``.

    Raises:
        ValueError: an option is out of range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 2e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None,
                 *, maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "eps", eps)
        check_betas(self, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_inf"] = zeros_like(param)
        state["step"] += 1
        grad = apply_weight_decay(param, grad, group)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        top = state["exp_inf"]
        top.copy_(maximum(top * beta2, grad.abs().add_(group["eps"])))      # pyright: ignore[reportArgumentType]
        param.addcdiv_(mean, top, value=-float(group["lr"]) / (1 - beta1 ** state["step"]))
