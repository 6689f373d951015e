"""Losses: from predictions and targets to a single number.

    l1_loss smooth_l1_loss huber_loss                       distances between numbers
    binary_cross_entropy(_with_logits) kl_div               the predictions are probabilities or their logarithms
    gaussian_nll_loss poisson_nll_loss                      the predictions are parameters of a distribution

Each has derivatives of every order, also with respect to the targets. The rules of `smooth_l1_loss`, `huber_loss`, `mse_loss`,
`nll_loss` and `cross_entropy` are in ``ops/nn/losses.py``, and those of the binary cross entropies in ``ops/nn/likelihoods.py``.
All other losses are composed of ops.

Mirrors the losses of ``torch/nn/functional.py`` and ``aten/src/ATen/native/Loss.cpp``. Read next: ``_pair_losses.py`` and
``_class_losses.py``, which have the other losses.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
import math
import warnings
from typing import TYPE_CHECKING

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.record.apply import call
from minigrad._core.record.forward_ad import tangent_of
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError, ShapeError, TensorValueError
from minigrad.ops import abs, amax, amin, clamp_min, exp, expand, log, sum, where
from minigrad.ops.base.arguments import flag, in_words, real, tensor_argument, truth
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.precision import in_float32
from minigrad.ops.elementwise.selection import promote_tensors
from minigrad.ops.nn.likelihoods import BinaryCrossEntropy, BinaryCrossEntropyWithLogits, WeightedBinaryCrossEntropyWithLogits
from minigrad.ops.nn.losses import NONE, NUMBER_OF, HuberLoss, SmoothL1Loss, reduce_loss, reduction_of
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss",
           "poisson_nll_loss", "smooth_l1_loss"]


def broadcasts_to(small, large):
    """Whether a tensor of shape `small` broadcasts to `large`."""
    return len(small) <= len(large) and all([a in (1, b) for a, b in zip(small[::-1], large[::-1])])


def check_tensors(name, input, target, warn=False):
    """Raise unless both are tensors. With `warn`, warn if their shapes differ."""
    tensor_argument(name, input)
    tensor_argument(name, target, "target", 2)
    if warn and input.shape != target.shape:
        warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
                      "lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=3)


def apply_weight(name, loss, input, weight):
    """Multiply the loss by a weight per element."""
    if tensor_argument(name, weight, "weight").shape != input.shape:
        raise TensorValueError("MG-E204", "Weights and input must have the same size.", found=f"{weight.shape} and {input.shape}")
    return loss * weight


def check_differentiable(name, *tensors):
    """Raise if all tensors have integer dtypes, or one is complex."""
    unfit = [x for x in tensors if x.dtype.is_complex]
    if unfit or not any([x.dtype.differentiable for x in tensors]):
        raise AutogradNotImplementedError("MG-E203", f'"{name}" not implemented for {(unfit or tensors)[0].dtype.name}',
                                          fix="compute with its abs(), or its real part" if unfit else "input.float()")


def cast_loss(name, loss, like):
    """Cast the loss to the dtype of the tensor `like`. Raise if that is an integer dtype."""
    if not like.dtype.differentiable:
        raise DtypeError("MG-E203", f"{name}(): result type {loss.dtype.name} can't be cast to the desired output type "
                         f"{like.dtype.name}",
                         fix="convert the integers: x.float()")
    return cast(loss, like.dtype)


@autocasts
@in_float32
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
            weight: Tensor | None = None) -> Tensor:
    """The absolute error |x - y|.

    Args:
        input, target (Tensor): x and y, of the same shape. Shapes that broadcast give a warning.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        weight (Tensor, optional): a factor for each element, of input's shape. The mean then divides by the total weight.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.l1_loss``.

    Raises:
        ValueError: the reduction is unknown, or `weight` has another shape than `input`.
        RuntimeError: the shapes do not broadcast.

    >>> F.l1_loss(mg.tensor([1., 2.]), mg.tensor([0., 4.]))
    tensor(1.5000)
    """
    check_tensors("l1_loss", input, target, warn=True)
    loss, reduction = abs(input - target), reduction_of(reduction, size_average, reduce)
    if weight is None:
        return reduce_loss(loss, reduction)
    loss = apply_weight("l1_loss", loss, input, weight)     # the mean divides by the total weight
    return sum(loss) / sum(weight) if reduction == "mean" else reduce_loss(loss, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: Number = 1.0) -> Tensor:
    """d² / 2β where d < β, else d - β/2, with d = |x - y| (Girshick, "Fast R-CNN", 2015).

    Args:
        input, target (Tensor): x and y, of the same shape. Shapes that broadcast give a warning.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        beta (float): β, where the parabola becomes a line. With 0, the loss is `l1_loss`.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.smooth_l1_loss``.

    Raises:
        RuntimeError: `beta` is negative.
        NotImplementedError: both tensors have integer dtypes.

    >>> F.smooth_l1_loss(mg.tensor([1., 2.]), mg.tensor([0., 4.]))
    tensor(1.)
    """
    check_tensors("smooth_l1_loss", input, target, warn=True)
    reduction = reduction_of(reduction, size_average, reduce)
    beta = real(beta, "beta", "smooth_l1_loss")
    if beta < 0:
        raise ArgumentError("MG-E332", "smooth_l1_loss does not support negative values for beta.")
    if beta == 0 and (input.dtype.differentiable or target.dtype.differentiable):      # complex numbers too have an absolute value
        return absolute_error(input, target, reduction)
    check_differentiable("smooth_l1_loss", input, target)
    return call(SmoothL1Loss.op, (*match("smooth_l1_loss", input, target), NUMBER_OF[reduction], beta))


@in_float32
def absolute_error(input, target, reduction):
    """|x - y|, reduced: `smooth_l1_loss` with β = 0."""
    return reduce_loss(abs(input - target), reduction)


def match(name, input, target):
    """Convert both tensors to their common dtype and expand them to their common shape."""
    if input.dtype is not target.dtype:
        input, target = promote_tensors(name, input, input, target)
    if input.shape == target.shape:
        return input, target
    shape = broadcast_shape([input._meta, target._meta])
    return expand(input, shape), expand(target, shape)


@autocasts
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """d² / 2 where d < δ, else δ (d - δ/2), with d = |x - y| (Huber, 1964).

    Args:
        input, target (Tensor): x and y, of the same shape. Shapes that broadcast give a warning. The result has input's dtype.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        delta (float): δ, where the parabola becomes a line.
        weight (Tensor, optional): a factor for each element, of input's shape.

    Mirrors ``torch.nn.functional.huber_loss``.

    Raises:
        RuntimeError: `delta` is not positive, or `input` has an integer dtype.
        ValueError: the reduction is unknown, or `weight` has another shape than `input`.

    >>> F.huber_loss(mg.tensor([1., 2.]), mg.tensor([0., 4.]), delta=0.5)
    tensor(0.6250)
    """
    check_tensors("huber_loss", input, target, warn=True)
    reduction = reduction_of(reduction, None, None)
    delta = real(delta, "delta", "huber_loss")
    if delta <= 0:
        raise ArgumentError("MG-E332", "huber_loss does not support non-positive values for delta.")
    check_differentiable("huber_loss", input, target)
    each = NONE if weight is not None else NUMBER_OF[reduction]
    loss = cast_loss("huber_loss", call(HuberLoss.op, (*match("huber_loss", input, target), each, delta)), input)
    return loss if weight is None else reduce_loss(apply_weight("huber_loss", loss, input, weight), reduction)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """-y log x - (1 - y) log(1 - x), with each logarithm bounded below by -100.

    Args:
        input (Tensor): probabilities x in [0, 1], of any shape.
        target (Tensor): probabilities y, of the same shape and dtype.
        weight (Tensor, optional): a factor for each element; it broadcasts.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.binary_cross_entropy``.

    Raises:
        ValueError: the shapes differ, or the reduction is unknown.
        RuntimeError: an element of the input is outside [0, 1], or the dtypes differ.
        NotImplementedError: the dtype is an integer one.

    >>> F.binary_cross_entropy(mg.tensor([0.5, 0.5]), mg.tensor([1., 0.]))
    tensor(0.6931)
    """
    check_tensors("binary_cross_entropy", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise TensorValueError("MG-E204", f"Using a target size ({target.shape}) that is different to the input size "
                               f"({input.shape}) is deprecated. Please ensure they have the same size.")
    if input.dtype is not target.dtype:
        raise DtypeError("MG-E203", f"Found dtype {target.dtype.name} but expected {input.dtype.name}",
                         fix="target.to(input.dtype)")
    check_differentiable("binary_cross_entropy", input)
    if weight is not None:
        tensor_argument("binary_cross_entropy", weight, "weight", 3)
    if input.numel() and not input.is_meta and not (amin(input.detach()).item() >= 0 and amax(input.detach()).item() <= 1):
        raise ArgumentError("MG-E332", "all elements of input should be between 0 and 1",
                            fix="sigmoid(input), or the form with_logits")
    if not constant_factor(weight, input):
        return weight_and_reduce(call(BinaryCrossEntropy.op, (input, target, None, NONE)), weight, reduction)
    return call(BinaryCrossEntropy.op, (input, target, weight, NUMBER_OF[reduction]))


def constant_factor(factor, input):
    """Whether the rule of the op can apply the factor: it is None, or has input's dtype and needs no derivative."""
    return factor is None or (factor.dtype is input.dtype and not factor.requires_grad and tangent_of(factor) is None)


@in_float32
def weight_and_reduce(loss, weight, reduction):
    """Multiply the loss by the weight, unless it is None, and reduce the product. Each step is an op, so both get gradients."""
    return reduce_loss(loss if weight is None else loss * weight, reduction)


@autocasts
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                     reduce: bool | None = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """The binary cross entropy of sigmoid(x), computed from x so that nothing overflows.

    Args:
        input (Tensor): scores x ("logits"), of any shape and a floating point dtype.
        target (Tensor): probabilities y, of the same shape. The result has its dtype.
        weight (Tensor, optional): a factor for each element; it broadcasts.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.
        pos_weight (Tensor, optional): a factor for the term with y; it broadcasts.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors
    ``torch.nn.functional.binary_cross_entropy_with_logits``.

    Raises:
        ValueError: the shapes differ, or the reduction is unknown.
        RuntimeError: the target has an integer dtype, or a weight does not broadcast.
        NotImplementedError: the input has an integer dtype.

    >>> F.binary_cross_entropy_with_logits(mg.tensor([0., 0.]), mg.tensor([1., 0.]))
    tensor(0.6931)
    """
    check_tensors("binary_cross_entropy_with_logits", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise TensorValueError("MG-E204", f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    for name, factor in (("weight", weight), ("pos_weight", pos_weight)):
        if factor is not None:
            tensor_argument("binary_cross_entropy_with_logits", factor, name)
    if weight is not None and not broadcasts_to(weight.shape, input.shape):
        raise ShapeError("MG-E204", f"weight of shape {list(weight.shape)} doesn't broadcast to the shape of the input",
                         expected=f"a shape that broadcasts to {list(input.shape)}")
    if pos_weight is not None:
        broadcast_shape([pos_weight._meta, input._meta])
    check_differentiable("binary_cross_entropy_with_logits", input)
    name = "binary_cross_entropy_with_logits"
    if constant_factor(weight, input) and constant_factor(pos_weight, input):
        loss = call(BinaryCrossEntropyWithLogits.op, (input, target, weight, pos_weight, NUMBER_OF[reduction]))
        return cast_loss(name, loss, target)
    loss = call(BinaryCrossEntropyWithLogits.op, (input, target, None, None, NONE)) if pos_weight is None else \
        call(WeightedBinaryCrossEntropyWithLogits.op, (input, target, pos_weight))
    return weight_and_reduce(cast_loss(name, loss, target), weight, reduction)


@autocasts
@in_float32
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    """y (log y - x): the Kullback-Leibler divergence of the probabilities y and the log-probabilities x.

    Args:
        input (Tensor): log-probabilities x.
        target (Tensor): probabilities y, or their logarithms with `log_target`; its shape broadcasts with that of `input`.
        reduction (str): ``"none"``, ``"sum"``, ``"mean"`` (over all elements), or ``"batchmean"`` (the sum divided by the batch
            size, which is the mathematical definition).
        log_target (bool): whether `target` holds logarithms.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.kl_div``.

    Raises:
        RuntimeError: a tensor has an integer dtype.

    >>> F.kl_div(mg.tensor([[0.5, 0.5]]).log(), mg.tensor([[1., 0.]]), reduction="batchmean")
    tensor(0.6931)
    """
    check_tensors("kl_div", input, target)
    flag(log_target, "log_target", "kl_div")
    if not (input.dtype.differentiable and target.dtype.differentiable):
        raise DtypeError("MG-E203", "kl_div: Integral inputs not supported.", fix="target.float()")
    batch = isinstance(reduction, str) and reduction == "batchmean" and size_average is None and reduce is None
    reduction = "sum" if batch else reduction_of(reduction, size_average, reduce)
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
                      "only by the batch size, and aligns with the KL div math definition.", stacklevel=2)
    if log_target:
        loss = exp(target) * (target - input)
    else:       # y log y is 0 at 0
        loss = target * log(where(target == 0, 1.0, target)) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.shape[0] if batch and input.ndim else loss


@in_float32
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """(log v + (x - y)² / v) / 2: the negative log-density of y for the mean x and the variance v, without log(2π) / 2.

    Args:
        input (Tensor): means x, of any shape.
        target (Tensor): samples y, of the same shape.
        var (Tensor or float): variances v, of input's shape, or with size 1 for the last dimension, or without it.
        full (bool): add this constant.
        eps (float): a lower bound for v. The gradient ignores the bound.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    Mirrors ``torch.nn.functional.gaussian_nll_loss``.

    Raises:
        ValueError: a variance is negative, the shape of `var` does not fit, or the reduction is unknown.

    >>> F.gaussian_nll_loss(mg.tensor([1.]), mg.tensor([3.]), mg.tensor([4.]))
    tensor(1.1931)
    """
    check_tensors("gaussian_nll_loss", input, target)
    if isinstance(var, bool) or not isinstance(var, (int, float)):
        tensor_argument("gaussian_nll_loss", var, "var", 3)
    else:
        if var < 0:
            raise TensorValueError("MG-E332", "var has negative entry/entries")
        var = input.new_full(input.shape, var)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.shape[:-1] == var.shape[:-1] and var.ndim and var.shape[-1] == 1):
            raise TensorValueError("MG-E204", "var is of incorrect size", expected=f"{list(input.shape)}",
                                   found=f"{list(var.shape)}")
    eps = real(eps, "eps", "gaussian_nll_loss")
    if not isinstance(reduction, str) or reduction not in ("none", "mean", "sum"):
        raise TensorValueError("MG-E302", f"{in_words(reduction)} is not valid")
    if var.numel() and not var.is_meta and amin(var.detach()).item() < 0:
        raise TensorValueError("MG-E332", "var has negative entry/entries")
    v = var + (clamp_min(var.detach(), eps) - var.detach())
    d = input - target
    loss = 0.5 * (log(v) + d * d / v)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if truth(full, "full", "gaussian_nll_loss") else loss, reduction)


@autocasts
@in_float32
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
                     eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """eˣ - y x: the negative logarithm of the probability of y for the rate eˣ, without log(y!).

    Args:
        input (Tensor): logarithms x of the rates; with `log_input` False, the rates x.
        target (Tensor): counts y; its shape broadcasts with that of `input`.
        log_input (bool): if False, the loss is x - y log(x + ε).
        full (bool): add Stirling's approximation of log(y!), y log y - y + log(2π y) / 2, where y > 1.
        eps (float): ε, which avoids log(0).
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.poisson_nll_loss``.

    >>> F.poisson_nll_loss(mg.tensor([0.]), mg.tensor([2.]))
    tensor(1.)
    """
    check_tensors("poisson_nll_loss", input, target)
    flag(full, "full", "poisson_nll_loss")
    flag(log_input, "log_input", "poisson_nll_loss")
    eps = real(eps, "eps", "poisson_nll_loss")
    reduction = reduction_of(reduction, size_average, reduce)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        large = target > 1
        y = where(large, target, 1.0)
        loss = loss + where(large, y * log(y) - y + 0.5 * log(2 * math.pi * y), 0.0)
    return reduce_loss(loss, reduction)
