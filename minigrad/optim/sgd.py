"""Stochastic gradient descent. Mirrors ``torch/optim/sgd.py``."""

from minigrad.creation import empty_like
from minigrad.ops.base.rule import truth
from minigrad.optim.optimizer import Optimizer, check, check_option, check_options

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum.

        g ← g + λ w                     weight_decay λ
        b ← μ b + (1 - τ) g             momentum μ, dampening τ; at first b = g
        g ← g + μ b  or  b              nesterov or not
        w ← w - lr g

    Args:
        params: the parameters, see `Optimizer`.
        lr, momentum, dampening, weight_decay (float)
        nesterov (bool): Nesterov momentum (Sutskever et al., "On the importance of initialization and momentum in
            deep learning", 2013).
        maximize (bool): ascend instead.
        foreach, fused: accepted as in PyTorch; the step is always one fused kernel per parameter.
        differentiable: only False.

    Mirrors ``torch.optim.SGD``.

    Raises:
        ValueError: an option is negative, or `nesterov` comes without momentum or with dampening.
        NotImplementedError: `differentiable` is True.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):
        check_options(self, lr, weight_decay, foreach, fused, differentiable)
        check_option(self, "momentum", momentum)
        nesterov = truth(nesterov, "nesterov", "SGD")
        check(not nesterov or (momentum > 0 and dampening == 0), "Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
                                  "fused": fused})

    def update(self, param, grad, group, state):
        momentum = group["momentum"]
        buffer = state.get("momentum_buffer") if momentum else None
        first = buffer is None
        if momentum and buffer is None:
            buffer = state["momentum_buffer"] = empty_like(param)
        param.device.backend.kernels.sgd_(
            param._array, grad._array, None if buffer is None else buffer._array, float(group["lr"]), momentum, group["dampening"],
            group["weight_decay"], group["nesterov"], group["maximize"], first)
