"""Scans: cumsum, cumprod, cummax and cummin, logcumsumexp; and recurrences.

    x                   3   1   4   1   5   9   2   6
    add the neighbour   3   4   5   5   6  14  11   8       each adds what lies 1 before it
    add 2 before        3   4   8   9  11  19  17  22       then 2 before, 4 before: after log2(n) steps all is added
    add 4 before        3   4   8   9  14  23  25  31

    idea        each lane adds up RUN numbers of its own, the totals of the lanes are scanned so in shared memory, and each lane
                walks over its numbers again, from the total before them. The last total is carried to the next tile of the row
    bytes       each number is read once from memory (again from the cache) and written once; twice both, where a row is cut into
                parts
    operations  2 a number, and log2(lanes) a lane
    so          the time is that of the memory. Down the columns of a matrix there is nothing to share: a thread walks down each,
                and its neighbours walk beside it
    measured    43% of what a copy moves on an H100, for rows of 16384

A recurrence, z[k] = a[k] z[k - 1] + b[k], is a scan too, of pairs (the product of a's, what they make of 0). But such a product
overflows where no z does, and 0 times that is nan. So one thread walks along each row: it is right, and slow where rows are few.

Note [Scans in parts]
    One long row alone would keep one block busy. So it is cut into parts: a first launch scans them, each on its own, and the last
    number of each is its total. The totals are scanned, and a last launch joins each part's numbers with the total before it. This
    is *scan-then-propagate*; the decoupled look-back of D. Merrill and M. Garland (2016) saves one pass, and needs blocks that
    wait for one another.

The tile's scan is that of W. D. Hillis and G. L. Steele, "Data Parallel Algorithms" (1986).
Mirrors ``aten/src/ATen/native/cuda/ScanUtils.cuh``. Read next: ``rows.py``.
"""

from functools import cache
from math import prod

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import compiled, plain
from minigrad.kernels.cuda.elementwise.expressions import larger, smaller
from minigrad.kernels.cuda.index.joining import flip
from minigrad.kernels.cuda.reductions.reduce import block_of, lanes_for, parts_for, pieces
from minigrad.kernels.cuda.reductions.reduction import both, either, wide_of
from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.launch import THREADS, launch, launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.shape.layout import cast, row_major
from minigrad.kernels.numpy_ref.precision import WIDER

__all__ = ["cumextremum", "cumprod", "cumsum", "logcumsumexp", "recurrence"]

INT64 = np.dtype(np.int64)
RUN = 16 if SIMULATED else 4            # numbers that a lane adds up by itself: threads wait for each other less often


@cache
def along(join, wide, kind):
    """The kernel that scans parts of rows whose numbers lie side by side."""
    join, number = compiled(join), from_dtype(np.dtype(kind))
    settle = kind if issubclass(kind, np.integer) else plain        # numba makes int64 of small integers

    @cuda.jit
    def kernel(rows, n, parts, lanes, x, x0, z):
        totals = cuda.shared.array(THREADS, number)
        t = cuda.threadIdx.x
        each = THREADS // lanes                                     # rows of this block at a time
        lane = t % lanes
        groups = (rows + each - 1) // each
        length = (n + parts - 1) // parts
        for task in range(cuda.blockIdx.x, groups * parts, cuda.gridDim.x):
            row = task % groups * each + t // lanes
            begin = task // groups * length
            end = min(begin + length, n) if row < rows else begin
            carry = wide(x[x0])                                     # of the right type, and replaced before it counts
            for first in range(begin, min(begin + length, n), lanes * RUN):
                low = first + lane * RUN
                high = min(low + RUN, end)
                total = wide(x[x0 + row * n + low if low < high else x0])
                for i in range(low + 1, high):
                    total = settle(join(total, wide(x[x0 + row * n + i])))
                totals[t] = total
                apart = 1
                while apart < lanes:
                    cuda.syncthreads()
                    before = totals[t - apart] if lane >= apart else total
                    cuda.syncthreads()                              # all have read, and may write
                    if lane >= apart:
                        total = settle(join(before, total))
                        totals[t] = total
                    apart *= 2
                cuda.syncthreads()
                running = totals[t - 1] if lane > 0 else carry      # of all before `low`, in this part
                if lane > 0 and first > begin:
                    running = settle(join(carry, running))
                for i in range(low, high):
                    a = wide(x[x0 + row * n + i])
                    running = settle(join(running, a)) if i > begin else a
                    z[row * n + i] = running
                last = totals[t - lane + lanes - 1]
                carry = settle(join(carry, last)) if first > begin else last
                cuda.syncthreads()                                  # before the next tile overwrites the totals
    return kernel


@cache
def down(join, wide, kind):
    """The kernel that scans parts of columns: number i of column c in matrix b is (b n + i) inner + c."""
    join = compiled(join)
    settle = kind if issubclass(kind, np.integer) else plain

    @cuda.jit
    def kernel(columns, n, inner, parts, x, x0, z):
        length = (n + parts - 1) // parts
        for task in range(cuda.grid(1), columns * parts, cuda.gridsize(1)):
            column, begin = task % columns, task // columns * length
            base = column // inner * n * inner + column % inner
            running = wide(x[x0 + base])
            for i in range(begin, min(begin + length, n)):
                a = wide(x[x0 + base + i * inner])
                running = settle(join(running, a)) if i > begin else a
                z[base + i * inner] = running
    return kernel


@cache
def propagating(join, kind):
    """The kernel that joins the numbers of each part but the first with the last number before it, which `totals` has."""
    join = compiled(join)
    settle = kind if issubclass(kind, np.integer) else plain

    @cuda.jit
    def kernel(size, n, inner, parts, length, totals, z):
        for at in range(cuda.grid(1), size, cuda.gridsize(1)):
            part = at // inner % n // length
            if part > 0:
                before = (at // inner // n * parts + part - 1) * inner + at % inner
                z[at] = settle(join(totals[before], z[at]))
    return kernel


@cuda.jit
def ends(size, n, inner, parts, length, z, totals):
    """The last number of each part."""
    for at in range(cuda.grid(1), size, cuda.gridsize(1)):
        i = min((at // inner % parts + 1) * length, n) - 1
        totals[at] = z[(at // inner // parts * n + i) * inner + at % inner]


def extent(x, dim):
    """(the length of `dim`, how many numbers lie between its neighbours) of a row-major x."""
    return (x.shape[dim], prod(x.shape[dim % x.ndim + 1:])) if x.ndim else (1, 1)


def scanned(join, x, dim):
    """The running `join` along `dim` of x, of the type that x is computed in."""
    x = row_major(x)
    wide, kind = wide_of(x.dtype)
    z = empty_array(x.shape, kind, x.device)
    if not x.size:
        return z
    n, inner = extent(x, dim)
    rows, out = x.size // n, z.block.of(z.dtype)
    if inner == 1:
        lanes = lanes_for(rows, pieces(n, RUN), False)
        parts = parts_for(rows, n, lanes)
        launch(along(join, wide, kind), block_of(rows, lanes, parts), THREADS, x.device, rows, n, parts, lanes,
               x.block.of(x.dtype), x.start, out)
    else:
        parts = parts_for(rows, n, 1)
        launch_each(down(join, wide, kind), rows * parts, x.device, rows, n, inner, parts, x.block.of(x.dtype), x.start, out)
    if parts > 1:                                   # see Note [Scans in parts]
        length = pieces(n, parts)
        totals = empty_array((rows // inner, parts, inner), kind, x.device)
        launch_each(ends, totals.size, x.device, totals.size, n, inner, parts, length, out, totals.block.of(z.dtype))
        totals = scanned(join, totals, 1)
        launch_each(propagating(join, kind), z.size, x.device, z.size, n, inner, parts, length, totals.block.of(z.dtype), out)
    return z


# ---- what is joined -----------------------------------------------------------------------------------------


def plus(x, y):
    return x + y


def times(x, y):
    return x * y


def log_of_sum(x, y):
    """log(exp x + exp y). The larger is drawn out, unless it is infinite or nan, when it is the result."""
    most, least = (x, y) if x > y or x != x else (y, x)
    return most + m.log1p(m.exp(least - most)) if m.isfinite(most) else most


def cumsum(x, dim, reverse):
    if reverse and x.ndim:
        return flip(cumsum(flip(x, dim), dim, False), dim)
    return cast(scanned(either if x.dtype.kind == "b" else plus, x, dim), x.dtype)


def cumprod(x, dim):
    return cast(scanned(both if x.dtype.kind == "b" else times, x, dim), x.dtype)


def logcumsumexp(x, dim):
    if x.dtype.kind != "f":
        raise missing("logcumsumexp", x.dtype)
    return cast(scanned(log_of_sum, x, dim), x.dtype)


@cache
def recurrent(wide):
    """The kernel that walks along rows, a thread for each; number i of row c in matrix b is (b n + i) inner + c."""
    @cuda.jit
    def kernel(rows, n, inner, reverse, x, x0, y, y0, z):
        for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
            base = row // inner * n * inner + row % inner
            running = wide(y[y0 + base])                            # of the right type, and replaced before it counts
            for i in range(n):
                at = base + (n - 1 - i if reverse else i) * inner
                a = wide(x[x0 + at])
                running = a * running + wide(y[y0 + at]) if i > 0 and a != 0 else wide(y[y0 + at])
                z[at] = running
    return kernel


def recurrence(x, y, dim, reverse):
    x, y = row_major(x), row_major(y)
    z = empty_array(x.shape, x.dtype, x.device)
    if x.size:
        n, inner = extent(x, dim)
        wide = WIDER.get(x.dtype.char, x.dtype).type
        launch_each(recurrent(wide), x.size // n, x.device, x.size // n, n, inner, reverse, x.block.of(x.dtype), x.start,
                    y.block.of(x.dtype), y.start, z.block.of(x.dtype))
    return z


@cuda.jit
def places_of_best(size, n, inner, x, x0, best, z):
    """Where x is the best so far: its position along the dimension, else 0."""
    for at in range(cuda.grid(1), size, cuda.gridsize(1)):
        a = x[x0 + at]
        z[at] = at // inner % n if a == best[at] or a != a else 0


def cumextremum(x, dim, largest):
    """Two scans: the extremes so far, and the largest so far of the positions that they are at."""
    if x.dtype.kind == "c":
        raise missing("cummax" if largest else "cummin", x.dtype)
    x = row_major(x)
    if x.dtype.kind == "b":
        best = scanned(either if largest else both, x, dim)
    else:
        best = scanned(larger if largest else smaller, x, dim)
    places = empty_array(x.shape, INT64, x.device)
    if not x.size:
        return places
    n, inner = extent(x, dim)
    launch_each(places_of_best, x.size, x.device, x.size, n, inner, x.block.of(x.dtype), x.start, best.block.of(best.dtype),
                places.block.of(INT64))
    return scanned(larger, places, dim)
