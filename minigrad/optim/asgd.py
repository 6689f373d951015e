"""Averaged SGD. Mirrors ``torch/optim/asgd.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, apply_weight_decay, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Number, Tensor

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """SGD that also averages the parameters (Polyak & Juditsky, "Acceleration of stochastic approximation by averaging", 1992).

        w ← (1 - λ η) w - η g                       lambd λ
        a ← a + μ (w - a)                           ``state["ax"]``
        η ← lr / (1 + λ lr t)^α,  μ ← 1 / max(1, t - t₀)

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the initial learning rate η.
        lambd (float): λ.
        alpha (float): α.
        t0 (float): t₀, the step at which the averaging begins.
        weight_decay (float): a factor; this factor times w is added to the gradient.
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, capturable: without effect.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.ASGD``.

    Raises:
        ValueError: an option is negative.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-2,
                 lambd: float = 1e-4, alpha: Number = 0.75, t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        lr, lambd = float(group["lr"]), group["lambd"]
        if not state:
            state.update(step=0, eta=lr, mu=1.0, ax=zeros_like(param))
        state["step"] += 1
        grad = apply_weight_decay(param, grad, group)
        moved = (param * (1 - lambd * state["eta"])).add_(grad, alpha=-state["eta"])
        state["ax"].add_(moved - state["ax"], alpha=state["mu"])
        param.copy_(moved)      # last: if shapes do not fit, an op above has raised
        state["eta"] = lr / (1 + lambd * lr * state["step"]) ** group["alpha"]
        state["mu"] = 1 / max(1, state["step"] - group["t0"])
