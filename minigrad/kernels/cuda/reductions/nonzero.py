"""Counting what holds up to each element, in parallel: a *scan*, by which a thread knows where in a shorter array its element goes.

    flags       1 0 1 1 | 0 1 0 0 | 1 1        a block scans a tile in shared memory
    counts      1 1 2 3 | 0 1 1 1 | 1 2        in steps of 1, 2, 4, ...: each thread adds what lies so far in front of it
    totals            3         1     2        are scanned in turn, by the same kernel:  3 4 6
    counts      1 1 2 3   3 4 4 4   5 6        with the totals of the tiles before added

    bytes       a flag read, a count written, read and written: 25 an element
    operations  log2(tile) additions in shared memory
    so          the memory limits it. (Counts of 32 bits, and a scan in one pass, would halve it: D. Merrill, M. Garland,
                "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016.)

`nonzero` has to wait for the GPU: how large its result is, only the last count tells.

Source: W. D. Hillis, G. L. Steele, "Data Parallel Algorithms", 1986; G. Blelloch, "Prefix Sums and Their Applications", 1990.
Mirrors ``aten/src/ATen/native/cuda/Nonzero.cu`` and ``IndexKernel.cu`` (masked_scatter). Read next: ``sorting.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, int64

from minigrad.kernels.cuda.elementwise.elementwise import compiled, in_elements, ne, offset, plain
from minigrad.kernels.cuda.runtime.launch import MOST_BLOCKS, THREADS, launch, launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import copy, to_host

__all__ = ["masked_scatter", "nonzero"]

TILE = THREADS
INT64 = np.dtype("int64")


@compiled
def one_or_none(flag):
    return 1 if flag else 0


@cache
def scanning(number):
    """Kernel: z[i] = the sum of `number` of x in the tile up to i; totals = those of whole tiles."""
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
                cuda.syncthreads()          # all have read, and may write
                sums[t] += before
                cuda.syncthreads()
                reach *= 2
            if i < n:
                z[i] = sums[t]
            if t == TILE - 1:
                totals[tile] = sums[t]
            cuda.syncthreads()              # the next tile overwrites them
    return kernel


@cuda.jit
def add_tiles_before(n, z, totals):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i >= TILE:
            z[i] += totals[i // TILE - 1]


def counts(x, number=one_or_none):
    """How many elements of the row-major `x` up to each are not 0, as int64; with `plain`, the sum of them."""
    n, tiles = x.size, (x.size + TILE - 1) // TILE
    z, totals = empty_array(x.shape, INT64, x.device), empty_array((tiles,), INT64, x.device)
    if n:
        launch(scanning(number), min(tiles, MOST_BLOCKS), TILE, x.device, n, tiles, x.block.of(x.dtype), z.block.of(INT64),
               totals.block.of(INT64))
    if tiles > 1:
        launch_each(add_tiles_before, n, x.device, n, z.block.of(INT64), counts(totals, plain).block.of(INT64))
    return z


# ---- what needs it ------------------------------------------------------------------------------------------


@cuda.jit
def write_coordinates(n, shape, flags, count, z):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if flags[i]:
            row, rest = (count[i] - 1) * len(shape), i
            for dim in range(len(shape) - 1, -1, -1):
                z[row + dim] = rest % shape[dim]
                rest //= shape[dim]


def nonzero(x):
    flags = filling(ne(x, 0))
    count = counts(flags)
    total = int(to_host(count.seen_as(count.layout.reshape(-1)[-1:]))[0]) if x.size else 0
    z = empty_array((total, x.ndim), INT64, x.device)
    if z.size:
        launch_each(write_coordinates, x.size, x.device, x.size, x.shape, flags.block.of(flags.dtype), count.block.of(INT64),
                    z.block.of(INT64))
    return z


@cuda.jit
def write_in_turn(n, flags, count, z, y, y0, shape, sy):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if flags[i]:
            z[i] = y[y0 + offset(count[i] - 1, shape, sy)]


def masked_scatter(x, mask, y):
    shape = np.broadcast_shapes(x.shape, mask.shape)
    z = copy(x.seen_as(np.broadcast_to(x.layout, shape)))
    flags = copy(mask.seen_as(np.broadcast_to(mask.layout, shape)))
    launch_each(write_in_turn, z.size if y.size else 0, z.device, z.size, flags.block.of(flags.dtype),
                counts(flags).block.of(INT64), z.block.of(z.dtype), y.block.of(y.dtype), y.start, y.shape or (1,),
                in_elements(y, y.shape or (1,)))
    return z


def filling(x):
    """`x`, or a copy, that fills a block from its beginning row by row."""
    return x if x.flags.c_contiguous and x.start == 0 else copy(x)
