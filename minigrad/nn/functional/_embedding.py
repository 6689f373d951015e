"""Embedding: look up rows of a table by their index.

Mirrors ``torch.nn.functional.embedding`` and ``aten/src/ATen/native/Embedding.cpp``. Read next: ``ops/nn/embedding.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from minigrad._core.record.apply import call
from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import AutogradAssertionError, DtypeError, OutOfRangeError, ShapeError
from minigrad.ops import bincount, contiguous, index_select, reshape, unique, unsqueeze, where
from minigrad.ops.base.arguments import integer, outside, real, tensor_argument, truth
from minigrad.ops.linalg.norms import vector_norm
from minigrad.ops.nn.embedding import Embedding

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["embedding"]


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """weight[input]: the row of the table for each index.

    Args:
        input (Tensor): indices of rows, int64 or int32, of any shape.
        weight (Tensor): the table, (V, D).
        padding_idx (int, optional): a row that gets no gradient.
        max_norm (float, optional): first scale the rows with a larger norm down to this norm, in `weight` itself.
        norm_type (float): the exponent of that norm.
        scale_grad_by_freq (bool): divide the gradient of a row by the number of its occurrences in `input`.
        sparse (bool): without effect: the gradient is dense. `optim.SparseAdam` takes it.

    Returns:
        Tensor: ``(*input.shape, D)``.

    Mirrors ``torch.nn.functional.embedding``.

    Raises:
        IndexError: an index is not in [0, V).
        AssertionError: `padding_idx` is not in [-V, V).
        RuntimeError: the dtype or the dimensions do not fit.

    >>> F.embedding(mg.tensor([1, 1, 0]), mg.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.],
            [3., 4.],
            [1., 2.]])
    """
    tensor_argument("embedding", input)
    tensor_argument("embedding", weight, "weight", 2)
    if weight.ndim != 2:
        raise ShapeError("MG-E205", "'weight' must be 2-D", found=f"{weight.ndim} dimensions")
    if input.dtype.name not in ("int64", "int32"):
        raise DtypeError("MG-E203", "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
                         f"Int; but got {input.dtype.name} instead", fix="input.long()")
    truth(sparse, "sparse", "embedding")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= integer(padding_idx, "padding_idx", "embedding") < rows:
            raise AutogradAssertionError("MG-E332", "Padding_idx must be within num_embeddings", expected=f"below {rows}",
                                         found=str(padding_idx))
        padding_idx %= rows
    numbers = contiguous(input.long())
    bad = outside(numbers, rows)
    if bad is not None:
        raise OutOfRangeError("MG-E301", "index out of range in self", expected=f"rows from 0 to {rows - 1}", found=str(bad))
    if max_norm is not None:
        bound_norms(weight, numbers, real(max_norm, "max_norm", "embedding"), real(norm_type, "norm_type", "embedding"))
    factor = None
    if padding_idx is not None:
        factor = unsqueeze(numbers != padding_idx, -1).to(weight.dtype)
    if truth(scale_grad_by_freq, "scale_grad_by_freq", "embedding") and numbers.numel():
        counts = bincount(reshape(numbers, (-1,)), minlength=rows)
        often = counts[numbers].to(weight.dtype)    # pyright: ignore[reportIndexIssue]
        factor = 1 / unsqueeze(often, -1) if factor is None else factor / unsqueeze(often, -1)
    return call(Embedding.op, (weight, numbers, factor))


def bound_norms(weight, numbers, max_norm, norm_type):
    """Scale the rows `numbers` of `weight` down to `max_norm`, in place."""
    with no_grad():
        numbers = unique(numbers)
        rows = index_select(weight, 0, numbers)
        size = vector_norm(rows, norm_type, 1, True)
        weight.index_copy_(0, numbers, where(size > max_norm, rows * (max_norm / (size + 1e-7)), rows))
