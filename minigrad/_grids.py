"""Indices of triangles, powers at equal distances, and the shape that several shapes have in common.

Mirrors ``aten/src/ATen/native/{TensorFactories,RangeFactories}.cpp`` and ``torch/functional.py``.
"""

import numpy as np

from minigrad._core.graph.metadata import Size
from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.record.promotion import default_dtype
from minigrad.creation import linspace, made, one_number, sizes_argument
from minigrad.dtypes import as_dtype, float64, int64
from minigrad.errors import ShapeError
from minigrad.ops.base.out import fills_out
from minigrad.ops.base.rule import integer, real

__all__ = ["broadcast_shapes", "logspace", "tril_indices", "triu_indices"]


def triangle(function, row, col, offset, dtype, device, keep):
    """The indices of a row by col matrix that `keep`, given those of rows and columns, says are in its triangle."""
    rows, columns = sizes_argument((row, col), function)
    offset = integer(offset, "offset", function)
    kind = int64 if dtype is None else as_dtype(dtype)
    try:
        i, j = np.indices((rows, columns))
        return made(np.stack(np.nonzero(keep(i, j - offset))).astype(kind.numpy), device, False)
    except (ValueError, MemoryError) as error:
        raise translate_kernel_error(function, error) from None


def tril_indices(row, col, offset=0, *, dtype=None, device=None):
    """The indices of what lies on and below a diagonal of a row by col matrix, as two rows. Mirrors ``torch.tril_indices``.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return triangle("tril_indices", row, col, offset, dtype, device, lambda i, j: j <= i)


def triu_indices(row, col, offset=0, *, dtype=None, device=None):
    """The indices of what lies on and above a diagonal of a row by col matrix, as two rows. Mirrors ``torch.triu_indices``.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return triangle("triu_indices", row, col, offset, dtype, device, lambda i, j: j >= i)


@fills_out
def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """`steps` powers of `base`, from base^start to base^end. Mirrors ``torch.logspace``.

    Raises:
        RuntimeError: `steps` is negative.

    >>> mg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    for name, x in (("start", start), ("end", end)):
        one_number("logspace", name, x)
    base = real(base, "base", "logspace")
    exponents = linspace(start, end, steps, dtype=kind if kind.is_complex else float64)._array
    with np.errstate(all="ignore"):
        return made(np.power(float(base), exponents).astype(kind.numpy), device, requires_grad)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes are broadcast to. Mirrors ``torch.broadcast_shapes``.

    Raises:
        RuntimeError: they do not go together, or a size is negative.

    >>> mg.broadcast_shapes((3, 1), (4,), ())
    minigrad.Size([3, 4])
    """
    shapes = [sizes_argument((shape,), "broadcast_shapes") for shape in shapes]
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ShapeError("MG-E204", "Shape mismatch: objects cannot be broadcast to a single shape",
                         found=", ".join(map(str, shapes))) from None
