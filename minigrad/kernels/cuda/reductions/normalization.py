"""Layer normalisation and rms_norm, and their gradients.

    z  = y w + b,  y = (x - mean) rstd              for each row: the last dimensions, as one
    dx = rstd (h - mean(h) - y mean(h y)),  h = g w
    dw = sum of g y,  db = sum of g                 over the rows

rms_norm is the same without the mean: y = x rstd, dx = rstd (h - y mean(h y)). It uses the kernels of layer_norm with `centred`
False; the compiler then removes everything that the mean needs.

    idea        forward and dx work like softmax (rows.py): the lanes of a row keep it in registers, and rows that are too long are
                walked over twice. For dw and db a thread walks down each column, beside its neighbours, through a part of the rows,
                eight rows at a time; `sum` adds the parts
    bytes       forward 8 per number of float32, dx 12, dw and db 8: each number is read once from memory and written once
    operations  about ten per number, and one root and one division per row
    so          memory limits it
    measured    forward 88 to 95% of the speed of a copy on an H100; backward 55%, counted as above

Rows in registers give the mean first, and then the squares of the deviations. For long rows one walk gives both (see `moments` in
reduction.py). The shorter formula mean(x²) - mean(x)² subtracts two large numbers if the mean is large, and may be negative.

Mirrors ``aten/src/ATen/native/cuda/layer_norm_kernel.cu``. Read next: ``loss.py``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import add, div, mul, new_full, rsqrt, sub
from minigrad.kernels.cuda.reductions.lanes import APART, BOUNDS, block_of, lanes_for, parts_for, pieces, planes, tree
from minigrad.kernels.cuda.reductions.reduce import walker
from minigrad.kernels.cuda.reductions.reduction import moments, sum, wide_of
from minigrad.kernels.cuda.reductions.register_rows import SLOTS, all_reduce, bounds_for, carrier, seats_for, width_of
from minigrad.kernels.cuda.reductions.rows import FEW, sum_of
from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.launch import THREADS, launch, pointers
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.shape.layout import cast, row_major
from minigrad.kernels.cuda.shape.views import view

__all__ = ["batch_norm", "batch_norm_backward", "group_norm", "group_norm_backward", "layer_norm", "layer_norm_backward",
           "normalize_channels", "rms_norm", "rms_norm_backward"]


def add_pairs(a, b):
    return a[0] + b[0], a[1] + b[1]


# ---- rows in registers ----------------------------------------------------------------------------------------


@cache
def forward_rows(real, weighted, shifted, seats, centred=True):
    """The kernel for z, mean and rstd of rows in registers. Without weights or a shift, w or b is not used."""
    number, size, (lanes, threads, packs, width, whole) = from_dtype(np.dtype(real)), 2 * SLOTS, seats
    count, each, jump, none, one = packs * width, threads // lanes, lanes * width, real(0), real(1)
    fetch, bring = carrier(width)
    total_of = all_reduce(sum_of, 1, real, lanes)

    @cuda.jit(**bounds_for(threads))
    def kernel(rows, n, eps, x, x0, w, w0, b, b0, z, means, rstds):
        room = cuda.shared.array(size, number)
        held = cuda.local.array(count, number)
        part_w = cuda.local.array(width, number)
        part_b = cuda.local.array(width, number)
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
                    held[k * width + j] = none
        mean = none
        if centred:
            total = none
            for i in range(count):
                total += held[i]
            mean = total_of(room, 0, t, (total,))[0] / real(n)
        squares = none
        for k in range(packs):
            for j in range(width):
                i = k * width + j
                if centred:
                    held[i] = held[i] - mean if whole or k * jump < left else none
                squares += held[i] * held[i]
        squares = total_of(room, 1, t, (squares,))[0]
        rstd = one / m.sqrt(squares / real(n) + eps)
        for k in range(packs):                          # pack by pack: the registers cannot hold all of w and b
            if whole or k * jump < left:
                if weighted:
                    fetch(w, w0 + first + k * jump, part_w, 0)
                if shifted:
                    fetch(b, b0 + first + k * jump, part_b, 0)
                for j in range(width):
                    y = held[k * width + j] * rstd
                    if weighted:
                        y = y * part_w[j]
                    if shifted:
                        y = y + part_b[j]
                    held[k * width + j] = y
                if row < rows:
                    bring(z, begin + k * jump, held, k * width)
        if row < rows and t % lanes == 0:
            if centred:
                means[row] = mean
            rstds[row] = rstd
    return kernel


@cache
def backward_rows(wide, real, weighted, seats, centred=True):
    """The kernel for dx of rows of g and x in registers."""
    number, size, (lanes, threads, packs, width, whole) = from_dtype(np.dtype(real)), 2 * SLOTS, seats
    count, each, jump, none, one = packs * width, threads // lanes, lanes * width, real(0), real(1)
    fetch, bring = carrier(width)
    totals_of = all_reduce(add_pairs, 2, real, lanes)

    @cuda.jit(**bounds_for(threads))
    def kernel(rows, n, g, g0, x, x0, w, w0, means, means0, rstds, rstds0, dx):
        room = cuda.shared.array(size, number)
        held_h = cuda.local.array(count, number)
        held_y = cuda.local.array(count, number)
        held_w = cuda.local.array(count, number)
        t = cuda.threadIdx.x
        row = cuda.blockIdx.x * each + t // lanes
        first = t % lanes * width
        begin = min(row, rows - 1) * n + first
        left = n - first
        for k in range(packs):
            if whole or k * jump < left:
                fetch(g, g0 + begin + k * jump, held_h, k * width)
                fetch(x, x0 + begin + k * jump, held_y, k * width)
                if weighted:
                    fetch(w, w0 + first + k * jump, held_w, k * width)
            else:
                for j in range(width):
                    held_h[k * width + j] = none
                    held_y[k * width + j] = none
                    held_w[k * width + j] = none
        mean, rstd = wide(means[means0 + min(row, rows - 1)]) if centred else none, wide(rstds[rstds0 + min(row, rows - 1)])
        sum_h, sum_hy = none, none
        for i in range(count):
            if weighted:
                held_h[i] = held_h[i] * held_w[i]
            held_y[i] = (held_y[i] - mean) * rstd
            if centred:
                sum_h += held_h[i]
            sum_hy += held_h[i] * held_y[i]
        share = one / real(n)
        sum_h, sum_hy = totals_of(room, 0, t, (sum_h, sum_hy))
        mean_h, mean_hy = sum_h * share, sum_hy * share
        for i in range(count):
            held_h[i] = rstd * (held_h[i] - mean_h - held_y[i] * mean_hy)
        if row < rows:
            for k in range(packs):
                if whole or k * jump < left:
                    bring(dx, begin + k * jump, held_h, k * width)
    return kernel


# ---- rows in memory, and columns -------------------------------------------------------------------------------


@cache
def forward_kernel(wide, real, weighted, shifted, width, centred=True):
    """The kernel for z, mean and rstd of long rows, which are read twice."""
    fold, kind = moments(real), from_dtype(np.dtype(real))
    start, none, one, room_size = fold.start, real(0), real(1), 3 * THREADS
    get, put = planes(3)
    join_lanes, walk = tree(fold.join, 3, real), walker(fold, wide, width)

    @cuda.jit(**BOUNDS)
    def kernel(rows, n, lanes, eps, x, x0, w, w0, b, b0, z, means, rstds):
        room = cuda.shared.array(room_size, kind)
        t = cuda.threadIdx.x
        each = THREADS // lanes
        lane = t % lanes
        for group in range(cuda.blockIdx.x, (rows + each - 1) // each, cuda.gridDim.x):
            row = group * each + t // lanes
            a = start
            if row < rows:
                a = walk(a, x, x0 + row * n, 1, 0, n, lane, lanes)
            a = join_lanes(room, t, lane, lanes, 1, a)
            cuda.syncthreads()                      # other lanes may still be reading the memory of `room`
            if lane == 0:
                put(room, t, THREADS, a)
            cuda.syncthreads()
            count, mean, squares = get(room, t - lane, THREADS)
            if not centred:
                squares += count * mean * mean      # a sum of squares: nothing is subtracted
                mean = none
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
                    if centred:
                        means[row] = mean
                    rstds[row] = rstd
            cuda.syncthreads()                      # before the next rows write to shared memory
    return kernel


@cache
def backward_kernel(wide, real, weighted, centred=True):
    """The kernel for dx of long rows, which are read twice."""
    kind, none, one, room_size = from_dtype(np.dtype(real)), real(0), real(1), 2 * THREADS
    get, put = planes(2)
    join_lanes = tree(add_pairs, 2, real)

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
                mean, rstd = wide(means[means0 + row]) if centred else none, wide(rstds[rstds0 + row])
                for i in range(lane, n, lanes):
                    h = wide(g[g0 + row * n + i])
                    if weighted:
                        h = h * wide(w[w0 + i])
                    if centred:
                        sum_h = sum_h + h
                    sum_hy = sum_hy + h * ((wide(x[x0 + row * n + i]) - mean) * rstd)
            a = join_lanes(room, t, lane, lanes, 1, (sum_h, sum_hy))
            cuda.syncthreads()
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
def column_kernel(wide, real, centred=True):
    """The kernel for the sums of g y and of g down the columns: for each part of the rows a row of dw and, if `centred`, of db."""
    none, number, several = real(0), from_dtype(np.dtype(real)), APART
    fetch, _ = carrier(1)

    @cuda.jit(**BOUNDS)
    def kernel(rows, n, length, tasks, g, g0, x, x0, means, means0, rstds, rstds0, dw, db):
        of_g = cuda.local.array(several, number)
        of_x = cuda.local.array(several, number)
        mean = cuda.local.array(1, number)
        rstd = cuda.local.array(1, number)
        mean[0] = none
        task = cuda.grid(1)
        if task < tasks:
            begin, i = task // n * length, task % n
            end = min(begin + length, rows)
            of_w, of_b = none, none
            whole = begin + (end - begin) // several * several
            for row in range(begin, whole, several):        # see Note [Many under way] in lanes.py
                at = row * n + i
                for k in range(several):
                    fetch(g, g0 + at, of_g, k)
                    fetch(x, x0 + at, of_x, k)
                    at += n
                for k in range(several):
                    if centred:
                        fetch(means, means0 + row + k, mean, 0)
                    fetch(rstds, rstds0 + row + k, rstd, 0)
                    of_w += of_g[k] * ((of_x[k] - mean[0]) * rstd[0])
                    of_b += of_g[k]
            for row in range(whole, end):
                h = wide(g[g0 + row * n + i])
                if centred:
                    fetch(means, means0 + row, mean, 0)
                of_w += h * ((wide(x[x0 + row * n + i]) - mean[0]) * wide(rstds[rstds0 + row]))
                of_b += h
            dw[task] = of_w
            if centred:
                db[task] = of_b
    return kernel


# ---- how they are started ------------------------------------------------------------------------------------


def as_row_major(name, *arrays):
    """Return the arrays as row-major arrays; None stays None. Raises `NotImplementedError` if a dtype is not a float."""
    for a in arrays:
        if a is not None and a.dtype.kind != "f":
            raise missing(name, a.dtype)
    return [a if a is None else row_major(a) for a in arrays]


def normalize(name, x, w, b, n_dims, eps, centred):
    """Return (z, mean, rstd); without `centred`, the mean is not computed."""
    x, w, b = as_row_major(name, x, w, b)
    statistics = (*x.shape[:x.ndim - n_dims], *[1] * n_dims)
    z = empty_array(x.shape, x.dtype, x.device)
    if not x.size:                                  # the mean of nothing is nan
        return z, *[new_full(statistics, np.nan, x.dtype, x.device) for _ in range(2)]
    wide, real = wide_of(x.dtype)
    rstd = empty_array(statistics, x.dtype if centred else np.dtype(real), x.device)
    mean = empty_array(statistics, x.dtype, x.device) if centred else rstd
    rows, n = rstd.size, x.size // rstd.size
    weighted, shifted, (w, b) = w is not None, b is not None, [x if a is None else a for a in (w, b)]
    width = width_of(n, x, w, b)
    seats = seats_for(n, width, x.itemsize, 1)
    arrays = *pointers(x, w, b), *[a.block.of(a.dtype) for a in (z, mean, rstd)]
    if seats is not None:
        launch(forward_rows(real, weighted, shifted, seats, centred), pieces(rows, seats.threads // seats.lanes), seats.threads,
               x.device, rows, n, real(eps), *arrays)
    else:
        lanes = lanes_for(rows, n, False, width)
        launch(forward_kernel(wide, real, weighted, shifted, width, centred), min(block_of(rows, lanes), FEW), THREADS, x.device,
               rows, n, lanes, real(eps), *arrays)
    return z, mean, rstd


def layer_norm(x, w, b, n_dims, eps):
    return normalize("layer_norm", x, w, b, n_dims, eps, True)


def rms_norm(x, w, n_dims, eps):
    z, _, rstd = normalize("rms_norm", x, w, None, n_dims, eps, False)
    return z, rstd


def differentiate(name, g, x, w, mean, rstd, n_dims, centred):
    """Return (dx, dw, db); without `centred`, db is None, and `mean` is not used."""
    g, x, w, mean, rstd = as_row_major(name, g, x, w, mean, rstd)
    inner = x.shape[x.ndim - n_dims:]
    dx = empty_array(x.shape, x.dtype, x.device)
    if not x.size:
        return dx, *[new_full(inner, 0, x.dtype, x.device) for _ in range(2)]
    rows, n = rstd.size, x.size // rstd.size
    wide, real = wide_of(x.dtype)
    weighted, w = w is not None, x if w is None else w
    seats = seats_for(n, width_of(n, g, x, w), x.itemsize, 2)
    arrays = *pointers(g, x, w, mean, rstd), dx.block.of(dx.dtype)
    if seats is not None:
        launch(backward_rows(wide, real, weighted, seats, centred), pieces(rows, seats.threads // seats.lanes), seats.threads,
               x.device, rows, n, *arrays)
    else:
        lanes = lanes_for(rows, n, False)
        launch(backward_kernel(wide, real, weighted, centred), min(block_of(rows, lanes), FEW), THREADS, x.device, rows, n, lanes,
               *arrays)
    length = pieces(rows, parts_for(n, rows, 1))
    parts = pieces(rows, length)
    dw = empty_array((parts, *inner), real, x.device)
    db = empty_array((parts, *inner), real, x.device) if centred else dw
    launch(column_kernel(wide, real, centred), pieces(parts * n, THREADS), THREADS, x.device, rows, n, length, parts * n,
           *pointers(g, x, mean, rstd), dw.block.of(dw.dtype), db.block.of(db.dtype))
    return dx, cast(sum(dw, (0,), False), x.dtype), cast(sum(db, (0,), False), x.dtype) if centred else None


def layer_norm_backward(g, x, w, mean, rstd, n_dims):
    return differentiate("layer_norm_backward", g, x, w, mean, rstd, n_dims, True)


def rms_norm_backward(g, x, w, rstd, n_dims):
    return differentiate("rms_norm_backward", g, x, w, rstd, rstd, n_dims, False)[:2]


# ---- batch and group normalisation: the other kernels, one after the other ------------------------------------------------


def channels_of(x):
    """(the dimensions to average over, the number of their elements, the shape of a number per channel that broadcasts)."""
    return (0, *range(2, x.ndim)), float(x.size // x.shape[1]), (x.shape[1], *[1] * (x.ndim - 2))


def batch_norm(x, w, b, eps):
    dims, n, shape = channels_of(x)
    mean = div(sum(x, dims, True), n)
    d = sub(x, mean)
    variance = div(sum(mul(d, d), dims, True), n)
    rstd = rsqrt(add(variance, eps))
    z = mul(d, rstd if w is None else mul(rstd, view(w, shape)))
    z = z if b is None else add(z, view(b, shape))
    return z, *[view(of, shape[:1]) for of in (mean, rstd, variance)]


def batch_norm_backward(g, x, w, mean, rstd):
    dims, n, shape = channels_of(x)
    r = view(rstd, shape)
    y = mul(sub(x, view(mean, shape)), r)
    dw, db = sum(mul(g, y), dims, True), sum(g, dims, True)
    scale = r if w is None else mul(r, view(w, shape))
    dx = mul(scale, sub(sub(g, div(db, n)), mul(y, div(dw, n))))
    return dx, view(dw, shape[:1]), view(db, shape[:1])


def normalize_channels(x, mean, scale, shift):
    shape = channels_of(x)[2]
    z = mul(sub(x, view(mean, shape)), view(scale, shape))
    return z if shift is None else add(z, view(shift, shape))


def group_norm(x, w, b, groups, eps):
    shape = channels_of(x)[2]
    rows = x.shape[0] * groups
    y, mean, rstd = layer_norm(view(row_major(x), (rows, x.size // rows)), None, None, 1, eps)
    z = view(y, x.shape)
    z = z if w is None else mul(z, view(w, shape))
    z = z if b is None else add(z, view(b, shape))
    return z, *[view(of, (x.shape[0], groups)) for of in (mean, rstd)]


def group_norm_backward(g, x, w, mean, rstd):
    dims, _, shape = channels_of(x)
    x, rows, numbers = row_major(x), (mean.size, x.size // mean.size), [view(row_major(of), (mean.size, 1)) for of in (mean, rstd)]
    h = g if w is None else mul(g, view(w, shape))
    dx = layer_norm_backward(view(row_major(h), rows), view(x, rows), None, *numbers, 1)[0]
    y = mul(sub(view(x, rows), numbers[0]), numbers[1])
    return view(dx, x.shape), sum(mul(g, view(y, x.shape)), dims, False), sum(g, dims, False)
