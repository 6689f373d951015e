"""Reading elements of an array by index: one kernel, and a formula on strides that covers all kinds of indexing.

    idea        every kind of indexing is the same sum. For element i of the result, with coordinates c, the place in x is

                    x0  +  c . strides (of the dimensions that are not indexed)  +  index[c] . step

                gather has an index for each element. index_select has one for each slice: the same index, repeated with stride 0
                along the other dimensions. x[i, :, j] has several, which are added to one index first (`places`)
    bytes       z, the index and the elements of x: 8 + 2 . 4 for each float32 of gather. For a row of an embedding the index hardly
                counts: all threads of the row read the same index, from the cache
    operations  some divisions to find c, see Note [Few dimensions] in elementwise.py. They have 32 bits, and serve both places. If
                neighbours in z are neighbours in x, as in an embedding, they serve 16 bytes
    so          memory limits it, and how many of the bytes that it delivers together are used: rows are fast; single numbers from
                places all over the memory cost a transaction of 32 bytes each
    measured    15% of the speed of a copy on an H100, for places in random order: 32 bytes are read for each number. (Rows were at
                20% with two 64-bit divisions per number: a third of a millisecond of instructions, by their count.)

The ops have checked the indices, which are not negative.
Mirrors ``aten/src/ATen/native/cuda/ScatterGatherKernel.cu`` and ``IndexKernel.cu``. Read next: ``scattering.py``.
"""

from functools import cache
from math import gcd

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import add, collapse, device_function, element_strides, mul, new_full
from minigrad.kernels.cuda.elementwise.quad_kernels import FEW, make_division, unsigned
from minigrad.kernels.cuda.elementwise.vector_io import BYTES, aligned, pack
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import copy

__all__ = ["gather", "index", "index_select", "take_grid"]

INT64 = np.dtype("int64")


@cache
def read_kernel(few, width):
    """The kernel that reads packs of `width` numbers. If `few`, there are less than 2^32 packs, and its divisions have 32 bits."""
    divided = make_division(few)
    load, store = pack(width)

    @device_function
    def offsets(i, shape, sx, sj):
        """The offsets of element i in two arrays, as by `offset`."""
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


# ---- places: the strides of the sum above -----------------------------------------------------------------


def strides_along(x, dim):
    """(strides of x with 0 for `dim`, the stride of `dim`), in elements."""
    strides = list(element_strides(x, x.shape))
    step, strides[dim] = strides[dim], 0
    return tuple(strides), step


def repeat_per_slice(index, shape, dim):
    """Return a view of `shape` that repeats the vector `index` for all elements of a slice along `dim`."""
    column = index.layout.reshape(-1, *[1] * (len(shape) - dim - 1))     # new axes of a vector need no copy
    return index.make_view(np.broadcast_to(column, shape))


def places(x, indices):
    """For a result ``x[indices]``: (one index array, its strides, strides of x, step, shape of the result)."""
    strides = element_strides(x, x.shape)
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    arrays = [indices[dim] for dim in dims]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if not dims:
        index, step = new_full((), 0, INT64, x.device), 0
    elif len(dims) == 1:
        index, step = arrays[0], strides[dims[0]]
    else:
        step = gcd(*[strides[dim] for dim in dims]) or 1        # for rows their length: packs can begin there
        index = mul(arrays[0], strides[dims[0]] // step)
        for array, dim in zip(arrays[1:], dims[1:]):
            index = add(index, mul(array, strides[dim] // step))
    rest = [dim for dim in range(x.ndim) if dim not in dims]
    at = dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0       # NumPy's rule: first, if they are apart
    before, after = rest[:at], rest[at:]
    return (index, (0,) * len(before) + element_strides(index, shape) + (0,) * len(after),
            (*[strides[d] for d in before], *[0] * len(shape), *[strides[d] for d in after]), step,
            (*[x.shape[d] for d in before], *shape, *[x.shape[d] for d in after]))


# ---- reading ----------------------------------------------------------------------------------------------


def pick_elements(x, sx, step, index, sj, shape):
    """Return an array of `shape`, read from x by the sum above.

    Args:
        x: the array.
        sx: strides for the coordinates of an element of the result in x.
        step: what 1 in the index adds to the place in x.
        index, sj: the index array, and strides for the same coordinates in it.
        shape: of the result.
    """
    z = empty_array(shape, x.dtype, x.device)
    short, sx, sj = collapse(shape, sx, sj)
    width = max(BYTES // x.itemsize, 1)
    if sx[-1] == 1 and sj[-1] == 0 and aligned(x, width) and not any(s % width for s in (short[-1], *sx[:-1], step)):
        short, sx = (*short[:-1], short[-1] // width), (*sx[:-1], width)
    else:
        width = 1
    n = z.size // width
    launch_each(read_kernel(n < FEW, width), n, z.device, n, short, z.block.of(z.dtype), x.block.of(x.dtype), x.start, sx,
                index.block.of(index.dtype), index.start, sj, step)
    return z


def gather(x, dim, index):
    if x.ndim == 0:
        return pick_elements(x, (0,) * index.ndim, 0, index, element_strides(index, index.shape), index.shape)
    sx, step = strides_along(x, dim)
    return pick_elements(x, sx, step, index, element_strides(index, index.shape), index.shape)


def index_select(x, dim, index):
    return gather(x, dim, repeat_per_slice(index, (*x.shape[:dim], index.size, *x.shape[dim + 1:]), dim))


def take_grid(x, places):
    for dim, at in enumerate(places):
        x = x if at is None else index_select(x, dim, at)
    return copy(x) if all(at is None for at in places) else x


def index(x, indices):
    array, sj, sx, step, shape = places(x, indices)
    return pick_elements(x, sx, step, array, sj, shape)
