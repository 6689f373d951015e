"""RMSprop. Mirrors ``torch/optim/rmsprop.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, apply_weight_decay, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Number, Tensor

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """RMSprop (Hinton, "Neural networks for machine learning", lecture 6, 2012; centered: Graves, 2013).

        v ← α v + (1 - α) g²            a running mean of the squares
        d ← v                           centered: v - m², where m is the running mean of g
        b ← μ b + g / (√d + ε)          momentum μ
        w ← w - lr b

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        alpha (float): α.
        eps (float): ε.
        weight_decay (float): λ; λ w is added to the gradient.
        momentum (float): μ.
        centered (bool): divide by the standard deviation instead of the root mean square.
        maximize (bool): maximize the objective instead of minimizing it.
        capturable, foreach: without effect.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.RMSprop``.

    Raises:
        ValueError: an option is negative.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-2,
                 alpha: Number = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0, centered: bool = False,
                 capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "eps", eps)
        check_option(self, "momentum", momentum)
        check_option(self, "alpha", alpha)
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        alpha, momentum, lr = group["alpha"], group["momentum"], float(group["lr"])
        if not state:
            state["step"] = 0
            state["square_avg"] = zeros_like(param)
            if momentum > 0:
                state["momentum_buffer"] = zeros_like(param)
            if group["centered"]:
                state["grad_avg"] = zeros_like(param)
        state["step"] += 1
        grad = apply_weight_decay(param, grad, group)
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].mul_(alpha).add_(grad, alpha=1 - alpha)
            square = square - mean * mean
        root = square.sqrt().add_(group["eps"])
        if momentum > 0:
            param.add_(state["momentum_buffer"].mul_(momentum).addcdiv_(grad, root), alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)
