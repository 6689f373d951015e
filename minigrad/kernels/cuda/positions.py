"""Where the largest and the smallest number are: argmax and argmin.

    lane 0      the best of its numbers and where it is        (3.5, 4)   \\
    lane 1                                                     (3.5, 1)    >  (3.5, 1): of equals the first
    lane 2                                                     (2.0, 2)   /

    idea        the tree of fold.py, on pairs of a number and its position
    bytes       each number is read once
    operations  two comparisons a number: one of them is for nan, which is larger and smaller than all others, as in NumPy
    so          the time is that of the memory

Pairs of a float and an integer need two arrays of shared memory, so they are no `Fold`. A large array takes two launches. The first
leaves the position of each part's best, and the second reads the numbers at those positions again.

Mirrors ``aten/src/ATen/native/cuda/ReduceArgMaxKernel.cu`` and ``SharedReduceOps.h`` (LessOrNan, GreaterOrNan).
Read next: ``scan.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype, types

from minigrad.kernels.cuda.elementwise import collapsed, compiled, offset, plain
from minigrad.kernels.cuda.fold import block_of, lanes_for, parts_for, seat
from minigrad.kernels.cuda.launch import THREADS, launch
from minigrad.kernels.cuda.memory import empty_array
from minigrad.kernels.cuda.missing import missing

__all__ = ["argmax", "argmin"]

INT64 = np.dtype(np.int64)


def after_all(x, y):
    """Whether x beats y in argmax."""
    return x > y or (x != x and y == y)


def before_all(x, y):
    """Whether x beats y in argmin."""
    return x < y or (x != x and y == y)


def wide_of(dtype):
    """(what makes an element comparable, its NumPy type then)."""
    if dtype == np.float16:
        return np.float32, np.float32
    return (np.uint8, np.uint8) if dtype.kind == "b" else (plain, dtype.type)


@cache
def kernel_of(beats, wide, kind, first):
    """The kernel of a launch. `first`: it looks at all numbers, else at those whose positions `chosen` has."""
    beats, number = compiled(beats), from_dtype(np.dtype(kind))

    def all_of_them(chosen, i, result, results):
        return i

    def chosen_ones(chosen, i, result, results):
        return chosen[i * results + result]
    position = compiled(all_of_them if first else chosen_ones)

    @cuda.jit
    def kernel(results, n, parts, lanes, across, outer, outer_steps, inner, inner_steps, x, x0, chosen, z):
        numbers = cuda.shared.array(THREADS, number)
        places = cuda.shared.array(THREADS, types.int64)
        t = cuda.threadIdx.x
        each = THREADS // lanes
        mine, lane, step = seat(t, lanes, across)
        groups = (results + each - 1) // each
        length = (n + parts - 1) // parts
        for task in range(cuda.blockIdx.x, groups * parts, cuda.gridDim.x):
            part = task // groups
            result = task % groups * each + mine
            row = x0 + offset(min(result, results - 1), outer, outer_steps)
            best, place = wide(x[row]), -1                              # -1: there is none yet
            if result < results:
                for i in range(part * length + lane, min((part + 1) * length, n), lanes):
                    at = position(chosen, i, result, results)
                    found = wide(x[row + offset(at, inner, inner_steps)])
                    if place < 0 or beats(found, best):
                        best, place = found, at
            numbers[t], places[t] = best, place
            half = lanes // 2
            while half > 0:
                cuda.syncthreads()
                if lane < half:
                    other, at = numbers[t + half * step], places[t + half * step]
                    equal = not beats(best, other) and not beats(other, best)
                    if at >= 0 and (place < 0 or beats(other, best) or (equal and at < place)):
                        best, place = other, at
                        numbers[t], places[t] = best, place
                half //= 2
            if lane == 0 and result < results:
                z[part * results + result] = place
            cuda.syncthreads()
    return kernel


def position_of(name, beats, x, dim, keepdim):
    """int64 positions of what beats all along `dim`, or in the flattened x for None."""
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
    layout = (*collapsed([x.shape[d] for d in kept], [strides[d] for d in kept]),
              *collapsed([x.shape[d] for d in dims], [strides[d] for d in dims]))
    results, n = z.size, x.size // z.size
    across = results > 1 and abs(layout[1][-1]) < abs(layout[3][-1])
    lanes = lanes_for(results, n, across)
    parts = parts_for(results, n, lanes)
    wide, kind = wide_of(x.dtype)

    def queue(first, n, parts, lanes, chosen, z):
        launch(kernel_of(beats, wide, kind, first), block_of(results, lanes, parts), THREADS, x.device, results, n, parts, lanes,
               int(across), *layout, x.block.of(x.dtype), x.start, chosen.block.of(INT64), z.block.of(INT64))
    if parts == 1:
        queue(True, n, 1, lanes, z, z)
    else:
        best = empty_array((parts, results), INT64, x.device)
        queue(True, n, parts, lanes, best, best)
        queue(False, parts, 1, lanes_for(results, parts, across), best, z)
    return z


def argmax(x, dim, keepdim):
    return position_of("argmax", after_all, x, dim, keepdim)


def argmin(x, dim, keepdim):
    return position_of("argmin", before_all, x, dim, keepdim)
