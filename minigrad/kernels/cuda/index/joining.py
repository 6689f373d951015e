"""Putting arrays together, turning them round, and cutting triangles out of matrices.

    cat([x, y], 1)      x x x y y       one copy into a slice of the result for each part
                        x x x y y
    flip(x, (1,))       a copy of a view whose strides are negative
    tril(x, 0)          x . .           the one that needs a kernel of its own: which elements stay depends on where they are
                        x x .

    bytes       each number is read once and written once; into_slice and the triangles write zeros beside them
    operations  none; the triangles divide to find row and column
    so          the time is that of the memory, and of starting a kernel for each part: a few microseconds, which is more than
                copying some thousand numbers takes. Hundreds of small parts are therefore better stacked once than one by one.

Mirrors ``aten/src/ATen/native/cuda/Shape.cu`` (which copies up to 128 parts by one kernel) and ``TriangularOps.cu``.
Read next: ``indexing.py``.
"""

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise import elementwise
from minigrad.kernels.cuda.elementwise.elementwise import filled, in_elements, offset
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import copy, store
from minigrad.kernels.cuda.shape.views import select
from minigrad.kernels.cuda.shape.views import slice as sliced

__all__ = ["cat", "flip", "glu", "glu_backward", "into_slice", "stack", "tril", "triu"]


def glu(x, dim):
    a, b = halves(x, dim)
    return elementwise.mul(a, elementwise.sigmoid(b))


def glu_backward(g, x, dim):
    a, b = halves(x, dim)
    s = elementwise.sigmoid(b)
    slope = elementwise.mul(s, elementwise.sigmoid(elementwise.neg(b)))
    return cat([elementwise.mul(g, s), elementwise.mul(elementwise.mul(g, a), slope)], dim)


def halves(x, dim):
    n = x.shape[dim]
    return sliced(x, dim, 0, n // 2, 1), sliced(x, dim, n // 2, n, 1)


def cat(xs, dim):
    shape = list(xs[0].shape)
    shape[dim] = sum([x.shape[dim] for x in xs])
    z = empty_array(shape, np.result_type(*[x.dtype for x in xs]), xs[0].device)
    at = 0
    for x in xs:
        store(sliced(z, dim, at, at + x.shape[dim], 1), x)
        at += x.shape[dim]
    return z


def stack(xs, dim):
    shape = list(xs[0].shape)
    shape.insert(dim, len(xs))
    z = empty_array(shape, np.result_type(*[x.dtype for x in xs]), xs[0].device)
    for i, x in enumerate(xs):
        store(select(z, dim, i), x)
    return z


def into_slice(y, shape, dim, start, stop, step):
    place = slice(start, stop, step)
    whole = range(shape[dim])[place]
    if whole == range(shape[dim]):
        z = empty_array(shape, y.dtype, y.device)
    else:
        z = filled(shape, 0, y.dtype, y.device)
    store(z.seen_as(z.layout[(slice(None),) * dim + (place,)]), y)
    return z


def flip(x, dims):
    return copy(x.seen_as(np.flip(x.layout, dims))) if x.ndim else copy(x)


# ---- triangles --------------------------------------------------------------------------------------------


@cuda.jit
def keep_below(n, shape, z, x, x0, sx, rows, columns, diagonal):
    """z = x where column - row <= diagonal."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i % columns - i // columns % rows <= diagonal:
            z[i] = x[x0 + offset(i, shape, sx)]
        else:
            z[i] = 0


@cuda.jit
def keep_above(n, shape, z, x, x0, sx, rows, columns, diagonal):
    """z = x where column - row >= diagonal."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i % columns - i // columns % rows >= diagonal:
            z[i] = x[x0 + offset(i, shape, sx)]
        else:
            z[i] = 0


def triangle(kernel, x, diagonal):
    z = empty_array(x.shape, x.dtype, x.device)
    launch_each(kernel, z.size, z.device, z.size, z.shape, z.block.of(z.dtype), x.block.of(x.dtype), x.start,
                in_elements(x, x.shape), *x.shape[-2:], diagonal)
    return z


def tril(x, diagonal):
    return triangle(keep_below, x, diagonal)


def triu(x, diagonal):
    return triangle(keep_above, x, diagonal)
