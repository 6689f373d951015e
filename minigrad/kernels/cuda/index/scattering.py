"""Storing and adding at given indices. The sum in indexing.py says where; here several elements may go to one place.

    scatter_add     z[index[i]] += y[i]     atomic additions
    scatter         z[index[i]]  = y[i]     two passes, unless all places differ for certain
    scatter_reduce  z[index[i]] *= y[i]     one thread for all elements that can go to one place

    bytes       a copy of z; for each element, an index and a number of y are read, and a number of z is read and written
    operations  some divisions, see Note [Few dimensions] in elementwise.py
    so          memory limits it, until many elements go to one place: these wait for each other
    measured    9% of the speed of a copy on an H100, for places in random order

Note [Adding where others add]
    Several elements may go to one place. `atomic.add` makes each addition one indivisible step, but in any order. So sums of floats
    may differ in their last bits from run to run, as in PyTorch. A GPU has atomic additions for numbers of 32 and 64 bits. A
    complex number takes two of them, and smaller numbers are added in a wider copy (`wide_for_sums`).

Note [Adding in order]
    ``mg.use_deterministic_algorithms(True)`` asks for the same bits in every run. Then the elements are sorted by their places, and
    one thread adds all elements of a place. The sort keeps the order of elements with the same place. It takes most of the time:
    about ten times as long as atomics, and longer if all elements go to one place.

Note [The last one wins]
    Storing has a result that depends on who comes last. NumPy's rule is: the last in the order of the index. So where several
    elements may go to one place, there are two kernels. The first notes for each place the largest i that goes there: `atomic.max`
    of integers does not depend on the order. The second stores only these elements. It costs 8 bytes for each element of z. To
    sort the indices would cost less if they are few and z is large. If one number goes to all places, the order does not matter.

Mirrors ``aten/src/ATen/native/cuda/ScatterGatherKernel.cu``, ``IndexKernel.cu`` and ``Indexing.cu``. Read next: ``sorting.py``.
"""

from functools import cache
from math import prod

import numpy as np
from numba import cuda

from minigrad.kernels import flags
from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.elementwise import expressions
from minigrad.kernels.cuda.elementwise.elementwise import (
    collapse,
    element_strides,
    function_of,
    new_full,
    offset,
    where,
    width,
)
from minigrad.kernels.cuda.index.indexing import INT64, places, repeat_per_slice, strides_along
from minigrad.kernels.cuda.index.sorting import ascending, sort_rows
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import cast, copy, copy_
from minigrad.kernels.cuda.shape.views import view

__all__ = ["index_add", "index_put", "index_put_", "masked_fill_", "scatter", "scatter_add", "scatter_reduce"]

# ---- kernels ----------------------------------------------------------------------------------------------
# z is row-major. z0, y0 and j0 are first elements; sz, sy and sj are strides for the coordinates of element i, from 0 to n - 1.


@cuda.jit
def write(n, shape, z, z0, sz, index, j0, sj, step, y, y0, sy):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + offset(i, shape, sz) + index[j0 + offset(i, shape, sj)] * step] = y[y0 + offset(i, shape, sy)]


@cuda.jit
def add_atomically(n, shape, z, z0, sz, index, j0, sj, step, y, y0, sy):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at = z0 + offset(i, shape, sz) + index[j0 + offset(i, shape, sj)] * step
        cuda.atomic.add(z, at, y[y0 + offset(i, shape, sy)])


@cuda.jit
def note_last(n, shape, last, sz, index, j0, sj, step):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.max(last, offset(i, shape, sz) + index[j0 + offset(i, shape, sj)] * step, i)


@cuda.jit
def write_last(n, shape, z, z0, sz, index, j0, sj, step, y, y0, sy, last):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at = offset(i, shape, sz) + index[j0 + offset(i, shape, sj)] * step
        if last[at] == i:
            z[z0 + at] = y[y0 + offset(i, shape, sy)]


@cache
def reduce_kernel(f, wide):
    """The kernel in which a thread walks along `dim`, so no other thread comes to its places. For one long vector it is slow."""
    @cuda.jit
    def kernel(n, shape, z, z0, sz, step, index, j0, sj, j_step, y, y0, sy, y_step, length):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            to, j, source = z0 + offset(i, shape, sz), j0 + offset(i, shape, sj), y0 + offset(i, shape, sy)
            for k in range(length):
                at = to + index[j + k * j_step] * step
                z[at] = f(wide(z[at]), wide(y[source + k * y_step]))
    return kernel


# ---- starting them: z is row-major and new, the other arguments are those of `pick_elements` --------------


def arguments(n, shape, z, sz, step, index, sj, y, sy):
    return (n, shape, z.block.of(z.dtype), z.start, sz, index.block.of(index.dtype), index.start, sj, step, y.block.of(y.dtype),
            y.start, sy)


def store_at(z, sz, step, index, sj, y, shape):
    """Store y in z; return z. See Note [The last one wins]."""
    n = prod(shape)
    short, sz, sj, sy = collapse(shape, sz, sj, element_strides(y, shape))
    args = arguments(n, short, z, sz, step, index, sj, y, sy)
    if y.size == 1 or index.size == 1:
        launch_each(write, n, z.device, *args)
    elif n:
        last = new_full(z.shape, -1, INT64, z.device)
        launch_each(note_last, n, z.device, n, short, last.block.of(INT64), sz, *args[5:9])
        launch_each(write_last, n, z.device, *args, last.block.of(INT64))
    return z


def wide_for_sums(dtype):
    """The dtype in which sums of numbers of `dtype` are computed. A wider integer wraps around when it is cast back."""
    if dtype == np.float16:
        return np.dtype("float32")
    return INT64 if dtype.kind in "iub" and dtype.itemsize < 4 else dtype


def add_at(z, sz, step, index, sj, y, shape):
    """Add y to z; return z, or a new array if sums are wider. See Note [Adding where others add]."""
    n, dtype, wide = prod(shape), z.dtype, wide_for_sums(z.dtype)
    if wide != dtype:
        return cast(add_at(cast(z, wide), sz, step, index, sj, y, shape), dtype)
    y = cast(y, dtype)
    if flags.deterministic and dtype.kind in "fc" and n:
        return add_in_order(z, sz, step, index, sj, y, shape)
    short, sz, sj, sy = collapse(shape, sz, sj, element_strides(y, shape))
    if dtype.kind != "c":
        launch_each(add_atomically, n, z.device, *arguments(n, short, z, sz, step, index, sj, y, sy))
        return z
    part = np.dtype(f"f{dtype.itemsize // 2}")
    sz, sy = [(*[2 * s for s in strides], 1) for strides in (sz, sy)]
    launch_each(add_atomically, 2 * n, z.device, 2 * n, (*short, 2), z.block.of(part), 2 * z.start, sz, index.block.of(index.dtype),
                index.start, (*sj, 0), 2 * step, y.block.of(part), 2 * y.start, sy)
    return z


@cuda.jit
def note_places(n, shape, z0, sz, index, j0, sj, step, at):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at[i] = z0 + offset(i, shape, sz) + index[j0 + offset(i, shape, sj)] * step


@cuda.jit
def add_runs(n, shape, z, places, order, y, y0, sy):
    """Thread i adds the run of equal places that begins at i, if place i begins a run."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at = places[i]
        if i > 0 and places[i - 1] == at:
            continue
        total = z[at]
        k = i
        while k < n and places[k] == at:
            total += y[y0 + offset(order[k], shape, sy)]
            k += 1
        z[at] = total


def add_in_order(z, sz, step, index, sj, y, shape):
    """Add y to z with the same bits in every run; return z. See Note [Adding in order]."""
    n = prod(shape)
    short, sz, sj, sy = collapse(shape, sz, sj, element_strides(y, shape))
    at = empty_array((n,), INT64, z.device)
    launch_each(note_places, n, z.device, n, short, z.start, sz, index.block.of(index.dtype), index.start, sj, step,
                at.block.of(INT64))
    places, order = sort_rows("scatter_add", at, 0, ascending)
    launch_each(add_runs, n, z.device, n, short, z.block.of(z.dtype), places.block.of(INT64), order.block.of(INT64),
                y.block.of(y.dtype), y.start, sy)
    return z


def as_vector(x):
    found = view(x, (x.size,))
    return view(copy(x), (x.size,)) if found is None else found


def scatter_with(how, x, dim, index, y):
    """Return a copy of x with y stored or added at `index` along `dim`; `how` is `store_at` or `add_at`."""
    if x.ndim == 0:
        y = as_vector(y) if isinstance(y, CudaArray) and y.ndim else y
        return view(scatter_with(how, view(x, (1,)), 0, as_vector(index), y), ())
    y = y if isinstance(y, CudaArray) else new_full((), y, x.dtype, x.device)
    z = copy(x)
    sz, step = strides_along(z, dim)
    return how(z, sz, step, index, element_strides(index, index.shape), y, index.shape)


def scatter(x, dim, index, y):
    return scatter_with(store_at, x, dim, index, y)


def scatter_add(x, dim, index, y):
    return scatter_with(add_at, x, dim, index, y)


def index_add(x, dim, index, y):
    return scatter_add(x, dim, repeat_per_slice(index, y.shape, dim), y)


def index_put(x, indices, y, accumulate):
    z = copy(x)
    array, sj, sz, step, shape = places(z, indices)
    y = y if isinstance(y, CudaArray) else new_full((), y, x.dtype, x.device)
    return (add_at if accumulate else store_at)(z, sz, step, array, sj, y, shape)


def index_put_(x, indices, y, accumulate):
    if (accumulate and wide_for_sums(x.dtype) != x.dtype) or not x.flags.c_contiguous:
        copy_(x, index_put(x, indices, y, accumulate))
        return
    array, sj, sx, step, shape = places(x, indices)
    y = y if isinstance(y, CudaArray) else new_full((), y, x.dtype, x.device)
    (add_at if accumulate else store_at)(x, sx, step, array, sj, y, shape)


def masked_fill_(x, mask, y):
    copy_(x, where(mask, y, x))


REDUCTIONS = {"prod": "mul", "amax": "maximum", "amin": "minimum"}


def scatter_reduce(x, dim, index, y, reduce):
    z = copy(x)
    name = REDUCTIONS[reduce]
    kernel = reduce_kernel(function_of(name, expressions.TWO[name], x.dtype), width(x.dtype))
    others = [d for d in range(x.ndim) if d != dim]
    parts = []
    for array in (z, index, y):
        strides = element_strides(array, array.shape)
        parts.append(([strides[d] for d in others], strides[dim]))
    shape, sz, sj, sy = collapse([index.shape[d] for d in others], *[strides for strides, _ in parts])
    n = prod(shape) if index.size else 0
    launch_each(kernel, n, z.device, n, shape, z.block.of(z.dtype), z.start, sz, parts[0][1], index.block.of(index.dtype),
                index.start, sj, parts[1][1], y.block.of(y.dtype), y.start, sy, parts[2][1], index.shape[dim])
    return z
