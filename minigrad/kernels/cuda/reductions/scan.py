"""Scans: cumsum, cumprod, cummax and cummin, logcumsumexp; and recurrences.

    x                   3   1   4   1   5   9   2   6
    add the neighbour   3   4   5   5   6  14  11   8       each adds the number 1 before it
    add 2 before        3   4   8   9  11  19  17  22       then 2 before, 4 before: after log2(n) steps all are added
    add 4 before        3   4   8   9  14  23  25  31

    idea        each lane adds RUN numbers of its own. The totals of the lanes are scanned in shared memory, as above. Then each
                lane walks over its numbers again, and starts with the total before them. The last total goes to the next tile
    bytes       each number is read once from memory (and once from the cache), and written once; if a row has parts, twice
    operations  2 per number, and log2(lanes) per lane
    so          memory limits it. Columns of a matrix need no lanes: a thread walks down each column, beside its neighbours
    measured    43% of the speed of a copy on an H100, for rows of 16384

A recurrence, z[k] = a[k] z[k - 1] + b[k], is a scan too, of pairs (product of the a, value of z that starts with 0). But such a
product overflows where no z does, and 0 times inf is nan. So one thread walks along each row: this is right, but slow if rows are
few.

Note [Scans in parts]
    One long row alone would keep only one block busy. So it is divided into parts. A first launch scans each part by itself; the
    last number of a part is its total. Then the totals are scanned, and a last launch joins the numbers of each part with the
    total before it. This is *scan-then-propagate*. The decoupled look-back of D. Merrill and M. Garland (2016) saves one pass, but
    its blocks wait for one another.

The scan of a tile is from W. D. Hillis and G. L. Steele, "Data Parallel Algorithms" (1986).
Mirrors ``aten/src/ATen/native/cuda/ScanUtils.cuh``. Read next: ``nonzero.py``, then ``register_rows.py``.
"""

from functools import cache
from math import prod

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import device_function, plain
from minigrad.kernels.cuda.elementwise.expressions import larger, smaller
from minigrad.kernels.cuda.index.joining import flip
from minigrad.kernels.cuda.reductions.lanes import block_of, lanes_for, parts_for, pieces
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
RUN = 16 if SIMULATED else 4            # numbers that a lane adds by itself, so that threads wait less often


@cache
def row_kernel(join, wide, kind):
    """The kernel that scans parts of contiguous rows."""
    join, number = device_function(join), from_dtype(np.dtype(kind))
    settle = kind if issubclass(kind, np.integer) else plain        # numba makes int64 of small integers

    @cuda.jit
    def kernel(rows, n, parts, lanes, x, x0, z):
        totals = cuda.shared.array(THREADS, number)
        t = cuda.threadIdx.x
        each = THREADS // lanes                                     # rows that a block scans together
        lane = t % lanes
        groups = (rows + each - 1) // each
        length = (n + parts - 1) // parts
        for task in range(cuda.blockIdx.x, groups * parts, cuda.gridDim.x):
            row = task % groups * each + t // lanes
            begin = task // groups * length
            end = min(begin + length, n) if row < rows else begin
            carry = wide(x[x0])                                     # gives the type; the value is replaced before use
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
                    cuda.syncthreads()                              # all threads have read, and may write
                    if lane >= apart:
                        total = settle(join(before, total))
                        totals[t] = total
                    apart *= 2
                cuda.syncthreads()
                running = totals[t - 1] if lane > 0 else carry      # of all numbers of the part before `low`
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
def column_kernel(join, wide, kind):
    """The kernel that scans parts of columns: number i of column c in matrix b is (b n + i) inner + c."""
    join = device_function(join)
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
def propagate_kernel(join, kind):
    """The kernel that joins the numbers of each part, except the first, with the last number before the part, from `totals`."""
    join = device_function(join)
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
def copy_ends(size, n, inner, parts, length, z, totals):
    """Copy the last number of each part to `totals`."""
    for at in range(cuda.grid(1), size, cuda.gridsize(1)):
        i = min((at // inner % parts + 1) * length, n) - 1
        totals[at] = z[(at // inner // parts * n + i) * inner + at % inner]


def extent(x, dim):
    """(length of `dim`, elements from one index of `dim` to the next) of a row-major x."""
    return (x.shape[dim], prod(x.shape[dim % x.ndim + 1:])) if x.ndim else (1, 1)


def scan_array(join, x, dim):
    """Return the running `join` of x along `dim`, in the type that x is computed in."""
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
        launch(row_kernel(join, wide, kind), block_of(rows, lanes, parts), THREADS, x.device, rows, n, parts, lanes,
               x.block.of(x.dtype), x.start, out)
    else:
        parts = parts_for(rows, n, 1)
        launch_each(column_kernel(join, wide, kind), rows * parts, x.device, rows, n, inner, parts, x.block.of(x.dtype), x.start,
                    out)
    if parts > 1:                                   # see Note [Scans in parts]
        length = pieces(n, parts)
        totals = empty_array((rows // inner, parts, inner), kind, x.device)
        launch_each(copy_ends, totals.size, x.device, totals.size, n, inner, parts, length, out, totals.block.of(z.dtype))
        totals = scan_array(join, totals, 1)
        launch_each(propagate_kernel(join, kind), z.size, x.device, z.size, n, inner, parts, length, totals.block.of(z.dtype), out)
    return z


# ---- the scans of the contract -----------------------------------------------------------------------------------------


def plus(x, y):
    return x + y


def times(x, y):
    return x * y


def log_of_sum(x, y):
    """log(exp x + exp y) = most + log(1 + exp(least - most)); `most` itself if it is infinite or nan."""
    most, least = (x, y) if x > y or x != x else (y, x)
    return most + m.log1p(m.exp(least - most)) if m.isfinite(most) else most


def cumsum(x, dim, reverse):
    if reverse and x.ndim:
        return flip(cumsum(flip(x, dim), dim, False), dim)
    return cast(scan_array(either if x.dtype.kind == "b" else plus, x, dim), x.dtype)


def cumprod(x, dim):
    return cast(scan_array(both if x.dtype.kind == "b" else times, x, dim), x.dtype)


def logcumsumexp(x, dim):
    if x.dtype.kind != "f":
        raise missing("logcumsumexp", x.dtype)
    return cast(scan_array(log_of_sum, x, dim), x.dtype)


@cache
def recurrence_kernel(wide):
    """The kernel of recurrences, with a thread for each row; number i of row c in matrix b is (b n + i) inner + c."""
    @cuda.jit
    def kernel(rows, n, inner, reverse, x, x0, y, y0, z):
        for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
            base = row // inner * n * inner + row % inner
            running = wide(y[y0 + base])                            # gives the type; the value is replaced before use
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
        launch_each(recurrence_kernel(wide), x.size // n, x.device, x.size // n, n, inner, reverse, x.block.of(x.dtype), x.start,
                    y.block.of(x.dtype), y.start, z.block.of(x.dtype))
    return z


@cuda.jit
def find_best(size, n, inner, x, x0, best, z):
    """Set z to the position of x along the dimension where x is the best so far, else to 0."""
    for at in range(cuda.grid(1), size, cuda.gridsize(1)):
        a = x[x0 + at]
        z[at] = at // inner % n if a == best[at] or a != a else 0


def cumextremum(x, dim, largest):
    """Return positions by two scans: of the extremes so far, and of the largest position so far where x is such an extreme."""
    if x.dtype.kind == "c":
        raise missing("cummax" if largest else "cummin", x.dtype)
    x = row_major(x)
    if x.dtype.kind == "b":
        best = scan_array(either if largest else both, x, dim)
    else:
        best = scan_array(larger if largest else smaller, x, dim)
    places = empty_array(x.shape, INT64, x.device)
    if not x.size:
        return places
    n, inner = extent(x, dim)
    launch_each(find_best, x.size, x.device, x.size, n, inner, x.block.of(x.dtype), x.start, best.block.of(best.dtype),
                places.block.of(INT64))
    return scan_array(larger, places, dim)
