"""Sorting along a dimension: sort, topk, kthvalue, median, mode and quantile.

    x        [3 1 2]
    order    [1 2 0]        the kernel `argsort`; nan counts as the largest
    sort     x[order]       kthvalue, median: one element of it

Along a dimension, the results are values and their positions in x. The values are elements of x, so a gradient goes back to these
positions. `quantile` interpolates between two elements.

Mirrors ``aten/src/ATen/native/Sorting.cpp`` and value_selecting_reduction_backward in TensorAdvancedIndexing.cpp.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import DtypeError, OutOfRangeError, ScalarError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, integer, tensor_argument, wrong_type
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64, Op, op, variant
from minigrad.ops.elementwise.selection import where
from minigrad.ops.index.indexing import Gather, ScatterAdd, gather
from minigrad.ops.reduce.extrema import ExtremumRule, ExtremumWithIndex, pick
from minigrad.ops.shape.formats import row_major
from minigrad.ops.shape.views import transpose, unsqueeze, view

if TYPE_CHECKING:
    from minigrad.types import Tensor, ValuesAndIndices

__all__ = ["argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "nanquantile", "quantile", "sort", "topk"]


class Order(Op):
    """(values, indices): elements of x in another order, along one dimension"""

    inputs = 1
    outputs = ("values", "indices")

    def vjp(g, needs, x_shape, indices, dim):
        return (call(ScatterAdd.op, (g[0].new_zeros(x_shape), g[0], dim, indices)),)

    def jvp(ts, indices, dim):
        return (call(Gather.op, (ts[0], dim, indices)), None)


@op("sort")
class Sort(Order):
    """(values, indices): the elements in order, and where they were"""

    def forward(k, x, dim, descending):
        order = k.argsort(x, dim, descending)
        return k.gather(x, dim, order), order


SortStable = variant(Sort, "sort_stable", "Sort1",
                     "`sort` with ``stable=True``: equal elements keep their order, as they also do in `Sort`")


@op("topk")
class Topk(Order):
    """(values, indices): the first elements in order, and where they were"""

    torch_names = {"x": "self", "number": "k"}

    def forward(k, x, number, dim, largest):
        if x.ndim:
            order = k.topk(x, number, dim, largest)
        else:
            order = k.full((), 0, INT64.numpy) if number else k.full((0,), 0, INT64.numpy)
        return k.gather(x, dim, order), order


class Selected(ExtremumWithIndex):
    """Base of the ops that select one element of each row: (values, indices)"""


@op("kthvalue")
class Kthvalue(Selected):
    """The k-th smallest along one dimension, and where it is"""

    torch_names = {"x": "self", "number": "k"}

    def forward(k, x, number, dim, keepdim):
        order = k.topk(x, number, dim, False) if x.ndim else k.argsort(x, dim, False)
        return pick(k, x, k.copy(k.slice(order, dim, number - 1, number, 1)), dim, keepdim)


@op("median_dim", "Median1")
class MedianDim(Selected):
    """The median along one dimension, the lower of two, and where it is; the first nan if there is one"""

    def forward(k, x, dim, keepdim):
        x = row_major(k, x)
        return pick(k, x, k.median(x, dim, False), dim, keepdim)


@op("nanmedian_dim", "Nanmedian1")
class NanmedianDim(Selected):
    """The median of the elements that are not nan, and where it is"""

    def forward(k, x, dim, keepdim):
        x = row_major(k, x)
        return pick(k, x, k.median(x, dim, True), dim, keepdim)


@op("mode")
class Mode(Selected):
    """The most frequent along one dimension, the smallest of several, and where it is last"""

    def forward(k, x, dim, keepdim):
        return pick(k, x, k.mode(x, dim), dim, keepdim)


@op("median", "Median0")
class Median(ExtremumRule):
    """z = the median of everything; those that are equal to it share the gradient"""

    def forward(k, x, dims, keepdim):
        return median_of_array(k, x, False)


@op("nanmedian", "Nanmedian0")
class Nanmedian(ExtremumRule):
    """z = the median of the elements that are not nan"""

    def forward(k, x, dims, keepdim):
        return median_of_array(k, x, True)


def median_of_array(k, x, skip):
    """The median of an array. For no elements it is nan, or the integer that a processor makes of nan."""
    flat = k.view(k.copy(x), (x.size,))
    if not x.size:
        of_nan = float("nan") if x.dtype.kind in "fV" else 0 if x.itemsize < 4 else -1 << (8 * x.itemsize - 1)      # V: bfloat16
        return k.full((), of_nan, x.dtype)
    return k.copy(k.select(k.gather(flat, 0, k.median(flat, 0, skip)), 0, 0))


# ---- public functions -------------------------------------------------------------------------------------

# The named tuples that these functions return, as in torch.return_types.
sort_result: Any = namedtuple("sort", ("values", "indices"))
topk_result: Any = namedtuple("topk", ("values", "indices"))
kthvalue_result: Any = namedtuple("kthvalue", ("values", "indices"))
median_result = namedtuple("median", ("values", "indices"))
nanmedian_result = namedtuple("nanmedian", ("values", "indices"))
mode_result: Any = namedtuple("mode", ("values", "indices"))


def check_sortable(function, x, dim):
    """Return `dim` counted from the front; raise unless `x` is a tensor of real numbers."""
    at = dimension(dim, tensor_argument(function, x).ndim)
    if x.dtype.is_complex:
        raise DtypeError("MG-E203", f"{function}(): Sort does not support complex dtypes", fix="x.abs() or x.real")
    return at


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *,
         out: Tensor | None = None) -> ValuesAndIndices:
    """The elements of `input` in order along `dim`, and where they were: the pair (values, indices).

    Args:
        input (Tensor): real numbers. Nan counts as the largest.
        dim (int): the dimension to sort along.
        descending (bool): put the largest first.
        stable (bool): makes no difference here; equal elements always keep their order.

    Returns:
        namedtuple: values, of the dtype of `input`, and indices, int64; both have the shape of `input`.

    Mirrors ``torch.sort``.

    Raises:
        RuntimeError: `input` is complex.
        IndexError: there is no such dimension.

    >>> mg.sort(mg.tensor([3., 1., 2.]))
    sort(values=tensor([1., 2., 3.]), indices=tensor([1, 2, 0]))
    """
    if out is not None:
        return into(out, sort, input, dim, descending, stable)
    at = check_sortable("sort", input, dim)
    flag(descending, "descending", "sort")
    rule = SortStable if stable is not None and flag(stable, "stable", "sort") else Sort
    return sort_result(*call(rule.op, (input, at, descending)))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices (int64) that put `input` in order along `dim`. Mirrors ``torch.argsort``.

    Args: as for `sort`.

    Raises:
        RuntimeError: `input` is complex.
        IndexError: there is no such dimension.

    >>> mg.argsort(mg.tensor([3., 1., 2.]), descending=True)
    tensor([0, 2, 1])
    """
    check_sortable("argsort", input, dim)
    return sort(input.detach(), dim, descending, stable).indices


def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` in order along the first dimension. Mirrors ``torch.msort``.

    >>> mg.msort(mg.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """
    if out is not None:
        return into(out, msort, input)
    check_sortable("msort", input, 0)
    return sort(input, 0).values


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *,
         out: Tensor | None = None) -> ValuesAndIndices:
    """The `k` largest elements of `input` along `dim`, the largest first, and where they are: (values, indices).

    Args:
        input (Tensor): real numbers, but not bools. Nan counts as the largest.
        k (int): how many elements, at most the size of the dimension.
        dim (int): the dimension that is searched.
        largest (bool): False returns the smallest elements, the smallest first.
        sorted (bool): makes no difference here; the elements are always sorted.

    Mirrors ``torch.topk``.

    Raises:
        RuntimeError: `k` is negative or larger than the dimension, or `input` is complex or bool.
        IndexError: there is no such dimension.

    >>> mg.topk(mg.tensor([3., 1., 2.]), 2)
    topk(values=tensor([3., 2.]), indices=tensor([0, 2]))
    """
    if out is not None:
        return into(out, topk, input, k, dim, largest, sorted)
    number = integer(k, "k", "topk")
    at = check_sortable("topk", input, dim)
    flag(sorted, "sorted", "topk")
    if not 0 <= number <= (input.shape[at] if input.ndim else 1):
        raise ShapeError("MG-E206", "selected index k out of range", found=f"k = {number} of {list(input.shape)}, along {at}")
    if input.dtype.name == "bool":
        raise DtypeError("MG-E203", "topk does not support bool dtypes", fix="x.int()")
    return topk_result(*call(Topk.op, (input, number, at, flag(largest, "largest", "topk"))))


def run_selection(rule, result, x, *arguments, dim, keepdim):
    """Run a rule that selects one element along `dim`. A 0-d tensor is treated as one of size 1."""
    name = result.__name__
    at = check_sortable(name, x, dim)
    flag(keepdim, "keepdim", name)
    if x.ndim == 0:
        return result(*call(rule.op, (view(x, (1,)), *arguments, 0, False)))
    if x.shape[at] == 0:
        raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim {at} to have non-zero size.")
    return result(*call(rule.op, (x, *arguments, at, keepdim)))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Tensor | None = None) -> ValuesAndIndices:
    """The `k`-th smallest element of `input` along `dim`, counted from 1, and where it is: (values, indices).

    Args:
        input (Tensor): real numbers, but not bools. Nan counts as the largest.
        k (int): from 1 to the size of the dimension.
        dim (int): the dimension that is reduced.
        keepdim (bool): keep it, with size 1.

    Mirrors ``torch.kthvalue``.

    Raises:
        RuntimeError: `k` is smaller than 1 or larger than the dimension, or `input` is complex or bool.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.kthvalue(mg.tensor([3., 1., 2.]), 2)
    kthvalue(values=tensor(2.), indices=tensor(2))
    """
    if out is not None:
        return into(out, kthvalue, input, k, dim, keepdim)
    number = integer(k, "k", "kthvalue")
    at = check_sortable("kthvalue", input, dim)
    if input.dtype.name == "bool":
        raise DtypeError("MG-E203", "kthvalue(): not implemented for 'Bool'", fix="x.int()")
    size = input.shape[at] if input.ndim else 1
    if size and not 1 <= number <= size:
        raise ShapeError("MG-E206", f"kthvalue(): selected number k out of range for dimension {at}",
                         found=f"k = {number} of {size}")
    return run_selection(Kthvalue, kthvalue_result, input, number, dim=dim, keepdim=keepdim)


def run_median(whole, along, result, input, dim, keepdim):
    """Run median or nanmedian in one of their two forms: of all elements, or along `dim`."""
    name = result.__name__
    tensor_argument(name, input)
    if input.dtype.name == "bool" or input.dtype.is_complex:
        raise DtypeError("MG-E203", f"{name}(): not implemented for {input.dtype.name}", fix="x.int(), or x.abs()")
    if dim is None:
        return call(whole.op, (input, tuple(range(input.ndim)), False))
    return run_selection(along, result, input, dim=dim, keepdim=keepdim)


def median(input, dim=None, keepdim=False, *, out=None):
    """The median of all elements; or the medians along `dim` and their positions: (values, indices).

    For an even number of elements it is the lower of the two in the middle. It is nan if an element is nan.

    Args:
        input (Tensor): real numbers, but not bools.
        dim (int, optional): the dimension that is reduced; all of them by default.
        keepdim (bool): keep the dimension, with size 1.

    Mirrors ``torch.median``.

    Raises:
        RuntimeError: `input` is complex or bool.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.median(mg.tensor([3., 1., 2., 9.])), mg.median(mg.tensor([[3., 1., 2.]]), 1)
    (tensor(2.), median(values=tensor([2.]), indices=tensor([2])))
    """
    if out is not None:
        return into(out, median, input, dim, keepdim)
    return run_median(Median, MedianDim, median_result, input, dim, keepdim)


def nanmedian(input, dim=None, keepdim=False, *, out=None):
    """The `median` of the elements that are not nan. Mirrors ``torch.nanmedian``.

    Args: as for `median`.

    Raises:
        RuntimeError: `input` is complex or bool.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.nanmedian(mg.tensor([3., 1., float("nan")]))
    tensor(1.)
    """
    if out is not None:
        return into(out, nanmedian, input, dim, keepdim)
    return run_median(Nanmedian, NanmedianDim, nanmedian_result, input, dim, keepdim)


def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Tensor | None = None) -> ValuesAndIndices:
    """The most frequent element of `input` along `dim`, and its last position: (values, indices).

    Of several elements that are equally frequent, it is the smallest.

    Args:
        input (Tensor): real numbers.
        dim (int): the dimension that is reduced.
        keepdim (bool): keep it, with size 1.

    Mirrors ``torch.mode``.

    Raises:
        RuntimeError: `input` is complex.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.mode(mg.tensor([1, 2, 2, 3]))
    mode(values=tensor(2), indices=tensor(2))
    """
    if out is not None:
        return into(out, mode, input, dim, keepdim)
    return run_selection(Mode, mode_result, input, dim=dim, keepdim=keepdim)


# ---- quantiles --------------------------------------------------------------------------------------------


def quantile(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear",
             out: Tensor | None = None) -> Tensor:
    """The value below which the fraction `q` of the elements is, of all or along `dim`; nan if an element is nan.

    Args:
        input (Tensor): float32 or float64, with at least one element.
        q (float or Tensor): in [0, 1]. For a vector of the dtype of `input`, the result has a new first dimension of its size.
        dim (int, optional): the dimension that is reduced; all of them by default.
        keepdim (bool): keep the reduced dimensions, with size 1.
        interpolation (str): between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"`` or ``"nearest"``.

    Mirrors ``torch.quantile``.

    Raises:
        RuntimeError: `input` is not float32 or float64 or has no elements, or `q` is outside [0, 1] or of another dtype.
        IndexError: there is no such dimension.

    >>> mg.quantile(mg.tensor([1., 2., 4.]), 0.75)
    tensor(3.)
    """
    if out is not None:
        return into(out, quantile, input, q, dim, keepdim, interpolation=interpolation)
    return compute_quantile("quantile", input, q, dim, keepdim, interpolation, False)


def nanquantile(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear",
                out: Tensor | None = None) -> Tensor:
    """The `quantile` of the elements that are not nan. Mirrors ``torch.nanquantile``.

    Args: as for `quantile`.

    Raises:
        RuntimeError: `input` is not float32 or float64 or has no elements, or `q` is outside [0, 1] or of another dtype.
        IndexError: there is no such dimension.

    >>> mg.nanquantile(mg.tensor([1., 2., float("nan")]), 0.5)
    tensor(1.5000)
    """
    if out is not None:
        return into(out, nanquantile, input, q, dim, keepdim, interpolation=interpolation)
    return compute_quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def compute_quantile(name, x, q, dim, keepdim, interpolation, skip_nans):
    """Sort along the last dimension, find the places of the quantiles, and interpolate."""
    tensor_argument(name, x)
    flag(keepdim, "keepdim", name)
    x, = cast_operands(name, x)
    if x.dtype.name not in ("float32", "float64"):
        raise DtypeError("MG-E203", f"{name}() input tensor must be either float or double dtype", found=x.dtype.name)
    if not isinstance(q, TensorBase):
        if not isinstance(q, (int, float)):
            raise wrong_type(name, "q", "Tensor or float", q)
        if not 0 <= q <= 1:
            raise ShapeError("MG-E206", f"{name}() q must be in the range [0, 1] but got {q}")
        q = x.new_tensor(q)
    if q.ndim > 1:
        raise ShapeError("MG-E205", f"{name}() q must be a scalar or 1D tensor", found=f"{q.ndim}-d")
    if q.dtype is not x.dtype:
        raise DtypeError("MG-E203", f"{name}() q tensor must be same dtype as the input tensor", found=q.dtype.name)
    if not isinstance(interpolation, str):
        raise wrong_type(name, "interpolation", "str", interpolation)
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ShapeError("MG-E206", f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
                         f"{interpolation}")
    if not x.numel():
        raise ScalarError("MG-E208", f"{name}() input tensor must be non-empty")
    if not q.is_meta and bool(((q < 0) | (q > 1)).any().item()):
        raise ShapeError("MG-E206", f"{name}() q values must be in the range [0, 1]")
    at = dimension(0 if dim is None else dim, x.ndim)
    whole = dim is None or x.ndim == 0
    rows = x.reshape(-1) if whole else transpose(unsqueeze(x, -1), at, -1)      # dim moves to the end, size 1 takes its place
    ordered = sort(rows, -1).values
    nans = (rows.detach() != rows.detach()).sum(-1, keepdim=True)
    n = rows.shape[-1]
    last = (n - 1 - nans).clamp(0) if skip_nans else (n - 1 - nans * 0)
    rank = view(q, (-1,)) * last
    if not skip_nans:
        rank = where(nans > 0, float(n - 1), rank)
    low = rank.detach()
    low = low.ceil() if interpolation == "higher" else low.round() if interpolation == "nearest" else low.floor()
    z = gather(ordered, -1, low.to(INT64))
    if interpolation in ("linear", "midpoint"):
        high = gather(ordered, -1, rank.detach().ceil().to(INT64))
        z = z.lerp(high, rank - low if interpolation == "linear" else 0.5)
    # The quantiles are along the last dimension. They move to the front, and a single one loses its dimension. In place, so that
    # the result is no view.
    if q.ndim:
        z.unsqueeze_(0).transpose_(0, -1)
    z.squeeze_(-1)
    if not whole:
        return z if keepdim else z.squeeze_(at + q.ndim)
    for _ in range(x.ndim if keepdim else 0):
        z.unsqueeze_(-1)
    return z
