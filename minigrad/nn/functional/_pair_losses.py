"""Similarities, distances, and losses that compare two or three vectors or scores. They are composed of ops.

    cosine_similarity pairwise_distance                                     of two vectors
    cosine_embedding_loss margin_ranking_loss hinge_embedding_loss          one label y per pair: 1 or -1
    triplet_margin_loss                                                     an anchor is nearer to one vector than to another

Mirrors the losses of ``torch/nn/functional.py`` and ``aten/src/ATen/native/{Loss,Distance}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad.errors import DtypeError, ShapeError, TensorValueError
from minigrad.nn.functional._losses import check_tensors
from minigrad.ops import clamp_min, expand, minimum, sqrt, sum, where
from minigrad.ops.base.arguments import flag, real, tensor_argument
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.base.keywords import accept_names
from minigrad.ops.base.precision import in_float32
from minigrad.ops.elementwise.selection import promote_tensors
from minigrad.ops.linalg.norms import vector_norm
from minigrad.ops.nn.losses import reduce_loss, reduction_of

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss", "pairwise_distance",
           "triplet_margin_loss"]


@accept_names
@in_float32
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int | None = 1, eps: float = 1e-8) -> Tensor:
    """x₁ · x₂ / (max(|x₁|, ε) max(|x₂|, ε)) along `dim`.

    Args:
        x1, x2 (Tensor): floating point vectors along `dim`; their shapes broadcast.
        dim (int): the dimension of the vectors, which the result lacks.
        eps (float): ε, which avoids a division by zero.

    Mirrors ``torch.nn.functional.cosine_similarity``.

    Raises:
        RuntimeError: the common dtype is not a floating point one, or the shapes do not broadcast.

    >>> F.cosine_similarity(mg.tensor([3., 4.]), mg.tensor([4., 3.]), dim=0)
    tensor(0.9600)
    """
    tensor_argument("cosine_similarity", x1, "x1")
    tensor_argument("cosine_similarity", x2, "x2", 2)
    eps = real(eps, "eps", "cosine_similarity")
    x1, x2 = promote_tensors("cosine_similarity", x1, x1, x2)
    if not x1.dtype.is_floating_point:
        raise DtypeError("MG-E203", f"expected common dtype to be floating point, yet common dtype is {x1.dtype.name}")
    shape = broadcast_shape([x1._meta, x2._meta])
    a, b = [x if x._meta.shape == shape else expand(x, shape) for x in (x1, x2)]
    return sum(a / clamp_min(vector_norm(a, 2, dim, True), eps) * (b / clamp_min(vector_norm(b, 2, dim, True), eps)), dim)


@accept_names
@in_float32
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x₁ - x₂ + ε along the last dimension.

    Args:
        x1, x2 (Tensor): (N, D) or (D); their shapes broadcast.
        p (float): the exponent of the norm.
        eps (float): ε, a small number that is added to each difference.
        keepdim (bool): keep the last dimension, with size 1.

    Mirrors ``torch.nn.functional.pairwise_distance``.

    >>> F.pairwise_distance(mg.tensor([[3., 4.]]), mg.tensor([[0., 0.]]))
    tensor([5.0000])
    """
    tensor_argument("pairwise_distance", x1, "x1")
    tensor_argument("pairwise_distance", x2, "x2", 2)
    return vector_norm(x1 - x2 + real(eps, "eps", "pairwise_distance"), p, -1, keepdim)


@autocasts
@in_float32
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                          reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """1 - cos(x₁, x₂) where y is 1, and max(0, cos(x₁, x₂) - margin) where y is -1.

    Args:
        input1, input2 (Tensor): x₁ and x₂, (N, D) or (D).
        target (Tensor): y, 1 or -1 for each pair: (N) or 0-d.
        margin (float): the cosine below which a pair with y = -1 has no loss.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.cosine_embedding_loss``.

    Raises:
        RuntimeError: the target has more than one dimension, or the inputs do not have exactly one dimension more.

    >>> F.cosine_embedding_loss(mg.tensor([[3., 4.]]), mg.tensor([[4., 3.]]), mg.tensor([1.]))
    tensor(0.0400)
    """
    check_tensors("cosine_embedding_loss", input1, input2)
    tensor_argument("cosine_embedding_loss", target, "target", 3)
    margin = real(margin, "margin", "cosine_embedding_loss")
    reduction = reduction_of(reduction, size_average, reduce)
    if target.ndim > 1:
        raise ShapeError("MG-E204", "0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise ShapeError("MG-E204", f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with "
                         f"sizes {list(input1.shape)} and {list(input2.shape)}.")
    # As in PyTorch, ε is under the root here, unlike in cosine_similarity.
    eps = 1e-12
    cos = sum(input1 * input2, -1) / sqrt((sum(input1 * input1, -1) + eps) * (sum(input2 * input2, -1) + eps))
    return reduce_loss(where(target == 1, 1 - cos, 0.0) + where(target == -1, clamp_min(cos - margin, 0.0), 0.0), reduction)


@autocasts
@in_float32
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Tensor:
    """max(0, d(a, p) - d(a, n) + margin), with the distances of `pairwise_distance`.

    Args:
        anchor, positive, negative (Tensor): (N, D) or (D).
        margin (float): how much farther the negative should be than the positive.
        p, eps (float): the norm and its ε: see `pairwise_distance`.
        swap (bool): use d(p, n) instead of d(a, n) where it is smaller (Balntas et al., 2016).
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.triplet_margin_loss``.

    Raises:
        ValueError: the margin is not positive.
        RuntimeError: the tensors differ in their number of dimensions.

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


@autocasts
@in_float32
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """max(0, -y (x₁ - x₂) + margin): x₁ should be larger where y is 1, and x₂ where y is -1.

    Args:
        input1, input2, target (Tensor): x₁, x₂ and y, with the same number of dimensions; their shapes broadcast.
        margin (float): how much larger the right one should be.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.margin_ranking_loss``.

    Raises:
        RuntimeError: the tensors differ in their number of dimensions.

    >>> F.margin_ranking_loss(mg.tensor([1.]), mg.tensor([3.]), mg.tensor([1.]))
    tensor(2.)
    """
    check_tensors("margin_ranking_loss", input1, input2)
    tensor_argument("margin_ranking_loss", target, "target", 3)
    margin = real(margin, "margin", "margin_ranking_loss")
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError("MG-E204", "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                         f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}")
    return reduce_loss(clamp_min(-target * (input1 - input2) + margin, 0.0), reduction)


@autocasts
@in_float32
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """x where y is 1, and max(0, margin - x) where y is -1. For a distance x.

    Args:
        input (Tensor): x, of any shape.
        target (Tensor): y; its shape broadcasts with that of `input`.
        margin (float): the distance above which a pair with y = -1 has no loss.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.hinge_embedding_loss``.

    >>> F.hinge_embedding_loss(mg.tensor([0.25, 0.25]), mg.tensor([1., -1.]))
    tensor(0.5000)
    """
    check_tensors("hinge_embedding_loss", input, target)
    margin = real(margin, "margin", "hinge_embedding_loss")
    loss = where(target != 1, clamp_min(margin - input, 0.0), 0.0) + where(target != -1, input, 0.0)
    return reduce_loss(loss, reduction_of(reduction, size_average, reduce))
