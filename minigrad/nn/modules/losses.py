"""The losses of ``nn/functional/_losses.py``, ``_pair_losses.py`` and ``_class_losses.py`` as modules.

The arguments of a constructor are the options of the function. Mirrors ``torch/nn/modules/loss.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.errors import TensorValueError
from minigrad.nn import functional as F
from minigrad.nn.modules._loss_base import _Loss, _WeightedLoss
from minigrad.ops.base.arguments import real

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss",
           "KLDivLoss", "L1Loss", "MarginRankingLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "PoissonNLLLoss",
           "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss"]


class L1Loss(_Loss):
    """The absolute error |x - y|. See `minigrad.nn.functional.l1_loss`.

    Mirrors ``torch.nn.L1Loss``.

    >>> nn.L1Loss()(mg.tensor([1., 2.]), mg.tensor([0., 4.]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Quadratic for errors below `beta`, linear above. See `minigrad.nn.functional.smooth_l1_loss`.

    Mirrors ``torch.nn.SmoothL1Loss``.

    >>> nn.SmoothL1Loss()(mg.tensor([1., 2.]), mg.tensor([0., 4.]))
    tensor(1.)
    """

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 beta: Number = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


class HuberLoss(_Loss):
    """The Huber loss: quadratic for errors below `delta`, linear above. See `minigrad.nn.functional.huber_loss`.

    Mirrors ``torch.nn.HuberLoss``.

    >>> nn.HuberLoss(delta=0.5)(mg.tensor([1., 2.]), mg.tensor([0., 4.]))
    tensor(0.6250)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, delta=self.delta, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities. See `minigrad.nn.functional.binary_cross_entropy`.

    Mirrors ``torch.nn.BCELoss``.

    >>> nn.BCELoss()(mg.tensor([0.5, 0.5]), mg.tensor([1., 0.]))
    tensor(0.6931)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """The binary cross entropy of scores. See `minigrad.nn.functional.binary_cross_entropy_with_logits`.

    Mirrors ``torch.nn.BCEWithLogitsLoss``.

    >>> nn.BCEWithLogitsLoss()(mg.tensor([0., 0.]), mg.tensor([1., 0.]))
    tensor(0.6931)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of target probabilities and log-probabilities. See `minigrad.nn.functional.kl_div`.

    Mirrors ``torch.nn.KLDivLoss``.

    >>> nn.KLDivLoss(reduction="sum")(mg.tensor([0.5, 0.5]).log(), mg.tensor([1., 0.]))
    tensor(0.6931)
    """

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 log_target: bool = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, log_target=self.log_target, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of normal distributions. See `minigrad.nn.functional.gaussian_nll_loss`.

    Mirrors ``torch.nn.GaussianNLLLoss``.

    >>> nn.GaussianNLLLoss()(mg.tensor([1.]), mg.tensor([3.]), mg.tensor([4.]))
    tensor(1.1931)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of Poisson distributions. See `minigrad.nn.functional.poisson_nll_loss`.

    Mirrors ``torch.nn.PoissonNLLLoss``.

    >>> nn.PoissonNLLLoss()(mg.tensor([0.]), mg.tensor([2.]))
    tensor(1.)
    """

    def __init__(self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
                                  reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """For pairs of vectors: the angle should be small, or large. See `minigrad.nn.functional.cosine_embedding_loss`.

    Mirrors ``torch.nn.CosineEmbeddingLoss``.

    >>> nn.CosineEmbeddingLoss()(mg.tensor([[3., 4.]]), mg.tensor([[4., 3.]]), mg.tensor([1.]))
    tensor(0.0400)
    """

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """For triplets of vectors: the anchor should be nearer to the positive than to the negative.

    See `minigrad.nn.functional.triplet_margin_loss`. Mirrors ``torch.nn.TripletMarginLoss``.

    >>> nn.TripletMarginLoss(4.)(mg.tensor([0.]), mg.tensor([1.]), mg.tensor([3.]))
    tensor(2.)
    """

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, size_average: bool | None = None,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        if real(margin, "margin", "TripletMarginLoss") <= 0:
            raise TensorValueError("MG-E332", f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """For pairs of numbers: one should be larger. See `minigrad.nn.functional.margin_ranking_loss`.

    Mirrors ``torch.nn.MarginRankingLoss``.

    >>> nn.MarginRankingLoss()(mg.tensor([1.]), mg.tensor([3.]), mg.tensor([1.]))
    tensor(2.)
    """

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """For distances: they should be small, or large. See `minigrad.nn.functional.hinge_embedding_loss`.

    Mirrors ``torch.nn.HingeEmbeddingLoss``.

    >>> nn.HingeEmbeddingLoss()(mg.tensor([0.25, 0.25]), mg.tensor([1., -1.]))
    tensor(0.5000)
    """

    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """The logistic loss log(1 + e^(-y x)). See `minigrad.nn.functional.soft_margin_loss`.

    Mirrors ``torch.nn.SoftMarginLoss``.

    >>> nn.SoftMarginLoss()(mg.tensor([0.]), mg.tensor([1.]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """A binary cross entropy per class. See `minigrad.nn.functional.multilabel_soft_margin_loss`.

    Mirrors ``torch.nn.MultiLabelSoftMarginLoss``.

    >>> nn.MultiLabelSoftMarginLoss()(mg.tensor([[0., 0.]]), mg.tensor([[1., 0.]]))
    tensor(0.6931)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The score of the right class should be larger than all others by a margin. See `minigrad.nn.functional.multi_margin_loss`.

    Mirrors ``torch.nn.MultiMarginLoss``.

    Raises:
        ValueError: `p` is neither 1 nor 2.

    >>> nn.MultiMarginLoss()(mg.tensor([[0.5, 0.25]]), mg.tensor([0]))
    tensor(0.3750)
    """

    def __init__(self, p: float = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise TensorValueError("MG-E302", "only p == 1 and p == 2 supported", found=f"{p}")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction)
