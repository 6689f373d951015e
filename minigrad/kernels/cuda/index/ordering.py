"""Kernels that sort first: argsort, medians, modes; and searchsorted, a binary search among sorted numbers.

    idea        sort once (sorting.py); then a thread for each row, or for each number to search
    bytes       argsort: those of sorting. median reads a few numbers of each row, mode all of them. searchsorted reads log2(n)
                numbers for each search, mostly from the cache, since all searches begin with the same numbers
    operations  comparisons
    so          the sort takes the time. In `mode` a thread reads a whole row, and its neighbours read other rows: this is fast for
                many rows of some dozens of numbers, and slow for a single long row

Mirrors ``aten/src/ATen/native/cuda/Sorting.cpp``, ``TensorModeKernel.cu`` and ``Bucketization.cu``.
"""

from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import new_full
from minigrad.kernels.cuda.index.sorting import INT64, ascending, comparable, descending, sort_rows
from minigrad.kernels.cuda.reductions.nonzero import as_whole_block
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import cast, copy

__all__ = ["argsort", "median", "mode", "searchsorted", "topk"]


def argsort(x, dim, descending_order):
    if x.ndim == 0:
        return new_full((), 0, INT64, x.device)
    _, order = sort_rows("argsort", x, dim, descending if descending_order else ascending)
    return order if dim == x.ndim - 1 else copy(order.make_view(np.moveaxis(order.layout, -1, dim)))


def topk(x, number, dim, largest):
    order = argsort(x, dim, largest)
    return copy(order.make_view(order.layout[(slice(None),) * dim + (slice(number),)]))


def find_in_rows(kernel, name, x, dim, *args):
    """Sort x along `dim`, and return the int64 index that `kernel` finds in each row; `dim` stays, with size 1."""
    keys, order = sort_rows(name, x, dim, ascending)
    length = keys.shape[-1]
    z = empty_array((*keys.shape[:-1], 1), INT64, x.device)
    if z.size and not length:
        raise IndexError(f"{name}: there are no elements along dimension {dim}")
    launch_each(kernel, z.size, z.device, z.size, length, keys.block.of(keys.dtype), order.block.of(INT64), z.block.of(INT64),
                *args)
    return z.make_view(np.moveaxis(z.layout, -1, dim))


@cuda.jit
def find_medians(rows, length, keys, order, z, skip_nan):
    """The lower middle of each sorted row; the first nan if the row has one, unless `skip_nan`."""
    for i in range(cuda.grid(1), rows, cuda.gridsize(1)):
        row = i * length
        numbers, high = 0, length
        while numbers < high:                   # count the numbers before the first nan
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
    return find_in_rows(find_medians, "median", x, dim, bool(skip_nan))


@cuda.jit
def find_modes(rows, length, keys, order, z):
    """The last element of the longest run in each sorted row."""
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
    return find_in_rows(find_modes, "mode", x, dim)


# ---- binary search ------------------------------------------------------------------------------------------


@cache
def search_kernel(right):
    """The kernel of searchsorted: the first position before which y can go; the last, if `right`."""
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
    x, y = [as_whole_block(comparable("searchsorted", cast(a, dtype))) for a in (x, y)]
    z = empty_array(y.shape, INT64, y.device)
    per_row = max(y.size, 1) if x.ndim == 1 else max(y.shape[-1], 1)
    launch_each(search_kernel(bool(right)), z.size, z.device, z.size, per_row, x.shape[-1], x.block.of(x.dtype),
                y.block.of(y.dtype), z.block.of(INT64))
    return z
