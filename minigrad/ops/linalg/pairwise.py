"""Functions of pairs: the distances between all rows of a matrix, and bilinear forms.

Mirrors ``aten/src/ATen/native/{Distance,Linear}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, DtypeError, ShapeError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import BOOL
from minigrad.ops.index.indexing import IndexSelect
from minigrad.ops.index.masking import triu
from minigrad.ops.linalg.matrix import matmul
from minigrad.ops.linalg.norms import Cdist, power_of, vector_norm
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.shape.cat_split import check_count
from minigrad.ops.shape.clone_cast import contiguous
from minigrad.ops.shape.views import permute, reshape, transpose
from minigrad.ops.sort.searching import nonzero

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["bilinear", "pdist"]


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences between two rows of `input`: rows 0 and 1, 0 and 2, ..., 1 and 2, ...

    Mirrors ``torch.pdist``.

    Args:
        input (Tensor): of shape (n, d), floating point. The result is a vector of n (n - 1) / 2 elements.
        p (number): the order of the norm, not negative.

    Raises:
        RuntimeError: `input` is not a matrix, the dtype is not floating point, or `p` is negative.

    >>> mg.pdist(mg.tensor([[0., 0.], [3., 4.], [3., 0.]]))
    tensor([5., 3., 4.])
    """
    tensor_argument("pdist", input)
    if input.ndim != 2:
        raise ShapeError("MG-E205", f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.dtype.is_floating_point:
        raise DtypeError("MG-E203", "pdist only supports floating-point dtypes", found=input.dtype.name)
    power = power_of(p, "p", "pdist")
    if power < 0:
        raise ArgumentError("MG-E302", "pdist only supports non-negative p values", found=str(p))
    n = input.shape[0]
    check_count("pdist", n * (n - 1) // 2, "pairs")
    above = triu(input.detach().new_ones((n, n), dtype=BOOL), 1)
    if power == 2 and input.shape[1]:           # computes each distance twice, but copies no rows
        every = reshape(call(Cdist.op, (input, input, power)), (n * n,))
        return call(IndexSelect.op, (every, 0, reshape(nonzero(reshape(above, (n * n,))), (-1,))))
    pairs = contiguous(transpose(nonzero(above), 0, 1))
    return distances(input, pairs[0], pairs[1], power)


@in_float32
def distances(x, first, second, p):
    """The p-norms of the differences between the rows `first` and the rows `second` of x."""
    apart = call(IndexSelect.op, (x, 0, first)) - call(IndexSelect.op, (x, 0, second))
    return vector_norm(apart, p, -1) if x.shape[1] else total(apart, -1)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """z[o] = Σ input1[i] weight[o, i, j] input2[j] + bias[o]. Mirrors ``torch.nn.functional.bilinear``.

    Args:
        input1, input2 (Tensor): (..., in1) and (..., in2), of the same shape except for the last dimension.
        weight (Tensor): (out, in1, in2).
        bias (Tensor, optional): (out).

    Returns:
        Tensor: (..., out).

    Raises:
        RuntimeError: the shapes do not fit.

    >>> F.bilinear(mg.tensor([1., 2.]), mg.tensor([3.]), mg.ones(1, 2, 1))
    tensor([9.])
    """
    for i, (name, x) in enumerate((("input1", input1), ("input2", input2), ("weight", weight)), 1):
        tensor_argument("bilinear", x, name, i)
    if weight.ndim != 3 or 0 in (input1.ndim, input2.ndim):
        raise ShapeError("MG-E205", "bilinear(): weight must have 3 dimensions, and the inputs at least one",
                         found=f"{weight.ndim}, {input1.ndim} and {input2.ndim}")
    if input1.ndim != input2.ndim:
        raise ShapeError("MG-E204", f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if n != m:
            raise ShapeError("MG-E204", f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}")
    for name, x, n in (("input1", input1, weight.shape[1]), ("input2", input2, weight.shape[2])):
        if x.shape[-1] != n:
            raise ShapeError("MG-E204", f"bilinear(): {name} size does not match weight size: got {x.shape[-1]} but expected {n}")
    if bias is not None and tensor_argument("bilinear", bias, "bias", 4).shape != weight.shape[:1]:
        raise ShapeError("MG-E204", f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but expected "
                         f"{weight.shape[0]}")
    out, in1, in2 = weight.shape
    rows = matmul(reshape(input1, (batch(input1), in1)),
                  reshape(permute(weight, (1, 0, 2)), (in1, out * in2)))
    z = matmul(reshape(rows, (rows.shape[0], out, in2)), reshape(input2, (rows.shape[0], in2, 1)))
    z = reshape(z, (*input1.shape[:-1], out))
    return z if bias is None else z + bias


def batch(x):
    """The number of vectors along the last dimension of x."""
    n = 1
    for size in x.shape[:-1]:
        n *= size
    return n
