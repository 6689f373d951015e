"""Losses of classifiers other than cross entropy: a yes or no per class, and margins. They are composed of ops.

Mirrors the losses of ``torch/nn/functional.py`` and ``aten/src/ATen/native/{Loss,LossMultiMargin}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from minigrad.errors import OutOfRangeError, ShapeError, TensorValueError
from minigrad.nn.functional._activations import logsigmoid
from minigrad.nn.functional._losses import broadcasts_to, cast_loss, check_tensors
from minigrad.ops import relu, sum
from minigrad.ops.base.arguments import number, real, tensor_argument
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.precision import in_float32
from minigrad.ops.nn.losses import reduce_loss, reduction_of

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["multi_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss"]


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The binary cross entropy of sigmoid(x), averaged over the classes, which are the last dimension.

    Args:
        input (Tensor): scores x, (..., C).
        target (Tensor): 0 or 1 for each class, of the same shape.
        weight (Tensor, optional): (C), a factor for each class.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.multilabel_soft_margin_loss``.

    Raises:
        IndexError: `input` is 0-d.

    >>> F.multilabel_soft_margin_loss(mg.tensor([[0., 0.]]), mg.tensor([[1., 0.]]))
    tensor(0.6931)
    """
    check_tensors("multilabel_soft_margin_loss", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is not None:
        tensor_argument("multilabel_soft_margin_loss", weight, "weight")
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", "multilabel_soft_margin_loss(): Dimension specified as -1 but tensor has no dimensions")
    classes = input.ndim - 1
    return reduce_loss(sum(loss if weight is None else loss * weight, classes) / input.shape[classes], reduction)


@autocasts
def multi_margin_loss(input: Tensor, target: Tensor, p: float = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Σ max(0, margin - x[y] + x[i])ᵖ / C over all classes i except the right one, y.

    Args:
        input (Tensor): scores x, (N, C) or (C).
        target (Tensor): classes y, int64, (N) or 0-d.
        p (int): 1 or 2.
        margin (float): how much larger the score of the right class should be.
        weight (Tensor, optional): (C), a factor for the examples of each class.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.multi_margin_loss``.

    Raises:
        ValueError: `p` is neither 1 nor 2, or `weight` does not have one dimension.
        RuntimeError: the shapes do not fit, or a target is not a class.

    >>> F.multi_margin_loss(mg.tensor([[0.5, 0.25]]), mg.tensor([0]))
    tensor(0.3750)
    """
    check_tensors("multi_margin_loss", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    p, margin = number(p, "p", "multi_margin_loss"), real(margin, "margin", "multi_margin_loss")
    if p not in (1, 2):
        raise TensorValueError("MG-E302", "only p == 1 and p == 2 supported", found=f"{p}")
    if weight is not None and tensor_argument("multi_margin_loss", weight, "weight").ndim != 1:
        raise TensorValueError("MG-E204", "weight must be one-dimensional", found=f"{weight.ndim}-d")
    if input.ndim not in (1, 2) or target.numel() != (input.shape[0] if input.ndim == 2 else 1):
        raise ShapeError("MG-E204", "inconsistent target size", expected="a class for each example",
                         found=f"shapes {list(input.shape)} and {list(target.shape)}")
    x = input if input.ndim == 2 else input.unsqueeze(0)
    at = target.reshape((-1, 1))
    right = x.gather(1, at)
    z = relu(margin - right + x)        # its slope at 0 is 0
    if p == 2:
        z = z * z
    if weight is not None:
        z = z * weight[at]
    loss = sum(z.scatter(1, at, 0.0), 1) / x.shape[1]
    return reduce_loss(loss if input.ndim == 2 else loss.reshape(target.shape), reduction)


@autocasts
@in_float32
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean") -> Tensor:
    """log(1 + e^(-y x)): the logistic loss of two classes, y = 1 and y = -1.

    Args:
        input (Tensor): scores x, of any shape and a floating point dtype.
        target (Tensor): y; its shape broadcasts to that of `input`.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.soft_margin_loss``.

    Raises:
        RuntimeError: the target does not broadcast to the input, or the input has an integer dtype.

    >>> F.soft_margin_loss(mg.tensor([0.]), mg.tensor([1.]))
    tensor(0.6931)
    """
    check_tensors("soft_margin_loss", input, target)
    if not broadcasts_to(target.shape, input.shape):
        raise ShapeError("MG-E204", f"output with shape {list(input.shape)} doesn't match the broadcast shape of the target, "
                         f"{list(target.shape)}")
    loss = -logsigmoid(target * input) if input.dtype.differentiable else input
    return reduce_loss(cast_loss("soft_margin_loss", loss, input), reduction_of(reduction, size_average, reduce))
