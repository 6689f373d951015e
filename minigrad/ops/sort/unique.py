"""The different elements of a tensor: unique, unique_consecutive.

    x               [3 1 3]
    unique          [1 3]           of the sorted elements, those that differ from the one before
    inverse         [1 0 1]         where each element of x is in unique
    counts          [1 2]           how often each element of unique is in x

The last two are integers, without history. The unique elements have one, and a backward through it raises: their derivative is not
implemented, and must not be taken for 0.

Mirrors ``aten/src/ATen/native/Unique.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad._core.surface.variable import new_tensor
from minigrad.errors import DtypeError, OutOfRangeError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, tensor_argument
from minigrad.ops.base.rule import BOOL, INT64, Op, op
from minigrad.ops.shape.reshaping import flatten, movedim
from minigrad.ops.shape.views import reshape, view

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["unique", "unique_consecutive"]


class Undifferentiated(Op):
    """z = a new tensor computed from x without a history: this op puts its array into the graph"""

    inputs = 1

    def forward(k, x, z):
        return k.cast(z, z.dtype)       # z itself, to which nothing else refers


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
    columns = [rows._array] if rows.ndim == 1 else [k.select(rows._array, 1, i) for i in range(rows.shape[1] - 1, -1, -1)]
    for numbers in columns:     # stable sorts, the last column first: lexicographic order
        by_column = k.argsort(numbers if order is None else k.index_select(numbers, 0, order), 0, False)
        order = by_column if order is None else k.index_select(order, 0, by_column)
    found, first, starts = find_runs(k, k.index_select(rows._array, 0, order))
    given = [found]
    if return_inverse:
        given.append(k.scatter(k.full(order.shape, 0, order.dtype), 0, order, run_of_each(k, first)))
    if return_counts:
        given.append(lengths(k, starts, order.shape[0]))
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
    found, first, starts = find_runs(k, rows._array)
    given = [found]
    if return_inverse:
        given.append(run_of_each(k, first))
    if return_counts:
        given.append(lengths(k, starts, rows.shape[0]))
    return unique_result(UniqueConsecutive, input, dim, given, return_inverse)


def reshape_to_rows(function, x, dim):
    """Reshape the elements, or the slices along `dim`, to the rows of a matrix; to a vector, if a row has one element."""
    if x.dtype.is_complex:
        raise DtypeError("MG-E203", f"{function}(): not implemented for {x.dtype.name}", fix="x.abs() or x.real")
    x = x.detach()
    if dim is None:
        return flatten(x)
    at = dimension(dim, x.ndim)
    if x.ndim == 0:
        raise OutOfRangeError("MG-E301", f"Dimension specified as {dim} but tensor has no dimensions")
    x = movedim(x, at, 0)
    if 0 in x.shape[1:]:
        raise ShapeError("MG-E206", "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    width = 1
    for n in x.shape[1:]:
        width *= n
    return reshape(x, (x.shape[0],) if width == 1 else (x.shape[0], width))


def find_runs(k, rows):
    """(found, first, starts): the first row of each run of equal `rows`; whether each row is such a row; their positions."""
    n = rows.shape[0]
    first = k.full((min(n, 1),), True, BOOL.numpy)
    if n > 1:
        differs = k.ne(k.slice(rows, 0, 1, n, 1), k.slice(rows, 0, 0, n - 1, 1))
        if rows.ndim == 2:
            differs = k.ne(k.sum(k.cast(differs, INT64.numpy), (1,), False), 0)
        first = k.cat([first, differs], 0)
    starts = k.select(k.nonzero(first), 1, 0)
    return k.index_select(rows, 0, starts), first, starts


def run_of_each(k, first):
    """The number of its run for each row."""
    return k.sub(k.cumsum(k.cast(first, INT64.numpy), 0, False), 1)


def lengths(k, starts, n):
    """The lengths of the runs of n rows."""
    bounds = k.cat([starts, k.full((1,), n, INT64.numpy)], 0)
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
        found = movedim(reshape(found, (found.shape[0], *x.shape[:at], *x.shape[at + 1:])), 0, at)
    z = call(rule.op, (x, found))
    return (z, *others) if others else z
