"""Similarity and distance of vectors as modules. Mirrors ``torch/nn/modules/distance.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along `dim`. See `minigrad.nn.functional.cosine_similarity`.

    Mirrors ``torch.nn.CosineSimilarity``.

    >>> nn.CosineSimilarity(dim=0)(mg.tensor([3., 4.]), mg.tensor([4., 3.]))
    tensor(0.9600)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x₁ - x₂ along the last dimension. See `minigrad.nn.functional.pairwise_distance`.

    Mirrors ``torch.nn.PairwiseDistance``.

    >>> nn.PairwiseDistance()(mg.tensor([[3., 4.]]), mg.tensor([[0., 0.]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
