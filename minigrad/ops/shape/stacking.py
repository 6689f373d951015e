"""Tensors side by side and taken apart again, made of cat, stack, narrow and expand.

    hstack, vstack, dstack, column_stack        join, after making the dimensions that are missing
    tensor_split, hsplit, vsplit, dsplit        pieces as views, that need not be of one size
    meshgrid, broadcast_tensors                 views of a common shape
    cartesian_prod, combinations                rows of all choices

Mirrors ``aten/src/ATen/native/TensorShape.cpp`` and torch/functional.py.
"""

import itertools
import math
import warnings

import numpy as np

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.operands import translate_kernel_error
from minigrad.errors import ShapeError
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64, dimension, flag, integer, tensor_argument, wrong_type
from minigrad.ops.index.indexing import index_select
from minigrad.ops.shape.cat_split import MOST_PIECES, as_tensor_tuple, cat, check_count, narrow, stack
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import expand, reshape, transpose, unsqueeze, view

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "cartesian_prod", "column_stack", "combinations",
           "dsplit", "dstack", "hsplit", "hstack", "meshgrid", "row_stack", "tensor_split", "vsplit", "vstack"]

MOST_CHOSEN = 64        # of twice as many there are more choices than 2^64


def raise_each(function, tensors, raised):
    """`raised` of one tensor, or of each of several."""
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


def atleast_1d(*tensors):
    """Tensors with a dimension, where they have none: one as it is, several as a tuple. Mirrors ``torch.atleast_1d``.

    >>> mg.atleast_1d(mg.tensor(1.))
    tensor([1.])
    """
    return raise_each("atleast_1d", tensors, raise_to_1d)


def atleast_2d(*tensors):
    """Tensors as matrices, where they have fewer than two dimensions; a vector is a row. Mirrors ``torch.atleast_2d``.

    >>> mg.atleast_2d(mg.tensor([1., 2.]))
    tensor([[1., 2.]])
    """
    return raise_each("atleast_2d", tensors, raise_to_2d)


def atleast_3d(*tensors):
    """Tensors with three dimensions, where they have fewer: (n,) becomes (1, n, 1), (n, m) (n, m, 1).

    Mirrors ``torch.atleast_3d``.

    >>> mg.atleast_3d(mg.zeros(2, 3)).shape
    minigrad.Size([2, 3, 1])
    """
    return raise_each("atleast_3d", tensors, raise_to_3d)


def hstack(tensors, *, out=None):
    """Tensors side by side: vectors one after the other, others along their second dimension. Mirrors ``torch.hstack``.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: there are no tensors.

    >>> mg.hstack([mg.tensor([1, 2]), mg.tensor([3])])
    tensor([1, 2, 3])
    """
    if out is not None:
        return into(out, hstack, tensors)
    found = [raise_to_1d(x) for x in as_tensor_tuple("hstack", tensors)]
    return cat(found, 0 if found[0].ndim == 1 else 1)


def vstack(tensors, *, out=None):
    """Tensors one above the other; a vector is a row. Mirrors ``torch.vstack``.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: there are no tensors.

    >>> mg.vstack([mg.tensor([1, 2]), mg.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    if out is not None:
        return into(out, vstack, tensors)
    return cat([raise_to_2d(x) for x in as_tensor_tuple("vstack", tensors)], 0)

row_stack = vstack


def dstack(tensors, *, out=None):
    """Tensors one behind the other, along the third dimension. Mirrors ``torch.dstack``.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: there are no tensors.

    >>> mg.dstack([mg.tensor([1, 2]), mg.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    if out is not None:
        return into(out, dstack, tensors)
    return cat([raise_to_3d(x) for x in as_tensor_tuple("dstack", tensors)], 2)


def column_stack(tensors, *, out=None):
    """Tensors side by side; a vector is a column. Mirrors ``torch.column_stack``.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: there are no tensors.

    >>> mg.column_stack([mg.tensor([1, 2]), mg.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    if out is not None:
        return into(out, column_stack, tensors)
    return hstack([reshape(x, x.numel(), 1) if x.ndim <= 1 else x for x in as_tensor_tuple("column_stack", tensors)])


# ---- apart ------------------------------------------------------------------------------------------------


def tensor_split(input, indices_or_sections, dim=0):
    """The pieces of `input` along `dim`, as views.

    Args:
        indices_or_sections (int, tuple or Tensor): a number of pieces, of which the first ones are longer by one where it does
            not divide the size; or the indices at which to cut.

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
            raise ShapeError("MG-E203", "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
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
    """hsplit and its like: a number of pieces has to divide the size."""
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


def hsplit(input, indices_or_sections):
    """The pieces of `input` along its second dimension, or the only one; views. Mirrors ``torch.hsplit``.

    Raises:
        RuntimeError: the number of pieces does not divide the size.

    >>> mg.hsplit(mg.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    one = isinstance(input, TensorBase) and input.ndim == 1
    return split_evenly("hsplit", input, indices_or_sections, 0 if one else 1, 1)


def vsplit(input, indices_or_sections):
    """The pieces of `input`, at least a matrix, along its first dimension; views. Mirrors ``torch.vsplit``.

    Raises:
        RuntimeError: the number of pieces does not divide the size.

    >>> mg.vsplit(mg.arange(4).view(2, 2), 2)
    (tensor([[0, 1]]), tensor([[2, 3]]))
    """
    return split_evenly("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input, indices_or_sections):
    """The pieces of `input`, of at least three dimensions, along the third; views. Mirrors ``torch.dsplit``.

    Raises:
        RuntimeError: the number of pieces does not divide the size.

    >>> [piece.shape for piece in mg.dsplit(mg.zeros(1, 2, 4), 2)]
    [minigrad.Size([1, 2, 2]), minigrad.Size([1, 2, 2])]
    """
    return split_evenly("dsplit", input, indices_or_sections, 2, 3)


# ---- a common shape -----------------------------------------------------------------------------------------


def unpack_tensors(function, tensors):
    """The tensors that were given one by one, or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    return [tensor_argument(function, x, "tensors", i + 1) for i, x in enumerate(tensors)]


def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape, as views. Mirrors ``torch.broadcast_tensors``.

    Raises:
        RuntimeError: they cannot be broadcast together.

    >>> [x.shape for x in mg.broadcast_tensors(mg.zeros(2, 1), mg.zeros(3))]
    [minigrad.Size([2, 3]), minigrad.Size([2, 3])]
    """
    found = unpack_tensors("broadcast_tensors", tensors)
    if not found:
        return ()
    shape = broadcast_shape([x._meta for x in found])
    return tuple([expand(x, shape) for x in found])


def meshgrid(*tensors, indexing=None):
    """For vectors of n, m ... elements as many tensors of shape (n, m, ...), the k-th of which varies along dimension k alone.

    Args:
        tensors (Tensor): vectors of one dtype; a 0-d tensor has one element.
        indexing (str): ``"ij"``, or ``"xy"``, in which the first two dimensions are swapped.

    They are views. Mirrors ``torch.meshgrid``.

    Raises:
        RuntimeError: a tensor has more dimensions, or the dtypes differ, or `indexing` is something else.

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
            raise ShapeError("MG-E203", "meshgrid expects all tensors to have the same dtype", found=f"{found[0].dtype.name} and "
                             f"{x.dtype.name}")
        if x.ndim > 1:
            raise ShapeError("MG-E205", "Expected 0D or 1D tensor in the tensor list but got a tensor of shape "
                             f"{list(x.shape)}")
    shape = [x.numel() for x in found]
    grids = [expand(view(x, [n if i == d else 1 for i in range(len(shape))]), shape) for d, (x, n) in enumerate(zip(found, shape))]
    if indexing == "xy" and len(found) >= 2:
        grids = [transpose(x, 0, 1) for x in grids]
    return tuple(grids)


def cartesian_prod(*tensors):
    """All choices of one element from each vector, as the rows of a matrix. Mirrors ``torch.cartesian_prod``.

    Raises:
        RuntimeError: one is no vector, or the dtypes differ.

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


def combinations(input, r=2, with_replacement=False):
    """All choices of `r` elements of a vector, in order, as the rows of a matrix. Mirrors ``torch.combinations``.

    Args:
        with_replacement (bool): an element may be taken more than once.

    Raises:
        RuntimeError: `input` is no vector, or `r` negative.

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
        rows = np.fromiter(itertools.chain.from_iterable(choose(range(n), r)), np.int64, count * r)
    except (ValueError, MemoryError, OverflowError) as error:
        raise translate_kernel_error("combinations", error) from None
    return stack([index_select(input, 0, input.new_tensor(column, dtype=INT64)) for column in rows.reshape(count, r).T.copy()], 1)
