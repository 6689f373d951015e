"""Folding: how many threads make one number of many. The machinery of reduction.py, rows.py and normalization.py.

    one row of 12 numbers, 4 lanes         lane 0   x0 + x4 + x8        step 1: each lane walks, neighbours side by side
                                           lane 1   x1 + x5 + x9
                                           lane 2   x2 + x6 + x10
                                           lane 3   x3 + x7 + x11
                                              \\        /
    by halves                              lane 0 += lane 2, lane 1 += lane 3, then lane 0 += lane 1

    idea        `lanes` threads of a block share a result. So short rows share a block, and long ones have it alone
    bytes       each number is read once; what is written is small
    operations  one a number, and log2(lanes) steps at the end
    so          the time is that of the memory: reads by neighbouring threads must lie side by side, and many must be under way

Note [Many under way]
    Memory answers after some 700 cycles. An H100 delivers 3 TB/s only while each of its 132 multiprocessors waits for more than
    16 KB at any time. So a lane does not take a number and ask for the next: it asks for AHEAD packs of 16 bytes (vector_io.py), or
    eight numbers where they do not lie together, and then folds all of them by `many`, in pairs of pairs, whose halves do not wait
    for each other. Where there is one dimension to walk along, it does so by additions; for more a number's place takes divisions.

Note [Lanes along and across]
    Neighbouring threads should read neighbouring numbers. Where the reduced dimension is the one that lies together (rows), lanes
    are neighbours. Where a kept one is (columns), the threads of neighbouring *results* are, and the lanes of a result lie apart.
    In a large array a thread has as many neighbouring columns as a pack has numbers: it reads 16 bytes of each row, and keeps
    accumulators for each column (Reduce.cuh: `output_vec_size`).

Note [Shuffles]
    The lanes of a warp can read each other's registers (`shfl_down_sync`). So the halving takes no shared memory and no barrier
    within a warp, and what the warps have goes through shared memory once. Lanes that lie apart, and those of the simulator, whose
    threads have no registers to look into, do all of it in shared memory.

Note [Two launches]
    A sum of a million numbers by one block would leave the rest of the GPU idle. So the numbers are cut into parts with a block for
    each, as many as run in three whole waves, and a second launch folds their results. No atomics are used: which number is added
    to which depends on the shape alone, so the result is the same, bit by bit, in every run.

Note [Runs]
    Over (N, C, H, W) by N, H and W, as a batch norm has it, the numbers of a result lie in N runs of H W. Each run is folded like a
    row, and a second launch folds what the runs gave: there is no division where a number is read.

Mirrors ``aten/src/ATen/native/cuda/Reduce.cuh``. The tree is that of M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), the
shuffles those of J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
Read next: ``reduction.py``.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import collapsed, compiled, offset
from minigrad.kernels.cuda.elementwise.vector_io import BYTES, pack
from minigrad.kernels.cuda.runtime.launch import MOST_BLOCKS, THREADS, WARP, launch
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.runtime.tuples import mapped_with, reader

__all__ = ["ALL", "APART", "BOUNDS", "Fold", "block_of", "folded", "lanes_for", "numbers_ahead", "packed", "parts_for", "pieces",
           "planes", "power_of_2", "seat", "shuffled", "tree", "walker"]

AHEAD = 2 if SIMULATED else 16          # numbers that a lane asks for before it folds the first of them, where they lie in packs
APART = 2 if SIMULATED else 8           # the same, where they do not
ENOUGH = 4 if SIMULATED else 3 * 3 * 132    # blocks that keep a GPU busy: three waves, of three on each of 132 multiprocessors
LEAST = 4 if SIMULATED else 16          # numbers that a lane has to add before another block is worth its start
SHORT, LONG = (4, 1 << 16) if SIMULATED else (32, 1 << 16)      # numbers of a run that is worth being folded by itself
MOST_RUNS = 1 << 12                     # of a result: one block folds what they gave
MOST_BESIDE = 8                         # columns that a thread has: of smaller numbers there would be too many accumulators
LARGE = 64 if SIMULATED else 1 << 22    # numbers from which on the threads of a whole block are neighbours, across
# Registers for three blocks on each multiprocessor: not told, ptxas 13.5 saves them, and waits for a pack before it asks for more.
BOUNDS = {} if SIMULATED else {"launch_bounds": (THREADS, 3)}
ALL = 0xffffffff                        # the lanes of a warp that take part in a shuffle


@dataclass(frozen=True, eq=False)
class Fold:
    """A way to make one number of many. The accumulators are a tuple of one to three numbers of one type.

    Attributes:
        start: the accumulators of no numbers, of the NumPy type that they are kept in.
        take: (accumulators, number) -> accumulators with it.
        join: (accumulators, others) -> those of both. Associative and commutative, up to rounding.
        done: (accumulators, value) -> the result; `value` is a number that the call supplies.
        many: n -> (accumulators, tuple of n numbers) -> accumulators with them.
    """

    start: tuple
    take: object
    join: object
    done: object
    many: object

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


# ---- many numbers at once --------------------------------------------------------------------------------------


def numbers_ahead(width):
    """How many packs of `width` a lane asks for at once. See Note [Many under way]."""
    return APART if width == 1 else max(AHEAD // width, 1)


@cache
def walker(fold, wide, width):
    """A device function: the accumulators `a` with those numbers of a row's part that are the lane's.

    Number i of the row is x[at + i step]. With packs of `width` > 1 numbers, step is 1, and at + begin a multiple of `width`.
    """
    count = numbers_ahead(width)
    several, one, take = fold.many(width * count), fold.many(width), compiled(fold.take)
    read_several, read_one, (load, _) = reader(wide, width, count), reader(wide, width, 1), pack(1)
    packs = width > 1

    @compiled
    def walk(a, x, at, step, begin, stop, lane, lanes):
        jump = lanes * width
        i = begin + lane * width
        while i + (count - 1) * jump + width <= stop:
            a = several(a, read_several(x, at + i * step, jump * step))
            i += count * jump
        while i + width <= stop:
            a = one(a, read_one(x, at + i * step, 0))
            i += jump
        if packs:                                   # what is left of the row is less than a pack
            for i in range(stop - (stop - begin) % width + lane, stop, lanes):
                a = take(a, wide(load(x, at + i)[0]))
        return a
    return walk


@cache
def column_walker(fold, wide, beside):
    """`walker` for `beside` neighbouring columns: `a` are the accumulators of each, x[at + i step] lies in the first of them."""
    count = max(AHEAD // beside, 1)
    several, one = taker(fold, beside, count), taker(fold, beside, 1)
    read_several, read_one = reader(wide, beside, count), reader(wide, beside, 1)

    @compiled
    def walk(a, x, at, step, begin, stop, lane, lanes):
        i = begin + lane
        while i + (count - 1) * lanes < stop:
            a = several(a, read_several(x, at + i * step, lanes * step))
            i += count * lanes
        while i < stop:
            a = one(a, read_one(x, at + i * step, 0))
            i += lanes
        return a
    return walk


def taker(fold, beside, count):
    """A device function (a, p): the accumulators of `beside` columns with the numbers p, which are `count` rows of them."""
    many = fold.many(count)

    def column(j, rows):
        at = j + (rows - 1) * beside
        if rows == 1:
            return compiled(lambda p: (p[at],))
        above = column(j, rows - 1)
        return compiled(lambda p: above(p) + (p[at],))

    def first(n):
        last, numbers = n - 1, column(n - 1, count)
        if n == 1:
            return compiled(lambda a, p: (many(a[0], numbers(p)),))
        before = first(n - 1)
        return compiled(lambda a, p: before(a, p) + (many(a[last], numbers(p)),))
    return first(beside)


# ---- the lanes of a result -------------------------------------------------------------------------------------


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
def shuffled(shuffle, kind):
    """A device function (x, lanes): `shuffle`, one of numba's, for a number of NumPy type `kind`. Registers have 32 or 64 bits."""
    if issubclass(kind, np.complexfloating):
        return compiled(lambda x, lanes: kind(complex(shuffle(ALL, x.real, lanes), shuffle(ALL, x.imag, lanes))))
    if kind is np.bool_:
        return compiled(lambda x, lanes: shuffle(ALL, np.int32(x), lanes) != 0)
    if issubclass(kind, np.integer):
        held = np.int64 if kind(0).itemsize == 8 else np.int32
        return compiled(lambda x, lanes: kind(shuffle(ALL, held(x), lanes)))
    return compiled(lambda x, lanes: shuffle(ALL, x, lanes))


@cache
def tree(join, count, kind=None):
    """A device function that joins the accumulators `a` of the lanes of each result; lane 0 has all of them after it.

    Thread `t` of the block is lane `lane` of `lanes` (a power of 2), which are `step` threads apart; `room` is shared memory. All
    threads of a block have to come here. With a NumPy type `kind`, by Note [Shuffles] where lanes are neighbours.
    """
    join = compiled(join)
    get, put = planes(count)

    @cuda.jit(device=True)
    def in_room(room, t, lane, lanes, step, a):
        put(room, t, THREADS, a)
        half = lanes // 2
        while half > 0:
            cuda.syncthreads()          # the other half has been put
            if lane < half:
                a = join(a, get(room, t + half * step, THREADS))
                put(room, t, THREADS, a)
            half //= 2
        return a

    if SIMULATED or kind is None:
        return in_room
    below = mapped_with(shuffled(cuda.shfl_down_sync, kind), count)

    @cuda.jit(device=True)
    def joined(room, t, lane, lanes, step, a):
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
            if lane < WARP:             # the first warp of the result joins what its warps have
                warps = lanes // WARP
                a = get(room, t // WARP + lane % warps, THREADS)
                half = warps // 2
                while half > 0:
                    a = join(a, below(a, half))
                    half //= 2
        return a
    return joined


@cache
def kernel_of(fold, wide, first, last, width, beside):
    """The kernel of a launch. `first`: it reads numbers, else accumulators; `last`: it writes results, else accumulators.

    It reads packs of `width` numbers along the only inner dimension; with 0, one at a time along any inner dimensions. A thread has
    `beside` neighbouring results; of several it reads packs across.
    """
    count, start, kind = len(fold.start), fold.start, from_dtype(np.dtype(fold.kind))
    take, join, done = compiled(fold.take), compiled(fold.join), compiled(fold.done)
    get, put = planes(count)
    joined = tree(fold.join, count, fold.kind)
    room_size = count * THREADS
    if beside > 1:
        start = (start,) * beside

    def walk_numbers(a, x, row, inner, steps, plane, begin, stop, lane, lanes):
        return walk(a, x, row, steps[0], begin, stop, lane, lanes)

    def step_over_numbers(a, x, row, inner, steps, plane, begin, stop, lane, lanes):
        for i in range(begin + lane, stop, lanes):
            a = take(a, wide(x[row + offset(i, inner, steps)]))
        return a

    def step_over_parts(a, x, row, inner, steps, plane, begin, stop, lane, lanes):
        for i in range(begin + lane, stop, lanes):
            a = join(a, get(x, row + i * steps[0], plane))
        return a

    def put_result(z, at, plane, a, value):
        z[at] = done(a, value)

    def put_part(z, at, plane, a, value):
        put(z, at, plane, a)

    walk = column_walker(fold, wide, beside) if beside > 1 else walker(fold, wide, width) if width else None
    gather = compiled((walk_numbers if width else step_over_numbers) if first else step_over_parts)
    store = compiled(put_result if last else put_part)
    if beside > 1:
        joined, store = of_each(joined, store, beside)

    @cuda.jit(**BOUNDS)
    def kernel(results, n, parts, length, lanes, across, outer, outer_steps, inner, inner_steps, x, x0, x_plane, z, z0, z_plane,
               value):
        room = cuda.shared.array(room_size, kind)
        t = cuda.threadIdx.x
        each = THREADS // lanes                     # results of this block at a time
        mine, lane, step = seat(t, lanes, across)
        groups = (results + each - 1) // each
        for task in range(cuda.blockIdx.x, groups * parts, cuda.gridDim.x):
            part = task // groups if parts > 1 else 0
            result = (task - part * groups) * each + mine
            a = start
            if result < results:
                row = x0 + offset(result, outer, outer_steps)
                begin = part * length
                a = gather(a, x, row, inner, inner_steps, x_plane, begin, min(begin + length, n), lane, lanes)
            a = joined(room, t, lane, lanes, step, a)
            if lane == 0 and result < results:
                store(z, z0 + (part * results + result) * beside, z_plane, a, value)
            cuda.syncthreads()                      # before the next task writes into the shared memory
    return kernel


def of_each(joined, store, n):
    """`joined` and `store` for a tuple of accumulators: one after the other, in the same shared memory."""
    last = n - 1
    if n == 1:
        @cuda.jit(device=True)
        def join_one(room, t, lane, lanes, step, a):
            return (joined(room, t, lane, lanes, step, a[0]),)

        def store_one(z, at, plane, a, value):
            store(z, at, plane, a[0], value)
        return join_one, compiled(store_one)
    join_before, store_before = of_each(joined, store, n - 1)

    @cuda.jit(device=True)
    def join_each(room, t, lane, lanes, step, a):
        before = join_before(room, t, lane, lanes, step, a[:-1])
        cuda.syncthreads()
        return before + (joined(room, t, lane, lanes, step, a[last]),)

    def store_each(z, at, plane, a, value):
        store_before(z, at, plane, a[:-1], value)
        store(z, at + last, plane, a[last], value)
    return join_each, compiled(store_each)


# ---- how it is started ---------------------------------------------------------------------------------------


def power_of_2(n):
    """The largest power of 2 that is not larger."""
    return 1 << (n.bit_length() - 1)


def packed(itemsize, aligned, steps, step):
    """How many numbers of an array a pack has that begins at any of the `steps` of a row, and goes along `step`; 1 if none can."""
    width = max(BYTES // itemsize, 1)
    return width if aligned and step == 1 and all(s % width == 0 for s in steps) else 1


def lanes_for(results, n, across, width=1):
    """How many lanes each of `results` folds of `n` numbers gets. See Note [Lanes along and across]."""
    if across:
        adjacent = power_of_2(min(THREADS if results * n >= LARGE else min(WARP, THREADS // 2), results))
        return power_of_2(max(min(n, THREADS // adjacent), 1))
    return power_of_2(max(min(n // width, WARP, THREADS), min(n // (width * numbers_ahead(width)), THREADS), 1))


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


def queue(fold, wide, first, last, folds, n, length, layout, x, x_plane, z, z_plane, value, device, width, beside, lanes, across):
    """One launch; x and z are (block as a numba array, first element), `length` the numbers of a part."""
    parts = max(pieces(n, length), 1)
    launch(kernel_of(fold, wide, first, last, width, beside), block_of(folds, lanes, parts), THREADS, device, folds, n, parts,
           length, lanes, int(across), *layout, *x, x_plane, *z, z_plane, type(fold.start[0].real)(value))


class Plan(NamedTuple):
    """How an array of some shape is folded over some dimensions."""

    shape: tuple        # of the result
    results: int
    folds: int          # of the first launch: several for a result that has several runs, one for columns that one thread has
    n: int              # numbers of a fold
    length: int         # numbers of a part
    parts: int          # of a result; a second launch joins them, if there are more than one
    layout: tuple
    width: int          # of packs
    beside: int         # columns that a thread has
    lanes: int
    across: bool


def columns_of(itemsize, aligned, outer, outer_steps, inner_steps):
    """How many neighbouring results a thread can read at once; 1 where they do not lie together, or are not whole packs."""
    width = packed(itemsize, aligned, (*outer_steps[:-1], *inner_steps), outer_steps[-1])
    return width if width <= MOST_BESIDE and outer[-1] % width == 0 else 1


@lru_cache(4096)
def planned(shape, strides, itemsize, aligned, dims, keepdim):
    """The `Plan` for an array of this shape, with strides in bytes; `aligned`: whether packs may begin at its first element."""
    dims = [dim % len(shape) for dim in dims]
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    result = tuple([n if dim in kept else 1 for dim, n in enumerate(shape) if keepdim or dim in kept])
    results, strides = prod(result), [s // itemsize for s in strides]
    if not results:
        return Plan(result, 0, 0, 0, 0, 0, (), 0, 1, 0, False)
    dims.sort(key=lambda dim: -abs(strides[dim]))      # a sum has no order, so the memory's is as good as any
    outer, outer_steps = collapsed([shape[d] for d in kept], [strides[d] for d in kept])
    inner, inner_steps = collapsed([shape[d] for d in dims], [strides[d] for d in dims])
    n = prod(shape) // results
    runs, folds, length = 1, results, n                 # runs of a result, all runs, and their length
    if (len(inner) > 1 and SHORT <= inner[-1] <= LONG and n // inner[-1] <= MOST_RUNS
            and (results == 1 or abs(inner_steps[-1]) <= abs(outer_steps[-1]))):
        runs, n = n // inner[-1], inner[-1]             # see Note [Runs]
        folds, length = runs * results, n
        outer, outer_steps = inner[:-1] + outer, inner_steps[:-1] + outer_steps
        inner, inner_steps = inner[-1:], inner_steps[-1:]
    across = folds > 1 and abs(outer_steps[-1]) < abs(inner_steps[-1])
    width = packed(itemsize, aligned, outer_steps, inner_steps[-1]) if len(inner) == 1 else 0
    beside = columns_of(itemsize, aligned, outer, outer_steps, inner_steps) if width and across and folds * n >= LARGE else 1
    if beside > 1:
        folds, outer, outer_steps = folds // beside, (*outer[:-1], outer[-1] // beside), (*outer_steps[:-1], beside)
    lanes = lanes_for(folds, n, across, max(width, 1))
    if runs == 1:
        length = pieces(pieces(n, parts_for(folds, n, lanes)), max(width, 1)) * max(width, 1)     # parts begin at whole packs
    parts = runs * max(pieces(n, max(length, 1)), 1)
    return Plan(result, results, folds, n, length, parts, (outer, outer_steps, inner, inner_steps), width, beside, lanes, across)


def folded(fold, wide, x, dims, keepdim, dtype, value=0):
    """An array of `dtype`: `fold` of `x` over the dimensions `dims`. `wide` is the type that an element becomes first."""
    plan = planned(x.shape, x.strides, x.itemsize, x.address % BYTES == 0, tuple(dims), keepdim)
    results, n, parts = plan.results, plan.n, plan.parts
    z = empty_array(plan.shape, dtype, x.device)
    if not results:
        return z
    source = x.block.of(x.dtype), x.start
    target = z.block.of(z.dtype), 0
    how = plan.width, plan.beside, plan.lanes, plan.across
    if parts == 1:
        queue(fold, wide, True, True, plan.folds, n, max(n, 1), plan.layout, source, 0, target, 0, value, x.device, *how)
        return z
    partial = empty_array((len(fold.start), parts, results), fold.kind, x.device)
    between = partial.block.of(partial.dtype), 0
    plane = parts * results
    queue(fold, wide, True, False, plan.folds, n, plan.length, plan.layout, source, 0, between, plane, value, x.device, *how)
    layout, across = ((results,), (1,), (parts,), (results,)), results > 1
    queue(fold, wide, False, True, results, parts, parts, layout, between, plane, target, 0, value, x.device, 0, 1,
          lanes_for(results, parts, across), across)
    return z
