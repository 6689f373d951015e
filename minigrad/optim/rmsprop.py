"""RMSprop. Mirrors ``torch/optim/rmsprop.py``."""

from minigrad.creation import zeros_like
from minigrad.optim.optimizer import Optimizer, check_option, check_options, decayed

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """RMSprop (Hinton, "Neural networks for machine learning", lecture 6, 2012; centered: Graves, 2013).

        v ← α v + (1 - α) g²            a running mean of the squares
        d ← v                           centered: v - m², with m the running mean of g
        b ← μ b + g / (√d + ε)          momentum μ
        w ← w - lr b

    Args:
        params: the parameters, see `Optimizer`.
        lr, alpha, eps, weight_decay, momentum (float)
        centered (bool): divide by the standard deviation instead of the root mean square.
        maximize (bool): ascend instead.
        capturable, foreach: accepted as in PyTorch.
        differentiable: only False.

    Mirrors ``torch.optim.RMSprop``.

    Raises:
        ValueError: an option is negative.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check_options(self, lr, weight_decay, foreach, None, differentiable)
        check_option(self, "eps", eps)
        check_option(self, "momentum", momentum)
        check_option(self, "alpha", alpha)
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable})

    def update(self, param, grad, group, state):
        alpha, momentum, lr = group["alpha"], group["momentum"], float(group["lr"])
        if not state:
            state["step"] = 0
            state["square_avg"] = zeros_like(param)
            if momentum > 0:
                state["momentum_buffer"] = zeros_like(param)
            if group["centered"]:
                state["grad_avg"] = zeros_like(param)
        state["step"] += 1
        grad = decayed(param, grad, group)
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].mul_(alpha).add_(grad, alpha=1 - alpha)
            square = square - mean * mean
        root = square.sqrt().add_(group["eps"])
        if momentum > 0:
            param.add_(state["momentum_buffer"].mul_(momentum).addcdiv_(grad, root), alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)
