"""Sums, means and maxima of bags of rows of a table. Mirrors ``aten/src/ATen/native/EmbeddingBag.cpp``."""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false
# (the results of ops have no types inside the package)
from typing import TYPE_CHECKING

from minigrad.creation import arange, tensor, zeros
from minigrad.dtypes import int64
from minigrad.errors import ArgumentError, AutogradNotImplementedError, TensorValueError
from minigrad.nn.functional._embedding import embedding
from minigrad.ops import bincount, index_add, stack
from minigrad.ops.base.arguments import integer, tensor_argument

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["embedding_bag"]


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of the rows of a table in each bag of indices.

    Args:
        input (Tensor): the indices: (B, n), a bag per row, or (n), all bags one after the other.
        weight (Tensor): the table, (V, D).
        offsets (Tensor, optional): (B), where each bag starts in a one-dimensional `input`.
        max_norm (float, optional): first scale the rows with a larger norm down to this norm, in `weight` itself.
        norm_type (float): the exponent of that norm.
        scale_grad_by_freq (bool): divide the gradient of a row by the number of its occurrences in `input`.
        mode (str): ``"sum"``, ``"mean"`` or ``"max"``.
        sparse (bool): without effect: the gradient is dense.
        per_sample_weights (Tensor, optional): a factor for each index, for ``"sum"``.
        include_last_offset (bool): the last of the `offsets` is the number of indices.
        padding_idx (int, optional): an index that the bags leave out.

    Returns:
        Tensor: (B, D). An empty bag gives zeros.

    Mirrors ``torch.nn.functional.embedding_bag``.

    Raises:
        ValueError: `offsets`, the dimensions or the mode do not fit.
        NotImplementedError: `per_sample_weights` in another mode than ``"sum"``.

    >>> table = mg.tensor([[1., 2.], [3., 4.], [5., 6.]])
    >>> F.embedding_bag(mg.tensor([0, 1, 2]), table, mg.tensor([0, 2]), mode="sum")
    tensor([[4., 6.],
            [5., 6.]])
    """
    tensor_argument("embedding_bag", input)
    tensor_argument("embedding_bag", weight, "weight", 2)
    if per_sample_weights is not None:
        tensor_argument("embedding_bag", per_sample_weights, "per_sample_weights", 9)
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise TensorValueError("MG-E332", f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, "
                               f"then it must have the same shape as the input ({list(input.shape)})")
    if weight.ndim != 2:
        raise TensorValueError("MG-E205", f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    length = 0          # of each bag, if all have the same
    if input.ndim == 2:
        if offsets is not None:
            raise TensorValueError("MG-E332", "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                                   "of fixed length sequences.")
        bags, length = input.shape
        starts, input = [i * length for i in range(bags)], input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.ndim == 1:
        if offsets is None:
            raise TensorValueError("MG-E332", "offsets has to be a 1D Tensor but got None")
        tensor_argument("embedding_bag", offsets, "offsets", 3)
        if offsets.ndim != 1:
            raise TensorValueError("MG-E332", "offsets has to be a 1D Tensor")
        starts = offsets.tolist()
        if starts and starts[0] != 0:
            raise ArgumentError("MG-E332", "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                                f"position 0. However, got {starts[0]}")
        if starts and starts[-1] > input.numel():
            raise ArgumentError("MG-E332", f"offsets[-1] can not be greater than input's length {input.numel()}, but got "
                                f"{starts[-1]}")
        starts = starts[:-1] if include_last_offset else starts
    else:
        raise TensorValueError("MG-E332", f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if not isinstance(mode, str) or mode not in ("sum", "mean", "max"):
        raise TensorValueError("MG-E332", "mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise TensorValueError("MG-E332", "max mode does not support scaling the gradient by the frequency, or sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise AutogradNotImplementedError("MG-E332", "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                          f"supported for mode='sum' (got mode='{mode}').")
    options = (max_norm, norm_type, scale_grad_by_freq, sparse)
    if length and padding_idx is None:
        return reduce_equal_bags(embedding(input, weight, None, *options), len(starts), length, mode, per_sample_weights)
    return reduce_bags(input, weight, starts, options, mode, per_sample_weights, padding_idx)


def reduce_equal_bags(rows, bags, length, mode, factors):
    """Compute the bags of the `rows` of a table, `length` of them in each."""
    if factors is not None:
        rows = rows * factors.unsqueeze(1)
    rows = rows.view(bags, length, rows.shape[1])
    return rows.max(1)[0] if mode == "max" else rows.sum(1) if mode == "sum" else rows.mean(1)


def reduce_bags(input, weight, starts, options, mode, factors, padding_idx):
    """Compute the bags of a one-dimensional `input`, which start at `starts`. The `options` are arguments of `embedding`."""
    ends = [*starts[1:], input.numel()]
    numbers = [i for i, (start, end) in enumerate(zip(starts, ends)) for _ in range(start, end)]
    bags = tensor(numbers, dtype=int64, device=input.device)
    if padding_idx is not None:
        kept = (input != integer(padding_idx, "padding_idx", "embedding_bag") % weight.shape[0]).nonzero().reshape(-1)
        input, bags = input[kept], bags[kept]
        factors = None if factors is None else factors[kept]
    rows = embedding(input, weight, None, *options)
    count = len(starts)
    if mode == "max":
        places = arange(bags.numel(), device=bags.device)
        chosen = [rows[places[bags == i]] for i in range(count)]
        empty = zeros(weight.shape[1], dtype=weight.dtype, device=weight.device)
        return stack([part.max(0)[0] if part.shape[0] else empty for part in chosen])
    if factors is not None:
        rows = rows * factors.unsqueeze(1)
    total = index_add(zeros(count, weight.shape[1], dtype=rows.dtype, device=rows.device), 0, bags, rows)
    if mode == "sum":
        return total
    return total / bincount(bags, minlength=count).clamp(min=1).to(total.dtype).unsqueeze(1)
