"""Layer normalisation, and its gradients.

    z  = y w + b,  y = (x - mean) rstd              for each row: the last dimensions, as one
    dx = rstd (h - mean(h) - y mean(h y)),  h = g w
    dw = sum of g y,  db = sum of g                 over the rows

    idea        forward and dx go like softmax (rows.py): a row's lanes walk over it, fold what they saw, and walk over it again.
                For dw and db a thread walks down each column, beside its neighbours, through a part of the rows; `sum` adds up the
                parts
    bytes       forward 8 a number of float32, dx 12, dw and db 8: each number read once from memory and written once
    operations  1 division and some ten others a number
    so          the time is that of the memory

One walk gives mean and variance (Welford, see `moments` in reduction.py). The shorter formula, mean(x²) - mean(x)², subtracts two
large numbers where the mean is large, and may even be negative.

Mirrors ``aten/src/ATen/native/cuda/layer_norm_kernel.cu``. Read next: ``loss.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda import mathematics as m
from minigrad.kernels.cuda.elementwise import compiled, filled
from minigrad.kernels.cuda.fold import block_of, lanes_for, parts_for, planes, tree
from minigrad.kernels.cuda.launch import THREADS, launch, launch_each, pointers
from minigrad.kernels.cuda.layout import cast, row_major
from minigrad.kernels.cuda.memory import empty_array
from minigrad.kernels.cuda.missing import missing
from minigrad.kernels.cuda.reduction import moments, sum, wide_of

__all__ = ["layer_norm", "layer_norm_backward"]


@cache
def forward_kernel(wide, real, weighted, shifted):
    """z, mean and rstd of each row. Without weights or a shift, w or b is anything."""
    fold, kind = moments(real), from_dtype(np.dtype(real))
    take, start, one, room_size = compiled(fold.take), fold.start, real(1), 3 * THREADS
    get, put = planes(3)
    joined = tree(fold.join, 3)

    @cuda.jit
    def kernel(rows, n, lanes, eps, x, x0, w, w0, b, b0, z, means, rstds):
        room = cuda.shared.array(room_size, kind)
        t = cuda.threadIdx.x
        each = THREADS // lanes
        lane = t % lanes
        for group in range(cuda.blockIdx.x, (rows + each - 1) // each, cuda.gridDim.x):
            row = group * each + t // lanes
            a = start
            if row < rows:
                for i in range(lane, n, lanes):
                    a = take(a, wide(x[x0 + row * n + i]))
            a = joined(room, t, lane, lanes, 1, a)
            if lane == 0:
                put(room, t, THREADS, a)
            cuda.syncthreads()
            count, mean, squares = get(room, t - lane, THREADS)
            if row < rows:
                rstd = one / m.sqrt(squares / count + eps)
                for i in range(lane, n, lanes):
                    y = (wide(x[x0 + row * n + i]) - mean) * rstd
                    if weighted:
                        y = y * wide(w[w0 + i])
                    if shifted:
                        y = y + wide(b[b0 + i])
                    z[row * n + i] = y
                if lane == 0:
                    means[row] = mean
                    rstds[row] = rstd
            cuda.syncthreads()                      # before the next rows write into the shared memory
    return kernel


def add_pairs(a, b):
    return a[0] + b[0], a[1] + b[1]


@cache
def backward_kernel(wide, real, weighted):
    """dx of each row."""
    kind, none, one, room_size = from_dtype(np.dtype(real)), real(0), real(1), 2 * THREADS
    get, put = planes(2)
    joined = tree(add_pairs, 2)

    @cuda.jit
    def kernel(rows, n, lanes, g, g0, x, x0, w, w0, means, means0, rstds, rstds0, dx):
        room = cuda.shared.array(room_size, kind)
        t = cuda.threadIdx.x
        each = THREADS // lanes
        lane = t % lanes
        share = one / real(n)
        for group in range(cuda.blockIdx.x, (rows + each - 1) // each, cuda.gridDim.x):
            row = group * each + t // lanes
            mean, rstd = none, none
            sum_h, sum_hy = none, none
            if row < rows:
                mean, rstd = wide(means[means0 + row]), wide(rstds[rstds0 + row])
                for i in range(lane, n, lanes):
                    h = wide(g[g0 + row * n + i])
                    if weighted:
                        h = h * wide(w[w0 + i])
                    sum_h = sum_h + h
                    sum_hy = sum_hy + h * ((wide(x[x0 + row * n + i]) - mean) * rstd)
            a = joined(room, t, lane, lanes, 1, (sum_h, sum_hy))
            if lane == 0:
                put(room, t, THREADS, a)
            cuda.syncthreads()
            sum_h, sum_hy = get(room, t - lane, THREADS)
            mean_h, mean_hy = sum_h * share, sum_hy * share
            if row < rows:
                for i in range(lane, n, lanes):
                    h = wide(g[g0 + row * n + i])
                    if weighted:
                        h = h * wide(w[w0 + i])
                    y = (wide(x[x0 + row * n + i]) - mean) * rstd
                    dx[row * n + i] = rstd * (h - mean_h - y * mean_hy)
            cuda.syncthreads()
    return kernel


@cache
def column_kernel(wide, real):
    """Sums of g y and of g down the columns, for each part of the rows: row `part` of dw and db."""
    none = real(0)

    @cuda.jit
    def kernel(rows, n, parts, g, g0, x, x0, means, means0, rstds, rstds0, dw, db):
        length = (rows + parts - 1) // parts
        for task in range(cuda.grid(1), parts * n, cuda.gridsize(1)):
            part, i = task // n, task % n
            of_w, of_b = none, none
            for row in range(part * length, min((part + 1) * length, rows)):
                h = wide(g[g0 + row * n + i])
                of_w = of_w + h * ((wide(x[x0 + row * n + i]) - wide(means[means0 + row])) * wide(rstds[rstds0 + row]))
                of_b = of_b + h
            dw[task] = of_w
            db[task] = of_b
    return kernel


# ---- how they are started ------------------------------------------------------------------------------------


def in_order(name, *arrays):
    """The arrays without gaps, None as it is. Raises `NotImplementedError` for what is no float."""
    for a in arrays:
        if a is not None and a.dtype.kind != "f":
            raise missing(name, a.dtype)
    return [a if a is None else row_major(a) for a in arrays]


def layer_norm(x, w, b, n_dims, eps):
    x, w, b = in_order("layer_norm", x, w, b)
    statistics = (*x.shape[:x.ndim - n_dims], *[1] * n_dims)
    z = empty_array(x.shape, x.dtype, x.device)
    if not x.size:                                  # the mean of nothing is nan
        return z, *[filled(statistics, np.nan, x.dtype, x.device) for _ in range(2)]
    mean, rstd = [empty_array(statistics, x.dtype, x.device) for _ in range(2)]
    rows, n = mean.size, x.size // mean.size
    lanes = lanes_for(rows, n, False)
    wide, real = wide_of(x.dtype)
    launch(forward_kernel(wide, real, w is not None, b is not None), block_of(rows, lanes), THREADS, x.device, rows, n, lanes,
           real(eps), *pointers(x, x if w is None else w, x if b is None else b), *[a.block.of(a.dtype) for a in (z, mean, rstd)])
    return z, mean, rstd


def layer_norm_backward(g, x, w, mean, rstd, n_dims):
    g, x, w, mean, rstd = in_order("layer_norm_backward", g, x, w, mean, rstd)
    inner = x.shape[x.ndim - n_dims:]
    dx = empty_array(x.shape, x.dtype, x.device)
    if not x.size:
        return dx, *[filled(inner, 0, x.dtype, x.device) for _ in range(2)]
    rows, n = mean.size, x.size // mean.size
    lanes = lanes_for(rows, n, False)
    wide, real = wide_of(x.dtype)
    launch(backward_kernel(wide, real, w is not None), block_of(rows, lanes), THREADS, x.device, rows, n, lanes,
           *pointers(g, x, x if w is None else w, mean, rstd), dx.block.of(dx.dtype))
    parts = parts_for(n, rows, 1)
    dw, db = [empty_array((parts, *inner), real, x.device) for _ in range(2)]
    launch_each(column_kernel(wide, real), parts * n, x.device, rows, n, parts, *pointers(g, x, mean, rstd),
                dw.block.of(dw.dtype), db.block.of(db.dtype))
    return dx, cast(sum(dw, (0,), False), x.dtype), cast(sum(db, (0,), False), x.dtype)
