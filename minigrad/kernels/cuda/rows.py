"""Softmax and its kin: for each row two numbers, and then every element of the row from them.

    row of x        3  1  4  1  5           first walk      largest 5, sum of exp(x - 5) = 1.54
    row of z        .09 .01 .24 .01 .65     second walk     exp(x - 5) / 1.54

    idea        the lanes of a row (fold.py) walk over it, fold what they saw, and walk over it again. The largest number and the
                sum come from one walk: when a larger one appears, the sum so far is multiplied by exp(before - now)
    bytes       each number is read once from memory and written once, 8 bytes of float32; the second read finds it in the cache,
                unless the row is longer than that
    operations  2 exponentials a number
    so          the time is that of the memory. Three walks (maximum, sum, quotient) by three kernels would read three times

Note [The causal half]
    Query i may look at keys 0 ... i only. The rows of attention_weights therefore end at column i: what lies behind is never read,
    half of the matrix. It counts as -inf, so a row that holds a nan is nan there too, as without the shortcut.

The algorithm is that of M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (2018).
Mirrors ``aten/src/ATen/native/cuda/SoftMax.cu``. Read next: ``normalization.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda import mathematics as m
from minigrad.kernels.cuda.elementwise import compiled
from minigrad.kernels.cuda.fold import Fold, block_of, lanes_for, planes, seat, tree
from minigrad.kernels.cuda.launch import THREADS, launch
from minigrad.kernels.cuda.layout import row_major
from minigrad.kernels.cuda.memory import empty_array
from minigrad.kernels.cuda.missing import missing
from minigrad.kernels.cuda.reduction import exponentials, wide_of
from minigrad.kernels.cuda.scan import extent

__all__ = ["attention_weights", "log_softmax", "log_softmax_backward", "softmax", "softmax_backward"]


@cache
def kernel_of(fold, write, wide):
    """z = write(x, y, a) for each element, where `a` is the fold of take(a, x, y) over its row.

    Element i of row r is number (r // inner * n + i) * inner + r % inner. A row ends after `r % queries + 1` elements where queries
    is not 0, see Note [The causal half]. `scale` multiplies x.
    """
    count, start, kind = len(fold.start), fold.start, from_dtype(np.dtype(fold.kind))
    take, write = compiled(fold.take), compiled(write)
    get, put = planes(count)
    joined = tree(fold.join, count)
    room_size, nothing = count * THREADS, fold.kind(-np.inf)

    @cuda.jit
    def kernel(rows, n, inner, lanes, across, queries, scale, x, x0, y, y0, z):
        room = cuda.shared.array(room_size, kind)
        t = cuda.threadIdx.x
        each = THREADS // lanes
        mine, lane, step = seat(t, lanes, across)
        for group in range(cuda.blockIdx.x, (rows + each - 1) // each, cuda.gridDim.x):
            row = group * each + mine
            base = row // inner * n * inner + row % inner
            length = min(n, row % queries + 1) if queries > 0 else n
            a = start
            if row < rows:
                for i in range(lane, length, lanes):
                    at = base + i * inner
                    a = take(a, wide(x[x0 + at]) * scale, wide(y[y0 + at]))
            a = joined(room, t, lane, lanes, step, a)
            if lane == 0:
                put(room, t, THREADS, a)
            cuda.syncthreads()
            a = get(room, t - lane * step, THREADS)             # all lanes go on from what lane 0 has
            if row < rows:
                for i in range(lane, n, lanes):
                    at = base + i * inner
                    if i < length:
                        z[at] = write(wide(x[x0 + at]) * scale, wide(y[y0 + at]), a)
                    else:
                        z[at] = write(nothing, wide(y[y0 + at]), a)
            cuda.syncthreads()                                  # before the next rows write into the shared memory
    return kernel


# ---- folds, and what is written -----------------------------------------------------------------------------


@cache
def of_one_operand(kind):
    """The largest number and the sum of exponentials, of x alone."""
    fold = exponentials(kind)
    take = compiled(fold.take)
    return Fold(fold.start, lambda a, x, y: take(a, x), fold.join, None)


@cache
def sum_of(f, kind):
    f = compiled(f)
    return Fold((kind(0),), lambda a, x, y: (a[0] + f(x, y),), lambda a, b: (a[0] + b[0],), None)


def share(x, y, a):
    """top - top is 0, unless the largest is infinite: then the whole row is nan, as inf / inf is."""
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


def by_rows(name, fold_of, write, x, y, dim, scale=1, causal=False):
    """The kernel for rows of x and y along `dim`."""
    if x.dtype.kind != "f":
        raise missing(name, x.dtype)
    x, y = row_major(x), row_major(y)
    z = empty_array(x.shape, x.dtype, x.device)
    if not x.size:
        return z
    n, inner = extent(x, dim)
    rows, across = x.size // n, inner > 1
    lanes = lanes_for(rows, n, across)
    wide, kind = wide_of(x.dtype)
    queries = x.shape[-2] if causal else 0
    launch(kernel_of(fold_of(kind), write, wide), block_of(rows, lanes), THREADS, x.device, rows, n, inner, lanes, int(across),
           queries, kind(scale), x.block.of(x.dtype), x.start, y.block.of(y.dtype), y.start, z.block.of(z.dtype))
    return z


def softmax(x, dim):
    return by_rows("softmax", of_one_operand, share, x, x, dim)


def log_softmax(x, dim):
    return by_rows("log_softmax", of_one_operand, log_share, x, x, dim)


def attention_weights(x, scale, causal):
    return by_rows("attention_weights", of_one_operand, share, x, x, x.ndim - 1, scale, causal)


def softmax_backward(g, z, dim):
    return by_rows("softmax_backward", lambda kind: sum_of(product, kind), softmax_slope, g, z, dim)


def log_softmax_backward(g, z, dim):
    return by_rows("log_softmax_backward", lambda kind: sum_of(first, kind), log_softmax_slope, g, z, dim)
