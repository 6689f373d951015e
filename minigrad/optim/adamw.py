"""AdamW. Mirrors ``torch/optim/adamw.py``."""

from minigrad.optim.adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter, "Decoupled weight decay regularization", 2019).

    The weights shrink by lr λ at each step, apart from the gradient. Arguments as for `Adam`, with
    ``weight_decay=0.01``. Mirrors ``torch.optim.AdamW``.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> optimizer = mg.optim.AdamW([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8990], requires_grad=True)
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)
