"""RAdam. Mirrors ``torch/optim/radam.py``."""

import math

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, check_betas, check_option, check_options, decayed

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """Adam that does without v while too few gradients are in it (Liu et al., "On the variance of the adaptive learning rate and
    beyond", 2020).

        m ← β₁ m + (1 - β₁) g           v ← β₂ v + (1 - β₂) g²
        ρₜ = ρ - 2 t β₂ᵗ / (1 - β₂ᵗ)    ρ = 2 / (1 - β₂) - 1: how many gradients there are in v
        w ← w - lr m / (1 - β₁ᵗ) r / (√(v / (1 - β₂ᵗ)) + ε / √(1 - β₂ᵗ))        if ρₜ > 5, with
                                        r² = (ρₜ - 4) (ρₜ - 2) ρ / ((ρ - 4) (ρ - 2) ρₜ)
        w ← w - lr m / (1 - β₁ᵗ)        else

    Args:
        params: the parameters, see `Optimizer`.
        lr, eps (float)
        betas (pair of float): β₁ and β₂.
        weight_decay (float): λ, added to the gradient as λ w.
        decoupled_weight_decay (bool): shrink w by lr λ instead.
        maximize (bool): ascend instead.
        foreach, capturable: accepted as in PyTorch.
        differentiable: only False.

    Mirrors ``torch.optim.RAdam``.

    Raises:
        ValueError: an option lies outside its range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "eps", eps)
        check_betas(self, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
                                  "differentiable": differentiable})

    def update(self, param, grad, group, state):
        beta1, beta2 = group["betas"]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        t = state["step"]
        grad = decayed(param, grad, group)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        rate, filled = float(group["lr"]) / (1 - beta1 ** t), 1 - beta2 ** t
        most = 2 / (1 - beta2) - 1
        length = most - 2 * t * beta2 ** t / filled
        if length > 5:
            r = math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
            param.addcdiv_(mean, square.sqrt().add_(group["eps"]), value=-rate * r * math.sqrt(filled))
        else:
            param.add_(mean, alpha=-rate)
