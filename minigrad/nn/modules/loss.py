"""Losses as modules. Mirrors ``torch/nn/modules/loss.py``."""

from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module
from minigrad.ops.nn.losses import reduction_of

__all__ = ["CrossEntropyLoss", "MSELoss", "NLLLoss"]


class _Loss(Module):
    """What the losses share: the reduction, also in its old form of `size_average` and `reduce`."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(reduction, size_average, reduce) if old else reduction


class MSELoss(_Loss):
    """The squared error between input and target. See `minigrad.nn.functional.mse_loss`.

    Mirrors ``torch.nn.MSELoss``.

    >>> nn.MSELoss()(mg.tensor([1., 2.]), mg.tensor([0., 0.]))
    tensor(2.5000)
    """

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_Loss):
    """The negative log likelihood of the right classes. See `minigrad.nn.functional.nll_loss`.

    Mirrors ``torch.nn.NLLLoss``.

    >>> nn.NLLLoss()(mg.tensor([[-0.5, -1.0]]), mg.tensor([1]))
    tensor(1.)
    """

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_Loss):
    """The cross entropy between the softmax of the input and the target. See `minigrad.nn.functional.cross_entropy`.

    Mirrors ``torch.nn.CrossEntropyLoss``.

    >>> nn.CrossEntropyLoss()(mg.tensor([[2., 0.], [0., 2.]]), mg.tensor([0, 0]))
    tensor(1.1269)
    """

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                               label_smoothing=self.label_smoothing)
