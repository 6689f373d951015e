"""Averaged SGD. Mirrors ``torch/optim/asgd.py``."""

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, check_options, decayed

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """SGD that also averages the parameters (Polyak & Juditsky, "Acceleration of stochastic approximation by averaging", 1992).

        w ← (1 - λ η) w - η g                       lambd λ
        a ← a + μ (w - a)                           ``state["ax"]``
        η ← lr / (1 + λ lr t)^α,  μ ← 1 / max(1, t - t₀)

    Args:
        params: the parameters, see `Optimizer`.
        lr, lambd, alpha, t0, weight_decay (float)
        maximize (bool): ascend instead.
        foreach, capturable: accepted as in PyTorch.
        differentiable: only False.

    Mirrors ``torch.optim.ASGD``.

    Raises:
        ValueError: an option is negative.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def update(self, param, grad, group, state):
        lr, lambd = float(group["lr"]), group["lambd"]
        if not state:
            state.update(step=0, eta=lr, mu=1.0, ax=zeros_like(param))
        state["step"] += 1
        grad = decayed(param, grad, group)
        moved = (param * (1 - lambd * state["eta"])).add_(grad, alpha=-state["eta"])
        state["ax"].add_(moved - state["ax"], alpha=state["mu"])
        param.copy_(moved)      # last: what does not fit together has raised before
        state["eta"] = lr / (1 + lambd * lr * state["step"]) ** group["alpha"]
        state["mu"] = 1 / max(1, state["step"] - group["t0"])
