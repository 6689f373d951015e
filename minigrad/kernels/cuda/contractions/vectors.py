"""Products of a matrix and a vector, and of two vectors.

    z[m] = Σ_k x[m, k] y[k]

    idea        several rows for a block, several threads for a row. Each thread multiplies and adds on its way along k. Then the
                threads of a row add their sums in pairs, in shared memory:

                    threads of a row    5 3 1 7     2 3 6 4         If x is contiguous along k, the threads of a warp belong to
                                        6 10        8 7             the same row; if along m, to neighbouring rows. In both cases
                                        16          15              they read neighbouring numbers

    bytes       each number of x is read once: 4 bytes for 2 operations of float32. y comes from the cache
    operations  as many as for a tile of a matrix product, of which only one column in 64 would be useful
    so          memory limits it
    dot         is one row: one more kernel adds the sums of all blocks

Mirrors ``gemv`` and ``dot`` in ``aten/src/ATen/cuda/CUDABlas.cpp``. After M. Harris, "Optimizing Parallel Reduction in CUDA", 2007.
Read next: ``matmul.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.contractions.contraction import sum_dtype
from minigrad.kernels.cuda.contractions.tiles import place
from minigrad.kernels.cuda.elementwise.elementwise import collapse, element_strides, width
from minigrad.kernels.cuda.reductions.lanes import seat, tree
from minigrad.kernels.cuda.runtime.launch import MOST_BLOCKS, THREADS, WARP, launch
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["dot", "rows_by_vector"]

MOST_SUMS = 2 if SIMULATED else 512     # blocks of a dot product: one thread adds their sums
EACH = 8                                # the fewest numbers of a thread in a large dot product
MANY = 8 if SIMULATED else 1 << 16      # threads that keep the memory busy
NEAR = 2 if SIMULATED else WARP         # threads that should read neighbouring numbers


def add_sums(a, b):
    return (a[0] + b[0],)


@cache
def row_kernel(wide, number, zero, biased):
    """The kernel of `rows_by_vector`. `number` converts a number before it is used, `wide` is numba's type of the sums."""
    join_lanes = tree(add_sums, 1)

    @cuda.jit
    def kernel(n, n_inner, across, along_inner, rows, z, z0, rows_z, x, x0, rows_x, sx, y, y0, rows_y, sy, b, b0, rows_b):
        room = cuda.shared.array(THREADS, wide)
        t = cuda.threadIdx.x
        down = THREADS // across
        i, j, step = seat(t, across, not along_inner)
        for first in range(cuda.blockIdx.x * down, n, cuda.gridDim.x * down):
            row = first + i
            total = zero
            if row < n:
                from_x, from_y = x0 + place(row, rows, rows_x), y0 + place(row, rows, rows_y)
                for k in range(j, n_inner, across):
                    total += number(x[from_x + k * sx]) * number(y[from_y + k * sy])
            value = join_lanes(room, t, j, across, step, (total,))[0]
            if j == 0 and row < n:
                if biased:
                    value += number(b[b0 + place(row, rows, rows_b)])
                z[z0 + place(row, rows, rows_z)] = value
            cuda.syncthreads()
    return kernel


def threads_of(n, along_inner):
    """How many threads each of n rows gets: more if there are few rows."""
    across = NEAR if along_inner else THREADS // NEAR
    while across < THREADS and n * across < MANY:
        across *= 2
    return across


def rows_by_vector(name, z, x, y, bias=None):
    """Queue z = x y + bias, for z (..., m), x (..., m, k) and y (..., k), and a bias with the shape of z."""
    wide = sum_dtype(name, x.dtype)
    if not z.size:
        return
    y = y.make_view(np.broadcast_to(y.layout[..., None, :], x.shape))
    sx, sy = element_strides(x, x.shape), element_strides(y, x.shape)
    b, sb = (x, (0,) * z.ndim) if bias is None else (bias, element_strides(bias, z.shape))
    rows, *strides = collapse(z.shape, element_strides(z, z.shape), sx[:-1], sy[:-1], sb)
    along_inner = abs(sx[-1]) <= abs(strides[1][-1]) or rows[-1] == 1
    across = threads_of(z.size, along_inner)
    kernel = row_kernel(from_dtype(wide), width(x.dtype), wide.type(0), bias is not None)
    launch(kernel, min(-(-z.size // (THREADS // across)), MOST_BLOCKS), THREADS, z.device, z.size, x.shape[-1], across, along_inner,
           rows, z.block.of(z.dtype), z.start, strides[0], x.block.of(x.dtype), x.start, strides[1], sx[-1],
           y.block.of(y.dtype), y.start, strides[2], sy[-1], b.block.of(b.dtype), b.start, strides[3])


@cache
def dot_kernel(wide, number, zero):
    """The kernel that writes a sum of products for each block to z."""
    join_lanes = tree(add_sums, 1)

    @cuda.jit
    def kernel(n, z, z0, x, x0, sx, y, y0, sy):
        room = cuda.shared.array(THREADS, wide)
        t = cuda.threadIdx.x
        total = zero
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            total += number(x[x0 + i * sx]) * number(y[y0 + i * sy])
        value = join_lanes(room, t, t, THREADS, 1, (total,))[0]
        if t == 0:
            z[z0 + cuda.blockIdx.x] = value
    return kernel


@cuda.jit
def total(n, z, z0, x, x0):
    """z = Σ x[i], by one thread: there are at most a few hundred sums."""
    if cuda.grid(1) == 0:
        found = x[x0]
        for i in range(1, n):
            found += x[x0 + i]
        z[z0] = found


def dot(x, y):
    if x.shape != y.shape:
        raise ValueError(f"dot: vectors of {x.shape[0]} and {y.shape[0]} numbers")
    wide = sum_dtype("dot", x.dtype)
    blocks = max(min(-(-x.size // (THREADS * EACH)), MOST_SUMS), 1)
    z, sums = empty_array((), x.dtype, x.device), empty_array((blocks,), wide, x.device)
    launch(dot_kernel(from_dtype(wide), width(x.dtype), wide.type(0)), blocks, THREADS, x.device, x.size, sums.block.of(wide),
           sums.start, x.block.of(x.dtype), x.start, element_strides(x, x.shape)[0], y.block.of(y.dtype), y.start,
           element_strides(y, y.shape)[0])
    launch(total, 1, 1, x.device, blocks, z.block.of(z.dtype), z.start, sums.block.of(wide), sums.start)
    return z
