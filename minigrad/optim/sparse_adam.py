"""SparseAdam. Mirrors ``torch/optim/sparse_adam.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, check_betas, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for tables of which a step uses a few rows: the other rows, and their moments, stay as they are.

        m ← β₁ m + (1 - β₁) g                   for the rows i where g[i] is not 0
        v ← β₂ v + (1 - β₂) g²
        w ← w - lr √(1 - β₂ᵗ) / (1 - β₁ᵗ) m / (√v + ε)

    Gradients are dense here, and a row of zeros counts as a row without a gradient. PyTorch takes sparse gradients only.

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        betas (pair of float): β₁ and β₂.
        eps (float): ε.
        maximize (bool): maximize the objective instead of minimizing it.

    Mirrors ``torch.optim.SparseAdam``.

    Raises:
        ValueError: an option is out of range.

    >>> table = mg.ones(3, 2, requires_grad=True)
    >>> optimizer = mg.optim.SparseAdam([table], lr=0.1)
    >>> table[1].sum().backward(); optimizer.step(); table[:, 0]
    tensor([1.0000, 0.9000, 1.0000], grad_fn=<SelectBackward0>)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False) -> None:
        check_options(self, lr, 0, None, None, False)
        check_option(self, "eps", eps)
        check_betas(self, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        rows = (grad != 0).reshape(grad.shape[0], -1).any(1).nonzero().reshape(-1)     # pyright: ignore
        g = -grad[rows] if group["maximize"] else grad[rows]
        mean = state["exp_avg"][rows].lerp(g, 1 - beta1)
        square = state["exp_avg_sq"][rows].lerp(g * g, 1 - beta2)
        state["exp_avg"].index_copy_(0, rows, mean)
        state["exp_avg_sq"].index_copy_(0, rows, square)
        t = state["step"]
        rate = float(group["lr"]) * (1 - beta2 ** t) ** 0.5 / (1 - beta1 ** t)
        param.index_add_(0, rows, mean / (square.sqrt() + group["eps"]), alpha=-rate)
