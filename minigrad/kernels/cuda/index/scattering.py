"""Storing and adding where indices say: the sum of indexing.py tells where, and what is left is that several may go to one place.

    scatter_add     z[index[i]] += y[i]     atomic additions
    scatter         z[index[i]]  = y[i]     two passes, unless nothing can meet
    scatter_reduce  z[index[i]] *= y[i]     a thread for all that can meet

    bytes       a copy of z; an index and an element of y read for each, and one of z read and written
    operations  some divisions, see Note [Few dimensions] in elementwise.py
    so          the memory limits it, until many go to the same place: those wait for each other
    measured    9% of what a copy moves on an H100, places in no order

Note [Adding where others add]
    Several elements may go to one place. `atomic.add` lets each addition happen as a whole, in whatever order they come, so sums of
    floats may differ in their last bits from run to run, as in PyTorch. There is an atomic addition for numbers of 32 and 64 bits;
    a complex number is two of them, and smaller ones are added in a copy that is wider (`wide_for_sums`).

Note [Adding in order]
    ``mg.use_deterministic_algorithms(True)`` asks for the same bits in every run. Then what is added is sorted by its place, which
    keeps the order of what has the same one, and one thread adds all that goes to a place. The sorting takes the time: some ten
    times as long as atomics, and longer where all goes to one place.

Note [The last one wins]
    Storing has a result that depends on who comes last, and NumPy's rule is: the last in the order of the index. So where several
    numbers may go to one place, a first kernel notes for each place the largest i that goes there (`atomic.max` of integers
    does not depend on the order), and a second one stores for these alone. It costs 8 bytes for each element of z; sorting the
    indices would cost less where they are few and z is large. One number that goes everywhere needs no such care.

Mirrors ``aten/src/ATen/native/cuda/ScatterGatherKernel.cu``, ``IndexKernel.cu`` and ``Indexing.cu``. Read next: ``nonzero.py``.
"""

from functools import cache
from math import prod

import numpy as np
from numba import cuda

from minigrad.kernels import flags
from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.elementwise import expressions
from minigrad.kernels.cuda.elementwise.elementwise import collapsed, filled, function_of, in_elements, offset, width
from minigrad.kernels.cuda.index.indexing import INT64, along, per_slice, places
from minigrad.kernels.cuda.index.sorting import ascending, sorted_rows
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.shape.layout import cast, copy, copy_
from minigrad.kernels.cuda.shape.views import view

__all__ = ["index_add", "index_put", "index_put_", "scatter", "scatter_add", "scatter_reduce"]

# ---- kernels ----------------------------------------------------------------------------------------------
# z is row-major; a trailing "0" is the first element, "s_" the strides for the coordinates of element i, of which there are n.


@cuda.jit
def write(n, shape, z, z0, sz, index, j0, sj, step, y, y0, sy):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + offset(i, shape, sz) + index[j0 + offset(i, shape, sj)] * step] = y[y0 + offset(i, shape, sy)]


@cuda.jit
def write_adding(n, shape, z, z0, sz, index, j0, sj, step, y, y0, sy):
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
def reducing(f, wide):
    """A thread goes along dim, and so nobody else comes to its places. Slow for one long vector, which one thread walks along."""
    @cuda.jit
    def kernel(n, shape, z, z0, sz, step, index, j0, sj, j_step, y, y0, sy, y_step, length):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            to, j, source = z0 + offset(i, shape, sz), j0 + offset(i, shape, sj), y0 + offset(i, shape, sy)
            for k in range(length):
                at = to + index[j + k * j_step] * step
                z[at] = f(wide(z[at]), wide(y[source + k * y_step]))
    return kernel


# ---- starting them: z is row-major and ours, the rest is as in `picked` -----------------------------------


def arguments(n, shape, z, sz, step, index, sj, y, sy):
    return (n, shape, z.block.of(z.dtype), z.start, sz, index.block.of(index.dtype), index.start, sj, step, y.block.of(y.dtype),
            y.start, sy)


def stored(z, sz, step, index, sj, y, shape):
    """z with y there. See Note [The last one wins]."""
    n = prod(shape)
    short, sz, sj, sy = collapsed(shape, sz, sj, in_elements(y, shape))
    args = arguments(n, short, z, sz, step, index, sj, y, sy)
    if y.size == 1 or index.size == 1:
        launch_each(write, n, z.device, *args)
    elif n:
        last = filled(z.shape, -1, INT64, z.device)
        launch_each(note_last, n, z.device, n, short, last.block.of(INT64), sz, *args[5:9])
        launch_each(write_last, n, z.device, *args, last.block.of(INT64))
    return z


def wide_for_sums(dtype):
    """The dtype that sums of numbers of `dtype` are computed in. Integers wrap around to the same in the end."""
    if dtype == np.float16:
        return np.dtype("float32")
    return INT64 if dtype.kind in "iub" and dtype.itemsize < 4 else dtype


def added(z, sz, step, index, sj, y, shape):
    """z with y added there. See Note [Adding where others add]."""
    n, dtype, wide = prod(shape), z.dtype, wide_for_sums(z.dtype)
    if wide != dtype:
        return cast(added(cast(z, wide), sz, step, index, sj, y, shape), dtype)
    y = cast(y, dtype)
    if flags.deterministic and dtype.kind in "fc" and n:
        return added_in_order(z, sz, step, index, sj, y, shape)
    short, sz, sj, sy = collapsed(shape, sz, sj, in_elements(y, shape))
    if dtype.kind != "c":
        launch_each(write_adding, n, z.device, *arguments(n, short, z, sz, step, index, sj, y, sy))
        return z
    part = np.dtype(f"f{dtype.itemsize // 2}")
    sz, sy = [(*[2 * s for s in strides], 1) for strides in (sz, sy)]
    launch_each(write_adding, 2 * n, z.device, 2 * n, (*short, 2), z.block.of(part), 2 * z.start, sz, index.block.of(index.dtype),
                index.start, (*sj, 0), 2 * step, y.block.of(part), 2 * y.start, sy)
    return z


@cuda.jit
def note_places(n, shape, z0, sz, index, j0, sj, step, at):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        at[i] = z0 + offset(i, shape, sz) + index[j0 + offset(i, shape, sj)] * step


@cuda.jit
def add_runs(n, shape, z, places, order, y, y0, sy):
    """Thread i adds the run of equal places that begins at i, if one does."""
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


def added_in_order(z, sz, step, index, sj, y, shape):
    """z with y added there, the same in every run. See Note [Adding in order]."""
    n = prod(shape)
    short, sz, sj, sy = collapsed(shape, sz, sj, in_elements(y, shape))
    at = empty_array((n,), INT64, z.device)
    launch_each(note_places, n, z.device, n, short, z.start, sz, index.block.of(index.dtype), index.start, sj, step,
                at.block.of(INT64))
    places, order = sorted_rows("scatter_add", at, 0, ascending)
    launch_each(add_runs, n, z.device, n, short, z.block.of(z.dtype), places.block.of(INT64), order.block.of(INT64),
                y.block.of(y.dtype), y.start, sy)
    return z


def as_vector(x):
    found = view(x, (x.size,))
    return view(copy(x), (x.size,)) if found is None else found


def scattered(how, x, dim, index, y):
    """A copy of x with y stored or added (`how`) at index along dim."""
    if x.ndim == 0:
        y = as_vector(y) if isinstance(y, CudaArray) and y.ndim else y
        return view(scattered(how, view(x, (1,)), 0, as_vector(index), y), ())
    y = y if isinstance(y, CudaArray) else filled((), y, x.dtype, x.device)
    z = copy(x)
    sz, step = along(z, dim)
    return how(z, sz, step, index, in_elements(index, index.shape), y, index.shape)


def scatter(x, dim, index, y):
    return scattered(stored, x, dim, index, y)


def scatter_add(x, dim, index, y):
    return scattered(added, x, dim, index, y)


def index_add(x, dim, index, y):
    return scatter_add(x, dim, per_slice(index, y.shape, dim), y)


def index_put(x, indices, y, accumulate):
    z = copy(x)
    array, sj, sz, step, shape = places(z, indices)
    y = y if isinstance(y, CudaArray) else filled((), y, x.dtype, x.device)
    return (added if accumulate else stored)(z, sz, step, array, sj, y, shape)


def index_put_(x, indices, y, accumulate):
    if (accumulate and wide_for_sums(x.dtype) != x.dtype) or not x.flags.c_contiguous:
        copy_(x, index_put(x, indices, y, accumulate))
        return
    array, sj, sx, step, shape = places(x, indices)
    y = y if isinstance(y, CudaArray) else filled((), y, x.dtype, x.device)
    (added if accumulate else stored)(x, sx, step, array, sj, y, shape)


REDUCTIONS = {"prod": "mul", "amax": "maximum", "amin": "minimum"}


def scatter_reduce(x, dim, index, y, reduce):
    z = copy(x)
    name = REDUCTIONS[reduce]
    kernel = reducing(function_of(name, expressions.TWO[name], x.dtype), width(x.dtype))
    others = [d for d in range(x.ndim) if d != dim]
    parts = []
    for array in (z, index, y):
        strides = in_elements(array, array.shape)
        parts.append(([strides[d] for d in others], strides[dim]))
    shape, sz, sj, sy = collapsed([index.shape[d] for d in others], *[strides for strides, _ in parts])
    n = prod(shape) if index.size else 0
    launch_each(kernel, n, z.device, n, shape, z.block.of(z.dtype), z.start, sz, parts[0][1], index.block.of(index.dtype),
                index.start, sj, parts[1][1], y.block.of(y.dtype), y.start, sy, parts[2][1], index.shape[dim])
    return z
