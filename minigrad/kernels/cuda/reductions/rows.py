"""Softmax and similar functions: one or two numbers for each row, and then every element of the row from these.

    row of x        3  1  4  1  5           largest 5
    powers          .14 .02 .37 .02 1       exp(x - 5), whose sum is 1.54
    row of z        .09 .01 .24 .01 .65     powers / 1.54

    idea        the lanes of a row keep it in registers (register_rows.py): they find the largest number, compute the powers, add
                them, and write. Rows that are too long, and columns, are walked over twice instead. The first walk then finds both
                numbers: when a larger number appears, the sum so far is multiplied by exp(before - now)
    bytes       each number is read once from memory and written once, 8 bytes of float32. The second walk reads from the cache
    operations  1 exponential per number (2 if there are two walks), and one division per row
    so          memory limits it. Three kernels (maximum, sum, quotient) would read three times
    measured    94 to 97% of the speed of a copy on an H100, forward and backward, rows of 1024 and of 16384

Note [The causal half]
    Query i may attend to keys 0 ... i only. So row i of attention_weights ends at column i, and the numbers behind it count as
    -inf. If a number up to column i is nan, the whole row is nan, behind column i too, as it would be without the shortcut.

Note [Few rows at a time]
    A long row is read again when its sum is known, and should then still be in the cache of 50 MB. So there are only as many blocks
    as fill the GPU twice, and each block takes row after row.

The algorithm for long rows is from M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (2018).
Mirrors ``aten/src/ATen/native/cuda/SoftMax.cu`` and ``PersistentSoftmax.cuh``. Read next: ``normalization.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import device_function
from minigrad.kernels.cuda.reductions.lanes import BOUNDS, block_of, lanes_for, numbers_ahead, pieces, planes, seat, tree
from minigrad.kernels.cuda.reductions.reduction import exponentials, sums, wide_of
from minigrad.kernels.cuda.reductions.register_rows import SLOTS, all_reduce, bounds_for, carrier, seats_for, width_of
from minigrad.kernels.cuda.reductions.scan import extent
from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.launch import THREADS, launch, pointers
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.tuples import read_tuple
from minigrad.kernels.cuda.shape.layout import row_major

__all__ = ["attention_weights", "log_softmax", "log_softmax_backward", "softmax", "softmax_backward"]

FEW = 2 if THREADS < 32 else 264        # blocks for long rows


def larger_of(a, b):
    return (b[0] if b[0] > a[0] else a[0],)


def sum_of(a, b):
    return (a[0] + b[0],)


# ---- rows in registers --------------------------------------------------------------------------------------


@cache
def softmax_rows(logarithm, kind, seats):
    """The kernel for softmax(x scale), or its logarithm, of rows in registers.

    If `queries` is not 0, row r ends after r % queries + 1 elements: see Note [The causal half].
    """
    number, size, (lanes, threads, packs, width, whole) = from_dtype(np.dtype(kind)), 2 * SLOTS, seats
    count, each, jump = packs * width, threads // lanes, lanes * width
    none, one, nothing = kind(0), kind(1), kind(-np.inf)
    fetch, bring = carrier(width)
    greatest, total_of = all_reduce(larger_of, 1, kind, lanes), all_reduce(sum_of, 1, kind, lanes)

    @cuda.jit(**bounds_for(threads))
    def kernel(rows, n, queries, scale, x, x0, z):
        room = cuda.shared.array(size, number)
        held = cuda.local.array(count, number)
        t = cuda.threadIdx.x
        row = cuda.blockIdx.x * each + t // lanes
        first = t % lanes * width
        begin = min(row, rows - 1) * n + first
        left = n - first                                # numbers of the row from the lane's first number on
        for k in range(packs):
            if whole or k * jump < left:
                fetch(x, x0 + begin + k * jump, held, k * width)
            else:
                for j in range(width):
                    held[k * width + j] = nothing
        for i in range(count):
            held[i] = held[i] * scale
        if queries > 0:
            causal = min(n, row % queries + 1) - first
            for k in range(packs):
                for j in range(width):
                    if k * jump + j >= causal:
                        held[k * width + j] = nothing
        elif not whole:                                 # a negative scale has made inf of -inf
            for k in range(packs):
                if k * jump >= left:
                    for j in range(width):
                        held[k * width + j] = nothing
        top = nothing
        for i in range(count):
            top = held[i] if held[i] > top else top
        top = greatest(room, 0, t, (top,))[0]
        total = none
        for i in range(count):
            held[i] = held[i] - top
            power = m.exp(held[i])
            total += power
            if not logarithm:
                held[i] = power
        total = total_of(room, 1, t, (total,))[0] + (top - top)         # nan if the largest is infinite
        shift, share = m.log(total), one / total
        for i in range(count):
            held[i] = held[i] - shift if logarithm else held[i] * share
        if row < rows:
            for k in range(packs):
                if whole or k * jump < left:
                    bring(z, begin + k * jump, held, k * width)
    return kernel


@cache
def slope_rows(value, slope, kind, seats):
    """The kernel for slope(g, y, Σ value(g, y)) of rows of g and y in registers."""
    number, size, (lanes, threads, packs, width, whole) = from_dtype(np.dtype(kind)), SLOTS, seats
    count, each, jump, none = packs * width, threads // lanes, lanes * width, kind(0)
    value, slope = device_function(value), device_function(slope)
    fetch, bring = carrier(width)
    total_of = all_reduce(sum_of, 1, kind, lanes)

    @cuda.jit(**bounds_for(threads))
    def kernel(rows, n, g, g0, y, y0, z):
        room = cuda.shared.array(size, number)
        held_g = cuda.local.array(count, number)
        held_y = cuda.local.array(count, number)
        t = cuda.threadIdx.x
        row = cuda.blockIdx.x * each + t // lanes
        first = t % lanes * width
        begin = min(row, rows - 1) * n + first
        left = n - first
        for k in range(packs):
            if whole or k * jump < left:
                fetch(g, g0 + begin + k * jump, held_g, k * width)
                fetch(y, y0 + begin + k * jump, held_y, k * width)
            else:
                for j in range(width):                  # value(0, 0) is 0
                    held_g[k * width + j] = none
                    held_y[k * width + j] = none
        total = none
        for i in range(count):
            total += value(held_g[i], held_y[i])
        total = total_of(room, 0, t, (total,))
        for i in range(count):
            held_g[i] = slope(held_g[i], held_y[i], total)
        if row < rows:
            for k in range(packs):
                if whole or k * jump < left:
                    bring(z, begin + k * jump, held_g, k * width)
    return kernel


# ---- rows in memory ------------------------------------------------------------------------------------------


@cache
def walk_kernel(fold, value, write, wide, width):
    """The kernel for z = write(x scale, y, a) of each element, where `a` is the fold of value(x scale, y) over its row.

    Element i of row r is number (r // inner * n + i) * inner + r % inner. It reads packs only if inner is 1.
    """
    count, kind, number, room_size = len(fold.start), fold.kind, from_dtype(np.dtype(fold.kind)), len(fold.start) * THREADS
    start, nothing, ahead = fold.start, fold.kind(-np.inf), numbers_ahead(width)
    size = ahead * width
    value, write, take = device_function(value), device_function(write), device_function(fold.take)
    several = fold.many(size)
    fetch, bring = carrier(width)
    get, put = planes(count)
    join_lanes = tree(fold.join, count, kind)
    all_of = read_tuple(size)

    @cuda.jit(**BOUNDS)
    def kernel(rows, n, inner, lanes, across, queries, scale, x, x0, y, y0, z):
        room = cuda.shared.array(room_size, number)
        held_x = cuda.local.array(size, number)
        held_y = cuda.local.array(size, number)
        t = cuda.threadIdx.x
        each = THREADS // lanes
        mine, lane, step = seat(t, lanes, across)
        jump = lanes * width
        stride = jump * ahead                                   # numbers that all lanes take together
        for group in range(cuda.blockIdx.x, (rows + each - 1) // each, cuda.gridDim.x):
            row = group * each + mine
            base = row // inner * n * inner + row % inner
            length = min(n, row % queries + 1) if queries > 0 else n
            a = start
            if row < rows:
                for i0 in range(lane * width, length - length % stride + lane * width, stride):
                    for k in range(ahead):
                        at = base + (i0 + k * jump) * inner
                        fetch(x, x0 + at, held_x, k * width)
                        fetch(y, y0 + at, held_y, k * width)
                    for k in range(size):
                        held_x[k] = value(held_x[k] * scale, held_y[k])
                    a = several(a, all_of(held_x, 0))
                for i in range(length - length % stride + lane, length, lanes):
                    at = base + i * inner
                    a = take(a, value(wide(x[x0 + at]) * scale, wide(y[y0 + at])))
            a = join_lanes(room, t, lane, lanes, step, a)
            cuda.syncthreads()                                  # other lanes may still be reading the memory of `room`
            if lane == 0:
                put(room, t, THREADS, a)
            cuda.syncthreads()
            a = get(room, t - lane * step, THREADS)             # all lanes take the result of lane 0
            if row < rows:
                for i0 in range(lane * width, n - n % stride + lane * width, stride):
                    for k in range(ahead):
                        at = base + (i0 + k * jump) * inner
                        fetch(x, x0 + at, held_x, k * width)
                        fetch(y, y0 + at, held_y, k * width)
                    for k in range(ahead):
                        left = length - i0 - k * jump
                        for j in range(width):
                            i = k * width + j
                            held_x[i] = write(held_x[i] * scale if j < left else nothing, held_y[i], a)
                    for k in range(ahead):
                        bring(z, base + (i0 + k * jump) * inner, held_x, k * width)
                for i in range(n - n % stride + lane, n, lanes):
                    at = base + i * inner
                    z[at] = write(wide(x[x0 + at]) * scale if i < length else nothing, wide(y[y0 + at]), a)
            cuda.syncthreads()                                  # before the next rows write to shared memory
    return kernel


# ---- expressions: values to fold, and results ---------------------------------------------------------------------


def number(x, y):
    return x


def share(x, y, a):
    """softmax of x. top - top is 0, unless top is infinite: then it is nan, and so the whole row is nan, as inf / inf is."""
    top, total = a
    return m.exp(x - top) / (total + (top - top))


def log_share(x, y, a):
    top, total = a
    return x - top - m.log(total + (top - top))


def product(g, z):
    return g * z


def first(g, z):
    return g


def softmax_slope(g, z, a):
    return z * (g - a[0])


def log_softmax_slope(g, z, a):
    return g - m.exp(z) * a[0]


# ---- how they are started ------------------------------------------------------------------------------------


def apply_to_rows(name, fold_of, value, write, x, y, dim, scale=1, causal=False):
    """Queue the kernel for rows of x and y along `dim`; return its result.

    Args:
        name: the kernel of the contract, for errors.
        fold_of, value, write: of the second algorithm: see `walk_kernel`.
        x, y: the operands. Softmax has one operand: y is x, and is not read a second time.
        dim: the dimension of the rows.
        scale, causal: as in `softmax_rows`.
    """
    if x.dtype.kind != "f":
        raise missing(name, x.dtype)
    x, y = row_major(x), row_major(y)
    z = empty_array(x.shape, x.dtype, x.device)
    if not x.size:
        return z
    n, inner = extent(x, dim)
    rows, out = x.size // n, z.block.of(z.dtype)
    wide, kind = wide_of(x.dtype)
    queries = x.shape[-2] if causal else 0
    width = width_of(n, x, y) if inner == 1 else 1
    seats = seats_for(n, width, x.itemsize, 1 if y is x else 2) if inner == 1 else None
    if seats is not None:
        blocks = pieces(rows, seats.threads // seats.lanes)
        if y is x:
            launch(softmax_rows(write is log_share, kind, seats), blocks, seats.threads, x.device, rows, n, queries,
                   kind(scale), *pointers(x), out)
        else:
            launch(slope_rows(value, write, kind, seats), blocks, seats.threads, x.device, rows, n, *pointers(x, y), out)
        return z
    across = inner > 1
    lanes = lanes_for(rows, n, across, width)
    blocks = block_of(rows, lanes)
    kernel = walk_kernel(fold_of(kind), value, write, wide, width)
    launch(kernel, blocks if across else min(blocks, FEW), THREADS, x.device, rows, n, inner, lanes, int(across),
           queries, kind(scale), *pointers(x, y), out)
    return z


def softmax(x, dim):
    x = row_major(x)
    return apply_to_rows("softmax", exponentials, number, share, x, x, dim)


def log_softmax(x, dim):
    x = row_major(x)
    return apply_to_rows("log_softmax", exponentials, number, log_share, x, x, dim)


def attention_weights(x, scale, causal):
    x = row_major(x)
    return apply_to_rows("attention_weights", exponentials, number, share, x, x, x.ndim - 1, scale, causal)


def softmax_backward(g, z, dim):
    return apply_to_rows("softmax_backward", sums, product, softmax_slope, g, z, dim)


def log_softmax_backward(g, z, dim):
    return apply_to_rows("log_softmax_backward", sums, first, log_softmax_slope, g, z, dim)
