"""Matrix products: contractions with one dimension of each kind.

    idea        see contraction.py, and tiles.py for the figures. Transposed and broadcast operands are not copied, since they only
                have other strides. If an operand has a single row or column, the kernels of vectors.py read the other operand once,
                as a tile would, and multiply no zeros
    addmm       adds its bias while the sums are still in registers: z is written once, and not read

Mirrors ``aten/src/ATen/native/cuda/Blas.cpp``.
Read next: ``convolution.py``.
"""

from minigrad.kernels.cuda.contractions.contraction import contract
from minigrad.kernels.cuda.contractions.vectors import dot, rows_by_vector
from minigrad.kernels.cuda.elementwise import elementwise
from minigrad.kernels.cuda.elementwise.elementwise import broadcast_shapes
from minigrad.kernels.cuda.reductions import reduction
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.views import expand, unsqueeze

__all__ = ["addmm", "distances", "distances_backward", "dot", "matmul"]


def multiply(name, z, x, y, bias=None):
    """Queue z = x y + bias, for arrays with the same dimensions before the last two."""
    def view(a, of):
        return None if a is None else a.make_view(of(a.layout))
    if y.shape[-1] == 1:
        rows_by_vector(name, view(z, column), x, view(y, column), view(bias, column))
    elif x.shape[-2] == 1:
        rows_by_vector(name, view(z, row), view(y, swap_last), view(x, row), view(bias, row))
    else:
        contract(name, z, x, y, 1, 1, bias)


def column(a):
    return a[..., 0]


def row(a):
    return a[..., 0, :]


def swap_last(a):
    return a.swapaxes(-1, -2)


def matmul(x, y):
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: a matrix of shape {x.shape[-2:]} cannot be multiplied by one of {y.shape[-2:]}")
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    z = empty_array((*batch, x.shape[-2], y.shape[-1]), x.dtype, x.device)
    x, y = [a if a.shape[:-2] == batch else expand(a, (*batch, *a.shape[-2:])) for a in (x, y)]
    multiply("matmul", z, x, y)
    return z


def addmm(b, x, y):
    if x.shape[1] != y.shape[0]:
        raise ValueError(f"addmm: a matrix of shape {x.shape} cannot be multiplied by one of {y.shape}")
    z = empty_array((x.shape[0], y.shape[1]), x.dtype, x.device)
    if broadcast_shapes(b.shape, z.shape) != z.shape:
        raise ValueError(f"addmm: a bias of shape {b.shape} does not fit a product of shape {z.shape}")
    multiply("addmm", z, x, y, expand(b, z.shape))
    return z


def distances(x, y):
    d = elementwise.sub(unsqueeze(x, x.ndim - 1), unsqueeze(y, y.ndim - 2))         # pyright: ignore[reportAttributeAccessIssue]
    return elementwise.sqrt(reduction.sum(elementwise.mul(d, d), (d.ndim - 1,), False))     # pyright: ignore[reportAttributeAccessIssue]


def distances_backward(g, z, x, y):
    d = elementwise.sub(unsqueeze(x, x.ndim - 1), unsqueeze(y, y.ndim - 2))         # pyright: ignore[reportAttributeAccessIssue]
    lengths = unsqueeze(z, z.ndim)
    units = elementwise.where(elementwise.eq(lengths, 0), 0.0, elementwise.div(d, lengths))     # pyright: ignore[reportAttributeAccessIssue]
    return reduction.sum(elementwise.mul(unsqueeze(g, g.ndim), units), (d.ndim - 2,), False)   # pyright: ignore[reportAttributeAccessIssue]
