"""Losses of classifiers that are no cross entropy over classes: one yes or no per class, and margins. Written with ops.

Mirrors the losses of ``torch/nn/functional.py`` and ``aten/src/ATen/native/LossMultiMargin.cpp``.
"""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)

from minigrad.errors import OutOfRangeError, ShapeError, TensorValueError
from minigrad.nn.functional._activations import logsigmoid
from minigrad.nn.functional._losses import two_tensors
from minigrad.ops import relu, sum
from minigrad.ops.base.rule import number, real, tensor_argument
from minigrad.ops.nn.losses import reduce_loss, reduction_of

__all__ = ["multi_margin_loss", "multilabel_soft_margin_loss"]


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The binary cross entropy of sigmoid(x), averaged over the classes, the last dimension.

    Mirrors ``torch.nn.functional.multilabel_soft_margin_loss``.

    Raises:
        IndexError: `input` is 0-d.

    >>> F.multilabel_soft_margin_loss(mg.tensor([[0., 0.]]), mg.tensor([[1., 0.]]))
    tensor(0.6931)
    """
    two_tensors("multilabel_soft_margin_loss", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is not None:
        tensor_argument("multilabel_soft_margin_loss", weight, "weight")
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", "multilabel_soft_margin_loss(): Dimension specified as -1 but tensor has no dimensions")
    classes = input.ndim - 1
    return reduce_loss(sum(loss if weight is None else loss * weight, classes) / input.shape[classes], reduction)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Σ max(0, margin - x[y] + x[i])ᵖ / C over the classes i other than the right one, y.

    Args:
        input (Tensor): scores, (N, C) or (C).
        target (Tensor): classes, int64, (N) or 0-d.
        p (int): 1 or 2.
        weight (Tensor, optional): (C), a factor for examples of each class.

    Mirrors ``torch.nn.functional.multi_margin_loss``.

    Raises:
        ValueError: `p` is neither 1 nor 2.
        RuntimeError: the shapes do not fit, or a target is no class.

    >>> F.multi_margin_loss(mg.tensor([[0.5, 0.25]]), mg.tensor([0]))
    tensor(0.3750)
    """
    two_tensors("multi_margin_loss", input, target)
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
    z = relu(margin - right + x)        # of no slope at 0
    if p == 2:
        z = z * z
    if weight is not None:
        z = z * weight[at]
    loss = sum(z.scatter(1, at, 0.0), 1) / x.shape[1]
    return reduce_loss(loss if input.ndim == 2 else loss.reshape(target.shape), reduction)
