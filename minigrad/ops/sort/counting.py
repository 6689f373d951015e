"""Counting: how often each number is in a tensor, or how many numbers are in an interval. And one_hot, which counts a number once.

    x                       [0 2 2]
    bincount                [1 0 2]
    histc, 0 to 3           [1 0 2]         intervals of the width 1
    one_hot                 [[1 0 0] [0 0 1] [0 0 1]]

Counts are integers, without history. Sums of weights have one, and a backward through it raises: see ``unique.py``.

Mirrors ``aten/src/ATen/native/{SummaryOps,Histogram,Onehot}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.record.apply import call
from minigrad._core.surface.variable import new_tensor
from minigrad.errors import ArgumentError, DtypeError, ShapeError
from minigrad.ops.base.arguments import convert_number, integer, number, outside, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64, Op, op
from minigrad.ops.elementwise.comparison import ne
from minigrad.ops.index.indexing import scatter_add
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import reshape_array
from minigrad.ops.sort.unique import Undifferentiated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["bincount", "count_nonzero", "histc"]


@op("bincount", "NotImplemented")
class Bincount(Undifferentiated):
    """z = the sums of the weights x by number"""

    no_derivative = "aten::bincount"


@op("one_hot")
class OneHot(Op):
    """z[i, x[i]] = 1, and 0 elsewhere"""

    inputs = 1
    differentiable = False

    def forward(k, x, classes):
        z = k.full((x.size, classes), 0, x.dtype)
        k.index_put_(z, [k.from_host(np.arange(x.size), False), reshape_array(k, x, (x.size,))], k.full((), 1, x.dtype), False)
        return k.view(z, (*x.shape, classes))


def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """How many elements are not 0, of all or along dimensions. Mirrors ``torch.count_nonzero``.

    Args:
        input (Tensor): of any dtype.
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.count_nonzero(mg.tensor([[0, 5], [6, 7]]), 0)
    tensor([1, 2])
    """
    return total(ne(tensor_argument("count_nonzero", input).detach(), 0), dim)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number 0, 1, 2 ... is in a vector, or the sum of its weights.

    Args:
        input (Tensor): a vector of integers that are not negative.
        weights (Tensor, optional): a weight for each element of `input`. The result is float32 if `weights` is, else
            float64. A backward through it raises `NotImplementedError`.
        minlength (int): the smallest size of the result, not negative. The size is one more than the largest number, or this.

    Mirrors ``torch.bincount``.

    Raises:
        RuntimeError: `input` is not a vector of integers, or has negative ones; or `weights` has another shape.

    >>> mg.bincount(mg.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    tensor_argument("bincount", input)
    if input.dtype.name == "bool" or input.dtype.differentiable:
        raise DtypeError("MG-E203", f"bincount(): not implemented for {input.dtype.name}", fix="x.long()")
    if integer(minlength, "minlength", "bincount") < 0:
        raise ShapeError("MG-E206", "minlength should be >= 0")
    if input.ndim == 1 and input.numel() == 0:
        return input.new_zeros(minlength, dtype=INT64)
    k = input._meta.backend.kernels
    if input.ndim != 1 or k.amin(input._array, (0,), False).item() < 0:
        raise ShapeError("MG-E206", "bincount only supports 1-d non-negative integral inputs.")
    index = k.cast(input._array, INT64.numpy)
    n = max(minlength, k.amax(index, (0,), False).item() + 1)
    if weights is None:
        ones = k.full(index.shape, 1, INT64.numpy)
        return new_tensor(type(input), k.scatter_add(input.new_zeros(n, dtype=INT64)._array, 0, index, ones), False, input.device)
    tensor_argument("bincount", weights, "weights", 2)
    if weights.ndim != 1 or weights.shape != input.shape:
        raise ShapeError("MG-E204", "weights should be 1-d and have the same length as input", found=f"{list(weights.shape)}")
    kind = weights.dtype if weights.dtype.name == "float32" else named_dtype("float64")
    counted = k.scatter_add(weights.new_zeros(n, dtype=kind)._array, 0, index, k.cast(weights.detach()._array, kind.numpy))
    return call(Bincount.op, (weights, new_tensor(type(weights.detach()), counted, False, input.device)))


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements are in each of `bins` intervals of equal width from `min` to `max`. Mirrors ``torch.histc``.

    Args:
        input (Tensor): floating point, of any shape. Elements outside the range, and nan, are not counted.
        bins (int): the number of intervals.
        min, max (number): the range; if they are equal, the smallest and the largest element are used.

    Raises:
        RuntimeError: `bins` is not positive, `max` is smaller than `min`, the range is not finite, or `input` is not
            floating point.

    >>> mg.histc(mg.tensor([1., 2., 1.]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if out is not None:
        return into(out, histc, input, bins, min, max)
    tensor_argument("histc", input)
    if not input.dtype.is_floating_point:
        raise DtypeError("MG-E203", f"histogram not implemented for {input.dtype.name}", fix="x.float()")
    if integer(bins, "bins", "histc") <= 0:
        raise ShapeError("MG-E206", f"torch.histc(): bins must be > 0, but got {bins}")
    min, max = number(min, "min", "histc"), number(max, "max", "histc")
    min, max = convert_number(min, input.dtype), convert_number(max, input.dtype)
    x = flatten(input.detach())
    low, high = float(min), float(max)
    if low == high and x.numel():
        low, high = x.min().item(), x.max().item()
    if low == high:
        low, high = low - 1, high + 1
    if not abs(low) + abs(high) < float("inf"):
        raise ShapeError("MG-E206", f"torch.histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise ShapeError("MG-E206", "torch.histc: max must be larger than min", found=f"min {low}, max {high}")
    x = x[(x >= low) & (x <= high)]
    place = cast((x - low) / (high - low) * bins, INT64).clamp(0, bins - 1)
    return scatter_add(x.new_zeros(bins), 0, place, x * 0 + 1)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A row of zeros for each class number, with a 1 at the place of the number. Mirrors ``torch.nn.functional.one_hot``.

    Args:
        tensor (Tensor): class numbers, int64, of any shape.
        num_classes (int): the size of the new last dimension; by default one more than the largest number.

    Raises:
        RuntimeError: the dtype is not int64, or a number is negative or too large.

    >>> mg.nn.functional.one_hot(mg.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    tensor_argument("one_hot", tensor, "tensor")
    if tensor.dtype is not INT64:
        raise DtypeError("MG-E203", "one_hot is only applicable to index tensor of type LongTensor.", found=tensor.dtype.name)
    classes = integer(num_classes, "num_classes", "one_hot")
    if tensor.numel() == 0:
        if classes <= 0:
            raise ShapeError("MG-E206", "Can not infer total number of classes from empty tensor.")
        return tensor.new_empty((*tensor.shape, classes))
    if classes == -1:
        classes = max(tensor.max().item(), 0) + 1
    bad = None if tensor.is_meta else outside(tensor, classes)
    if bad is not None and tensor.min().item() < 0:
        raise ArgumentError("MG-E301", "Class values must be non-negative.")
    if classes <= 0:
        raise ShapeError("MG-E206", "num_classes should be positive", found=str(classes))
    if bad is not None:
        raise ArgumentError("MG-E301", "Class values must be smaller than num_classes.", found=f"{bad} of {classes}")
    return call(OneHot.op, (tensor, classes))
