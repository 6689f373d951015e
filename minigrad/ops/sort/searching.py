"""Searching: nonzero, searchsorted, isin. Nothing here has a derivative, and the results have no history.

    x                       [0 5 6]
    nonzero                 [[1] [2]]       where the elements differ from 0
    searchsorted of 5.5     2               where to insert a number, so that the elements stay sorted

Mirrors ``aten/src/ATen/native/{Bucketization,TensorCompare}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import operands_dtype
from minigrad._core.surface.variable import new_tensor
from minigrad._lazy import lazy
from minigrad.errors import DtypeError, ShapeError, TensorTypeError
from minigrad.ops.base.arguments import NUMBERS, flag, tensor_argument, wrong_type
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import BOOL
from minigrad.ops.elementwise.comparison import eq
from minigrad.ops.elementwise.selection import number_tensor
from minigrad.ops.index.indexing import index_select
from minigrad.ops.shape.cat_split import unbind
from minigrad.ops.shape.clone_cast import cast, contiguous
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import reshape
from minigrad.ops.sort.sorting import argsort

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Number, Tensor

__all__ = ["argwhere", "bucketize", "isin", "nonzero", "searchsorted"]
# where minigrad 0.1.0 had them
__getattr__, _ = lazy(__name__, names={".counting": "bincount histc one_hot", ".unique": "unique unique_consecutive"})


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
    for y in (elements, test_elements):
        if isinstance(y, TensorBase) and (y.dtype is BOOL or y.dtype.is_complex):
            raise DtypeError("MG-E203", f"Unsupported input type encountered for isin(): {y.dtype.name}", fix="x.int()")
    if not isinstance(elements, TensorBase):
        found = eq(tensor_argument("isin", test_elements, "test_elements", 2), elements).any()
        return ~found if invert else found
    if not isinstance(test_elements, TensorBase):
        found = eq(elements, test_elements)
        return ~found if invert else found
    dtype = operands_dtype((elements, test_elements))
    x, tests = cast(elements.detach(), dtype), flatten(cast(test_elements.detach(), dtype))
    if tests.numel() == 0:
        found = x.new_zeros(x.shape, dtype=BOOL)
    else:
        tests = index_select(tests, 0, argsort(tests))
        place = searchsorted(tests, contiguous(x)).clamp(max=tests.numel() - 1)
        found = tests[place] == x
    return ~found if invert else found
