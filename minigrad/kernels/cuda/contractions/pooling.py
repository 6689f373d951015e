"""Pooling and resampling: maxima over windows, and weighted sums of a few numbers, by the tables of kernels/resampling.py.

    max_pool            a thread for each window reads its numbers, whose places are in tables, and keeps the first largest one
    max_pool_backward   a thread for each window adds its number to the place of the maximum
    resample            a thread for each result adds weighted numbers. Means over windows and all interpolations work this way,
                        dimension by dimension. So do their gradients, with the transposed tables

    bytes       numbers of x are read once from memory, then from the cache, as windows overlap; a result is written once, and
                for maxima 8 bytes more for its position. The tables are small, and the same for all planes: they stay in the cache
    operations  one comparison, or one product and sum, for each number of a window
    so          memory limits it; neighbouring threads have neighbouring windows
    measured    62% of the speed of a copy on an H100, for maxima of 2 x 2

Note [Tables are copied once]
    A table is made on the CPU and kept there (resampling.py). Its copy on a GPU is kept as long as the table exists. So the
    steps of a training loop copy nothing.

Note [Windows are written out]
    The size of the windows is a constant of the kernel of maxima, so the compiler unrolls its loops if they are short. Then all
    reads of a window are under way before the first comparison. A program has few such sizes.

Note [Maxima that windows share]
    If windows overlap, several threads may add to one number, *atomically*, in an order that is not fixed. Two numbers give the
    same sum in either order. With more numbers the last digit may differ from run to run, unless
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
from minigrad.kernels.cuda.elementwise.elementwise import new_full, width
from minigrad.kernels.cuda.elementwise.quad_kernels import FEW, make_division
from minigrad.kernels.cuda.elementwise.vector_io import pack
from minigrad.kernels.cuda.index.scattering import scatter_add
from minigrad.kernels.cuda.runtime.launch import launch_each, pointers
from minigrad.kernels.cuda.runtime.memory import empty_array, from_host
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.streams import current_stream
from minigrad.kernels.cuda.shape.layout import cast, row_major
from minigrad.kernels.cuda.shape.views import view

__all__ = ["max_pool", "max_pool_backward", "max_pool_select", "resample"]

ONE_PLACE = np.zeros((1, 1), np.int64)      # the table of a missing dimension


# ---- tables -----------------------------------------------------------------------------------------------


_tables = {}        # (id of the NumPy array, dtype, GPU) -> (reference to it, its copy)


def copy_to_device(table, dtype, device):
    """Return a copy of a table on `device`: no code writes to it. See Note [Tables are copied once]. A CudaArray is only cast."""
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
def max_pool_kernel(few, sizes):
    """The kernel that finds the first largest number of each window and its position in the plane, by the tables p, q and r.

    If `few`, there are less than 2^32 windows: 32-bit divisions. See Note [Windows are written out] for their `sizes`.
    """
    divided = make_division(few)
    deep_size, down_size, across_size = sizes
    at_of, _ = pack(1)                              # x[i], without a test whether i is negative

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
                        if value > best or value != value:          # the last nan counts as the largest
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
    tables = [copy_to_device(p, p.dtype, x.device) for p in ((ONE_PLACE,) * (3 - n) + tuple(places))]
    launch_each(max_pool_kernel(z.size < FEW, (*ones, *sizes)), z.size, x.device, z.size, (*ones, *x.shape[-n:]), (*ones, *counts),
                z.block.of(z.dtype), z.start, index.block.of(index.dtype), index.start, x.block.of(x.dtype), x.start,
                *pointers(*tables))
    return z, index


@cuda.jit
def add_at(n, windows, plane, z, z0, index, index0, g, g0):
    """Add g[i] at the maximum of window i. See Note [Maxima that windows share]."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(z, z0 + i // windows * plane + index[index0 + i], g[g0 + i])


def max_pool_backward(g, index, x_shape, n):
    if g.dtype.kind != "f":
        raise missing("max_pool_backward", g.dtype)
    dtype, wide = g.dtype, sum_dtype("max_pool_backward", g.dtype)
    z = new_full(x_shape, 0, wide, g.device)
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
    """z[i] = x at the position in index[i], in the plane of window i."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + i] = x[x0 + i // windows * plane + index[index0 + i]]


def max_pool_select(x, index, n):
    z = empty_array(index.shape, x.dtype, x.device)
    x, index = row_major(x), row_major(index)
    if x.size:
        launch_each(pick, z.size, x.device, z.size, prod(index.shape[-n:]), prod(x.shape[-n:]), z.block.of(z.dtype), z.start,
                    index.block.of(index.dtype), index.start, x.block.of(x.dtype), x.start)
    return z


# ---- weighted sums -----------------------------------------------------------------------------------------------


@lru_cache(None, typed=True)        # zeros of two dtypes are equal, and their kernels are not
def resample_kernel(number, zero):
    """The kernel of `resample`. `number` converts a number before it is added to `zero`."""
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
    tables = [copy_to_device(starts, starts.dtype, x.device), copy_to_device(columns, columns.dtype, x.device),
              copy_to_device(weights, x.dtype, x.device)]
    kernel = resample_kernel(width(x.dtype), sum_dtype("resample", x.dtype).type(0))
    launch_each(kernel, z.size, x.device, z.size, x.shape[dim], count, prod(x.shape[dim + 1:]), z.block.of(z.dtype), z.start,
                x.block.of(x.dtype), x.start, *pointers(*tables))
    return z
