"""Adagrad. Mirrors ``torch/optim/adagrad.py``."""

from minigrad.creation import full_like
from minigrad.optim.optimizer import Optimizer, check_option, check_options, decayed

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., "Adaptive subgradient methods for online learning and stochastic optimization", 2011).

        s ← s + g²
        w ← w - lr / (1 + (t - 1) η) g / (√s + ε)           lr_decay η, t counts the steps from 1

    Args:
        params: the parameters, see `Optimizer`.
        lr, lr_decay, weight_decay, eps (float)
        initial_accumulator_value (float): what s begins with.
        maximize (bool): ascend instead.
        foreach, fused: accepted as in PyTorch.
        differentiable: only False.

    Mirrors ``torch.optim.Adagrad``.

    Raises:
        ValueError: an option is negative.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check_options(self, lr, weight_decay, foreach, fused, differentiable)
        check_option(self, "lr_decay", lr_decay)
        check_option(self, "initial_accumulator_value", initial_accumulator_value)
        check_option(self, "eps", eps)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "fused": fused})

    def add_param_group(self, param_group):
        """As of every `Optimizer`. The sums of the new parameters are there at once, as in PyTorch.

        >>> optimizer = mg.optim.Adagrad([mg.zeros(1)], initial_accumulator_value=2.)
        >>> optimizer.state_dict()["state"][0]
        {'step': 0, 'sum': tensor([2.])}
        """
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for param in group["params"]:
            self.state[param] = {"step": 0, "sum": full_like(param, group["initial_accumulator_value"], requires_grad=False)}

    def update(self, param, grad, group, state):
        rate = float(group["lr"]) / (1 + state["step"] * group["lr_decay"])
        state["step"] += 1
        grad = decayed(param, grad, group)
        total = state["sum"].addcmul_(grad, grad)
        param.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-rate)
