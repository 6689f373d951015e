"""Adagrad. Mirrors ``torch/optim/adagrad.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.creation import full_like
from minigrad.optim.optimizer import Optimizer, apply_weight_decay, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., "Adaptive subgradient methods for online learning and stochastic optimization", 2011).

        s ← s + g²
        w ← w - lr / (1 + (t - 1) η) g / (√s + ε)           lr_decay η; t is the number of the step, from 1

    Args:
        params (iterable): the parameters: see `Optimizer`.
        lr (float): the learning rate.
        lr_decay (float): η.
        weight_decay (float): λ; λ w is added to the gradient.
        initial_accumulator_value (float): the initial value of s.
        eps (float): ε.
        maximize (bool): maximize the objective instead of minimizing it.
        foreach, fused: without effect.
        differentiable (bool): must be False.

    Mirrors ``torch.optim.Adagrad``.

    Raises:
        ValueError: an option is negative.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-2,
                 lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0, eps: float = 1e-10,
                 foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        check_options(self, lr, weight_decay, foreach, fused, differentiable)
        check_option(self, "lr_decay", lr_decay)
        check_option(self, "initial_accumulator_value", initial_accumulator_value)
        check_option(self, "eps", eps)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "fused": fused})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, as in `Optimizer`. As in PyTorch, the state of the new parameters exists immediately.

        >>> optimizer = mg.optim.Adagrad([mg.zeros(1)], initial_accumulator_value=2.)
        >>> optimizer.state_dict()["state"][0]
        {'step': 0, 'sum': tensor([2.])}
        """
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for param in group["params"]:
            self.state[param] = {"step": 0, "sum": full_like(param, group["initial_accumulator_value"], requires_grad=False)}

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        rate = float(group["lr"]) / (1 + state["step"] * group["lr_decay"])
        state["step"] += 1
        grad = apply_weight_decay(param, grad, group)
        total = state["sum"].addcmul_(grad, grad)
        param.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-rate)
