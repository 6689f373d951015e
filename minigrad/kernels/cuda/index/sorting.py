"""Sorting by merging: pairs of sorted runs become one, of twice the length, until a run is a whole row.

    runs of 2       1 4 | 2 3                4 comes behind the one of its own run before it, and behind all of the other run
    merged          1 2 3 4                  that are smaller, of which there are 2: so to position 1 + 2

    idea        *merging by rank*: a thread finds by binary search how many elements of the other run come before its own, and
                with that where it goes. Nobody waits for anybody. The first passes happen within a tile in shared memory, a
                thread for each element, by the same function
    bytes       per pass over the global memory: keys and indices read and written, 24 for float32, and the searches, which mostly
                find what they need in the cache. log2(n / tile) + 1 passes
    operations  log2(run) comparisons an element and pass
    so          the memory limits it. For numbers of 32 bits sorting by digits (radix sort), as PyTorch does, needs a quarter of
                the passes; merging takes anything that can be compared, keeps ties in order, and can be read
    measured    1% of what a copy moves on an H100: a twelfth of the speed of PyTorch's radix sort

Nan is larger than everything, as in PyTorch. A tie keeps its order because the left run's elements come before their equals.

Source: R. Cole, "Parallel Merge Sort", 1988; N. Satish, M. Harris, M. Garland, "Designing Efficient Sorting Algorithms for Manycore
GPUs", 2009. Mirrors ``aten/src/ATen/native/cuda/Sort.cu``. Read next: ``ordering.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype, int64

from minigrad.kernels.cuda.elementwise.elementwise import compiled
from minigrad.kernels.cuda.runtime.launch import MOST_BLOCKS, THREADS, launch, launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.shape.layout import cast, copy

__all__ = ["ascending", "comparable", "descending", "sorted_rows"]

TILE = THREADS
INT64 = np.dtype("int64")


@compiled
def ascending(a, b):
    """Whether a comes before b."""
    return a < b or (b != b and a == a)


@compiled
def descending(a, b):
    return a > b or (a != a and b == b)


@cache
def merging(before):
    """Function: where the element at position `p` of a row, which begins at `row`, goes when runs of length `run` are merged."""
    def destination(keys, row, p, length, run):
        start = p // (2 * run) * (2 * run)
        middle = min(start + run, length)
        key = keys[row + p]
        if p < middle:
            low, high = middle, min(start + 2 * run, length)
            while low < high:                   # the first of the right run that does not come before the key
                at = (low + high) // 2
                if before(keys[row + at], key):
                    low = at + 1
                else:
                    high = at
            return p + low - middle
        low, high = start, middle
        while low < high:                       # the first of the left run that comes after it
            at = (low + high) // 2
            if before(key, keys[row + at]):
                high = at
            else:
                low = at + 1
        return p - middle + low
    return compiled(destination)


@cache
def sorting_tiles(before, kind):
    """Kernel: tiles of rows sorted in shared memory, by keys of the numba type `kind`; order = where they were."""
    destination = merging(before)

    @cuda.jit
    def kernel(tiles, in_row, length, keys, order):
        shared_keys = cuda.shared.array(TILE, kind)
        shared_order = cuda.shared.array(TILE, int64)
        t = cuda.threadIdx.x
        for tile in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
            first = tile % in_row * TILE
            begin, size = tile // in_row * length + first, min(TILE, length - first)
            if t < size:
                shared_keys[t] = keys[begin + t]
                shared_order[t] = first + t
            run = 1
            while run < TILE:
                cuda.syncthreads()
                key, index, to = shared_keys[t], shared_order[t], t
                if t < size:
                    to = destination(shared_keys, 0, t, size, run)
                cuda.syncthreads()              # all have searched, and may write
                if t < size:
                    shared_keys[to] = key
                    shared_order[to] = index
                run *= 2
            cuda.syncthreads()
            if t < size:
                keys[begin + t] = shared_keys[t]
                order[begin + t] = shared_order[t]
            cuda.syncthreads()
    return kernel


@cache
def merging_runs(before):
    """Kernel: pairs of runs merged, from one pair of arrays into another."""
    destination = merging(before)

    @cuda.jit
    def kernel(n, length, run, keys, order, new_keys, new_order):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            row = i // length * length
            to = row + destination(keys, row, i - row, length, run)
            new_keys[to] = keys[i]
            new_order[to] = order[i]
    return kernel


def comparable(name, x):
    """`x` in a dtype that kernels compare. Raises `NotImplementedError` for complex numbers."""
    if x.dtype.kind == "c":
        raise missing(name, x.dtype)
    return cast(x, np.dtype("float32" if x.dtype == np.float16 else "uint8" if x.dtype.kind == "b" else x.dtype))


def sorted_rows(name, x, dim, before):
    """(x sorted along `dim`, which comes last; the indices that sort it), both row-major."""
    x = comparable(name, x)
    keys = copy(x.seen_as(np.moveaxis(x.layout, dim, -1)))
    order = empty_array(keys.shape, INT64, x.device)
    n, length = keys.size, keys.shape[-1]
    if not n:
        return keys, order
    in_row = (length + TILE - 1) // TILE
    tiles = n // length * in_row
    launch(sorting_tiles(before, from_dtype(keys.dtype)), min(tiles, MOST_BLOCKS), TILE, x.device, tiles, in_row, length,
           keys.block.of(keys.dtype), order.block.of(INT64))
    run = TILE
    while run < length:
        new_keys, new_order = empty_array(keys.shape, keys.dtype, x.device), empty_array(keys.shape, INT64, x.device)
        launch_each(merging_runs(before), n, x.device, n, length, run, keys.block.of(keys.dtype), order.block.of(INT64),
                    new_keys.block.of(keys.dtype), new_order.block.of(INT64))
        keys, order = new_keys, new_order
        run *= 2
    return keys, order
