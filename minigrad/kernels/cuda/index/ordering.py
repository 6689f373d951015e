"""What is found by order: the indices that sort, medians, modes, and where numbers belong among sorted ones.

    idea        sort once (sorting.py); then a thread for each row, or for each number that is looked for
    bytes       argsort: those of sorting. median reads a few numbers of each row, mode all of them. searchsorted reads log2(n) for
                each number, most of them from the cache, as all searches begin alike
    operations  comparisons
    so          sorting takes the time. In `mode` a thread reads a whole row, and its neighbours other rows: fast for many rows of
                some dozens of numbers, slow for a single long one

Mirrors ``aten/src/ATen/native/cuda/Sorting.cpp``, ``TensorModeKernel.cu`` and ``Bucketization.cu``.
"""

from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import filled
from minigrad.kernels.cuda.index.sorting import INT64, ascending, comparable, descending, sorted_rows
from minigrad.kernels.cuda.reductions.nonzero import filling
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import cast, copy

__all__ = ["argsort", "median", "mode", "searchsorted"]


def argsort(x, dim, descending_order):
    if x.ndim == 0:
        return filled((), 0, INT64, x.device)
    _, order = sorted_rows("argsort", x, dim, descending if descending_order else ascending)
    return order if dim == x.ndim - 1 else copy(order.seen_as(np.moveaxis(order.layout, -1, dim)))


def of_rows(kernel, name, x, dim, *args):
    """What `kernel` finds in each row of x sorted along `dim`; the dimension stays, with size 1."""
    keys, order = sorted_rows(name, x, dim, ascending)
    length = keys.shape[-1]
    z = empty_array((*keys.shape[:-1], 1), INT64, x.device)
    if z.size and not length:
        raise IndexError(f"{name}: there are no elements along dimension {dim}")
    launch_each(kernel, z.size, z.device, z.size, length, keys.block.of(keys.dtype), order.block.of(INT64), z.block.of(INT64),
                *args)
    return z.seen_as(np.moveaxis(z.layout, -1, dim))


@cuda.jit
def middles(rows, length, keys, order, z, skip_nan):
    for i in range(cuda.grid(1), rows, cuda.gridsize(1)):
        row = i * length
        numbers, high = 0, length
        while numbers < high:                   # how many are no nan
            at = (numbers + high) // 2
            if keys[row + at] == keys[row + at]:
                numbers = at + 1
            else:
                high = at
        if skip_nan:
            z[i] = order[row + max(numbers - 1, 0) // 2]
        else:
            z[i] = order[row + (numbers if numbers < length else (length - 1) // 2)]


def median(x, dim, skip_nan):
    return of_rows(middles, "median", x, dim, bool(skip_nan))


@cuda.jit
def most_frequent(rows, length, keys, order, z):
    for i in range(cuda.grid(1), rows, cuda.gridsize(1)):
        row = i * length
        begin, longest, best = 0, 0, 0
        for at in range(1, length):
            if keys[row + at] != keys[row + at - 1]:
                begin = at
            if at - begin > longest:
                longest, best = at - begin, at
        z[i] = order[row + best]


def mode(x, dim):
    return of_rows(most_frequent, "mode", x, dim)


# ---- binary search ------------------------------------------------------------------------------------------


@cache
def searching(right):
    @cuda.jit
    def kernel(n, per_row, length, x, y, z):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            row = i // per_row * length
            low, high = 0, length
            while low < high:
                at = (low + high) // 2
                smaller = not ascending(y[i], x[row + at]) if right else ascending(x[row + at], y[i])
                if smaller:
                    low = at + 1
                else:
                    high = at
            z[i] = low
    return kernel


def searchsorted(x, y, right):
    dtype = np.result_type(x.dtype, y.dtype)
    x, y = [filling(comparable("searchsorted", cast(a, dtype))) for a in (x, y)]
    z = empty_array(y.shape, INT64, y.device)
    per_row = max(y.size, 1) if x.ndim == 1 else max(y.shape[-1], 1)
    launch_each(searching(bool(right)), z.size, z.device, z.size, per_row, x.shape[-1], x.block.of(x.dtype), y.block.of(y.dtype),
                z.block.of(INT64))
    return z
