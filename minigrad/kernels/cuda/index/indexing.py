"""Picking elements out of an array by index: one kernel, and the arithmetic on strides that makes all ways of indexing alike.

    idea        every way of indexing is the same sum. For element i of the result, with coordinates c,

                    where  =  x0  +  c . strides, without the dimensions that are indexed  +  index[c] . step

                gather has an index per element, index_select one per slice (the same, repeated with stride 0 along the others),
                x[i, :, j] several, which are added up to one first (`places`)
    bytes       z, the index and what is read of x: 8 + 2 . 4 for each float32 of gather; for a row of an embedding the index
                counts for little, as the row's threads read the same one, which the cache delivers
    operations  some divisions to find c, see Note [Few dimensions] in elementwise.py: of 32 bits, once for both places, and once
                for 16 bytes where the numbers beside each other in z are so in x, as those of an embedding are
    so          the memory limits it, and how much of what it delivers together is wanted: rows are fast, single numbers from
                all over the memory cost a transaction of 32 bytes each
    measured    15% of what a copy moves on an H100, places in no order: a read of 32 bytes for each number. (Rows were
                at 20% with two 64-bit divisions a number: a third of a millisecond of instructions, as they are counted.)

The indices have been checked by the ops, and are not negative.
Mirrors ``aten/src/ATen/native/cuda/ScatterGatherKernel.cu`` and ``IndexKernel.cu``. Read next: ``scattering.py``.
"""

from functools import cache
from math import gcd

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import add, collapsed, compiled, filled, in_elements, mul
from minigrad.kernels.cuda.elementwise.quad_kernels import FEW, division, unsigned
from minigrad.kernels.cuda.elementwise.vector_io import BYTES, aligned, pack
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array

__all__ = ["gather", "index", "index_select"]

INT64 = np.dtype("int64")


@cache
def reading(few, width):
    """The kernel that reads packs of `width` numbers; `few` of them are less than 2^32, which takes short divisions."""
    divided = division(few)
    load, store = pack(width)

    @compiled
    def offsets(i, shape, sx, sj):
        """`offset` for two arrays."""
        at, place = 0, 0
        for dim in range(len(shape) - 1, 0, -1):
            rest = divided(i, shape[dim])
            c = i - rest * shape[dim]
            at += c * sx[dim]
            place += c * sj[dim]
            i = rest
        return at + i * sx[0], place + i * sj[0]

    @cuda.jit
    def kernel(n, shape, z, x, x0, sx, index, j0, sj, step):
        i, grid = cuda.grid(1), cuda.gridsize(1)
        while i < n:
            at, place = offsets(i, shape, sx, sj)
            store(z, i * width, load(x, x0 + at + index[unsigned(j0 + place)] * step))
            i += grid
    return kernel


# ---- places: which elements, by their strides -------------------------------------------------------------


def along(x, dim):
    """(strides of x without that of dim, the step along dim)."""
    strides = list(in_elements(x, x.shape))
    step, strides[dim] = strides[dim], 0
    return tuple(strides), step


def per_slice(index, shape, dim):
    """The vector `index` repeated for all elements of slices along `dim`."""
    column = index.layout.reshape(-1, *[1] * (len(shape) - dim - 1), copy=False)
    return index.seen_as(np.broadcast_to(column, shape))


def places(x, indices):
    """(index, its strides, strides of x, step, shape) for ``x[indices]``, the result of which has that shape."""
    strides = in_elements(x, x.shape)
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    arrays = [indices[dim] for dim in dims]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if not dims:
        index, step = filled((), 0, INT64, x.device), 0
    elif len(dims) == 1:
        index, step = arrays[0], strides[dims[0]]
    else:
        step = gcd(*[strides[dim] for dim in dims]) or 1        # of rows their length, which says where packs begin
        index = mul(arrays[0], strides[dims[0]] // step)
        for array, dim in zip(arrays[1:], dims[1:]):
            index = add(index, mul(array, strides[dim] // step))
    rest = [dim for dim in range(x.ndim) if dim not in dims]
    at = dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0       # NumPy's rule: in front if they are apart
    before, after = rest[:at], rest[at:]
    return (index, (0,) * len(before) + in_elements(index, shape) + (0,) * len(after),
            (*[strides[d] for d in before], *[0] * len(shape), *[strides[d] for d in after]), step,
            (*[x.shape[d] for d in before], *shape, *[x.shape[d] for d in after]))


# ---- reading ----------------------------------------------------------------------------------------------


def picked(x, sx, step, index, sj, shape):
    z = empty_array(shape, x.dtype, x.device)
    short, sx, sj = collapsed(shape, sx, sj)
    width = max(BYTES // x.itemsize, 1)
    if sx[-1] == 1 and sj[-1] == 0 and aligned(x, width) and not any(s % width for s in (short[-1], *sx[:-1], step)):
        short, sx = (*short[:-1], short[-1] // width), (*sx[:-1], width)
    else:
        width = 1
    n = z.size // width
    launch_each(reading(n < FEW, width), n, z.device, n, short, z.block.of(z.dtype), x.block.of(x.dtype), x.start, sx,
                index.block.of(index.dtype), index.start, sj, step)
    return z


def gather(x, dim, index):
    if x.ndim == 0:
        return picked(x, (0,) * index.ndim, 0, index, in_elements(index, index.shape), index.shape)
    sx, step = along(x, dim)
    return picked(x, sx, step, index, in_elements(index, index.shape), index.shape)


def index_select(x, dim, index):
    return gather(x, dim, per_slice(index, (*x.shape[:dim], index.size, *x.shape[dim + 1:]), dim))


def index(x, indices):
    array, sj, sx, step, shape = places(x, indices)
    return picked(x, sx, step, array, sj, shape)
