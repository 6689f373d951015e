"""Dropout. Mirrors ``torch/nn/modules/dropout.py``."""

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """In training, sets each number to 0 with probability `p` and divides the others by 1 - p.

    Args:
        p (float): in [0, 1].
        inplace (bool): overwrite the input.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    Mirrors ``torch.nn.Dropout``.

    Raises:
        ValueError: `p` lies outside [0, 1].

    >>> nn.Dropout(0.5).eval()(mg.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"
