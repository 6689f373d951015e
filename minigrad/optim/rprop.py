"""Rprop. Mirrors ``torch/optim/rprop.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

# pyright: reportOperatorIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from minigrad.creation import full_like, zeros_like
from minigrad.ops import sign, where
from minigrad.ops.base.arguments import real
from minigrad.optim.optimizer import Optimizer, check, check_options, check_pair

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Rprop, which uses only the sign of g.

    Riedmiller & Braun, "A direct adaptive method for faster backpropagation learning", 1993.

        s ← s η₊            where the sign of g is the same as in the last step
        s ← s η₋, g ← 0     where the sign has changed
        w ← w - s sign(g)

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the initial value of s.
        etas (pair of float): η₋ and η₊.
        step_sizes (pair of float): bounds for s.
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, capturable: without effect.
        differentiable (bool): must be False.

    Use it with gradients of the whole data set, not of mini-batches. Mirrors ``torch.optim.Rprop``.

    Raises:
        ValueError: an option is out of range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-2,
                 etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_options(self, lr, 0, foreach, None, differentiable)
        low, high = [real(eta, "etas", "Rprop") for eta in check_pair(self, "etas", etas)]
        check(0 < low < 1 < high, f"Invalid eta values: {low}, {high}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
                                  "differentiable": differentiable, "capturable": capturable})

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state["step"] = 0
            state["prev"] = zeros_like(param)
            state["step_size"] = full_like(param, float(group["lr"]), requires_grad=False)
        state["step"] += 1
        grad = -grad if group["maximize"] else grad
        less, more = group["etas"]
        agreement = sign(grad * state["prev"])
        size = state["step_size"]
        size.copy_(where(agreement > 0, size * more, where(agreement < 0, size * less, size))).clamp_(*group["step_sizes"])
        grad = where(agreement < 0, 0.0, grad)
        param.addcmul_(sign(grad), size, value=-1)
        state["prev"].copy_(grad)
