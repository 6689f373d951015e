"""Pooling and resampling: maxima over windows, and sums of a few numbers of a line each, by the tables of kernels/resampling.py.

    max_pool            a thread for each window looks at its numbers, which the tables of places name, and keeps the first largest
    max_pool_backward   a thread for each window adds its number to where the maximum came from
    resample            a thread for each result adds its taps; means over windows and all interpolations are this, dimension by
                        dimension, and so are their gradients, with the transposed tables

    bytes       numbers of x are read once from memory, then from the cache, as windows overlap; a result is written once, and for
                maxima 8 bytes more for its position. The tables are small, and the same for all planes: they stay in the cache
    operations  one comparison, or one product and sum, for each number of a window
    so          the time is that of the memory; neighbouring threads have neighbouring windows
    measured    62% of what a copy moves on an H100, for maxima of 2 x 2

Note [Tables are copied once]
    A table is made on the CPU and kept there (resampling.py). Its copy on a GPU is kept as long as it lives: what a training step
    does again and again copies nothing.

Note [Windows are written out]
    The size of the windows is a constant of the kernel of maxima, so the compiler writes its loops out where they are short: all
    numbers of a window are then asked for before the first comparison. A program has few such sizes.

Note [Maxima that windows share]
    Windows may overlap, and then several threads add to one number, *atomically*, in an order that is not fixed. Two addends
    give the same sum in either order; more may differ in the last digit from run to run, unless
    ``use_deterministic_algorithms`` asks for an order (scattering.py). float16 is added in float32.

Mirrors ``aten/src/ATen/native/cuda/DilatedMaxPool2d.cu``, ``AveragePool2d.cu``, ``UpSample.cuh``.
Read next: ``kernels/resampling.py``.
"""

import weakref
from functools import cache, lru_cache
from math import prod

import numpy as np
from numba import cuda

from minigrad.kernels import flags
from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.contractions.contraction import sum_dtype
from minigrad.kernels.cuda.elementwise.elementwise import filled, width
from minigrad.kernels.cuda.elementwise.quad_kernels import FEW, division
from minigrad.kernels.cuda.elementwise.vector_io import pack
from minigrad.kernels.cuda.index.scattering import scatter_add
from minigrad.kernels.cuda.runtime.launch import launch_each, pointers
from minigrad.kernels.cuda.runtime.memory import empty_array, from_host
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.streams import current_stream
from minigrad.kernels.cuda.shape.layout import cast, row_major
from minigrad.kernels.cuda.shape.views import view

__all__ = ["max_pool", "max_pool_backward", "max_pool_select", "resample"]

ONE_PLACE = np.zeros((1, 1), np.int64)      # the table of a dimension that is not there


# ---- tables -----------------------------------------------------------------------------------------------


_tables = {}        # (number of the NumPy array, dtype, GPU) -> (reference to it, its copy)


def on_device(table, dtype, device):
    """The copy of a NumPy array that nobody writes to. See Note [Tables are copied once]. One of a GPU is itself there."""
    if isinstance(table, CudaArray):
        return row_major(cast(table, dtype))
    key = id(table), dtype, device.type, device.index
    found = _tables.get(key)
    if found is None or found[0]() is not table:
        found = weakref.ref(table, lambda _: _tables.pop(key, None)), from_host(table.astype(dtype, copy=False), device)
        current_stream(device).synchronize()        # other streams may use it
        _tables[key] = found
    return found[1]


# ---- maxima ------------------------------------------------------------------------------------------------------


@cache
def largest(few, sizes):
    """For each of n windows the first largest number and its position in the plane; p, q and r are the tables of places.

    `few` windows are less than 2^32, whose places take short divisions; see Note [Windows are written out] for their `sizes`.
    """
    divided = division(few)
    deep_size, down_size, across_size = sizes
    at_of, _ = pack(1)                              # x[i] without the question whether i is negative

    @cuda.jit
    def kernel(n, plane, counts, z, z0, index, index0, x, x0, p, p0, q, q0, r, r0):
        i, step = cuda.grid(1), cuda.gridsize(1)
        while i < n:
            rest = divided(i, counts[2])
            across = i - rest * counts[2]
            lead = divided(rest, counts[1])
            down = rest - lead * counts[1]
            image = divided(lead, counts[0])
            deep = lead - image * counts[0]
            start = x0 + image * (plane[0] * plane[1] * plane[2])
            p_at, q_at, r_at = p0 + deep * deep_size, q0 + down * down_size, r0 + across * across_size
            at = (at_of(p, p_at)[0] * plane[1] + at_of(q, q_at)[0]) * plane[2] + at_of(r, r_at)[0]
            best = at_of(x, start + at)[0]
            for a in range(deep_size):
                first = at_of(p, p_at + a)[0] * plane[1]
                for b in range(down_size):
                    second = (first + at_of(q, q_at + b)[0]) * plane[2]
                    for c in range(across_size):
                        here = second + at_of(r, r_at + c)[0]
                        value = at_of(x, start + here)[0]
                        if value > best or value != value:          # the last nan is the largest of all
                            best, at = value, here
            z[z0 + i] = best
            index[index0 + i] = at
            i += step
    return kernel


def max_pool(x, places):
    n = len(places)
    if x.dtype.kind not in "fiu":
        raise missing("max_pool", x.dtype)
    lead, counts, sizes = x.shape[:-n], [p.shape[0] for p in places], [p.shape[1] for p in places]
    z = empty_array((*lead, *counts), x.dtype, x.device)
    index = empty_array(z.shape, np.int64, x.device)
    if not prod(sizes) or not x.size:
        return z, index
    x = row_major(x)
    ones = (1,) * (3 - n)
    tables = [on_device(p, p.dtype, x.device) for p in ((ONE_PLACE,) * (3 - n) + tuple(places))]
    launch_each(largest(z.size < FEW, (*ones, *sizes)), z.size, x.device, z.size, (*ones, *x.shape[-n:]), (*ones, *counts),
                z.block.of(z.dtype), z.start, index.block.of(index.dtype), index.start, x.block.of(x.dtype), x.start,
                *pointers(*tables))
    return z, index


@cuda.jit
def add_at(n, windows, plane, z, z0, index, index0, g, g0):
    """Add g[i] where its window had its maximum. See Note [Maxima that windows share]."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(z, z0 + i // windows * plane + index[index0 + i], g[g0 + i])


def max_pool_backward(g, index, x_shape, n):
    if g.dtype.kind != "f":
        raise missing("max_pool_backward", g.dtype)
    dtype, wide = g.dtype, sum_dtype("max_pool_backward", g.dtype)
    z = filled(x_shape, 0, wide, g.device)
    g, index = row_major(cast(g, wide)), row_major(index)
    if flags.deterministic and z.size:
        planes, windows = prod(x_shape[:-n]), prod(g.shape[-n:])
        whole = scatter_add(view(z, (planes, z.size // planes)), 1, view(index, (planes, windows)), view(g, (planes, windows)))
        z = view(whole, x_shape)
    elif z.size:
        launch_each(add_at, g.size, g.device, g.size, prod(g.shape[-n:]), prod(x_shape[-n:]), z.block.of(wide), z.start,
                    index.block.of(index.dtype), index.start, g.block.of(wide), g.start)
    return cast(z, dtype)


@cuda.jit
def pick(n, windows, plane, z, z0, index, index0, x, x0):
    """z[i] = x at the position that its window has in its plane."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + i] = x[x0 + i // windows * plane + index[index0 + i]]


def max_pool_select(x, index, n):
    z = empty_array(index.shape, x.dtype, x.device)
    x, index = row_major(x), row_major(index)
    if x.size:
        launch_each(pick, z.size, x.device, z.size, prod(index.shape[-n:]), prod(x.shape[-n:]), z.block.of(z.dtype), z.start,
                    index.block.of(index.dtype), index.start, x.block.of(x.dtype), x.start)
    return z


# ---- sums of taps -----------------------------------------------------------------------------------------------


@lru_cache(None, typed=True)        # zeros of two dtypes are equal, and their kernels are not
def tapped(number, zero):
    """The kernel; `number` is what a number is made before it is added to `zero`."""
    @cuda.jit
    def kernel(n, length, count, inner, z, z0, x, x0, starts, starts0, columns, columns0, weights, weights0):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            rest = i // inner
            row = rest % count
            start = x0 + rest // count * (length * inner) + i % inner
            total = zero
            for t in range(starts[starts0 + row], starts[starts0 + row + 1]):
                total += number(x[start + columns[columns0 + t] * inner]) * number(weights[weights0 + t])
            z[z0 + i] = total
    return kernel


def resample(x, dim, starts, columns, weights):
    if x.dtype.kind not in "fc":
        raise missing("resample", x.dtype)
    count = starts.shape[0] - 1
    z = empty_array((*x.shape[:dim], count, *x.shape[dim + 1:]), x.dtype, x.device)
    x = row_major(x)
    tables = [on_device(starts, starts.dtype, x.device), on_device(columns, columns.dtype, x.device),
              on_device(weights, x.dtype, x.device)]
    launch_each(tapped(width(x.dtype), sum_dtype("resample", x.dtype).type(0)), z.size, x.device, z.size, x.shape[dim], count,
                prod(x.shape[dim + 1:]), z.block.of(z.dtype), z.start, x.block.of(x.dtype), x.start,
                *pointers(*tables))
    return z
