"""Layouts and memory formats: PyTorch's names for the order of a tensor's elements in memory. We support the plain ones.

    strided                 the strides give the place of each element: the layout of all our tensors
    contiguous_format       row by row
    preserve_format         like the source tensor, if that has no gaps
    channels_last           a tensor (N, C, H, W) in the order (N, H, W, C): only `contiguous`, `clone` and `to` make one, and the
                            ops take it as they take any view. It saves no time here.

Mirrors ``torch/csrc/{Layout,MemoryFormat}.h``, and ``infer_dense_strides`` of ``aten/src/ATen/ExpandUtils.cpp``.
"""

from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.base.arguments import wrong_type

__all__ = []


class memory_format(str):
    """The order of elements in memory: `contiguous_format` or `preserve_format`. Mirrors ``torch.memory_format``.

    >>> mg.contiguous_format
    minigrad.contiguous_format
    """

    __slots__ = ()

    def __repr__(self):
        return f"minigrad.{self!s}"


class layout:
    """The layout of a tensor; `strided` is the only one. Mirrors ``torch.layout``.

    >>> mg.zeros(2).layout
    minigrad.strided
    """

    __slots__ = ()

    def __repr__(self):
        return "minigrad.strided"

    def __reduce__(self):
        return "strided"


strided = layout()
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


def check_format(function, value, also=()):
    """Return `value`, a memory format or None. Raise `RuntimeError` for channels_last that is not in `also`, else `TypeError`."""
    if value is None:
        return None
    if not isinstance(value, memory_format):
        raise wrong_type(function, "memory_format", "minigrad.memory_format", value)
    if value in (channels_last, channels_last_3d) and value not in also:
        raise ArgumentError("MG-E302", f"{function}(): {value} is not supported: our kernels compute row by row",
                            fix="leave out memory_format; the numbers are the same in any format")
    return value


def channel_orders(value, ndim):
    """(the order of the dimensions with the channels last, the order back) for `channels_last` or `channels_last_3d`.

    Raises:
        RuntimeError: a tensor of `ndim` dimensions cannot have this format.
    """
    if ndim != (4 if value == channels_last else 5):
        raise ShapeError("MG-E205", f"required rank {4 if value == channels_last else 5} tensor to use {value} format",
                         found=f"{ndim} dimensions")
    return (0, *range(2, ndim), 1), (0, ndim - 1, *range(1, ndim - 1))


# ---- the order of results -------------------------------------------------------------------------------------------------
#
#   x.permute(2, 0, 1)                      strides (1, 12, 4): the first dimension has the shortest steps
#   x.permute(2, 0, 1).clone()              (1, 12, 4) again, also where the elements of x have gaps between them
#   x.permute(2, 0, 1).masked_fill(m, 0)    (6, 3, 1), so that a `view` of it works


def row_major(k, z):
    """Return the array `z`, or a copy of it if its elements are in another order than row-major."""
    return z if k.contiguous(z) else k.copy(z)


def order_like(k, z, x):
    """Return the row-major array `z`, or a copy of it whose dimensions have the order in memory that they have in `x`."""
    strides = () if k.contiguous(x) else k.geometry(x, x)[2]
    if not strides or 0 in strides:     # expanded elements have no order
        return z
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    return k.permute(k.copy(k.permute(z, order)), [order.index(dim) for dim in range(len(order))])


def copy_in_order(k, x):
    """A copy of `x` without gaps, in the order of `x`."""
    z = order_like(k, x, x)
    return k.copy(x) if z is x else z
