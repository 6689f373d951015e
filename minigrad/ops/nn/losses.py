"""Losses: negative log likelihood, cross entropy, squared error, smooth L1 and Huber.

Mirrors ``aten/src/ATen/native/{LossNLL,Loss}.cpp`` and the losses of ``torch/nn/functional.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import cython
from cython.cimports.minigrad._core.graph.metadata import Meta
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import call

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError, OutOfRangeError, ShapeError, TensorValueError
from minigrad.kernels.refusals import no_such_class
from minigrad.ops.base.arguments import in_words, integer, real, tensor_argument, truth
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.base.precision import in_float32, is_reduced, round_to, to_wide
from minigrad.ops.base.rule import INT64, Linear, Op, constant, in_single, op, values_of, variant
from minigrad.ops.elementwise.selection import abs, promote_tensors, sgn, where
from minigrad.ops.nn.softmax import log_softmax
from minigrad.ops.reduce.reduction import mean, sum
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.views import reshape, reshape_temporary, squeeze, unsqueeze

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["cross_entropy", "mse_loss", "nll_loss"]


# PyTorch's internal numbers of the reductions, as in ``node._saved_reduction``.
NONE, MEAN, SUM = 0, 1, 2
NUMBER_OF = {"none": NONE, "mean": MEAN, "sum": SUM}


def reduce_loss(loss, reduction):
    """Reduce a loss per element: return it as it is, its mean or its sum."""
    if reduction == "none":
        return loss
    return mean(loss) if reduction == "mean" else sum(loss)


def reduction_of(reduction, size_average, reduce):
    """Return the name of the reduction, after a check. The old arguments `size_average` and `reduce`, if given, win, and warn."""
    if type(reduction) is str and reduction == "mean" and size_average is None and reduce is None:
        return reduction
    if size_average is not None or reduce is not None:
        each = reduce is not None and not truth(reduce, "reduce", "loss")
        total = size_average is not None and not truth(size_average, "size_average", "loss")
        reduction = "none" if each else "sum" if total else "mean"
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=3)
    if not isinstance(reduction, str) or reduction not in ("none", "mean", "sum"):
        raise TensorValueError("MG-E302", f"{in_words(reduction)} is not a valid value for reduction",
                               expected="'none', 'mean' or 'sum'")
    return reduction


@op("nll_loss", "NllLoss0")
class NllLoss(Linear):
    """z = -x[target] weight[target], averaged over the total weight"""

    inputs = 1
    outputs = ("z", "total_weight")

    def forward(k, x, target, weight, ignore_index, reduction):
        return k.nll_loss(x, target, weight, ignore_index, reduction)

    def vjp(g, needs, x_shape, target, weight, total_weight, ignore_index, reduction):
        return (call(NllLossBackward.op, (g[0], x_shape, target, weight, constant(total_weight), ignore_index,
                                           reduction)),)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return (call(cls.op, (tangents[0], *args[1:]))[0], None)


NllLoss2d = variant(NllLoss, "nll_loss2d", "NllLoss2D0",
                    "`NllLoss` for inputs with more than two dimensions: in PyTorch it is another op")


@op("nll_loss_backward")
class NllLossBackward(Linear):
    """z = the gradient of nll_loss, given the output's gradient x"""

    inputs = 1
    torch_names = {"x": "grad_output"}

    def forward(k, x, shape, target, weight, total, ignore_index, reduction):
        return k.nll_loss_backward(x, shape, target, weight, total, ignore_index, reduction)

    def vjp_x(g, target, weight, total, ignore_index, reduction):
        if reduction == "mean":     # linear, so its adjoint is the forward over the same total weight
            return call(NllLoss.op, (g, target, weight, ignore_index, "sum"))[0] / total
        return call(NllLoss.op, (g, target, weight, ignore_index, reduction))[0]


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The negative log likelihood of the right classes.

    Args:
        input (Tensor): log-probabilities, (C), (N, C) or (N, C, d1, d2, ...).
        target (Tensor): classes, int64, of the same shape without C.
        weight (Tensor, optional): (C), a factor per class; "mean" divides by the total weight.
        ignore_index (int): targets with this value do not contribute.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    Returns:
        Tensor: 0-d, or for ``"none"`` of the shape of `target`.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.nll_loss``.

    Raises:
        ValueError: the batch sizes differ, or the reduction is unknown.
        IndexError: a target is not a class.
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.nll_loss(mg.tensor([[-0.5, -1.0]]), mg.tensor([1]))
    tensor(1.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None and classes_of_rows(input, target):
        return checked_nll_loss(input, target, None, ignore_index, reduction)
    tensor_argument("nll_loss", input)
    tensor_argument("nll_loss", target, "target", 2)
    if weight is not None:
        tensor_argument("nll_loss", weight, "weight", 3)
    if input.ndim == 0:
        raise TensorValueError("MG-E204", "Expected 1 or more dimensions (got 0)")
    if input.ndim == 1 and target.ndim == 1:
        if target.shape[0] != 1:
            raise TensorValueError("MG-E204", f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
        target = squeeze(target, 0)
    if input.ndim == 1 and target.ndim == 0:
        z = nll_loss(unsqueeze(input, 0), unsqueeze(target, 0), weight, None, ignore_index, None, reduction)
        return reshape_temporary(z, ()) if reduction == "none" else z
    if input.ndim == 1:
        raise ShapeError("MG-E204", "nll_loss(): with an input of classes alone the target is one class",
                         found=f"shapes {list(input.shape)} and {list(target.shape)}")
    if input.shape[0] != target.shape[0] if target.ndim else True:
        raise TensorValueError("MG-E204", f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                               f"({target.shape[0] if target.ndim else 'none'}).")
    if tuple(target.shape) != (input.shape[0], *input.shape[2:]):
        raise ShapeError("MG-E204", f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}")
    if target.dtype is not INT64:
        raise DtypeError("MG-E203", f"expected scalar type Long (int64) but found {target.dtype.name}, in nll_loss()",
                         fix="target.long()")
    if weight is not None and tuple(weight.shape) != (input.shape[1],):
        raise ShapeError("MG-E204", f"weight tensor should be defined either for all {input.shape[1]} classes or no classes but "
                         f"got weight tensor of shape: {list(weight.shape)}")
    if not input.dtype.is_floating_point:
        raise DtypeError("MG-E203", f"nll_loss() is only implemented for floating point tensors, not {input.dtype.name}")
    return checked_nll_loss(input, target, weight, ignore_index, reduction)


@cython.cfunc
@cython.annotation_typing(True)
def classes_of_rows(x, target) -> cython.bint:
    """Whether x is a floating point matrix and `target` has a class for each row: a quick check of the usual case."""
    if not isinstance(x, TensorBase) or not isinstance(target, TensorBase):
        return False
    a: Meta = cython.cast(TensorBase, x)._meta
    b: Meta = cython.cast(TensorBase, target)._meta
    return a.ndim == 2 and b.ndim == 1 and a.shape[0] == b.shape[0] and b.dtype is INT64 and a.dtype.is_floating_point


@cython.cfunc
@cython.annotation_typing(True)
def check_classes(target: TensorBase, classes, ignore_index) -> object:
    """Raise `IndexError` if a target is not a class.

    On a GPU, the CPU waits for the answer: ``kernels/cuda/reductions/loss.py`` says when to call it.
    """
    ignore_index = integer(ignore_index, "ignore_index", "nll_loss")
    outside = target._meta.backend.kernels.class_outside(target._array, classes, ignore_index)
    if outside is not None:
        raise no_such_class(outside, classes, ignore_index)


@cython.cfunc
@cython.annotation_typing(True)
def checked_nll_loss(x: TensorBase, target: TensorBase, weight, ignore_index, reduction):
    check_classes(target, x._meta.shape[1], ignore_index)
    return call((NllLoss if x._meta.ndim == 2 else NllLoss2d).op, (x, target, weight, ignore_index, reduction))[0]


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy between the softmax of `input` and the target classes (or probabilities).

    Args:
        input (Tensor): unnormalized scores ("logits"), (C), (N, C) or (N, C, d1, d2, ...).
        target (Tensor): classes, int64, of the same shape without C; or probabilities of input's shape.
        weight (Tensor, optional): (C), a factor per class.
        ignore_index (int): class targets with this value do not contribute.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        label_smoothing (float): in [0, 1], the part of each target that is spread evenly over all classes.

    Returns:
        Tensor: 0-d, or for ``"none"`` of the shape of `input` without C.

    `size_average` and `reduce` are the old form of `reduction`.
    Mirrors ``torch.nn.functional.cross_entropy``.

    Raises:
        ValueError: the batch sizes differ, or the reduction is unknown.
        IndexError: a target is not a class.
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.cross_entropy(mg.tensor([[2., 0.], [0., 2.]]), mg.tensor([0, 0]))
    tensor(1.1269)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    input, target, weight = cast_operands("cross_entropy", input, target, weight)
    if type(label_smoothing) is not float:
        label_smoothing = real(label_smoothing, "label_smoothing", "cross_entropy")
    if weight is None and label_smoothing == 0 and classes_of_rows(input, target):
        check_classes(target, input.shape[1], ignore_index)
        return call(NllLoss.op, (log_softmax(input, 1), target, None, ignore_index, reduction))[0]
    tensor_argument("cross_entropy", input)
    tensor_argument("cross_entropy", target, "target", 2)
    label_smoothing = max(label_smoothing, 0.0)
    if label_smoothing > 1:
        raise ArgumentError("MG-E302", f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.shape == input.shape and not target.dtype.is_floating_point:
        raise DtypeError("MG-E203", f"Expected floating point type for target with class probabilities, got {target.dtype.name}",
                         fix="classes have the shape of the input without the dimension of classes")
    if input.ndim == 0:
        raise OutOfRangeError("MG-E204", "cross_entropy(): input must have a dimension of classes: Dimension out of range")
    classes = 0 if input.ndim == 1 else 1
    scores = log_softmax(input, classes)
    if target.dtype.is_floating_point:
        return cross_entropy_of_probabilities(scores, target, weight, ignore_index, reduction, label_smoothing, classes)
    loss = nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    return smooth_labels(loss, scores, target, weight, ignore_index, reduction, label_smoothing, classes)


def cross_entropy_of_probabilities(scores, target, weight, ignore_index, reduction, label_smoothing, classes):
    """`cross_entropy` for targets that are a distribution per example."""
    if ignore_index >= 0:
        raise ArgumentError("MG-E302", "ignore_index is not supported for floating point target", found=f"{ignore_index}")
    if weight is not None and tuple(tensor_argument("cross_entropy", weight, "weight", 3).shape) != (scores.shape[classes],):
        raise ShapeError("MG-E204", "cross_entropy: weight tensor should be defined either for all "
                         f"{scores.shape[classes]} classes or no classes", found=f"shape {list(weight.shape)}")
    if target.ndim and target.shape[0] != scores.shape[0]:
        raise TensorValueError("MG-E204", f"Expected input batch_size ({scores.shape[0]}) to match target batch_size "
                               f"({target.shape[0]}).")
    if target.shape != scores.shape:
        raise ShapeError("MG-E204", "Expected floating point type for target with class probabilities to have the shape of input",
                         expected=f"shape {list(scores.shape)}", found=f"shape {list(target.shape)}")
    n = scores.shape[classes]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / max(n, 1)
    product = scores * target
    if weight is not None:
        product = product * reshape(weight, *[n if d == classes else 1 for d in range(scores.ndim)])
    if reduction == "none":
        return -sum(product, classes)
    return -sum(product) / (scores.numel() / n if n else 0.0) if reduction == "mean" else -sum(product)


def smooth_labels(loss, scores, target, weight, ignore_index, reduction, label_smoothing, classes):
    """Mix `loss` with the cross entropy of a uniform target."""
    n = scores.shape[classes]
    counted = target != ignore_index
    kept = counted.to(scores.dtype)
    spread = scores if weight is None else scores * reshape(weight, *[n if d == classes else 1 for d in range(scores.ndim)])
    even = where(counted, -sum(spread, classes), 0.0)       # not times `kept`: nan times 0 is nan
    if reduction == "none":
        even = even / n
    elif reduction == "sum":
        even = sum(even) / n
    else:
        size = kept if weight is None else weight[(target * kept.long())] * kept
        even = sum(even) / n / sum(size)
    return (1 - label_smoothing) * loss + label_smoothing * even


def average_loss(k, loss, like, reduction):
    """Return the array of losses per element, reduced (or not), in the dtype of `like`."""
    if reduction == NONE:
        return round_to(k, loss, like)
    z = k.sum(loss, tuple(range(loss.ndim)), False)
    return round_to(k, k.div(z, float(loss.size)) if reduction == MEAN else z, like)


def share(g, reduction, *operands):
    """The gradient of each element's loss: g, or for the mean g / n, where n is the number of elements of the operands."""
    if reduction != MEAN:
        return g
    metas = [x._meta for x in operands if x is not None]
    n = 1
    for size in metas[0].shape if len(metas) == 1 else broadcast_shape(metas):
        n *= size
    return g / (n or float("nan"))


class ElementwiseLoss(Op):
    """Base of the losses per element, averaged, summed or as they are"""

    inputs = 2
    torch_names = {"x": "self", "y": "target"}

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        reduction = args[cls.op.params.index("reduction")]
        each = [NONE if name == "reduction" else value for name, value in zip(cls.op.params, args)]
        if is_reduced(outs[0].dtype):
            each, tangents = in_single(each), in_single(tangents)
        total: Any = None
        for (formula, needs), t in zip(cls.op.formulas, tangents):
            if t is not None:
                part = formula(t, *values_of(cls.op, needs, each, outs))
                total = part if total is None else total + part
        total = total if reduction == NONE else mean(total) if reduction == MEAN else sum(total)
        return cast(total, outs[0].dtype)


@op("mse_loss", "MseLoss0")
class MseLoss(ElementwiseLoss):
    """z = (x - y)², averaged or summed"""

    def forward(k, x, y, reduction):
        return average_loss(k, k.pow(k.sub(to_wide(k, x), to_wide(k, y)), 2), x, reduction)

    @in_float32
    def vjp_x(g, x, y, reduction):      # dx = 2 g (x - y) / n
        return g * (x - y) * norm(x, reduction)

    @in_float32
    def vjp_y(g, x, y, reduction):
        return g * (y - x) * norm(x, reduction)


def norm(x, reduction):
    """2 / n for the mean over n elements, else 2."""
    return 2.0 if reduction != MEAN else 2.0 / (x.numel() or float("nan"))


@op("smooth_l1_loss")
class SmoothL1Loss(ElementwiseLoss):
    """z = d² / 2β below β, else d - β/2, where d = |x - y|; averaged or summed"""

    def forward(k, x, y, reduction, beta):      # with s = min(d, β) both are (d - s/2) s / β, in which no square overflows
        return average_loss(k, k.huber(to_wide(k, x), to_wide(k, y), beta, beta), x, reduction)

    @in_float32
    def vjp_x(g, x, y, reduction, beta):        # dx = g (x - y) / β between -1 and 1
        return share(g, reduction, x) * slope(x - y, beta, 1.0)

    @in_float32
    def vjp_y(g, x, y, reduction, beta):
        return share(g, reduction, x) * slope(y - x, beta, 1.0)


@op("huber_loss")
class HuberLoss(ElementwiseLoss):
    """z = d² / 2 below δ, else δ (d - δ/2), where d = |x - y|; averaged or summed"""

    def forward(k, x, y, reduction, delta):     # with s = min(d, δ) both are (d - s/2) s
        return average_loss(k, k.huber(to_wide(k, x), to_wide(k, y), delta, 1.0), x, reduction)

    @in_float32
    def vjp_x(g, x, y, reduction, delta):       # dx = g (x - y) between -δ and δ
        return share(g, reduction, x) * slope(x - y, delta, delta)

    @in_float32
    def vjp_y(g, x, y, reduction, delta):
        return share(g, reduction, x) * slope(y - x, delta, delta)


def slope(d, limit, most):
    """d (or d / limit, if `most` is 1), limited to [-most, most]. Where it is at a limit, its own derivative is 0."""
    return where(abs(d) >= limit, most * sgn(d), d if limit == most else d / limit)


def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:
    """The squared error (input - target)², averaged over all elements, summed, or as it is.

    Args:
        input, target (Tensor): of one shape. Shapes that broadcast are allowed, with a warning. The dtypes are promoted.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        weight (Tensor, optional): a factor per element, of input's shape; "mean" divides by the total weight.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.mse_loss``.

    Raises:
        ValueError: the reduction is unknown, or `weight` has another shape.
        RuntimeError: the shapes cannot be broadcast together.

    >>> F.mse_loss(mg.tensor([1., 2.]), mg.tensor([0., 0.]))
    tensor(2.5000)
    """
    tensor_argument("mse_loss", input)
    tensor_argument("mse_loss", target, "target", 2)
    reduction = reduction_of(reduction, size_average, reduce)
    shape = input.shape
    if shape != target.shape:
        warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
                      "lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=2)
        shape = broadcast_shape([input._meta, target._meta])
    if weight is not None:
        if tensor_argument("mse_loss", weight, "weight").shape != input.shape:
            raise TensorValueError("MG-E204", "Weights and input must have the same size.",
                                   found=f"{weight.shape} and {input.shape}")
        squares = (input - target) ** 2 * weight
        return sum(squares) / sum(weight) if reduction == "mean" else reduce_loss(squares, reduction)
    if input.dtype is not target.dtype:
        input, target = promote_tensors("mse_loss", input, input, target)
    if not input.dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f"mse_loss() is not implemented for {input.dtype.name}", fix="x.float()")
    if input.shape != target.shape:
        input, target = input.expand(shape), target.expand(shape)
    return call(MseLoss.op, (input, target, NUMBER_OF[reduction]))
