"""The identity matrix, the indices of triangles, and the shape that several shapes broadcast to.

Mirrors ``aten/src/ATen/native/TensorFactories.cpp`` and ``torch/functional.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.metadata import Size
from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.record.promotion import default_dtype
from minigrad.creation._filled import sizes_argument
from minigrad.creation._from_data import new_leaf
from minigrad.creation._options import fills_out, takes_storage_options
from minigrad.dtypes import as_dtype, int64
from minigrad.errors import ShapeError
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["broadcast_shapes", "eye", "tril_indices", "triu_indices"]


@fills_out
def eye(n: int, m: int | None = None, *, dtype: DType | None = None, device: DeviceLike | None = None,
        requires_grad: bool = False) -> Tensor:
    """The n by m matrix (n by n if m is not given) with ones on the diagonal. Mirrors ``torch.eye``.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    rows, columns = sizes_argument((n, n if m is None else m), "eye")
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    array = np.zeros((rows, columns), kind.numpy)
    array.reshape(-1)[:columns * columns:columns + 1] = 1
    return new_leaf(array, device, requires_grad)


def triangle(function, row, col, offset, dtype, device, upper):
    """The indices of the upper or the lower triangle of a row by col matrix, where each row has columns `first` to ``last - 1``."""
    rows, columns = sizes_argument((row, col), function)
    offset = min(max(integer(offset, "offset", function), -rows), columns)      # further away, the triangle is the same
    kind = int64 if dtype is None else as_dtype(dtype)
    try:
        row_numbers = np.indices((rows,))[0]        # refuses a number of rows that no array has; arange(2**63 - 1) is empty
        diagonal = np.minimum(np.maximum(row_numbers + (offset if upper else offset + 1), 0), columns)
        first, last = (diagonal, columns) if upper else (0, diagonal)
        counts = last - first
        ends = np.cumsum(counts)
        indices = np.empty((2, ends[-1] if rows else 0), kind.numpy)
        indices[0] = row_numbers.repeat(counts)
        indices[1] = np.arange(indices.shape[1]) - (ends - last).repeat(counts)
        return new_leaf(indices, device, False)
    except (ValueError, MemoryError) as error:
        raise translate_kernel_error(function, error) from None


@takes_storage_options
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: DeviceLike | None = None) -> Tensor:
    """The indices of what lies on and below a diagonal of a row by col matrix, as two rows. Mirrors ``torch.tril_indices``.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return triangle("tril_indices", row, col, offset, dtype, device, False)


@takes_storage_options
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: DeviceLike | None = None) -> Tensor:
    """The indices of what lies on and above a diagonal of a row by col matrix, as two rows. Mirrors ``torch.triu_indices``.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return triangle("triu_indices", row, col, offset, dtype, device, True)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes are broadcast to. Mirrors ``torch.broadcast_shapes``.

    Raises:
        RuntimeError: they do not go together, or a size is negative.

    >>> mg.broadcast_shapes((3, 1), (4,), ())
    minigrad.Size([3, 4])
    """
    shapes = [sizes_argument((shape,), "broadcast_shapes") for shape in shapes]  # pyright: ignore[reportAssignmentType]
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ShapeError("MG-E204", "Shape mismatch: objects cannot be broadcast to a single shape",
                         found=", ".join(map(str, shapes))) from None
