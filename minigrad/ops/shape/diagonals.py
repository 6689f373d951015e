"""Building matrices from diagonals, and reading diagonals: diag, diag_embed, diagflat, block_diag, trace.

    diag_embed      [1 2]  ->  [[1 0], [0 2]]       puts vectors on diagonals; the adjoint of `diagonal`
    block_diag      puts matrices on the diagonal of a larger matrix

Mirrors ``aten/src/ATen/native/TensorShape.cpp`` (diag_embed, block_diag) and ReduceOps.cpp (trace).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ShapeError
from minigrad.ops.base.arguments import dimension, flag, integer, tensor_argument
from minigrad.ops.base.inplace_pairs import IN_PLACE
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64, Linear, Op, op
from minigrad.ops.shape.cat_split import Slice, narrow, promote_all
from minigrad.ops.shape.clone_cast import cast, clone
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.stacking import atleast_2d
from minigrad.ops.shape.strided import Diagonal, DiagonalBackward, diagonal
from minigrad.ops.shape.views import expand

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["block_diag", "diag", "diag_embed", "diagflat", "trace"]


@op("diag_embed")
class DiagEmbed(Linear):
    """z = zeros, with the last dimension of x on a diagonal of two new dimensions"""

    def forward(k, x, offset, dim1, dim2):
        size = x.shape[-1] + (offset if offset > 0 else -offset)
        shape = list(x.shape[:-1])
        for dim in sorted((dim1, dim2)):
            shape.insert(dim, size)
        z = k.full(tuple(shape), 0, x.dtype)
        k.copy_(k.diagonal(z, offset, dim1, dim2), x)
        return z

    def vjp_x(g, offset, dim1, dim2):
        return call(Diagonal.op, (g, offset, dim1, dim2))


@op("trace")
class Trace(Linear):
    """z = Σ x[i, i]"""

    def forward(k, x):
        return k.sum(k.diagonal(x, 0, 0, 1), (0,), False)

    def vjp_x(g, x_shape):
        return call(DiagonalBackward.op, (expand(g, (min(x_shape),)), x_shape, 0, 0, 1))


@op("block_diag")
class BlockDiag(Op):
    """z = zeros, with the matrices one after the other on the diagonal"""

    variadic = True

    def forward(k, xs):
        z = k.full((sum([x.shape[0] for x in xs]), sum([x.shape[1] for x in xs])), 0, xs[0].dtype)
        row = column = 0
        for x in xs:
            k.copy_(k.slice(k.slice(z, 0, row, row + x.shape[0], 1), 1, column, column + x.shape[1], 1), x)
            row, column = row + x.shape[0], column + x.shape[1]
        return z

    def vjp(g, needs, xs_shape):
        row = column = 0
        grads = []
        for (height, width), needed in zip(xs_shape, needs):
            rows = call(Slice.op, (g, 0, row, row + height, 1)) if needed else None
            grads.append(call(Slice.op, (rows, 1, column, column + width, 1)) if needed else None)
            row, column = row + height, column + width
        return grads

    def jvp(ts, xs):
        return call(BlockDiag.op, (tuple([x.new_zeros(x.shape) if tangent is None else tangent for x, tangent in zip(xs, ts)]),))


# ---- public functions -------------------------------------------------------------------------------------


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension of `input` on a diagonal, and 0 elsewhere. Mirrors ``torch.diag_embed``.

    Args:
        input (Tensor): of shape (..., n). The matrices are square, of size n + abs(offset).
        offset (int): the diagonal: 0 is the main diagonal, positive ones are above it.
        dim1, dim2 (int): the dimensions of the matrices in the result.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dimension.
        IndexError: there is no such dimension, or `input` is 0-d.

    >>> mg.diag_embed(mg.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    tensor_argument("diag_embed", input)
    a, b = dimension(dim1, input.ndim + 1), dimension(dim2, input.ndim + 1)
    if a == b:
        raise ShapeError("MG-E205", f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    dimension(-1, input.ndim)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "diag_embed(): input must have a dimension, but is 0-d", fix="x.reshape(1)")
    return call(DiagEmbed.op, (input, integer(offset, "offset", "diag_embed"), a, b))


def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrix with a vector on its diagonal; or the diagonal of a matrix, as a copy. Mirrors ``torch.diag``.

    Args:
        input (Tensor): a vector or a matrix.
        diagonal (int): which diagonal: 0 is the main diagonal, positive ones are above it.

    Raises:
        RuntimeError: `input` is neither a vector nor a matrix.

    >>> mg.diag(mg.tensor([[1, 2], [3, 4]]), 1)
    tensor([2])
    """
    if out is not None:
        return into(out, diag, input, diagonal)
    tensor_argument("diag", input)
    if input.ndim not in (1, 2):
        raise ShapeError("MG-E205", f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    return clone(on_diagonal(input, diagonal))


def on_diagonal(input, offset):
    """Return ``diagonal(input, offset)``. In `diag`, an argument hides the function `diagonal`."""
    return diagonal(input, offset)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with the elements of `input`, flattened, on a diagonal. Mirrors ``torch.diagflat``.

    Args:
        input (Tensor): of any shape.
        offset (int): the diagonal: 0 is the main diagonal, positive ones are above it.

    >>> mg.diagflat(mg.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(flatten(tensor_argument("diagflat", input)), offset)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices one after the other on its diagonal, and 0 elsewhere. Mirrors ``torch.block_diag``.

    Args:
        tensors (Tensor): of at most two dimensions; a vector is a row. The dtypes are promoted.

    Raises:
        RuntimeError: a tensor has more than two dimensions.

    >>> mg.block_diag(mg.tensor([1, 2]), mg.tensor([[3], [4]]))
    tensor([[1, 2, 0],
            [0, 0, 3],
            [0, 0, 4]])
    """
    found = promote_all("block_diag", tensors)
    for i, x in enumerate(found):
        if x.ndim > 2:
            raise ShapeError("MG-E205", f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x.ndim} "
                             "dimensions")
    return call(BlockDiag.op, (tuple([atleast_2d(x) for x in found]),))


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; for integers, an int64. Mirrors ``torch.trace``.

    Raises:
        RuntimeError: `input` is not a matrix.

    >>> mg.trace(mg.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """
    tensor_argument("trace", input)
    if input.ndim != 2:
        raise ShapeError("MG-E205", "trace: expected a matrix", found=f"{input.ndim}-d")
    return call(Trace.op, (input if input.dtype.differentiable else cast(input, INT64),))


def fill_diagonal_(self, fill_value: Number, wrap: bool = False) -> Tensor:
    """Set the elements of the main diagonal, x[i, i, ...], in place. Mirrors ``torch.Tensor.fill_diagonal_``.

    Args:
        fill_value (number): the new value.
        wrap (bool): in a matrix with more rows than columns, start a new diagonal after each one, leaving out one row.

    Raises:
        RuntimeError: self has fewer than two dimensions, or more than two of different sizes; or self may not be written to.

    >>> mg.zeros(2, 3).fill_diagonal_(5)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
    """
    if self.ndim < 2:
        raise ShapeError("MG-E205", "dimensions must larger than 1", found=f"{self.ndim}")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise ShapeError("MG-E204", "all dimensions of input must be of equal length", found=f"shape {list(self.shape)}")
    rows, columns = self.shape[0], self.shape[1]
    for start in range(0, rows if flag(wrap, "wrap", "fill_diagonal_") and self.ndim == 2 else 1, columns + 1):
        part = narrow(self, 0, start, min(columns, rows - start))
        while part.ndim > 1:
            part = diagonal(part, 0, 0, 1)
        part.fill_(fill_value)
    return self


IN_PLACE["fill_diagonal_"] = fill_diagonal_
