"""AdamW. Mirrors ``torch/optim/adamw.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.optim.adam import Adam

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter, "Decoupled weight decay regularization", 2019).

    Each step multiplies the weights by 1 - lr λ, separately from the gradient. The arguments are as in `Adam`, with
    ``weight_decay=0.01`` by default. Mirrors ``torch.optim.AdamW``.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.AdamW([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8990], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)
