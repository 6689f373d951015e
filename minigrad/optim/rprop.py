"""Rprop. Mirrors ``torch/optim/rprop.py``."""

# pyright: reportOperatorIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)

from minigrad.creation import full_like, zeros_like
from minigrad.ops import sign, where
from minigrad.ops.base.rule import real
from minigrad.optim.optimizer import Optimizer, check, check_options, pair

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Rprop (Riedmiller & Braun, "A direct adaptive method for faster backpropagation learning", 1993): the sign of g alone.

        s ← s η₊        where g has the sign that it had         etas (η₋, η₊), s within step_sizes, lr at first
        s ← s η₋        where it has the other one; g ← 0 there
        w ← w - s sign(g)

    Args:
        params: the parameters, see `Optimizer`.
        lr (float): the first s.
        etas, step_sizes (pair of float)
        maximize (bool): ascend instead.
        foreach, capturable: accepted as in PyTorch.
        differentiable: only False.

    It wants whole gradients, not those of a batch. Mirrors ``torch.optim.Rprop``.

    Raises:
        ValueError: an option lies outside its range.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        check_options(self, lr, 0, foreach, None, differentiable)
        low, high = [real(eta, "etas", "Rprop") for eta in pair(self, "etas", etas)]
        check(0 < low < 1 < high, f"Invalid eta values: {low}, {high}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
                                  "differentiable": differentiable, "capturable": capturable})

    def update(self, param, grad, group, state):
        if not state:
            state["step"] = 0
            state["prev"] = zeros_like(param)
            state["step_size"] = full_like(param, float(group["lr"]), requires_grad=False)
        state["step"] += 1
        grad = -grad if group["maximize"] else grad
        less, more = group["etas"]
        turned = sign(grad * state["prev"])
        size = state["step_size"]
        size.copy_(where(turned > 0, size * more, where(turned < 0, size * less, size))).clamp_(*group["step_sizes"])
        grad = where(turned < 0, 0.0, grad)
        param.addcmul_(sign(grad), size, value=-1)
        state["prev"].copy_(grad)
