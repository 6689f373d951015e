"""Folding: how many threads make one number of many. The machinery of reduction.py, rows.py and normalization.py.

    one row of 12 numbers, 4 lanes         lane 0   x0 + x4 + x8        step 1: each lane walks, neighbours side by side
                                           lane 1   x1 + x5 + x9
                                           lane 2   x2 + x6 + x10
                                           lane 3   x3 + x7 + x11
                                              \\        /
    in shared memory, by halves            lane 0 += lane 2, lane 1 += lane 3, then lane 0 += lane 1

    idea        `lanes` threads of a block share a result. So short rows share a block, and long ones have it alone
    bytes       each number is read once; what is written is small
    operations  one a number, and log2(lanes) steps through shared memory at the end
    so          the time is that of the memory: reads by neighbouring threads must lie side by side

Note [Lanes along and across]
    Neighbouring threads should read neighbouring numbers. Where the reduced dimension is the one that lies together (rows), lanes
    are neighbours. Where a kept one is (columns), the threads of neighbouring *results* are, and the lanes of a result lie apart.

Note [Two launches]
    A sum of a million numbers by one block would leave the rest of the GPU idle. So the numbers are cut into parts with a block for
    each, and a second launch folds their results. No atomics are used: which number is added to which depends on the shape alone,
    so the result is the same, bit by bit, in every run.

Mirrors ``aten/src/ATen/native/cuda/Reduce.cuh``. The tree is that of M. Harris, "Optimizing Parallel Reduction in CUDA" (2007).
Read next: ``reduction.py``.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise import collapsed, compiled, offset
from minigrad.kernels.cuda.launch import MOST_BLOCKS, THREADS, launch
from minigrad.kernels.cuda.memory import empty_array
from minigrad.kernels.cuda.streams import SIMULATED

__all__ = ["Fold", "block_of", "folded", "lanes_for", "pieces", "planes", "seat", "tree"]

ADJACENT = 2 if SIMULATED else 32       # results whose threads are neighbours, across: a warp reads 32 numbers in one go
ENOUGH = 4 if SIMULATED else 1024       # blocks that keep a GPU busy: some for each of 100 to 200 multiprocessors
LEAST = 4 if SIMULATED else 16          # numbers that a lane has to add before another block is worth its start


@dataclass(frozen=True, eq=False)
class Fold:
    """A way to make one number of many. The accumulators are a tuple of one to three numbers of one type.

    Attributes:
        start: the accumulators of no numbers, of the NumPy type that they are kept in.
        take: (accumulators, number) -> accumulators with it.
        join: (accumulators, others) -> those of both. Associative and commutative, up to rounding.
        done: (accumulators, value) -> the result; `value` is a number that the call supplies.
    """

    start: tuple
    take: object
    join: object
    done: object

    @property
    def kind(self):
        """The NumPy type of the accumulators."""
        return type(self.start[0])


@compiled
def seat(t, lanes, across):
    """(result, lane, step) of thread `t`: which of the results of its block, as which lane, and how far the next lane is from it.

    See Note [Lanes along and across].
    """
    if across:
        each = THREADS // lanes
        return t % each, t // each, each
    return t // lanes, t % lanes, 1


@cache
def planes(count):
    """(get, put) for `count` accumulators that lie in an array `plane` elements apart, the first at `at`."""
    def put(x, at, plane, a):
        for k in range(count):
            x[at + k * plane] = a[k]
    get = [lambda x, at, plane: (x[at],),
           lambda x, at, plane: (x[at], x[at + plane]),
           lambda x, at, plane: (x[at], x[at + plane], x[at + 2 * plane])][count - 1]
    return compiled(get), compiled(put)


@cache
def tree(join, count):
    """A device function that joins the accumulators `a` of the lanes of each result; lane 0 has all of them after it.

    Thread `t` of the block is lane `lane` of `lanes` (a power of 2), which are `step` threads apart; `room` is shared memory. All
    threads of a block have to come here.
    """
    join = compiled(join)
    get, put = planes(count)

    @cuda.jit(device=True)
    def joined(room, t, lane, lanes, step, a):
        put(room, t, THREADS, a)
        half = lanes // 2
        while half > 0:
            cuda.syncthreads()          # the other half has been put
            if lane < half:
                a = join(a, get(room, t + half * step, THREADS))
                put(room, t, THREADS, a)
            half //= 2
        return a
    return joined


@cache
def kernel_of(fold, wide, first, last):
    """The kernel of a launch. `first`: it reads numbers, else accumulators; `last`: it writes results, else accumulators."""
    count, start, kind = len(fold.start), fold.start, from_dtype(np.dtype(fold.kind))
    take, join, done = compiled(fold.take), compiled(fold.join), compiled(fold.done)
    get, put = planes(count)
    joined = tree(fold.join, count)
    room_size = count * THREADS

    def add_number(a, x, at, plane):
        return take(a, wide(x[at]))

    def add_part(a, x, at, plane):
        return join(a, get(x, at, plane))

    def put_result(z, at, plane, a, value):
        z[at] = done(a, value)

    def put_part(z, at, plane, a, value):
        put(z, at, plane, a)

    add, store = compiled(add_number if first else add_part), compiled(put_result if last else put_part)

    @cuda.jit
    def kernel(results, n, parts, lanes, across, outer, outer_steps, inner, inner_steps, x, x0, x_plane, z, z0, z_plane, value):
        room = cuda.shared.array(room_size, kind)
        t = cuda.threadIdx.x
        each = THREADS // lanes                     # results of this block at a time
        mine, lane, step = seat(t, lanes, across)
        groups = (results + each - 1) // each
        length = (n + parts - 1) // parts
        for task in range(cuda.blockIdx.x, groups * parts, cuda.gridDim.x):
            part = task // groups
            result = task % groups * each + mine
            a = start
            if result < results:
                row = x0 + offset(result, outer, outer_steps)
                for i in range(part * length + lane, min((part + 1) * length, n), lanes):
                    a = add(a, x, row + offset(i, inner, inner_steps), x_plane)
            a = joined(room, t, lane, lanes, step, a)
            if lane == 0 and result < results:
                store(z, z0 + part * results + result, z_plane, a, value)
            cuda.syncthreads()                      # before the next task writes into the shared memory
    return kernel


# ---- how it is started ---------------------------------------------------------------------------------------


def power_of_2(n):
    """The largest power of 2 that is not larger."""
    return 1 << (n.bit_length() - 1)


def lanes_for(results, n, across):
    """How many lanes each of `results` folds of `n` numbers gets. See Note [Lanes along and across]."""
    adjacent = power_of_2(min(ADJACENT, results)) if across else 1
    return power_of_2(max(min(n, THREADS // adjacent), 1))


def block_of(results, lanes, parts=1):
    """How many blocks there are for them, each of THREADS threads."""
    return min(pieces(results, THREADS // lanes) * parts, MOST_BLOCKS)


def pieces(n, size):
    """How many pieces of `size` make up `n`."""
    return -(-n // size)


def parts_for(results, n, lanes):
    """How many blocks share a result. See Note [Two launches]."""
    groups = pieces(results, THREADS // lanes)
    parts = max(min(ENOUGH // groups, n // (lanes * LEAST)), 1)
    return pieces(n, pieces(n, parts)) if n else 1


def queue(fold, wide, first, last, results, n, parts, layout, x, x_plane, z, z_plane, value, device):
    """One launch; x and z are (block as a numba array, first element)."""
    outer, outer_steps, inner, inner_steps = layout
    across = results > 1 and abs(outer_steps[-1]) < abs(inner_steps[-1])
    lanes = lanes_for(results, n, across)
    parts = parts_for(results, n, lanes) if parts is None else parts
    kernel = kernel_of(fold, wide, first, last)
    launch(kernel, block_of(results, lanes, parts), THREADS, device, results, n, parts, lanes, int(across), outer, outer_steps,
           inner, inner_steps, *x, x_plane, *z, z_plane, type(fold.start[0].real)(value))


def folded(fold, wide, x, dims, keepdim, dtype, value=0):
    """An array of `dtype`: `fold` of `x` over the dimensions `dims`. `wide` is the type that an element becomes first."""
    dims = [dim % x.ndim for dim in dims]
    kept = [dim for dim in range(x.ndim) if dim not in dims]
    z = empty_array([n if dim in kept else 1 for dim, n in enumerate(x.shape) if keepdim or dim in kept], dtype, x.device)
    if not z.size:
        return z
    strides = [s // x.itemsize for s in x.strides]
    dims.sort(key=lambda dim: -abs(strides[dim]))      # a sum has no order, so the memory's is as good as any
    layout = (*collapsed([x.shape[d] for d in kept], [strides[d] for d in kept]),
              *collapsed([x.shape[d] for d in dims], [strides[d] for d in dims]))
    results, n = z.size, x.size // z.size
    source = x.block.of(x.dtype), x.start
    target = z.block.of(z.dtype), 0
    across = results > 1 and abs(layout[1][-1]) < abs(layout[3][-1])
    parts = parts_for(results, n, lanes_for(results, n, across))
    if parts == 1:
        queue(fold, wide, True, True, results, n, 1, layout, source, 0, target, 0, value, x.device)
        return z
    partial = empty_array((len(fold.start), parts, results), fold.kind, x.device)
    between = partial.block.of(partial.dtype), 0
    queue(fold, wide, True, False, results, n, parts, layout, source, 0, between, parts * results, value, x.device)
    layout = (results,), (1,), (parts,), (results,)
    queue(fold, wide, False, True, results, parts, 1, layout, between, parts * results, target, 0, value, x.device)
    return z
