"""Lanes: how the threads of a block share a result. Used by every kernel that makes one number of many.

    one row of 12 numbers, 4 lanes         lane 0   x0 + x4 + x8        step 1: each lane folds its own numbers
                                           lane 1   x1 + x5 + x9
                                           lane 2   x2 + x6 + x10
                                           lane 3   x3 + x7 + x11
                                              \\        /
    step 2: by halves                      lane 0 += lane 2, lane 1 += lane 3, then lane 0 += lane 1

The *lanes* of a result are the threads of a block that work on it. Short rows share a block; a long row has a block for itself.
The number of lanes is always a power of 2. This file chooses that number (`lanes_for`, `parts_for`), and has step 2 (`tree`).
Step 1 is in reduce.py, and differs in rows.py and argreduce.py.

Note [Many under way]
    Memory answers after about 700 cycles. An H100 delivers 3 TB/s only while each of its 132 multiprocessors waits for more than
    16 KB at any time. So a lane does not read one number and then ask for the next. It asks for AHEAD numbers in packs of 16 bytes
    (vector_io.py), or for APART numbers that are not contiguous. Then it folds all of them by `many`, in pairs of pairs: the two
    halves do not wait for each other. Along a single dimension it finds its numbers by additions; along several, by divisions.

Note [Lanes along and across]
    Neighbouring threads should read neighbouring numbers. If the reduced dimension is contiguous (rows), the lanes of a result are
    neighbouring threads. If a kept dimension is contiguous (columns), neighbouring threads work on neighbouring *results*, and the
    lanes of a result are apart. In a large array each thread has as many neighbouring columns as a pack has numbers: it reads
    16 bytes of each row, and keeps accumulators for each column (Reduce.cuh: `output_vec_size`).

Note [Shuffles]
    The lanes of a warp can read each other's registers (`shfl_down_sync`). So within a warp the halving needs no shared memory and
    no barrier, and the results of the warps go through shared memory once. Lanes that are apart do all of it in shared memory. So
    do the lanes of the simulator, whose threads have no registers.

Note [Two launches]
    If one block added a million numbers, the rest of the GPU would be idle. So the numbers are divided into parts, with a block for
    each: as many as run in three whole waves. A second launch folds the results of the parts. There are no atomics: the order of
    the additions depends on the shape alone, so the result is the same, bit by bit, in every run.

Mirrors ``aten/src/ATen/native/cuda/Reduce.cuh``. The tree is from M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), the
shuffles are from J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
Read next: ``reduce.py``.
"""

from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import device_function
from minigrad.kernels.cuda.elementwise.vector_io import BYTES
from minigrad.kernels.cuda.runtime.launch import MOST_BLOCKS, THREADS, WARP
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.runtime.tuples import map_each_with

__all__ = [
    "AHEAD",
    "ALL",
    "APART",
    "BOUNDS",
    "ENOUGH",
    "LARGE",
    "block_of",
    "lanes_for",
    "make_shuffle",
    "numbers_ahead",
    "pack_width",
    "parts_for",
    "pieces",
    "planes",
    "power_of_2",
    "seat",
    "tree",
]

AHEAD = 2 if SIMULATED else 16          # numbers in packs that a lane asks for before it folds the first of them
APART = 2 if SIMULATED else 8           # the same, for numbers that are not contiguous
ENOUGH = 4 if SIMULATED else 3 * 3 * 132    # blocks that keep a GPU busy: three waves, of three on each of 132 multiprocessors
LEAST = 4 if SIMULATED else 16          # numbers that a lane should have before another block is worth its start
LARGE = 64 if SIMULATED else 1 << 22    # numbers of an array from which on all threads of a block read neighbouring columns
# Registers for three blocks on each multiprocessor. Without it, ptxas 13.5 saves registers, and a thread waits for each pack.
BOUNDS = {} if SIMULATED else {"launch_bounds": (THREADS, 3)}
ALL = 0xffffffff                        # the lanes of a warp that take part in a shuffle


@device_function
def seat(t, lanes, across):
    """The place of thread `t`: (result of the block, lane of this result, threads from one lane to the next).

    See Note [Lanes along and across].
    """
    if across:
        each = THREADS // lanes
        return t % each, t // each, each
    return t // lanes, t % lanes, 1


# ---- how many lanes, and how many blocks ----------------------------------------------------------------------


def power_of_2(n):
    """The largest power of 2 that is not larger than `n`."""
    return 1 << (n.bit_length() - 1)


def pieces(n, size):
    """How many pieces of `size` cover `n`: n / size, rounded up."""
    return -(-n // size)


def pack_width(itemsize, aligned, steps, step):
    """How many numbers a pack has, for reading along `step` from rows that are `steps` apart; 1 if packs cannot be read."""
    width = max(BYTES // itemsize, 1)
    return width if aligned and step == 1 and all(s % width == 0 for s in steps) else 1


def numbers_ahead(width):
    """How many packs of `width` numbers a lane asks for together. See Note [Many under way]."""
    return APART if width == 1 else max(AHEAD // width, 1)


def lanes_for(results, n, across, width=1):
    """How many lanes each of `results` folds of `n` numbers gets. See Note [Lanes along and across]."""
    if across:
        adjacent = power_of_2(min(THREADS if results * n >= LARGE else min(WARP, THREADS // 2), results))
        return power_of_2(max(min(n, THREADS // adjacent), 1))
    return power_of_2(max(min(n // width, WARP, THREADS), min(n // (width * numbers_ahead(width)), THREADS), 1))


def block_of(results, lanes, parts=1):
    """How many blocks of THREADS threads a launch has, for `lanes` lanes a result and `parts` parts."""
    return min(pieces(results, THREADS // lanes) * parts, MOST_BLOCKS)


def parts_for(results, n, lanes):
    """How many blocks share a result. See Note [Two launches]."""
    groups = pieces(results, THREADS // lanes)
    parts = max(min(ENOUGH // groups, n // (lanes * LEAST)), 1)
    return pieces(n, pieces(n, parts)) if n else 1


# ---- joining the accumulators of the lanes --------------------------------------------------------------------


@cache
def planes(count):
    """Device functions (get, put) for `count` accumulators in an array, `plane` elements apart, the first at `at`."""
    def put(x, at, plane, a):
        for k in range(count):
            x[at + k * plane] = a[k]
    get = [lambda x, at, plane: (x[at],),
           lambda x, at, plane: (x[at], x[at + plane]),
           lambda x, at, plane: (x[at], x[at + plane], x[at + 2 * plane])][count - 1]
    return device_function(get), device_function(put)


@cache
def make_shuffle(shuffle, kind):
    """A device function (x, lanes): numba's `shuffle`, which moves 32 or 64 bits, for a number of NumPy type `kind`."""
    if issubclass(kind, np.complexfloating):
        return device_function(lambda x, lanes: kind(complex(shuffle(ALL, x.real, lanes), shuffle(ALL, x.imag, lanes))))
    if kind is np.bool_:
        return device_function(lambda x, lanes: shuffle(ALL, np.int32(x), lanes) != 0)
    if issubclass(kind, np.integer):
        held = np.int64 if kind(0).itemsize == 8 else np.int32
        return device_function(lambda x, lanes: kind(shuffle(ALL, held(x), lanes)))
    return device_function(lambda x, lanes: shuffle(ALL, x, lanes))


@cache
def tree(join, count, kind=None):
    """A device function that joins the accumulators `a` of the lanes of each result; it returns the result to lane 0.

    Thread `t` of the block is lane `lane` of `lanes` (a power of 2), which are `step` threads apart; `room` is shared memory. All
    threads of the block must call it. If the NumPy type `kind` is given, neighbouring lanes use shuffles: see Note [Shuffles].
    """
    join = device_function(join)
    get, put = planes(count)

    @cuda.jit(device=True)
    def in_room(room, t, lane, lanes, step, a):
        put(room, t, THREADS, a)
        half = lanes // 2
        while half > 0:
            cuda.syncthreads()          # the other half has written
            if lane < half:
                a = join(a, get(room, t + half * step, THREADS))
                put(room, t, THREADS, a)
            half //= 2
        return a

    if SIMULATED or kind is None:
        return in_room
    below = map_each_with(make_shuffle(cuda.shfl_down_sync, kind), count)

    @cuda.jit(device=True)
    def join_lanes(room, t, lane, lanes, step, a):
        if step > 1:
            return in_room(room, t, lane, lanes, step, a)
        half = min(lanes, WARP) // 2
        while half > 0:
            a = join(a, below(a, half))
            half //= 2
        if lanes > WARP:
            if lane % WARP == 0:
                put(room, t // WARP, THREADS, a)
            cuda.syncthreads()
            if lane < WARP:             # the first warp joins the accumulators of all warps
                warps = lanes // WARP
                a = get(room, t // WARP + lane % warps, THREADS)
                half = warps // 2
                while half > 0:
                    a = join(a, below(a, half))
                    half //= 2
        return a
    return join_lanes
