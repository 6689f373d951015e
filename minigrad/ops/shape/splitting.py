"""More ways to take a tensor apart: by sizes, and as pieces that are no views for autograd.

    split_with_sizes        views, as `split` with a list
    unsafe_split            pieces of the same memory that count their own writes: a write to one is not seen as a write to the
                            whole. Use it if nobody looks at the whole any more.

Mirrors ``aten/src/ATen/native/TensorShape.cpp``. Read first: ``cat_split.py``.
"""

from minigrad._core.record.apply import call
from minigrad.errors import ShapeError
from minigrad.ops.base.rule import Linear, dimension, integer, op, tensor_argument, wrong_type
from minigrad.ops.shape.cat_split import Split, SplitWithSizes, check_count, split
from minigrad.ops.shape.views import as_shape

__all__ = ["split_with_sizes", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"]


@op("unsafe_split")
class UnsafeSplit(Linear):
    """z = x in pieces of one size along dim, each of which counts its own writes"""

    inputs = 1
    forward = Split.forward
    vjp = Split.vjp


@op("unsafe_split_with_sizes")
class UnsafeSplitWithSizes(Linear):
    """z = x in pieces of given sizes along dim, each of which counts its own writes"""

    inputs = 1
    torch_names = {"x": "self", "sizes": "split_sizes"}
    forward = SplitWithSizes.forward
    vjp = SplitWithSizes.vjp


# ---- public functions -------------------------------------------------------------------------------------


def split_with_sizes(input, split_sizes, dim=0):
    """The pieces of `input` of the sizes `split_sizes` along `dim`, as views. Mirrors ``torch.split_with_sizes``.

    Raises:
        RuntimeError: a negative size, or sizes that do not add up.
        IndexError: there is no such dimension.

    >>> mg.split_with_sizes(mg.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    tensor_argument("split_with_sizes", input)
    if not isinstance(split_sizes, (list, tuple)):
        raise wrong_type("split_with_sizes", "split_sizes", "tuple of ints", split_sizes)
    return split(input, split_sizes, dim)


def unsafe_split(input, split_size, dim=0):
    """The pieces of `input` of one size along `dim`, each of which counts its own writes. Mirrors ``torch.unsafe_split``.

    They lie in the memory of `input`, but are no views of it for autograd: a write to one changes the numbers of `input`, and no
    check sees it.

    Raises:
        RuntimeError: a negative size.
        IndexError: there is no such dimension.

    >>> mg.unsafe_split(mg.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    length, at = split_dim("unsafe_split", input, dim)
    size = integer(split_size, "split_size", "unsafe_split")
    if size < 0 or (size == 0 and length):
        split(input, size, at)      # says what is wrong
    check_count("unsafe_split", length // max(size, 1))
    return call(UnsafeSplit.op, (input, max(size, 1), at))


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """The pieces of `input` of given sizes, as `unsafe_split` gives them. Mirrors ``torch.unsafe_split_with_sizes``.

    Raises:
        RuntimeError: a negative size, or sizes that do not add up.
        IndexError: there is no such dimension.

    >>> mg.unsafe_split_with_sizes(mg.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    length, at = split_dim("unsafe_split_with_sizes", input, dim)
    if not isinstance(split_sizes, (list, tuple)):
        raise wrong_type("unsafe_split_with_sizes", "split_sizes", "tuple of ints", split_sizes)
    sizes = as_shape((split_sizes,), "unsafe_split_with_sizes")
    if sum(sizes) != length or min(sizes, default=0) < 0:
        split(input, sizes, at)     # says what is wrong
    return call(UnsafeSplitWithSizes.op, (input, sizes, at))


def unsafe_chunk(input, chunks, dim=0):
    """`input` in at most `chunks` pieces along `dim`, as `unsafe_split` gives them. Mirrors ``torch.unsafe_chunk``.

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
    """(size of the dimension `dim` of x, its number counted from the front)"""
    tensor_argument(function, x)
    if x.ndim == 0:
        raise ShapeError("MG-E205", f"{function} expects at least a 1-dimensional tensor")
    at = dimension(dim, x.ndim)
    return x.shape[at], at
