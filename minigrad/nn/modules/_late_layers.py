"""Layers and losses that few programs use; they are imported with the first use of a name.

Mirrors ``torch/nn/modules/activation.py``, ``batchnorm.py``, ``sparse.py`` and ``loss.py``.
"""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
import warnings
from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import empty
from minigrad.errors import AutogradAssertionError, TensorValueError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.modules._loss_base import _Loss
from minigrad.nn.modules.batchnorm import _BatchNorm
from minigrad.nn.modules.loss import NLLLoss
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.arguments import integer, real, tensor_argument

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["CTCLoss", "EmbeddingBag", "MultiLabelMarginLoss", "NLLLoss2d", "RReLU", "Softmax2d", "SyncBatchNorm",
           "TripletMarginWithDistanceLoss"]


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W), at each pixel. Mirrors ``torch.nn.Softmax2d``.

    Raises:
        ValueError: the input has another number of dimensions.

    >>> nn.Softmax2d()(mg.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise TensorValueError("MG-E205", f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class RReLU(Module):
    """x where x ≥ 0, and r x elsewhere, with a random r in training. See `minigrad.nn.functional.rrelu`.

    Args:
        lower, upper (float): the bounds of r.
        inplace (bool): write the result over the input.

    Mirrors ``torch.nn.RReLU``.

    >>> nn.RReLU(0.25, 0.75).eval()(mg.tensor([-2., 2.]))
    tensor([-1.,  2.])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class EmbeddingBag(Module):
    """The sum, mean or maximum of the rows of a table in each bag of indices. See `minigrad.nn.functional.embedding_bag`.

    Args:
        num_embeddings (int): the number of rows.
        embedding_dim (int): the size of a row.
        max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset: as in the function.
        padding_idx (int, optional): an index that the bags leave out. Its row is 0 at first.
        device, dtype (optional): the device and dtype of the table.

    `weight` is (num_embeddings, embedding_dim), initially normal. Mirrors ``torch.nn.EmbeddingBag``.

    >>> layer = nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer(mg.tensor([1, 2, 4, 5]), mg.tensor([0, 3])).shape
    minigrad.Size([2, 3])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
                 include_last_offset: bool = False, padding_idx: int | None = None, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        num_embeddings = integer(num_embeddings, "num_embeddings", "EmbeddingBag")
        embedding_dim = integer(embedding_dim, "embedding_dim", "EmbeddingBag")
        if padding_idx is not None and not -num_embeddings <= integer(
                padding_idx, "padding_idx", "EmbeddingBag") < num_embeddings:
            raise AutogradAssertionError("MG-E332", "padding_idx must be within num_embeddings", found=str(padding_idx))
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        if _weight is None:
            self.weight = Parameter(empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            tensor_argument("EmbeddingBag", _weight, "_weight")
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AutogradAssertionError("MG-E332", "Shape of weight does not match num_embeddings and embedding_dim",
                                             found=str(list(_weight.shape)))
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draw new rows."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
                        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                        include_last_offset: bool = False, padding_idx: int | None = None) -> Self:
        """Return a layer with a given table.

        Args:
            embeddings (Tensor): the table, (V, D).
            freeze (bool): do not train it.
            max_norm, norm_type, ...: as in the constructor.
        """
        if embeddings.ndim != 2:
            raise AutogradAssertionError("MG-E332", "Embeddings parameter is expected to be 2-dimensional",
                                         found=f"{embeddings.ndim} dimensions")
        layer = cls(*embeddings.shape, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, mode=mode,
                    sparse=sparse, _weight=embeddings, include_last_offset=include_last_offset, padding_idx=padding_idx)
        layer.weight.requires_grad = not freeze
        return layer


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes. Here there is one process, so it is a `BatchNorm` of any dimension.

    The arguments are as in `BatchNorm1d`, and `process_group` must be None. Mirrors ``torch.nn.SyncBatchNorm``, which in one
    process is a `BatchNorm` too.

    >>> model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)))
    >>> model[1](mg.ones(2, 2, 3, 3)).shape, type(model[1]).__name__
    (minigrad.Size([2, 2, 3, 3]), 'SyncBatchNorm')
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: DeviceLike | None = None,
                 dtype: DType | None = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.ndim < 2:
            raise TensorValueError("MG-E205", f"expected at least 2D input (got {input.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """Return `module` with a `SyncBatchNorm` instead of each batch normalization.

        Args:
            module (Module): the model. Its other modules stay the same.
            process_group: must be None.
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                         bias=module.bias is not None)
            result._parameters.update(module._parameters)
            result._buffers.update(module._buffers)
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class NLLLoss2d(NLLLoss):
    """Deprecated: use `NLLLoss`, which takes images too. Mirrors ``torch.nn.NLLLoss2d``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     nn.NLLLoss2d()(mg.zeros(1, 2, 1, 1) - 1, mg.tensor([[[0]]]))
    tensor(1.)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement.", FutureWarning,
                      stacklevel=2)
        super().__init__(*args, **kwargs)


class CTCLoss(_Loss):
    """The loss of label sequences without alignment. See `minigrad.nn.functional.ctc_loss`.

    Args:
        blank (int): the class for "no label".
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        zero_infinity (bool): the loss of a target that is too long for its input is 0 instead of infinite.

    Mirrors ``torch.nn.CTCLoss``.

    >>> log_probs = mg.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> nn.CTCLoss()(log_probs, mg.tensor([[1]]), (2,), (1,))
    tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class MultiLabelMarginLoss(_Loss):
    """A margin between the classes of the target and the others. See `minigrad.nn.functional.multilabel_margin_loss`.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.MultiLabelMarginLoss``.

    >>> nn.MultiLabelMarginLoss()(mg.tensor([0.1, 0.2, 0.4, 0.8]), mg.tensor([3, 0, -1, 1]))
    tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """A margin between two distances of your own. See `minigrad.nn.functional.triplet_margin_with_distance_loss`.

    Args:
        distance_function (callable, optional): takes two tensors; `PairwiseDistance` by default.
        margin (float): positive.
        swap (bool): use the distance of positive and negative where it is smaller.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    Mirrors ``torch.nn.TripletMarginWithDistanceLoss``.

    Raises:
        ValueError: `margin` is not positive.

    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1), margin=3.0)
    >>> loss(mg.zeros(1, 2), mg.ones(1, 2), mg.ones(1, 2) * 2)
    tensor(1.)
    """

    def __init__(self, *, distance_function: Callable[..., Any] | None = None, margin: float = 1.0, swap: bool = False,
                 reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        margin = real(margin, "margin", "TripletMarginWithDistanceLoss")
        if distance_function is not None:
            callable_argument(distance_function, "distance_function", "TripletMarginWithDistanceLoss")
        if margin <= 0:
            raise TensorValueError("MG-E332", "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                                              f"{margin} instead")
        self.distance_function = distance_function or F.pairwise_distance
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
                                                   margin=self.margin, swap=self.swap, reduction=self.reduction)
