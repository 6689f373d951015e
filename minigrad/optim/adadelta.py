"""Adadelta. Mirrors ``torch/optim/adadelta.py``."""

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, check_option, check_options, decayed

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Adadelta (Zeiler, "ADADELTA: an adaptive learning rate method", 2012).

        v ← ρ v + (1 - ρ) g²
        d = √(u + ε) / √(v + ε) g           steps have the unit of the parameters
        u ← ρ u + (1 - ρ) d²
        w ← w - lr d

    Args:
        params: the parameters, see `Optimizer`.
        lr, rho, eps, weight_decay (float)
        maximize (bool): ascend instead.
        foreach, capturable: accepted as in PyTorch.
        differentiable: only False.

    Mirrors ``torch.optim.Adadelta``.

    Raises:
        ValueError: an option lies outside its range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adadelta([w], eps=0.25)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([-0.2403], requires_grad=True)
    """

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "rho", rho, lambda rho: 0 <= rho <= 1)
        check_option(self, "eps", eps)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def update(self, param, grad, group, state):
        rho, eps = group["rho"], group["eps"]
        if not state:
            state["step"] = 0
            state["square_avg"] = zeros_like(param)
            state["acc_delta"] = zeros_like(param)
        state["step"] += 1
        grad = decayed(param, grad, group)
        square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-float(group["lr"]))
