"""Losses, written with ops: from predictions and targets to one number.

    l1_loss smooth_l1_loss huber_loss                       distances of numbers
    binary_cross_entropy(_with_logits) kl_div               of probabilities
    gaussian_nll_loss poisson_nll_loss                      of the parameters of a distribution
    cosine_embedding_loss triplet_margin_loss margin_ranking_loss hinge_embedding_loss soft_margin_loss     of pairs

They have derivatives of every order, with respect to the targets too. `smooth_l1_loss`, `huber_loss`, `mse_loss`, `nll_loss` and
`cross_entropy` are rules of their own, in ``ops/nn/losses.py``, the binary cross entropies in ``ops/nn/likelihoods.py``.

Mirrors the losses of ``torch/nn/functional.py`` and ``aten/src/ATen/native/Loss.cpp``.
"""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)

import math
import warnings

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.record.apply import call
from minigrad._core.record.forward_ad import tangent_of
from minigrad.errors import AutogradNotImplementedError, ShapeError, TensorValueError
from minigrad.nn.functional._activations import logsigmoid
from minigrad.ops import abs, amax, amin, clamp_min, exp, expand, log, minimum, sqrt, sum, where
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import flag, in_words, real, tensor_argument, truth
from minigrad.ops.elementwise.selection import promote_tensors
from minigrad.ops.linalg.norms import vector_norm
from minigrad.ops.nn.likelihoods import BinaryCrossEntropy, BinaryCrossEntropyWithLogits, WeightedBinaryCrossEntropyWithLogits
from minigrad.ops.nn.losses import NONE, NUMBER_OF, HuberLoss, SmoothL1Loss, reduce_loss, reduction_of
from minigrad.ops.shape.clone_cast import cast

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cosine_similarity",
           "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss",
           "pairwise_distance", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss"]


def broadcasts_to(small, large):
    """Whether a tensor of shape `small` broadcasts to `large`."""
    return len(small) <= len(large) and all([a in (1, b) for a, b in zip(small[::-1], large[::-1])])


def two_tensors(name, input, target, warn=False):
    """Raise unless both are tensors; warn if their sizes differ."""
    tensor_argument(name, input)
    tensor_argument(name, target, "target", 2)
    if warn and input.shape != target.shape:
        warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
                      "lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=3)


def weighted(name, loss, input, weight):
    """The loss times a weight per element."""
    if tensor_argument(name, weight, "weight").shape != input.shape:
        raise TensorValueError("MG-E204", "Weights and input must have the same size.", found=f"{weight.shape} and {input.shape}")
    return loss * weight


def of_floats(name, *tensors):
    """Raise unless one of the tensors is of floating point numbers."""
    if not any([x.dtype.differentiable for x in tensors]):
        raise AutogradNotImplementedError("MG-E203", f'"{name}" not implemented for {tensors[0].dtype.name}', fix="input.float()")


def cast_loss(name, loss, like):
    """The loss in the dtype of the tensor `like`. Raises if that is an integer one."""
    if not like.dtype.differentiable:
        raise ShapeError("MG-E203", f"{name}(): result type {loss.dtype.name} can't be cast to the desired output type "
                         f"{like.dtype.name}",
                         fix="convert the integers: x.float()")
    return cast(loss, like.dtype)


@in_float32
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|x - y|. Mirrors ``torch.nn.functional.l1_loss``.

    >>> F.l1_loss(mg.tensor([1., 2.]), mg.tensor([0., 4.]))
    tensor(1.5000)
    """
    two_tensors("l1_loss", input, target, warn=True)
    loss, reduction = abs(input - target), reduction_of(reduction, size_average, reduce)
    if weight is None:
        return reduce_loss(loss, reduction)
    loss = weighted("l1_loss", loss, input, weight)     # its mean is over the total weight
    return sum(loss) / sum(weight) if reduction == "mean" else reduce_loss(loss, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """d² / 2β below β, else d - β/2, where d = |x - y| (Girshick, 2015). Mirrors ``torch.nn.functional.smooth_l1_loss``.

    Raises:
        RuntimeError: `beta` is negative.

    >>> F.smooth_l1_loss(mg.tensor([1., 2.]), mg.tensor([0., 4.]))
    tensor(1.)
    """
    two_tensors("smooth_l1_loss", input, target, warn=True)
    reduction = reduction_of(reduction, size_average, reduce)
    beta = real(beta, "beta", "smooth_l1_loss")
    if beta < 0:
        raise ShapeError("MG-E332", "smooth_l1_loss does not support negative values for beta.")
    of_floats("smooth_l1_loss", input, target)
    if beta == 0:
        return distance(input, target, reduction)
    return call(SmoothL1Loss.op, (*alike("smooth_l1_loss", input, target), NUMBER_OF[reduction], beta))


@in_float32
def distance(input, target, reduction):
    """|x - y|, averaged or summed: `smooth_l1_loss` with a β of 0."""
    return reduce_loss(abs(input - target), reduction)


def alike(name, input, target):
    """Both in one dtype and of one shape."""
    if input.dtype is not target.dtype:
        input, target = promote_tensors(name, input, input, target)
    if input.shape == target.shape:
        return input, target
    shape = broadcast_shape([input._meta, target._meta])
    return expand(input, shape), expand(target, shape)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """d² / 2 below δ, else δ (d - δ/2), where d = |x - y| (Huber, 1964). Mirrors ``torch.nn.functional.huber_loss``.

    Raises:
        RuntimeError: `delta` is not positive, or the input holds integers. (The result has its dtype.)

    >>> F.huber_loss(mg.tensor([1., 2.]), mg.tensor([0., 4.]), delta=0.5)
    tensor(0.6250)
    """
    two_tensors("huber_loss", input, target, warn=True)
    reduction = reduction_of(reduction, None, None)
    delta = real(delta, "delta", "huber_loss")
    if delta <= 0:
        raise ShapeError("MG-E332", "huber_loss does not support non-positive values for delta.")
    of_floats("huber_loss", input, target)
    each = NONE if weight is not None else NUMBER_OF[reduction]
    loss = cast_loss("huber_loss", call(HuberLoss.op, (*alike("huber_loss", input, target), each, delta)), input)
    return loss if weight is None else reduce_loss(weighted("huber_loss", loss, input, weight), reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-y log x - (1 - y) log(1 - x), each logarithm at least -100. Mirrors ``torch.nn.functional.binary_cross_entropy``.

    Raises:
        ValueError: the sizes differ.
        RuntimeError: a number of the input lies outside [0, 1], or the dtypes differ or are integer ones.

    >>> F.binary_cross_entropy(mg.tensor([0.5, 0.5]), mg.tensor([1., 0.]))
    tensor(0.6931)
    """
    two_tensors("binary_cross_entropy", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise TensorValueError("MG-E204", f"Using a target size ({target.shape}) that is different to the input size "
                               f"({input.shape}) is deprecated. Please ensure they have the same size.")
    if input.dtype is not target.dtype:
        raise ShapeError("MG-E203", f"Found dtype {target.dtype.name} but expected {input.dtype.name}",
                         fix="target.to(input.dtype)")
    of_floats("binary_cross_entropy", input)
    if weight is not None:
        tensor_argument("binary_cross_entropy", weight, "weight", 3)
    if input.numel() and not (amin(input.detach()).item() >= 0 and amax(input.detach()).item() <= 1):
        raise ShapeError("MG-E332", "all elements of input should be between 0 and 1",
                         fix="sigmoid(input), or the form with_logits")
    if not constant_factor(weight, input):
        return in_products(call(BinaryCrossEntropy.op, (input, target, None, NONE)), weight, reduction)
    return call(BinaryCrossEntropy.op, (input, target, weight, NUMBER_OF[reduction]))


def constant_factor(factor, input):
    """Whether a rule can take this factor, if there is one: its dtype is that of `input`, and no derivative flows to it."""
    return factor is None or (factor.dtype is input.dtype and not factor.requires_grad and tangent_of(factor) is None)


@in_float32
def in_products(loss, weight, reduction):
    """The loss times the weight, if there is one, averaged or summed: each by an op."""
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """The binary cross entropy of sigmoid(x), computed from x, so that nothing overflows.

    Args:
        input (Tensor): scores, of any shape.
        target (Tensor): probabilities, of the same shape.
        weight, pos_weight (Tensor, optional): factors of each element, and of the part with y; they broadcast.

    Mirrors ``torch.nn.functional.binary_cross_entropy_with_logits``.

    Raises:
        ValueError: the sizes differ.
        RuntimeError: the targets are integers, or the weights do not broadcast.

    >>> F.binary_cross_entropy_with_logits(mg.tensor([0., 0.]), mg.tensor([1., 0.]))
    tensor(0.6931)
    """
    two_tensors("binary_cross_entropy_with_logits", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape:
        raise TensorValueError("MG-E204", f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    for name, factor in (("weight", weight), ("pos_weight", pos_weight)):
        if factor is not None:
            tensor_argument("binary_cross_entropy_with_logits", factor, name)
    if weight is not None and not broadcasts_to(weight.shape, input.shape):
        raise ShapeError("MG-E204", f"weight of shape {list(weight.shape)} doesn't broadcast to the shape of the input",
                         expected=f"what broadcasts to {list(input.shape)}")
    if pos_weight is not None:
        broadcast_shape([pos_weight._meta, input._meta])
    of_floats("binary_cross_entropy_with_logits", input)
    name = "binary_cross_entropy_with_logits"
    if constant_factor(weight, input) and constant_factor(pos_weight, input):
        loss = call(BinaryCrossEntropyWithLogits.op, (input, target, weight, pos_weight, NUMBER_OF[reduction]))
        return cast_loss(name, loss, target)
    loss = call(BinaryCrossEntropyWithLogits.op, (input, target, None, None, NONE)) if pos_weight is None else \
        call(WeightedBinaryCrossEntropyWithLogits.op, (input, target, pos_weight))
    return in_products(cast_loss(name, loss, target), weight, reduction)


@in_float32
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """y (log y - x): the Kullback-Leibler divergence, where x are log-probabilities.

    Args:
        input (Tensor): log-probabilities.
        target (Tensor): probabilities, or with `log_target` their logarithms.
        reduction (str): ``"none"``, ``"mean"`` (over all numbers), ``"batchmean"`` (the divergence), or ``"sum"``.

    Mirrors ``torch.nn.functional.kl_div``.

    Raises:
        RuntimeError: one of them holds integers.

    >>> F.kl_div(mg.tensor([[0.5, 0.5]]).log(), mg.tensor([[1., 0.]]), reduction="batchmean")
    tensor(0.6931)
    """
    two_tensors("kl_div", input, target)
    flag(log_target, "log_target", "kl_div")
    if not (input.dtype.differentiable and target.dtype.differentiable):
        raise ShapeError("MG-E203", "kl_div: Integral inputs not supported.", fix="target.float()")
    batch = isinstance(reduction, str) and reduction == "batchmean" and size_average is None and reduce is None
    reduction = "sum" if batch else reduction_of(reduction, size_average, reduce)
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
                      "only by the batch size, and aligns with the KL div math definition.", stacklevel=2)
    if log_target:
        loss = exp(target) * (target - input)
    else:       # y log y is 0 at 0
        loss = where(target == 0, 0.0, target * log(where(target == 0, 1.0, target))) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.shape[0] if batch and input.ndim else loss


@in_float32
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log v + (x - y)² / v) / 2, with the variance v at least `eps` (its gradient is as if it were not bounded).

    Args:
        input, target (Tensor): means and samples.
        var (Tensor or float): of input's shape, or with 1 or nothing instead of the last dimension.
        full (bool): add log(2π) / 2.

    Mirrors ``torch.nn.functional.gaussian_nll_loss``.

    Raises:
        ValueError: a variance is negative or its shape does not fit, or the reduction is unknown.

    >>> F.gaussian_nll_loss(mg.tensor([1.]), mg.tensor([3.]), mg.tensor([4.]))
    tensor(1.1931)
    """
    two_tensors("gaussian_nll_loss", input, target)
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
    if var.numel() and amin(var.detach()).item() < 0:
        raise TensorValueError("MG-E332", "var has negative entry/entries")
    v = var + (clamp_min(var.detach(), eps) - var.detach())
    d = input - target
    loss = 0.5 * (log(v) + d * d / v)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if truth(full, "full", "gaussian_nll_loss") else loss, reduction)


@in_float32
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """eˣ - y x, or with `log_input` False x - y log(x + ε). With `full`, plus Stirling's y log y - y + log(2π y) / 2 where y > 1.

    Mirrors ``torch.nn.functional.poisson_nll_loss``.

    >>> F.poisson_nll_loss(mg.tensor([0.]), mg.tensor([2.]))
    tensor(1.)
    """
    two_tensors("poisson_nll_loss", input, target)
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


@in_float32
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """x₁ · x₂ / (max(|x₁|, ε) max(|x₂|, ε)) along `dim`. Mirrors ``torch.nn.functional.cosine_similarity``.

    >>> F.cosine_similarity(mg.tensor([3., 4.]), mg.tensor([4., 3.]), dim=0)
    tensor(0.9600)
    """
    tensor_argument("cosine_similarity", x1, "x1")
    tensor_argument("cosine_similarity", x2, "x2", 2)
    eps = real(eps, "eps", "cosine_similarity")
    x1, x2 = promote_tensors("cosine_similarity", x1, x1, x2)
    if not x1.dtype.is_floating_point:
        raise ShapeError("MG-E203", f"expected common dtype to be floating point, yet common dtype is {x1.dtype.name}")
    shape = broadcast_shape([x1._meta, x2._meta])
    a, b = [expand(x, shape) for x in (x1, x2)]
    return sum(a / clamp_min(vector_norm(a, 2, dim, True), eps) * (b / clamp_min(vector_norm(b, 2, dim, True), eps)), dim)


@in_float32
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x₁ - x₂ + ε along the last dimension. Mirrors ``torch.nn.functional.pairwise_distance``.

    >>> F.pairwise_distance(mg.tensor([[3., 4.]]), mg.tensor([[0., 0.]]))
    tensor([5.0000])
    """
    tensor_argument("pairwise_distance", x1, "x1")
    tensor_argument("pairwise_distance", x2, "x2", 2)
    return vector_norm(x1 - x2 + real(eps, "eps", "pairwise_distance"), p, -1, keepdim)


@in_float32
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos(x₁, x₂) where y is 1, max(0, cos(x₁, x₂) - margin) where it is -1.

    Mirrors ``torch.nn.functional.cosine_embedding_loss``.

    Raises:
        RuntimeError: the target is not 0- or 1-dimensional, or the inputs not one dimension more.

    >>> F.cosine_embedding_loss(mg.tensor([[3., 4.]]), mg.tensor([[4., 3.]]), mg.tensor([1.]))
    tensor(0.0400)
    """
    two_tensors("cosine_embedding_loss", input1, input2)
    tensor_argument("cosine_embedding_loss", target, "target", 3)
    margin = real(margin, "margin", "cosine_embedding_loss")
    reduction = reduction_of(reduction, size_average, reduce)
    if target.ndim > 1:
        raise ShapeError("MG-E204", "0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise ShapeError("MG-E204", f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with "
                         f"sizes {list(input1.shape)} and {list(input2.shape)}.")
    # ε stands under the root here, unlike in cosine_similarity, as in PyTorch.
    eps = 1e-12
    cos = sum(input1 * input2, -1) / sqrt((sum(input1 * input1, -1) + eps) * (sum(input2 * input2, -1) + eps))
    return reduce_loss(where(target == 1, 1 - cos, 0.0) + where(target == -1, clamp_min(cos - margin, 0.0), 0.0), reduction)


@in_float32
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, d(a, p) - d(a, n) + margin), with the distances of `pairwise_distance`.

    Args:
        anchor, positive, negative (Tensor): (N, D) or (D).
        swap (bool): take d(p, n) in place of d(a, n) where that is smaller (Balntas et al., 2016).

    Mirrors ``torch.nn.functional.triplet_margin_loss``.

    Raises:
        ValueError: the margin is not positive.
        RuntimeError: the numbers of dimensions differ.

    >>> F.triplet_margin_loss(mg.tensor([0.]), mg.tensor([1.]), mg.tensor([3.]), margin=4.)
    tensor(2.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    for name, x in (("anchor", anchor), ("positive", positive), ("negative", negative)):
        tensor_argument("triplet_margin_loss", x, name)
    flag(swap, "swap", "triplet_margin_loss")
    margin = real(margin, "margin", "triplet_margin_loss")
    if margin <= 0:
        raise TensorValueError("MG-E332", f"margin must be greater than 0, got {margin}")
    dims = [x.ndim for x in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise ShapeError("MG-E204", "The anchor, positive, and negative tensors are expected to have the same number of "
                         f"dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs")
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_loss(clamp_min(near - far + margin, 0.0), reduction)


@in_float32
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -y (x₁ - x₂) + margin): y says which of the two is to be larger.

    Mirrors ``torch.nn.functional.margin_ranking_loss``.

    Raises:
        RuntimeError: the numbers of dimensions differ.

    >>> F.margin_ranking_loss(mg.tensor([1.]), mg.tensor([3.]), mg.tensor([1.]))
    tensor(2.)
    """
    two_tensors("margin_ranking_loss", input1, input2)
    tensor_argument("margin_ranking_loss", target, "target", 3)
    margin = real(margin, "margin", "margin_ranking_loss")
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError("MG-E204", "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                         f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}")
    return reduce_loss(clamp_min(-target * (input1 - input2) + margin, 0.0), reduction)


@in_float32
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """x where y is 1, max(0, margin - x) where it is -1. Mirrors ``torch.nn.functional.hinge_embedding_loss``.

    >>> F.hinge_embedding_loss(mg.tensor([0.25, 0.25]), mg.tensor([1., -1.]))
    tensor(0.5000)
    """
    two_tensors("hinge_embedding_loss", input, target)
    margin = real(margin, "margin", "hinge_embedding_loss")
    loss = where(target != 1, clamp_min(margin - input, 0.0), 0.0) + where(target != -1, input, 0.0)
    return reduce_loss(loss, reduction_of(reduction, size_average, reduce))


@in_float32
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + e^(-y x)). Mirrors ``torch.nn.functional.soft_margin_loss``.

    >>> F.soft_margin_loss(mg.tensor([0.]), mg.tensor([1.]))
    tensor(0.6931)
    """
    two_tensors("soft_margin_loss", input, target)
    if not broadcasts_to(target.shape, input.shape):
        raise ShapeError("MG-E204", f"output with shape {list(input.shape)} doesn't match the broadcast shape of the target, "
                         f"{list(target.shape)}")
    loss = -logsigmoid(target * input) if input.dtype.differentiable else input
    return reduce_loss(cast_loss("soft_margin_loss", loss, input), reduction_of(reduction, size_average, reduce))
