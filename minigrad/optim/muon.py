"""Muon. Mirrors ``torch/optim/_muon.py``."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.errors import DtypeError
from minigrad.ops.base.arguments import truth, wrong_type
from minigrad.optim.optimizer import Optimizer, check, check_option, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Muon"]

# `adjust_lr_fn` -> the factor of lr for a matrix with n rows and m columns
FACTORS = {"original": lambda n, m: sqrt(max(1, n / m)),
           "match_rms_adamw": lambda n, m: 0.2 * sqrt(max(n, m))}      # then steps are as large as AdamW's, for the same lr


class Muon(Optimizer):
    """Muon: momentum, made orthogonal (Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024).

        b ← μ b + (1 - μ) g
        g ← μ b + (1 - μ) g  or  b                  nesterov or not
        w ← w - lr λ w
        w ← w - lr f orthogonalize(g)               f depends on the shape of w: see adjust_lr_fn

    Args:
        params (iterable): matrices, the weights of hidden layers: see `Optimizer`. Give the others to AdamW.
        lr (float): the learning rate.
        weight_decay (float): λ.
        momentum (float): μ.
        nesterov (bool): use Nesterov momentum.
        ns_coefficients (tuple of three numbers): (a, b, c) of `orthogonalize`.
        eps (float): the smallest norm of g that `orthogonalize` divides by.
        ns_steps (int): the number of its steps, less than 100.
        adjust_lr_fn (str, optional): ``"original"``, the default: f = √max(1, n/m), for n rows and m columns; or
            ``"match_rms_adamw"``: f = 0.2 √max(n, m), and lr and λ are those of AdamW (Liu et al., "Muon is scalable for
            LLM training", 2025).

    Mirrors ``torch.optim.Muon``, which orthogonalizes in bfloat16. Here this has the dtype of the parameter.

    Raises:
        ValueError: an option is out of range, or a parameter is not a matrix.
        RuntimeError: a parameter is complex.

    >>> w = mg.tensor([[3., 0.], [0., 1.]], requires_grad=True)
    >>> optimizer = mg.optim.Muon([w], lr=0.1, weight_decay=0)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([[2.9247, 0.0000],
            [0.0000, 0.8866]], requires_grad=True)
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], lr: float = 1e-3,
                 weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
                 adjust_lr_fn: str | None = None) -> None:
        check_options(self, lr, weight_decay, None, None, False)
        check_option(self, "momentum", momentum)
        check(adjust_lr_fn is None or (isinstance(adjust_lr_fn, str) and adjust_lr_fn in FACTORS),
              f"Adjust learning rate function {adjust_lr_fn} is not supported; there are {' and '.join(FACTORS)}")
        if not isinstance(ns_coefficients, (tuple, list)):
            raise wrong_type("Muon", "ns_coefficients", "a tuple of three numbers", ns_coefficients, "MG-E402")
        check(len(ns_coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
        check_option(self, "eps", eps)
        check_option(self, "ns_steps", ns_steps, lambda steps: steps < 100)
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum,
                                  "nesterov": truth(nesterov, "nesterov", "Muon"), "ns_coefficients": ns_coefficients, "eps": eps,
                                  "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        for param in self.param_groups[-1]["params"]:
            if param.ndim != 2:
                del self.param_groups[-1]
                check(False, f"Muon only supports 2D parameters whereas we found a parameter with size: {param.shape}. "
                      "Give it to another optimizer, such as AdamW")

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        if param.is_complex():
            raise DtypeError("MG-E203", "Muon does not support complex parameters", fix="optimize the real and the imaginary part")
        if not state:
            state["momentum_buffer"] = zeros_like(grad)
        rate, momentum = float(group["lr"]), group["momentum"]
        buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        if not param.numel():
            return
        direction = orthogonalize(grad.lerp(buffer, momentum) if group["nesterov"] else buffer, group["ns_coefficients"],
                                  group["ns_steps"], group["eps"])
        param.mul_(1 - rate * group["weight_decay"])
        param.add_(direction, alpha=-rate * FACTORS[group["adjust_lr_fn"] or "original"](*param.shape))


def orthogonalize(g, coefficients, steps, eps):
    """Replace the singular values of the matrix g by numbers near 1, by a Newton-Schulz iteration, which needs only products.

        x ← g / max(|g|, eps)
        x ← a x + b (x xᵀ) x + c (x xᵀ)² x          in each step: the singular values s become a s + b s³ + c s⁵

    The default a, b and c raise small singular values fast. They do not converge: the results are between 0.7 and 1.2.
    """
    a, b, c = coefficients
    wide = g.shape[0] <= g.shape[1]
    x = g if wide else g.t()                        # then x xᵀ is the smaller of the two products
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        square = x @ x.t()
        x = a * x + (b * square + c * (square @ square)) @ x
    return x if wide else x.t()
