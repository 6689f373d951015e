"""Adafactor. Mirrors ``torch/optim/_adafactor.py``."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.dtypes import finfo
from minigrad.ops.base.arguments import wrong_type
from minigrad.optim.optimizer import Optimizer, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018).

    The second moment of a matrix is kept as the means of its rows and of its columns: n + m numbers instead of n m.

        β ← 1 - t^τ                                         beta2_decay τ; t is the number of the step, from 1
        r ← β r + (1 - β) mean(g², columns)                 and c likewise over the rows; v = r c / mean(r)
        u ← g / √max(v, ε₁²)                                a vector keeps v itself
        w ← w - lr λ w
        w ← w - max(ε₂, rms(w)) min(lr, 1/√t) u / max(1, rms(u) / d)

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the largest relative step.
        beta2_decay (float): τ, at most 0.
        eps (pair): ε₁ (None is the eps of the dtype) and ε₂.
        d (float): the largest rms of u, at least 1.
        weight_decay (float): λ.
        foreach: without effect.
        maximize (bool): maximize the objective instead of minimizing it.

    Mirrors ``torch.optim.Adafactor``.

    Raises:
        ValueError: `lr`, `weight_decay` or a number in `eps` is negative, `beta2_decay` is positive, or `d` is less than 1.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-2,
                 beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0,
                 weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False) -> None:
        check_options(self, lr, weight_decay, foreach, None, False)
        check_option(self, "beta2_decay", beta2_decay, lambda x: x <= 0)
        if not isinstance(eps, (tuple, list)) or len(eps) != 2:
            raise wrong_type("Adafactor", "eps", "tuple of two numbers", eps)
        check_option(self, "eps[0]", eps[0], lambda x: x is None or x >= 0)
        check_option(self, "eps[1]", eps[1])
        check_option(self, "d", d, lambda x: x >= 1)
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state["step"] = 0
            if grad.ndim > 1:
                state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
                state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
            else:
                state["variance"] = zeros_like(grad)
        state["step"] += 1
        if not grad.numel():
            return                                          # no number has a mean
        step, rate = state["step"], float(group["lr"])
        small, smallest_scale = group["eps"]
        if small is None:
            small = finfo(param.dtype).eps
        share = step ** group["beta2_decay"]                # 1 - β
        scale = max(smallest_scale, rms(param)) * min(rate, 1 / sqrt(step))
        if group["weight_decay"]:
            param.mul_(1 - rate * group["weight_decay"])
        grad = -grad if group["maximize"] else grad
        square = grad * grad
        if grad.ndim > 1:
            rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), share)
            columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), share)
            moment = rows * columns / rows.mean(-2, keepdim=True).clamp(min=small)
        else:
            moment = state["variance"].lerp_(square, share)
        change = grad * moment.clamp(min=small * small).rsqrt()
        param.add_(change, alpha=-scale / max(1.0, rms(change) / group["d"]))


def rms(tensor):
    """The root of the mean square of all numbers, as a float."""
    return tensor.norm().item() / sqrt(tensor.numel())
