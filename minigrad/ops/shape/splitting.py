"""More ways to split a tensor: by sizes, and into pieces that autograd does not treat as views.

    split_with_sizes        views, like `split` with a list
    unsafe_split            pieces of the same memory, each with its own version: autograd does not notice that a write to a
                            piece also changes the whole. Use it if you do not use the whole any more.

Mirrors ``aten/src/ATen/native/TensorShape.cpp``. Read first: ``cat_split.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ShapeError
from minigrad.ops.base.arguments import dimension, integer, tensor_argument, wrong_type
from minigrad.ops.base.rule import variant
from minigrad.ops.shape.cat_split import Split, SplitWithSizes, check_count, split
from minigrad.ops.shape.views import as_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["split_with_sizes", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"]


UnsafeSplit = variant(Split, "unsafe_split", "UnsafeSplit0", "z = x in pieces of one size along dim, each with its own version",
                      view=False)
UnsafeSplitWithSizes = variant(SplitWithSizes, "unsafe_split_with_sizes", "UnsafeSplitWithSizes0",
                               "z = x in pieces of given sizes along dim, each with its own version", view=False)

# ---- public functions -------------------------------------------------------------------------------------


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` into pieces of the sizes `split_sizes` along `dim`; they are views. Mirrors ``torch.split_with_sizes``.

    Args:
        input (Tensor): of at least one dimension.
        split_sizes (list of ints): the sizes of the pieces. Their sum is the size of `dim`.
        dim (int, optional): the dimension to split.

    Returns:
        tuple of Tensor: the pieces.

    Raises:
        RuntimeError: a size is negative, or the sizes do not add up to the size of `dim`.
        IndexError: there is no such dimension.

    >>> mg.split_with_sizes(mg.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    tensor_argument("split_with_sizes", input)
    if not isinstance(split_sizes, (list, tuple)):
        raise wrong_type("split_with_sizes", "split_sizes", "tuple of ints", split_sizes)
    return split(input, split_sizes, dim)


def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` into pieces of one size along `dim`, each with its own version. Mirrors ``torch.unsafe_split``.

    The pieces share the memory of `input`, but autograd does not treat them as views. A write to a piece changes `input`, and
    no check notices it.

    Args:
        input (Tensor): of at least one dimension.
        split_size (int): the size of every piece; the last may be smaller.
        dim (int, optional): the dimension to split.

    Returns:
        tuple of Tensor: the pieces.

    Raises:
        RuntimeError: the size is negative, or 0 where the dimension is not empty.
        IndexError: there is no such dimension.

    >>> mg.unsafe_split(mg.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    length, at = split_dim("unsafe_split", input, dim)
    size = integer(split_size, "split_size", "unsafe_split")
    if size < 0 or (size == 0 and length):
        split(input, size, at)      # raises the error
    check_count("unsafe_split", length // max(size, 1))
    return call(UnsafeSplit.op, (input, max(size, 1), at))


def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` into pieces of given sizes, as in `unsafe_split`. Mirrors ``torch.unsafe_split_with_sizes``.

    Args:
        input (Tensor): of at least one dimension.
        split_sizes (list of ints): the sizes of the pieces. Their sum is the size of `dim`.
        dim (int, optional): the dimension to split.

    Returns:
        tuple of Tensor: the pieces.

    Raises:
        RuntimeError: a size is negative, or the sizes do not add up to the size of `dim`.
        IndexError: there is no such dimension.

    >>> mg.unsafe_split_with_sizes(mg.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    length, at = split_dim("unsafe_split_with_sizes", input, dim)
    if not isinstance(split_sizes, (list, tuple)):
        raise wrong_type("unsafe_split_with_sizes", "split_sizes", "tuple of ints", split_sizes)
    sizes = as_shape((split_sizes,), "unsafe_split_with_sizes")
    if sum(sizes) != length or min(sizes, default=0) < 0:
        split(input, sizes, at)     # raises the error
    return call(UnsafeSplitWithSizes.op, (input, sizes, at))


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split `input` into at most `chunks` pieces along `dim`, as in `unsafe_split`. Mirrors ``torch.unsafe_chunk``.

    Args:
        input (Tensor): of at least one dimension.
        chunks (int): how many pieces, see `minigrad.chunk`.
        dim (int, optional): the dimension to split.

    Returns:
        tuple of Tensor: the pieces.

    Raises:
        RuntimeError: `chunks` is not positive.
        IndexError: there is no such dimension.

    >>> mg.unsafe_chunk(mg.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    length, at = split_dim("unsafe_chunk", input, dim)
    if integer(chunks, "chunks", "unsafe_chunk") <= 0:
        raise ShapeError("MG-E206", f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if length == 0:
        check_count("unsafe_chunk", chunks)
        return call(UnsafeSplitWithSizes.op, (input, (0,) * chunks, at))
    return unsafe_split(input, -(-length // chunks), at)


def split_dim(function, x, dim):
    """Return (the size of the dimension `dim` of x, `dim` counted from the front)."""
    tensor_argument(function, x)
    if x.ndim == 0:
        raise ShapeError("MG-E205", f"{function} expects at least a 1-dimensional tensor")
    at = dimension(dim, x.ndim)
    return x.shape[at], at
