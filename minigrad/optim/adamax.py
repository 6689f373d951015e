"""Adamax. Mirrors ``torch/optim/adamax.py``."""

from minigrad.creation import zeros_like
from minigrad.ops import maximum
from minigrad.optim.optimizer import Optimizer, check_betas, check_option, check_options, decayed

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adam with the largest gradient instead of the root mean square (Kingma & Ba, 2015, section 7).

        m ← β₁ m + (1 - β₁) g
        u ← max(β₂ u, |g| + ε)
        w ← w - lr / (1 - β₁ᵗ) m / u

    Args:
        params: the parameters, see `Optimizer`.
        lr, eps, weight_decay (float)
        betas (pair of float): β₁ and β₂.
        maximize (bool): ascend instead.
        foreach, capturable: accepted as in PyTorch.
        differentiable: only False.

    Mirrors ``torch.optim.Adamax``.

    Raises:
        ValueError: an option lies outside its range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "eps", eps)
        check_betas(self, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def update(self, param, grad, group, state):
        beta1, beta2 = group["betas"]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_inf"] = zeros_like(param)
        state["step"] += 1
        grad = decayed(param, grad, group)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        top = state["exp_inf"]
        top.copy_(maximum(top * beta2, grad.abs().add_(group["eps"])))      # pyright: ignore[reportArgumentType]
        param.addcdiv_(mean, top, value=-float(group["lr"]) / (1 - beta1 ** state["step"]))
