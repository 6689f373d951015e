"""Joining and reversing arrays, and cutting triangles out of matrices.

    cat([x, y], 1)      x x x y y       for each part, one copy into a slice of the result
                        x x x y y
    flip(x, (1,))       a copy of a view with negative strides
    tril(x, 0)          x . .           the only one with a kernel of its own: which elements stay depends on their position
                        x x .

    bytes       each number is read once and written once; into_slice and the triangles also write zeros
    operations  none; the triangles divide to find the row and the column
    so          memory limits it, and the start of a kernel for each part. A start takes a few microseconds, longer than a copy of
                some thousand numbers. So one `stack` of hundreds of small parts is better than many `cat` of two

Mirrors ``aten/src/ATen/native/cuda/Shape.cu`` (one kernel there copies up to 128 parts) and ``TriangularOps.cu``.
Read next: ``ordering.py``.
"""

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise import elementwise
from minigrad.kernels.cuda.elementwise.elementwise import element_strides, new_full, offset
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import copy, store
from minigrad.kernels.cuda.shape.views import select
from minigrad.kernels.cuda.shape.views import slice as sliced

__all__ = ["cat", "flip", "glu", "glu_backward", "into_slice", "stack", "tril", "triu"]


def glu(x, dim):
    a, b = split_halves(x, dim)
    return elementwise.mul(a, elementwise.sigmoid(b))


def glu_backward(g, x, dim):
    a, b = split_halves(x, dim)
    s = elementwise.sigmoid(b)
    slope = elementwise.mul(s, elementwise.sigmoid(elementwise.neg(b)))
    return cat([elementwise.mul(g, s), elementwise.mul(elementwise.mul(g, a), slope)], dim)


def split_halves(x, dim):
    """Return the first and the second half of x along `dim`, as views."""
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
        z = new_full(shape, 0, y.dtype, y.device)
    store(z.make_view(z.layout[(slice(None),) * dim + (place,)]), y)
    return z


def flip(x, dims):
    return copy(x.make_view(np.flip(x.layout, dims))) if x.ndim else copy(x)


# ---- triangles --------------------------------------------------------------------------------------------


@cuda.jit
def keep_below(n, shape, z, x, x0, sx, rows, columns, diagonal):
    """z = x where column - row <= diagonal, else 0."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i % columns - i // columns % rows <= diagonal:
            z[i] = x[x0 + offset(i, shape, sx)]
        else:
            z[i] = 0


@cuda.jit
def keep_above(n, shape, z, x, x0, sx, rows, columns, diagonal):
    """z = x where column - row >= diagonal, else 0."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i % columns - i // columns % rows >= diagonal:
            z[i] = x[x0 + offset(i, shape, sx)]
        else:
            z[i] = 0


def triangle(kernel, x, diagonal):
    """Return what `kernel` keeps of x, with zeros elsewhere."""
    z = empty_array(x.shape, x.dtype, x.device)
    launch_each(kernel, z.size, z.device, z.size, z.shape, z.block.of(z.dtype), x.block.of(x.dtype), x.start,
                element_strides(x, x.shape), *x.shape[-2:], diagonal)
    return z


def tril(x, diagonal):
    return triangle(keep_below, x, diagonal)


def triu(x, diagonal):
    return triangle(keep_above, x, diagonal)
