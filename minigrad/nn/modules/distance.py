"""Distances of vectors as layers. Mirrors ``torch/nn/modules/distance.py``."""

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along `dim`. See `minigrad.nn.functional.cosine_similarity`.

    Mirrors ``torch.nn.CosineSimilarity``.

    >>> nn.CosineSimilarity(dim=0)(mg.tensor([3., 4.]), mg.tensor([4., 3.]))
    tensor(0.9600)
    """

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference along the last dimension. See `minigrad.nn.functional.pairwise_distance`.

    Mirrors ``torch.nn.PairwiseDistance``.

    >>> nn.PairwiseDistance()(mg.tensor([[3., 4.]]), mg.tensor([[0., 0.]]))
    tensor([5.0000])
    """

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
