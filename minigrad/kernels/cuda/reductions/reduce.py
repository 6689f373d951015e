"""Reductions of one array over any dimensions: a `Fold` says what is computed, a `Plan` how the threads share the work.

    fold_array(sums(np.float32), plain, x, (1,), ...)       z[i] = Σ_j x[i, j]

    idea        the lanes of a result (lanes.py) each fold some of its numbers, and join their accumulators in a tree
    bytes       each number is read once; what is written is small
    operations  one per number, and log2(lanes) steps at the end
    so          memory limits it: neighbouring threads must read neighbouring numbers, and many reads must be under way

Note [Runs]
    A batch norm reduces (N, C, H, W) over N, H and W. The numbers of a result are then in N runs of H W contiguous ones. Each run
    is folded like a row, and a second launch folds the results of the runs: no division is needed to find a number.

Mirrors ``aten/src/ATen/native/cuda/Reduce.cuh``. Read next: ``reduction.py``.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import collapse, device_function, offset
from minigrad.kernels.cuda.elementwise.vector_io import BYTES, pack
from minigrad.kernels.cuda.reductions.lanes import (
    AHEAD,
    BOUNDS,
    LARGE,
    block_of,
    lanes_for,
    numbers_ahead,
    pack_width,
    parts_for,
    pieces,
    planes,
    seat,
    tree,
)
from minigrad.kernels.cuda.runtime.launch import THREADS, launch
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.runtime.tuples import reader

__all__ = ["Fold", "fold_array", "walker"]

SHORT, LONG = (4, 1 << 16) if SIMULATED else (32, 1 << 16)      # lengths of runs that are worth a fold of their own
MOST_RUNS = 1 << 12                     # of a result: one block folds their results
MOST_BESIDE = 8                         # columns that a thread has: small dtypes would have too many accumulators


@dataclass(frozen=True, eq=False)
class Fold:
    """A way to make one number of many. Its state, the accumulators, is a tuple of one to three numbers of one type.

    Attributes:
        start: the accumulators before the first number; their NumPy type is that of all accumulators.
        take: (accumulators, number) -> the accumulators with this number.
        join: (accumulators, others) -> the accumulators of both. Associative and commutative, up to rounding.
        done: (accumulators, value) -> the result; `value` is an argument of the kernel.
        many: n -> a function (accumulators, tuple of n numbers) -> the accumulators with these numbers.
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


# ---- the numbers of a lane --------------------------------------------------------------------------------------


@cache
def walker(fold, wide, width):
    """A device function that takes the numbers of one lane, from a part of a row, into the accumulators `a`.

    Number i of the row is x[at + i step]. If `width` > 1, it reads packs: step is 1, and at + begin a multiple of `width`.
    """
    count = numbers_ahead(width)
    several, one, take = fold.many(width * count), fold.many(width), device_function(fold.take)
    read_several, read_one, (load, _) = reader(wide, width, count), reader(wide, width, 1), pack(1)
    packs = width > 1

    @device_function
    def walk(a, x, at, step, begin, stop, lane, lanes):
        jump = lanes * width
        i = begin + lane * width
        while i + (count - 1) * jump + width <= stop:
            a = several(a, read_several(x, at + i * step, jump * step))
            i += count * jump
        while i + width <= stop:
            a = one(a, read_one(x, at + i * step, 0))
            i += jump
        if packs:                                   # the rest of the row is less than a pack
            for i in range(stop - (stop - begin) % width + lane, stop, lanes):
                a = take(a, wide(load(x, at + i)[0]))
        return a
    return walk


@cache
def column_walker(fold, wide, beside):
    """`walker` for `beside` neighbouring columns: `a` has the accumulators of each; x[at + i step] is in the first column."""
    count = max(AHEAD // beside, 1)
    several, one = taker(fold, beside, count), taker(fold, beside, 1)
    read_several, read_one = reader(wide, beside, count), reader(wide, beside, 1)

    @device_function
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
    """A device function (a, p) that takes p, `count` rows of `beside` columns, into the accumulators of the columns."""
    many = fold.many(count)

    def column(j, rows):
        at = j + (rows - 1) * beside
        if rows == 1:
            return device_function(lambda p: (p[at],))
        above = column(j, rows - 1)
        return device_function(lambda p: above(p) + (p[at],))

    def first(n):
        last, numbers = n - 1, column(n - 1, count)
        if n == 1:
            return device_function(lambda a, p: (many(a[0], numbers(p)),))
        before = first(n - 1)
        return device_function(lambda a, p: before(a, p) + (many(a[last], numbers(p)),))
    return first(beside)


# ---- the kernel -------------------------------------------------------------------------------------------------


@cache
def kernel_of(fold, wide, first, last, width, beside):
    """The kernel of one launch.

    Args:
        fold, wide: the `Fold`, and the type of its numbers.
        first: whether it is the first launch, which reads numbers; a second one reads accumulators.
        last: whether it is the last launch, which writes results; else it writes accumulators.
        width: how many numbers of a pack it reads along the only inner dimension; 0 for one at a time, along any inner dimensions.
        beside: how many neighbouring results a thread has; for more than 1 it reads packs across.
    """
    count, start, kind = len(fold.start), fold.start, from_dtype(np.dtype(fold.kind))
    take, join, done = device_function(fold.take), device_function(fold.join), device_function(fold.done)
    get, put = planes(count)
    join_lanes = tree(fold.join, count, fold.kind)
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
    gather = device_function((walk_numbers if width else step_over_numbers) if first else step_over_parts)
    store = device_function(put_result if last else put_part)
    if beside > 1:
        join_lanes, store = of_each(join_lanes, store, beside)

    @cuda.jit(**BOUNDS)
    def kernel(results, n, parts, length, lanes, across, outer, outer_steps, inner, inner_steps, x, x0, x_plane, z, z0, z_plane,
               value):
        room = cuda.shared.array(room_size, kind)
        t = cuda.threadIdx.x
        each = THREADS // lanes                     # results that a block computes together
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
            a = join_lanes(room, t, lane, lanes, step, a)
            if lane == 0 and result < results:
                store(z, z0 + (part * results + result) * beside, z_plane, a, value)
            cuda.syncthreads()                      # before the next task writes to shared memory
    return kernel


def of_each(join_lanes, store, n):
    """`join_lanes` and `store` for n results of a thread: one after the other, in the same shared memory."""
    last = n - 1
    if n == 1:
        @cuda.jit(device=True)
        def join_one(room, t, lane, lanes, step, a):
            return (join_lanes(room, t, lane, lanes, step, a[0]),)

        def store_one(z, at, plane, a, value):
            store(z, at, plane, a[0], value)
        return join_one, device_function(store_one)
    join_before, store_before = of_each(join_lanes, store, n - 1)

    @cuda.jit(device=True)
    def join_each(room, t, lane, lanes, step, a):
        before = join_before(room, t, lane, lanes, step, a[:-1])
        cuda.syncthreads()
        return before + (join_lanes(room, t, lane, lanes, step, a[last]),)

    def store_each(z, at, plane, a, value):
        store_before(z, at, plane, a[:-1], value)
        store(z, at + last, plane, a[last], value)
    return join_each, device_function(store_each)


# ---- how it is started ---------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """How the threads share the reduction of an array."""

    shape: tuple        # shape of the result
    results: int
    folds: int          # of the first launch: more than results if they have runs, fewer if a thread has several columns
    n: int              # numbers of a fold
    length: int         # numbers of a part
    parts: int          # of a result; if there are more than one, a second launch joins them
    layout: tuple
    width: int          # numbers of a pack
    beside: int         # columns that a thread has
    lanes: int
    across: bool


def columns_of(itemsize, aligned, outer, outer_steps, inner_steps):
    """How many neighbouring results a thread can read in a pack; 1 if they are not contiguous, or not whole packs."""
    width = pack_width(itemsize, aligned, (*outer_steps[:-1], *inner_steps), outer_steps[-1])
    return width if width <= MOST_BESIDE and outer[-1] % width == 0 else 1


@lru_cache(4096)
def make_plan(shape, strides, itemsize, aligned, dims, keepdim):
    """The `Plan` for an array of this shape, with strides in bytes; `aligned`: whether its address is a multiple of 16."""
    dims = [dim % len(shape) for dim in dims]
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    result = tuple([n if dim in kept else 1 for dim, n in enumerate(shape) if keepdim or dim in kept])
    results, strides = prod(result), [s // itemsize for s in strides]
    if not results:
        return Plan(result, 0, 0, 0, 0, 0, (), 0, 1, 0, False)
    dims.sort(key=lambda dim: -abs(strides[dim]))      # a fold may take its numbers in any order, so in that of the memory
    outer, outer_steps = collapse([shape[d] for d in kept], [strides[d] for d in kept])
    inner, inner_steps = collapse([shape[d] for d in dims], [strides[d] for d in dims])
    n = prod(shape) // results
    runs, folds, length = 1, results, n                 # runs of a result, number of all runs, length of a part
    if (len(inner) > 1 and SHORT <= inner[-1] <= LONG and n // inner[-1] <= MOST_RUNS
            and (results == 1 or abs(inner_steps[-1]) <= abs(outer_steps[-1]))):
        runs, n = n // inner[-1], inner[-1]             # see Note [Runs]
        folds, length = runs * results, n
        outer, outer_steps = inner[:-1] + outer, inner_steps[:-1] + outer_steps
        inner, inner_steps = inner[-1:], inner_steps[-1:]
    across = folds > 1 and abs(outer_steps[-1]) < abs(inner_steps[-1])
    width = pack_width(itemsize, aligned, outer_steps, inner_steps[-1]) if len(inner) == 1 else 0
    beside = columns_of(itemsize, aligned, outer, outer_steps, inner_steps) if width and across and folds * n >= LARGE else 1
    if beside > 1:
        folds, outer, outer_steps = folds // beside, (*outer[:-1], outer[-1] // beside), (*outer_steps[:-1], beside)
    lanes = lanes_for(folds, n, across, max(width, 1))
    if runs == 1:
        length = pieces(pieces(n, parts_for(folds, n, lanes)), max(width, 1)) * max(width, 1)     # parts begin at whole packs
    parts = runs * max(pieces(n, max(length, 1)), 1)
    return Plan(result, results, folds, n, length, parts, (outer, outer_steps, inner, inner_steps), width, beside, lanes, across)


def queue(fold, wide, first, last, folds, n, length, layout, x, x_plane, z, z_plane, value, device, width, beside, lanes, across):
    """Queue one launch; x and z are (block as a kernel takes it, first element), `length` is the length of a part."""
    parts = max(pieces(n, length), 1)
    launch(kernel_of(fold, wide, first, last, width, beside), block_of(folds, lanes, parts), THREADS, device, folds, n, parts,
           length, lanes, int(across), *layout, *x, x_plane, *z, z_plane, type(fold.start[0].real)(value))


def fold_array(fold, wide, x, dims, keepdim, dtype, value=0):
    """Return the `fold` of `x` over some dimensions.

    Args:
        fold: the `Fold`.
        wide: the type in which its numbers are computed.
        x: the array.
        dims, keepdim: the dimensions, and whether the result keeps them with size 1.
        dtype: of the result.
        value: the argument of `fold.done`.
    """
    plan = make_plan(x.shape, x.strides, x.itemsize, x.address % BYTES == 0, tuple(dims), keepdim)
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
