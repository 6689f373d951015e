"""Joining and splitting tensors, with NumPy's names; built from cat, stack, narrow and expand.

    hstack, vstack, dstack, column_stack        add missing dimensions, then join
    tensor_split, hsplit, vsplit, dsplit        split into views, of equal or different sizes
    meshgrid, broadcast_tensors                 views of a common shape
    cartesian_prod, combinations                a matrix with a row for each choice of elements

Mirrors ``aten/src/ATen/native/TensorShape.cpp`` and torch/functional.py.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.operands import translate_kernel_error
from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, integer, tensor_argument, wrong_type
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64
from minigrad.ops.index.indexing import index_select
from minigrad.ops.shape.cat_split import MOST_PIECES, as_tensor_tuple, cat, check_count, narrow, stack
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import expand, reshape, transpose, unsqueeze, view

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "cartesian_prod", "column_stack", "combinations",
           "dsplit", "dstack", "hsplit", "hstack", "meshgrid", "row_stack", "tensor_split", "vsplit", "vstack"]

MOST_CHOSEN = 64        # to choose more than 64 elements, and leave out more than 64, there are more than 2^64 ways


def raise_each(function, tensors, raised):
    """Return ``raised(x)`` for one tensor, or a tuple of results for several."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    elif len(tensors) == 1:
        return raised(tensor_argument(function, tensors[0], "tensors"))
    return tuple([raised(tensor_argument(function, x, "tensors", i + 1)) for i, x in enumerate(tensors)])


def raise_to_1d(x):
    return x if x.ndim else reshape(x, 1)


def raise_to_2d(x):
    return x if x.ndim >= 2 else unsqueeze(x, 0) if x.ndim else reshape(x, 1, 1)


def raise_to_3d(x):
    if x.ndim >= 3:
        return x
    return unsqueeze(x, -1) if x.ndim == 2 else unsqueeze(unsqueeze(x, 0), -1) if x.ndim else reshape(x, 1, 1, 1)


def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Tensors with at least one dimension: one tensor, or a tuple for several. Mirrors ``torch.atleast_1d``.

    >>> mg.atleast_1d(mg.tensor(1.))
    tensor([1.])
    """
    return raise_each("atleast_1d", tensors, raise_to_1d)


def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Tensors with at least two dimensions; a vector becomes a row. Mirrors ``torch.atleast_2d``.

    >>> mg.atleast_2d(mg.tensor([1., 2.]))
    tensor([[1., 2.]])
    """
    return raise_each("atleast_2d", tensors, raise_to_2d)


def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Tensors with at least three dimensions: (n,) becomes (1, n, 1), and (n, m) becomes (n, m, 1).

    Mirrors ``torch.atleast_3d``.

    >>> mg.atleast_3d(mg.zeros(2, 3)).shape
    minigrad.Size([2, 3, 1])
    """
    return raise_each("atleast_3d", tensors, raise_to_3d)


def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors side by side: vectors one after the other, others along the second dimension. Mirrors ``torch.hstack``.

    Raises:
        RuntimeError: the shapes do not fit, or there are no tensors.

    >>> mg.hstack([mg.tensor([1, 2]), mg.tensor([3])])
    tensor([1, 2, 3])
    """
    if out is not None:
        return into(out, hstack, tensors)
    found = [raise_to_1d(x) for x in as_tensor_tuple("hstack", tensors)]
    return cat(found, 0 if found[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors one above the other, along the first dimension; a vector is a row. Mirrors ``torch.vstack``.

    Raises:
        RuntimeError: the shapes do not fit, or there are no tensors.

    >>> mg.vstack([mg.tensor([1, 2]), mg.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    if out is not None:
        return into(out, vstack, tensors)
    return cat([raise_to_2d(x) for x in as_tensor_tuple("vstack", tensors)], 0)

row_stack = vstack


def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors one behind the other, along the third dimension. Mirrors ``torch.dstack``.

    Raises:
        RuntimeError: the shapes do not fit, or there are no tensors.

    >>> mg.dstack([mg.tensor([1, 2]), mg.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    if out is not None:
        return into(out, dstack, tensors)
    return cat([raise_to_3d(x) for x in as_tensor_tuple("dstack", tensors)], 2)


def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors side by side; a vector is a column. Mirrors ``torch.column_stack``.

    Raises:
        RuntimeError: the shapes do not fit, or there are no tensors.

    >>> mg.column_stack([mg.tensor([1, 2]), mg.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    if out is not None:
        return into(out, column_stack, tensors)
    return hstack([reshape(x, x.numel(), 1) if x.ndim <= 1 else x for x in as_tensor_tuple("column_stack", tensors)])


# ---- splitting --------------------------------------------------------------------------------------------


def tensor_split(input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` into pieces along `dim`; they are views.

    Args:
        input (Tensor): of at least one dimension.
        indices_or_sections (int, tuple or Tensor): the number of pieces, or the indices at which to cut. If the number does
            not divide the size, the first pieces are longer by one. A tensor is int64 and has at most one dimension.
        dim (int, optional): the dimension to split.

    Returns:
        tuple of Tensor: the pieces.

    Mirrors ``torch.tensor_split``.

    Raises:
        RuntimeError: `input` is 0-d, or the number is not positive.
        IndexError: there is no such dimension.

    >>> mg.tensor_split(mg.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    tensor_argument("tensor_split", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    at = dimension(dim, input.ndim)
    n = input.shape[at]
    if isinstance(indices_or_sections, TensorBase):
        if indices_or_sections.dtype is not INT64 or indices_or_sections.ndim > 1:
            raise DtypeError("MG-E203", "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                             "one-dimensional int64 tensor",
                             found=f"{indices_or_sections.ndim}-d {indices_or_sections.dtype.name}")
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        cuts = [integer(i, "indices", "tensor_split") for i in indices_or_sections]
        cuts = [min(max(i + n if i < 0 else i, 0), n) for i in cuts]
    else:
        pieces = integer(indices_or_sections, "sections", "tensor_split")
        if pieces <= 0:
            raise ShapeError("MG-E206", f"number of sections must be larger than 0, got {pieces}")
        check_count("tensor_split", pieces)
        size, longer = divmod(n, pieces)
        cuts = [i * size + min(i, longer) for i in range(1, pieces)]
    return tuple([narrow(input, at, start, max(stop - start, 0)) for start, stop in zip([0, *cuts], [*cuts, n])])


def split_evenly(function, input, indices_or_sections, at, least):
    """`tensor_split` along the dimension `at`, for hsplit, vsplit and dsplit: a number of pieces must divide the size."""
    tensor_argument(function, input)
    if input.ndim < least:
        raise ShapeError("MG-E205", f"torch.{function} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but "
                         f"got a tensor with {input.ndim} dimensions!")
    if isinstance(indices_or_sections, (tuple, list)):
        return tensor_split(input, indices_or_sections, at)
    pieces = integer(indices_or_sections, "sections", function)
    if pieces <= 0 or input.shape[at] % pieces:
        raise ShapeError("MG-E206", f"torch.{function} attempted to split along dimension {at}, but the size of the dimension "
                         f"{input.shape[at]} is not divisible by the split_size {pieces}!")
    return tensor_split(input, pieces, at)


def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split `input` along its second dimension, or a vector along its only one; views. Mirrors ``torch.hsplit``.

    Args:
        input (Tensor): of at least one dimension.
        indices_or_sections (int or tuple): the number of pieces, or the indices at which to cut.

    Raises:
        RuntimeError: the number of pieces does not divide the size.

    >>> mg.hsplit(mg.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    one = isinstance(input, TensorBase) and input.ndim == 1
    return split_evenly("hsplit", input, indices_or_sections, 0 if one else 1, 1)


def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split `input` along its first dimension; the pieces are views. Mirrors ``torch.vsplit``.

    Args:
        input (Tensor): of at least two dimensions.
        indices_or_sections (int or tuple): the number of pieces, or the indices at which to cut.

    Raises:
        RuntimeError: the number of pieces does not divide the size.

    >>> mg.vsplit(mg.arange(4).view(2, 2), 2)
    (tensor([[0, 1]]), tensor([[2, 3]]))
    """
    return split_evenly("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split `input` along its third dimension; the pieces are views. Mirrors ``torch.dsplit``.

    Args:
        input (Tensor): of at least three dimensions.
        indices_or_sections (int or tuple): the number of pieces, or the indices at which to cut.

    Raises:
        RuntimeError: the number of pieces does not divide the size.

    >>> [piece.shape for piece in mg.dsplit(mg.zeros(1, 2, 4), 2)]
    [minigrad.Size([1, 2, 2]), minigrad.Size([1, 2, 2])]
    """
    return split_evenly("dsplit", input, indices_or_sections, 2, 3)


# ---- a common shape -----------------------------------------------------------------------------------------


def unpack_tensors(function, tensors):
    """Return a list of the tensors, which are arguments of their own or one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    return [tensor_argument(function, x, "tensors", i + 1) for i, x in enumerate(tensors)]


def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape, as views; one that has it stays itself. Mirrors ``torch.broadcast_tensors``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.

    >>> [x.shape for x in mg.broadcast_tensors(mg.zeros(2, 1), mg.zeros(3))]
    [minigrad.Size([2, 3]), minigrad.Size([2, 3])]
    """
    found = unpack_tensors("broadcast_tensors", tensors)
    if not found:
        return ()
    shape = broadcast_shape([x._meta for x in found])
    return tuple([x if x._meta.shape == shape else expand(x, shape) for x in found])


def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates: for vectors of sizes n, m, ... as many tensors of shape (n, m, ...). They are views.

    The k-th tensor has the elements of the k-th vector along dimension k, and is constant along the others. Mirrors
    ``torch.meshgrid``.

    Args:
        tensors (Tensor): vectors of one dtype; a 0-d tensor counts as a vector of one element.
        indexing (str): ``"ij"``, or ``"xy"``, which swaps the first two dimensions of the results.

    Returns:
        tuple of Tensor: a grid for each vector.

    Raises:
        RuntimeError: a tensor has more than one dimension, the dtypes differ, or `indexing` is not one of the two.

    >>> mg.meshgrid(mg.tensor([1, 2]), mg.tensor([3, 4]), indexing="ij")
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    found = unpack_tensors("meshgrid", tensors)
    if not found:
        raise ShapeError("MG-E206", "meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn("meshgrid: in an upcoming release, it will be required to pass the indexing argument.", UserWarning,
                      stacklevel=2)
        indexing = "ij"
    if not isinstance(indexing, str):
        raise wrong_type("meshgrid", "indexing", "str", indexing)
    if indexing not in ("ij", "xy"):
        raise ShapeError("MG-E206", f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in found:
        if x.dtype is not found[0].dtype:
            raise DtypeError("MG-E203", "meshgrid expects all tensors to have the same dtype", found=f"{found[0].dtype.name} and "
                             f"{x.dtype.name}")
        if x.ndim > 1:
            raise ShapeError("MG-E205", "Expected 0D or 1D tensor in the tensor list but got a tensor of shape "
                             f"{list(x.shape)}")
    shape = [x.numel() for x in found]
    grids = [expand(view(x, [n if i == d else 1 for i in range(len(shape))]), shape) for d, (x, n) in enumerate(zip(found, shape))]
    if indexing == "xy" and len(found) >= 2:
        grids = [transpose(x, 0, 1) for x in grids]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All choices of one element from each vector, as the rows of a matrix. Mirrors ``torch.cartesian_prod``.

    A single vector is returned as it is.

    Raises:
        RuntimeError: a tensor is not a vector, or the dtypes differ.

    >>> mg.cartesian_prod(mg.tensor([1, 2]), mg.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    found = unpack_tensors("cartesian_prod", tensors)
    for x in found:
        if x.ndim != 1:
            raise ShapeError("MG-E205", f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(found) == 1:
        return found[0]
    return stack([flatten(x) for x in meshgrid(*found, indexing="ij")], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, in order, as the rows of a matrix. Mirrors ``torch.combinations``.

    Args:
        input (Tensor): a vector.
        r (int): how many elements each row has.
        with_replacement (bool): an element may be taken more than once.

    Raises:
        RuntimeError: `input` is not a vector, `r` is negative, or there are too many choices.

    >>> mg.combinations(mg.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    tensor_argument("combinations", input)
    flag(with_replacement, "with_replacement", "combinations")
    if input.ndim != 1:
        raise ShapeError("MG-E205", f"Expect a 1D vector, but got shape {list(input.shape)}")
    r = integer(r, "r", "combinations")
    if r < 0:
        raise ShapeError("MG-E206", f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    n = input.shape[0]
    total = n + r - 1 if with_replacement else n
    if min(r, total - r) > MOST_CHOSEN or r > MOST_PIECES:      # more than 2^64, or as many columns
        raise ShapeError("MG-E206", f"combinations(): there are too many choices of {r} among {n}")
    count = math.comb(total, r)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    try:
        if r == 2:
            columns = np.triu_indices(n, 0 if with_replacement else 1)
        else:
            rows = np.fromiter(itertools.chain.from_iterable(choose(range(n), r)), np.int64, count * r)
            columns = rows.reshape(count, r).T.copy()
    except (ValueError, MemoryError, OverflowError) as error:
        raise translate_kernel_error("combinations", error) from None
    return stack([index_select(input, 0, input.new_tensor(column, dtype=INT64)) for column in columns], 1)
