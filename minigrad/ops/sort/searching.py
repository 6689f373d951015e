"""Searching and counting: nonzero, unique, bincount, histc, searchsorted, isin. Nothing here has a derivative.

    x               [3 1 3]
    unique          [1 3]           of the sorted elements, those that differ from the one before
    inverse         [1 0 1]         where each element of x is in unique
    counts          [1 2]           how often each element of unique is in x

Results that are integers have no history. The unique elements and the sums of weights have one, and a backward through it raises:
their derivative is not implemented, and must not be taken for 0.

Mirrors ``aten/src/ATen/native/{Unique,SummaryOps,Histogram,Bucketization,TensorCompare}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad._core.record.promotion import operands_dtype
from minigrad._core.surface.variable import new_tensor
from minigrad.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError, TensorTypeError
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import (
    BOOL,
    INT64,
    NUMBERS,
    Op,
    convert_number,
    dimension,
    flag,
    integer,
    number,
    op,
    outside,
    tensor_argument,
    wrong_type,
)
from minigrad.ops.elementwise.comparison import ne
from minigrad.ops.elementwise.selection import number_tensor
from minigrad.ops.index.indexing import index_select, scatter_add
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.shape.cat_split import unbind
from minigrad.ops.shape.clone_cast import cast, contiguous
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import reshape, transpose, view
from minigrad.ops.sort.sorting import argsort

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import Number, Tensor

__all__ = ["argwhere", "bincount", "bucketize", "count_nonzero", "histc", "isin", "nonzero", "searchsorted", "unique",
           "unique_consecutive"]


class Undifferentiated(Op):
    """z = a result computed from x without a history: this op puts it into the graph"""

    inputs = 1

    def forward(k, x, z):
        return k.copy(z)


@op("_unique2", "Unique20")
class Unique(Undifferentiated):
    """z = the different elements of x"""

    no_derivative = "'_unique2'"


@op("unique_dim", "UniqueDim0")
class UniqueDim(Undifferentiated):
    """z = the different slices of x"""

    no_derivative = "'unique_dim'"


@op("unique_consecutive", "UniqueConsecutive0")
class UniqueConsecutive(Undifferentiated):
    """z = the elements of x that differ from the one before"""

    no_derivative = "'unique_consecutive'"


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
        zeros = k.full((*x.shape, classes), 0, x.dtype)
        return k.scatter(zeros, x.ndim, k.unsqueeze(x, x.ndim), k.full((), 1, x.dtype))


# ---- where ------------------------------------------------------------------------------------------------


def wrap_kernel_result(x, kernel, *args):
    """Run a kernel on the array of `x`, and return the result as a tensor without history."""
    x = x.detach()
    return new_tensor(type(x), getattr(x._meta.backend.kernels, kernel)(x._array, *args), False, x.device)


def nonzero(input, *, as_tuple=False, out=None) -> Any:
    """The indices of the elements that are not 0, as the rows of a matrix. Mirrors ``torch.nonzero``.

    Args:
        input (Tensor): of any dtype.
        as_tuple (bool): return a tuple of vectors, one for each dimension, which can index: ``x[nonzero(x, as_tuple=True)]``.

    Returns:
        Tensor: int64, with one row for each such element and one column for each dimension; or the tuple of the columns.

    >>> mg.nonzero(mg.tensor([[0, 5], [6, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    if out is not None:
        return into(out, nonzero, input)
    tensor_argument("nonzero", input)
    if flag(as_tuple, "as_tuple", "nonzero"):
        return unbind(wrap_kernel_result(reshape(input, 1) if input.ndim == 0 else input, "nonzero"), 1)
    return wrap_kernel_result(input, "nonzero")


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not 0, as the rows of a matrix. Mirrors ``torch.argwhere``.

    >>> mg.argwhere(mg.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    return nonzero(tensor_argument("argwhere", input))


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


# ---- unique -----------------------------------------------------------------------------------------------


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """The different elements of `input`, or its different slices along `dim`, in order.

    Args:
        input (Tensor): real numbers.
        sorted (bool): makes no difference here; the elements are always sorted.
        return_inverse (bool): also return the index in the result of each element or slice of `input`.
        return_counts (bool): also return how often `input` contains each of them.
        dim (int, optional): the dimension of the slices; by default `input` is flattened.

    A backward through the elements raises `NotImplementedError`. Mirrors ``torch.unique``.

    Raises:
        RuntimeError: `input` is complex, or a dimension other than `dim` has size 0.
        IndexError: there is no such dimension.

    >>> mg.unique(mg.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
    (tensor([1, 3]), tensor([1, 0, 1]), tensor([1, 2]))
    """
    tensor_argument("unique", input)
    for name, given in (("sorted", sorted), ("return_inverse", return_inverse), ("return_counts", return_counts)):
        flag(given, name, "unique")
    rows = reshape_to_rows("unique", input, dim)
    k = rows._meta.backend.kernels
    order: Any = None
    for column in range(rows.shape[1] - 1, -1, -1):     # stable sorts, the last column first: lexicographic order
        numbers = k.select(rows._array, 1, column)
        by_column = k.argsort(numbers if order is None else k.index_select(numbers, 0, order), 0, False)
        order = by_column if order is None else k.index_select(order, 0, by_column)
    found, first = find_runs(k, k.index_select(rows._array, 0, order))
    given = [found]
    if return_inverse:
        given.append(k.scatter(k.full(order.shape, 0, order.dtype), 0, order, run_of_each(k, first)))
    if return_counts:
        given.append(lengths(k, first))
    return unique_result(Unique if dim is None else UniqueDim, input, dim, given, return_inverse)


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """`input`, flattened or along `dim`, without the elements or slices that equal the one before.

    Args: as for `unique`. Mirrors ``torch.unique_consecutive``.

    Raises:
        RuntimeError: `input` is complex, or a dimension other than `dim` has size 0.
        IndexError: there is no such dimension.

    >>> mg.unique_consecutive(mg.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    tensor_argument("unique_consecutive", input)
    for name, given in (("return_inverse", return_inverse), ("return_counts", return_counts)):
        flag(given, name, "unique_consecutive")
    rows = reshape_to_rows("unique_consecutive", input, dim)
    k = rows._meta.backend.kernels
    found, first = find_runs(k, rows._array)
    given = [found] + [run_of_each(k, first)] * bool(return_inverse) + [lengths(k, first)] * bool(return_counts)
    return unique_result(UniqueConsecutive, input, dim, given, return_inverse)


def reshape_to_rows(function, x, dim):
    """Reshape the elements, or the slices along `dim`, to the rows of a matrix."""
    if x.dtype.is_complex:
        raise DtypeError("MG-E203", f"{function}(): not implemented for {x.dtype.name}", fix="x.abs() or x.real")
    x = x.detach()
    if dim is None:
        return reshape(x, (x.numel(), 1))
    at = dimension(dim, x.ndim)
    if x.ndim == 0:
        raise OutOfRangeError("MG-E301", f"Dimension specified as {dim} but tensor has no dimensions")
    x = transpose(x, 0, at)
    if 0 in x.shape[1:]:
        raise ShapeError("MG-E206", "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    width = 1
    for n in x.shape[1:]:
        width *= n
    return reshape(x, (x.shape[0], width))


def find_runs(k, rows):
    """(found, first) for the array `rows`: the first row of each run of equal rows; for each row, whether it begins a run."""
    n = rows.shape[0]
    if n == 0:
        return rows, k.full((0,), False, BOOL.numpy)
    differs = k.ne(k.slice(rows, 0, 1, n, 1), k.slice(rows, 0, 0, n - 1, 1))
    if rows.shape[1] != 1:
        differs = k.ne(k.sum(k.cast(differs, INT64.numpy), (1,), True), 0)
    first = k.cat([k.full((1,), True, BOOL.numpy), k.view(differs, (n - 1,))], 0)
    return k.index_select(rows, 0, beginnings(k, first)), first


def beginnings(k, first):
    """The positions of the runs, given for each row whether it begins a run."""
    return k.select(k.nonzero(first), 1, 0)


def run_of_each(k, first):
    """The number of its run for each row."""
    return k.sub(k.cumsum(k.cast(first, INT64.numpy), 0, False), 1)


def lengths(k, first):
    """The lengths of the runs."""
    starts = beginnings(k, first)
    bounds = k.cat([starts, k.full((1,), first.shape[0], INT64.numpy)], 0)
    return k.sub(k.slice(bounds, 0, 1, bounds.shape[0], 1), starts)


def unique_result(rule, x, dim, arrays, return_inverse):
    """Make the results of unique of arrays: a tensor, or a tuple. `rule` puts the elements into the graph."""
    kind = type(x.detach())
    found, *others = [new_tensor(kind, a, False, x.device) for a in arrays]
    if dim is None:
        found = flatten(found)
        if return_inverse:
            others[0] = view(others[0], x.shape)
    else:
        at = dimension(dim, x.ndim)
        found = contiguous(transpose(reshape(found, (found.shape[0], *transpose(x, 0, at).shape[1:])), 0, at))
    z = call(rule.op, (x, found))
    return (z, *others) if others else z


# ---- counting ---------------------------------------------------------------------------------------------


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


# ---- among sorted values ----------------------------------------------------------------------------------


def searchsorted(sorted_sequence: Tensor, input: Tensor | Number, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The indices at which to insert the values `input` so that `sorted_sequence` stays sorted.

    Args:
        sorted_sequence (Tensor): a vector; or sorted rows, each of which is searched for the values in the same row of `input`.
        input (Tensor or number): the values. The result has their shape.
        out_int32 (bool): return int32 instead of int64.
        right (bool): True gives the index after equal elements, False the index before them.
        side (str, optional): ``"right"`` or ``"left"``: another way to say `right`.
        sorter (Tensor, optional): the indices that sort `sorted_sequence`.

    Mirrors ``torch.searchsorted``.

    Raises:
        RuntimeError: the shapes do not fit, a dtype is complex, or `right` and `side` contradict each other.

    >>> mg.searchsorted(mg.tensor([1, 3, 5]), mg.tensor([3, 6]))
    tensor([1, 3])
    """
    if out is not None:
        return into(out, searchsorted, sorted_sequence, input, out_int32=out_int32, right=right, side=side, sorter=sorter)
    tensor_argument("searchsorted", sorted_sequence, "sorted_sequence")
    flag(out_int32, "out_int32", "searchsorted")
    flag(right, "right", "searchsorted")
    if not isinstance(input, TensorBase):
        if not isinstance(input, NUMBERS):
            raise TensorTypeError("MG-E201", f"searchsorted(): argument 'input' must be Tensor or Number, not "
                                  f"{type(input).__name__}")
        if sorted_sequence.ndim != 1:
            raise ShapeError("MG-E205", "torch.searchsorted(): input value can be a scalar only when sorted_sequence is "
                             "1 dimensional")
    dtype = operands_dtype((sorted_sequence, input))
    input = input.detach() if isinstance(input, TensorBase) else number_tensor(input, sorted_sequence)
    sorted_sequence, input = cast(sorted_sequence.detach(), dtype), cast(input, dtype)
    if side is not None and not isinstance(side, str):
        raise wrong_type("searchsorted", "side", "str", side)
    if side not in (None, "left", "right"):
        raise ShapeError("MG-E206", f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise ShapeError("MG-E206", "torch.searchsorted(): side and right can't be set to opposites, got side of left while right "
                         "was True")
    if dtype.is_complex:
        raise DtypeError("MG-E203", f"searchsorted(): not implemented for {dtype.name}")
    if sorted_sequence.ndim == 0:
        raise ShapeError("MG-E205", "torch.searchsorted(): boundary tensor should have positive dimension, but got 0 dimension")
    if sorted_sequence.ndim != 1 and (input.ndim != sorted_sequence.ndim or input.shape[:-1] != sorted_sequence.shape[:-1]):
        raise ShapeError("MG-E204", "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                         f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
                         f"{list(sorted_sequence.shape)} and input value tensor {list(input.shape)}")
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, tensor_argument("searchsorted", sorter, "sorter", 6))
    found = wrap_kernel_result(sorted_sequence, "searchsorted", input._array, bool(right) or side == "right")
    return cast(found, named_dtype("int32")) if out_int32 else found


def bucketize(input: Tensor | Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False,
              out: Tensor | None = None) -> Tensor:
    """The number of the interval between `boundaries` that contains each element. Mirrors ``torch.bucketize``.

    Args:
        input (Tensor or number): the elements. 0 means before the first boundary. The result has their shape.
        boundaries (Tensor): a sorted vector.
        out_int32 (bool): return int32 instead of int64.
        right (bool): True if an interval contains its left boundary, False if it contains its right one.

    Raises:
        RuntimeError: `boundaries` is not a vector.

    >>> mg.bucketize(mg.tensor([0.5, 2.]), mg.tensor([1., 2.]))
    tensor([0, 1])
    """
    tensor_argument("bucketize", boundaries, "boundaries", 2)
    if boundaries.ndim != 1:
        raise ShapeError("MG-E205", f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def isin(elements: Tensor | Number, test_elements: Tensor | Number, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is among `test_elements`. Mirrors ``torch.isin``.

    Args:
        elements, test_elements (Tensor or number): at least one is a tensor. The result has the shape of `elements`.
        assume_unique (bool): makes no difference here.
        invert (bool): return whether each element is *not* among them.

    Raises:
        RuntimeError: a tensor is bool or complex.
        TypeError: neither is a tensor.

    >>> mg.isin(mg.tensor([1, 2, 3]), mg.tensor([2, 5]))
    tensor([False,  True, False])
    """
    flag(assume_unique, "assume_unique", "isin")
    flag(invert, "invert", "isin")
    like = elements if isinstance(elements, TensorBase) else tensor_argument("isin", test_elements, "test_elements", 2)
    dtype = operands_dtype((elements, test_elements))
    for y in (elements, test_elements):
        if isinstance(y, TensorBase) and (y.dtype is BOOL or y.dtype.is_complex):
            raise DtypeError("MG-E203", f"Unsupported input type encountered for isin(): {y.dtype.name}", fix="x.int()")
    x, tests = [cast(y.detach(), dtype) if isinstance(y, TensorBase) else like.new_tensor(y, dtype=dtype)
                for y in (elements, test_elements)]
    tests = flatten(tests)
    if tests.numel() == 0:
        found = x.new_zeros(x.shape, dtype=BOOL)
    else:
        tests = index_select(tests, 0, argsort(tests))
        place = searchsorted(tests, contiguous(x)).clamp(max=tests.numel() - 1)
        found = tests[place] == x
    return ~found if invert else found


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
