"""Counting the nonzero elements up to each element, by a parallel *scan*: the count says where an element goes in the result.

    flags       1 0 1 1 | 0 1 0 0 | 1 1        a block scans a tile in shared memory
    counts      1 1 2 3 | 0 1 1 1 | 1 2        in steps of 1, 2, 4, ...: each thread adds the number so far in front of its own
    totals            3         1     2        the same kernel scans the totals of the tiles:  3 4 6
    counts      1 1 2 3   3 4 4 4   5 6        plus the total of all tiles before

    bytes       a flag is read; a count is written, read and written: 25 per element
    operations  log2(tile) additions in shared memory
    so          memory limits it. (Counts of 32 bits, and a scan in one pass, would halve it: D. Merrill, M. Garland,
                "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016.)

`nonzero` has to wait for the GPU: the last count is the size of its result.

Source: W. D. Hillis, G. L. Steele, "Data Parallel Algorithms", 1986; G. Blelloch, "Prefix Sums and Their Applications", 1990.
Mirrors ``aten/src/ATen/native/cuda/Nonzero.cu`` and ``IndexKernel.cu`` (masked_scatter). Read next: ``index/sorting.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, int64

from minigrad.kernels.cuda.elementwise.elementwise import device_function, element_strides, ne, offset, plain
from minigrad.kernels.cuda.runtime.launch import MOST_BLOCKS, THREADS, launch, launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import copy, to_host

__all__ = ["masked_scatter", "nonzero"]

TILE = THREADS
INT64 = np.dtype("int64")


@device_function
def as_flag(flag):
    return 1 if flag else 0


@cache
def scan_kernel(number):
    """The kernel that sets z[i] to the sum of number(x) in the tile up to i, and `totals` to the sums of whole tiles."""
    @cuda.jit
    def kernel(n, tiles, x, z, totals):
        sums = cuda.shared.array(TILE, int64)
        t = cuda.threadIdx.x
        for tile in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
            i = tile * TILE + t
            sums[t] = number(x[i]) if i < n else 0
            cuda.syncthreads()
            reach = 1
            while reach < TILE:
                before = sums[t - reach] if t >= reach else 0
                cuda.syncthreads()          # all threads have read, and may write
                sums[t] += before
                cuda.syncthreads()
                reach *= 2
            if i < n:
                z[i] = sums[t]
            if t == TILE - 1:
                totals[tile] = sums[t]
            cuda.syncthreads()              # before the next tile overwrites the sums
    return kernel


@cuda.jit
def add_tiles_before(n, z, totals):
    """Add to each element of z the total of all tiles before its own."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i >= TILE:
            z[i] += totals[i // TILE - 1]


def count_up_to(x, number=as_flag):
    """For each element of the row-major `x`, count the nonzero elements up to it, as int64; with `plain`, sum the elements."""
    n, tiles = x.size, (x.size + TILE - 1) // TILE
    z, totals = empty_array(x.shape, INT64, x.device), empty_array((tiles,), INT64, x.device)
    if n:
        launch(scan_kernel(number), min(tiles, MOST_BLOCKS), TILE, x.device, n, tiles, x.block.of(x.dtype), z.block.of(INT64),
               totals.block.of(INT64))
    if tiles > 1:
        launch_each(add_tiles_before, n, x.device, n, z.block.of(INT64), count_up_to(totals, plain).block.of(INT64))
    return z


# ---- nonzero and masked_scatter ------------------------------------------------------------------------------------------


@cuda.jit
def write_coordinates(n, shape, flags, count, z):
    """Write the index of each nonzero element as a row of z."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if flags[i]:
            row, rest = (count[i] - 1) * len(shape), i
            for dim in range(len(shape) - 1, -1, -1):
                z[row + dim] = rest % shape[dim]
                rest //= shape[dim]


def nonzero(x):
    flags = as_whole_block(ne(x, 0))
    count = count_up_to(flags)
    total = int(to_host(count.make_view(count.layout.reshape(-1)[-1:]))[0]) if x.size else 0
    z = empty_array((total, x.ndim), INT64, x.device)
    if z.size:
        launch_each(write_coordinates, x.size, x.device, x.size, x.shape, flags.block.of(flags.dtype), count.block.of(INT64),
                    z.block.of(INT64))
    return z


@cuda.jit
def write_in_turn(n, flags, count, z, y, y0, shape, sy):
    """Write the elements of y, one after another, to the elements of z that have a flag."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if flags[i]:
            z[i] = y[y0 + offset(count[i] - 1, shape, sy)]


def masked_scatter(x, mask, y):
    shape = np.broadcast_shapes(x.shape, mask.shape)
    z = copy(x.make_view(np.broadcast_to(x.layout, shape)))
    flags = copy(mask.make_view(np.broadcast_to(mask.layout, shape)))
    launch_each(write_in_turn, z.size if y.size else 0, z.device, z.size, flags.block.of(flags.dtype),
                count_up_to(flags).block.of(INT64), z.block.of(z.dtype), y.block.of(y.dtype), y.start, y.shape or (1,),
                element_strides(y, y.shape or (1,)))
    return z


def as_whole_block(x):
    """Return `x` if it is row-major and begins at the start of its block, else a copy that is."""
    return x if x.flags.c_contiguous and x.start == 0 else copy(x)
