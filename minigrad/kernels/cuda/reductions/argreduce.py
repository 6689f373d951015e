"""The positions of the largest and the smallest number: argmax and argmin.

    lane 0      its best number, and the position     (3.5, 4)   \\
    lane 1                                            (3.5, 1)    >  (3.5, 1): the first of equal numbers
    lane 2                                            (2.0, 2)   /

    idea        the tree of lanes.py, on pairs of a number and its position
    bytes       each number is read once
    operations  two comparisons per number: one of them for nan, which counts as larger and as smaller than all others, as in NumPy
    so          memory limits it, if many numbers are under way: lanes read packs, as in reduce.py
    measured    98% of the speed of a copy on an H100

A pair of a float and an integer needs two arrays of shared memory, so it is no `Fold`. A large array takes two launches. The first
writes the position of the best number in each part; the second reads the numbers at those positions again.

Mirrors ``aten/src/ATen/native/cuda/ReduceArgMaxKernel.cu`` and ``SharedReduceOps.h`` (LessOrNan, GreaterOrNan).
Read next: ``scan.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype, types

from minigrad.kernels.cuda.elementwise.elementwise import collapse, device_function, offset, plain
from minigrad.kernels.cuda.elementwise.vector_io import BYTES
from minigrad.kernels.cuda.reductions.lanes import (
    BOUNDS,
    block_of,
    lanes_for,
    make_shuffle,
    numbers_ahead,
    pack_width,
    parts_for,
    pieces,
    seat,
)
from minigrad.kernels.cuda.reductions.register_rows import carrier
from minigrad.kernels.cuda.runtime.launch import THREADS, WARP, launch
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["argmax", "argmin"]

INT64 = np.dtype(np.int64)


def after_all(x, y):
    """Whether x beats y in argmax. `or` and `and` would be branches, where some lanes of a warp wait for others."""
    return (x > y) | ((x != x) & (y == y))


def before_all(x, y):
    """Whether x beats y in argmin."""
    return (x < y) | ((x != x) & (y == y))


def wide_of(dtype):
    """For arrays of `dtype`: (the function that makes an element comparable, its NumPy type then)."""
    if dtype == np.float16:
        return np.float32, np.float32
    return (np.uint8, np.uint8) if dtype.kind == "b" else (plain, dtype.type)


@cache
def pair_tree(beats, kind):
    """A device function like `tree` of lanes.py, for pairs (number, position); of equal numbers the first wins."""
    @device_function
    def better(a, b):
        equal = not beats(a[0], b[0]) and not beats(b[0], a[0])
        return b if beats(b[0], a[0]) or (equal and b[1] < a[1]) else a

    @cuda.jit(device=True)
    def in_room(numbers, places, t, lane, lanes, step, a):
        numbers[t], places[t] = a[0], a[1]
        half = lanes // 2
        while half > 0:
            cuda.syncthreads()
            if lane < half:
                a = better(a, (numbers[t + half * step], places[t + half * step]))
                numbers[t], places[t] = a[0], a[1]
            half //= 2
        return a

    if SIMULATED:
        return in_room
    number_below, place_below = make_shuffle(cuda.shfl_down_sync, kind), make_shuffle(cuda.shfl_down_sync, np.int64)

    @cuda.jit(device=True)
    def join_lanes(numbers, places, t, lane, lanes, step, a):
        if step > 1:
            return in_room(numbers, places, t, lane, lanes, step, a)
        half = min(lanes, WARP) // 2
        while half > 0:
            a = better(a, (number_below(a[0], half), place_below(a[1], half)))
            half //= 2
        if lanes > WARP:
            if lane % WARP == 0:
                numbers[t // WARP], places[t // WARP] = a[0], a[1]
            cuda.syncthreads()
            if lane < WARP:
                warps = lanes // WARP
                a = numbers[t // WARP + lane % warps], places[t // WARP + lane % warps]
                half = warps // 2
                while half > 0:
                    a = better(a, (number_below(a[0], half), place_below(a[1], half)))
                    half //= 2
        return a
    return join_lanes


@cache
def kernel_of(beats, wide, kind, first, width):
    """The kernel of one launch. The first compares all numbers; a second one (`first` False) those at the positions in `chosen`.

    It reads packs of `width` numbers along the only inner dimension; if `width` is 0, one at a time along any inner dimensions.
    """
    beats, number = device_function(beats), from_dtype(np.dtype(kind))
    join_lanes = pair_tree(beats, kind)
    ahead = numbers_ahead(width) if width else 1
    size = max(ahead * width, 1)
    fetch, _ = carrier(max(width, 1))

    def position_in_row(chosen, i, result, results):
        return i

    def position_chosen(chosen, i, result, results):
        return chosen[i * results + result]
    position = device_function(position_in_row if first else position_chosen)

    @device_function
    def look(a, found, at):
        better = beats(found, a[0])
        return found if better else a[0], at if better else a[1]

    @cuda.jit(**BOUNDS)
    def kernel(results, n, parts, length, lanes, across, outer, outer_steps, inner, inner_steps, x, x0, chosen, z):
        numbers = cuda.shared.array(THREADS, number)
        places = cuda.shared.array(THREADS, types.int64)
        held = cuda.local.array(size, number)
        t = cuda.threadIdx.x
        each = THREADS // lanes
        mine, lane, step = seat(t, lanes, across)
        groups = (results + each - 1) // each
        for task in range(cuda.blockIdx.x, groups * parts, cuda.gridDim.x):
            part = task // groups if parts > 1 else 0
            result = (task - part * groups) * each + mine
            last = min(result, results - 1)
            row = x0 + offset(last, outer, outer_steps)
            begin = part * length
            stop = min(begin + length, n) if result < results else begin
            at = position(chosen, begin, last, results)                 # all lanes begin with the first number of the part
            a = wide(x[row + offset(at, inner, inner_steps)]), at
            if width > 0:
                along, jump = inner_steps[0], lanes * width
                i = begin + lane * width
                while i + (ahead - 1) * jump + width <= stop:           # see Note [Many under way] in lanes.py
                    for k in range(ahead):
                        fetch(x, row + (i + k * jump) * along, held, k * width)
                    for k in range(ahead):
                        for j in range(width):
                            a = look(a, held[k * width + j], i + k * jump + j)
                    i += ahead * jump
                while i + width <= stop:
                    fetch(x, row + i * along, held, 0)
                    for j in range(width):
                        a = look(a, held[j], i + j)
                    i += jump
                if width > 1:
                    for i in range(stop - (stop - begin) % width + lane, stop, lanes):
                        a = look(a, wide(x[row + i]), i)
            else:
                for i in range(begin + lane, stop, lanes):
                    at = position(chosen, i, last, results)
                    a = look(a, wide(x[row + offset(at, inner, inner_steps)]), at)
            a = join_lanes(numbers, places, t, lane, lanes, step, a)
            if lane == 0 and result < results:
                z[part * results + result] = a[1]
            cuda.syncthreads()
    return kernel


def find_position(name, beats, x, dim, keepdim):
    """Return int64 positions of the number that beats all others along `dim`, or in the flattened x if `dim` is None."""
    if x.dtype.kind == "c":
        raise missing(name, x.dtype)
    dims = list(range(x.ndim)) if dim is None or not x.ndim else [dim % x.ndim]
    kept = [d for d in range(x.ndim) if d not in dims]
    if any(x.shape[d] == 0 for d in dims):
        raise ValueError(f"{name} over a dimension of size 0, of an array of shape {x.shape}: there is no such position")
    z = empty_array([x.shape[d] if d in kept else 1 for d in range(x.ndim) if keepdim or d in kept], INT64, x.device)
    if not z.size:
        return z
    strides = [s // x.itemsize for s in x.strides]
    layout = (*collapse([x.shape[d] for d in kept], [strides[d] for d in kept]),
              *collapse([x.shape[d] for d in dims], [strides[d] for d in dims]))
    results, n = z.size, x.size // z.size
    across = results > 1 and abs(layout[1][-1]) < abs(layout[3][-1])
    width = pack_width(x.itemsize, x.address % BYTES == 0, layout[1], layout[3][-1]) if len(layout[2]) == 1 else 0
    lanes = lanes_for(results, n, across, max(width, 1))
    length = pieces(pieces(n, parts_for(results, n, lanes)), max(width, 1)) * max(width, 1)     # parts begin at whole packs
    parts = pieces(n, length)
    wide, kind = wide_of(x.dtype)

    def queue(first, n, length, lanes, width, chosen, z):
        parts = pieces(n, length)
        launch(kernel_of(beats, wide, kind, first, width), block_of(results, lanes, parts), THREADS, x.device, results, n, parts,
               length, lanes, int(across), *layout, x.block.of(x.dtype), x.start, chosen.block.of(INT64), z.block.of(INT64))
    if parts == 1:
        queue(True, n, length, lanes, width, z, z)
    else:
        best = empty_array((parts, results), INT64, x.device)
        queue(True, n, length, lanes, width, best, best)
        queue(False, parts, parts, lanes_for(results, parts, across), 0, best, z)
    return z


def argmax(x, dim, keepdim):
    return find_position("argmax", after_all, x, dim, keepdim)


def argmin(x, dim, keepdim):
    return find_position("argmin", before_all, x, dim, keepdim)
