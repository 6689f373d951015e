"""Copies, casts and creation: the kernels of `clone`, `to`, `zeros` and AccumulateGrad.

    idea        a copy from any strides and dtype to any others is an elementwise kernel whose expression only casts
    bytes       each number is read once and written once
    so          memory limits it, unless rows become columns
    measured    93% of the speed of a copy on an H100, for a transpose of 16384 x 16384 float32

Note [Transposing by tiles]
    If neighbours of x are not neighbours of z, a plain copy would read or write single numbers. But the memory delivers 32 bytes or
    more for each. So a block reads a square tile in rows of x, and writes it in rows of z:

        x   0 1 2 3 ->      0 1 2 3 .       the tile in shared memory, where a column is as fast as a row.
            4 5 6 7 ->      4 5 6 7 .       Its rows have one unused place at the end. Without it, the 32 numbers of a
                            |               column would be in one of the 32 banks, which reads them one after another
                            v
                        z   0 4 ...

    After G. Ruetsch and P. Micikevicius, "Optimizing Matrix Transpose in CUDA", 2009.

Read next: ``views.py``.
"""

import math
from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import (
    alike,
    device_function,
    fill_,
    function_of,
    new_full,
    one,
    plain,
    run,
    same_or_apart,
    sort_dimensions,
    two,
    width,
)
from minigrad.kernels.cuda.elementwise.expressions import TWO
from minigrad.kernels.cuda.elementwise.quad_kernels import unsigned
from minigrad.kernels.cuda.elementwise.vector_io import quotient
from minigrad.kernels.cuda.runtime import memory
from minigrad.kernels.cuda.runtime.launch import THREADS, launch, pointers
from minigrad.kernels.cuda.runtime.memory import empty_array, empty_like
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.shape.views import owns
from minigrad.kernels.numpy_ref.layout import dense, number

__all__ = ["Creation", "accumulate", "add_", "cast", "copy", "copy_", "copy_with_layout", "fill_", "number", "to_host"]


@device_function
def real_part(x):
    return x.real


@device_function
def truth(x):
    return x != 0


@cache
def wrap_function(source, target):
    """A device function from floats of NumPy dtype `source` to integers of `target` that wraps around: -2.0 gives 254 as uint8.

    So does NumPy; the instruction of a GPU would give 0. It converts to int64 first.
    """
    if SIMULATED:
        return lambda x: x.astype(np.int64).astype(target)
    wide, kind = max(source, np.dtype(np.float32)).type, target.type
    return device_function(lambda x: kind(np.int64(wide(x))))


def conversion(source, target):
    """The device function that prepares a number of NumPy dtype `source` for an array of `target`, which casts it."""
    if target.kind == "b":
        return truth
    if source.kind == "f" and target.kind in "iu" and target != np.int64 and target != np.int32:
        return wrap_function(source, target)
    return real_part if source.kind == "c" and target.kind != "c" else plain


SIDE = 4 if SIMULATED else 64       # of a tile: a thread has 16 of its numbers, and computes their address once
MOST_TILES = 16 if SIMULATED else (1 << 31) - 1     # blocks of a launch; each takes some milliseconds in the simulator
FAR = 1 << 62                       # instead of a stride of 0: that dimension is then never the nearest


@cache
def transpose_kernel(f, kind, side):
    """The kernel that sets z = f(x) by tiles, for matrices of `rows` x `columns`; `kind` is numba's type of x.

    Neighbours in a row of z are 1 apart, in a column `z_down`. Those of x are `across` apart in a row, and `down`, which is less,
    in a column. `shape` is the shape of all dimensions but these two.
    """
    pitch = side + 1            # from one row of the tile to the next
    at_once = THREADS // side   # rows that the block reads and writes together

    @cuda.jit
    def kernel(rows, columns, shape, z, z0, sz, z_down, x, x0, sx, across, down):
        room = cuda.shared.array((side, pitch), kind)
        near, far = cuda.threadIdx.x % side, cuda.threadIdx.x // side
        tiles_across = quotient(columns + side - 1, side)
        i = quotient(cuda.blockIdx.x, tiles_across)
        column = (cuda.blockIdx.x - i * tiles_across) * side
        tiles_down = quotient(rows + side - 1, side)
        matrix = quotient(i, tiles_down)
        row = (i - matrix * tiles_down) * side
        at, to = x0 + (row + near) * down + (column + far) * across, z0 + (row + far) * z_down + column + near
        for dim in range(len(shape) - 1, 0, -1):
            rest = quotient(matrix, shape[dim])
            at += (matrix - rest * shape[dim]) * sx[dim]
            to += (matrix - rest * shape[dim]) * sz[dim]
            matrix = rest
        at += matrix * sx[0]
        to += matrix * sz[0]
        if row + side <= rows and column + side <= columns:     # without tests all reads can be under way together
            for k in range(0, side, at_once):
                room[unsigned(far + k), unsigned(near)] = x[unsigned(at)]
                at += at_once * across
        else:
            for k in range(0, side, at_once):
                if row + near < rows and column + far + k < columns:
                    room[unsigned(far + k), unsigned(near)] = x[unsigned(at)]
                at += at_once * across
        cuda.syncthreads()
        for k in range(0, side, at_once):
            if row + far + k < rows and column + near < columns:
                z[unsigned(to)] = f(room[unsigned(near), unsigned(far + k)])
            to += at_once * z_down
    return kernel


def store_by_tiles(z, x, f):
    """Queue z[...] = f(x) if rows of z are columns of x; return whether they are. See Note [Transposing by tiles]."""
    shape, sz, sx = sort_dimensions(z.shape, *[(a.shape, a.strides, a.itemsize) for a in (z, x)])
    steps = [abs(s) or FAR for s in sx]
    near = steps.index(min(steps))
    if sz[-1] != 1 or sx[-1] == 0 or steps[near] == steps[-1] or min(shape[near], shape[-1]) < SIDE // 2:
        return False
    others = [dim for dim in range(len(shape) - 1) if dim != near]
    of_others = [tuple([part[dim] for dim in others]) or (first,) for part, first in ((shape, 1), (sz, 0), (sx, 0))]
    side = SIDE // 2 if x.itemsize > 8 else SIDE        # a block has 48 KB of shared memory
    blocks = math.prod(of_others[0]) * -(-shape[near] // side) * -(-shape[-1] // side)
    if blocks > MOST_TILES:
        return False
    kernel = transpose_kernel(f, from_dtype(x.dtype), side)
    launch(kernel, blocks, THREADS, z.device, shape[near], shape[-1], of_others[0], *pointers(z),
           of_others[1], sz[near], *pointers(x), of_others[2], sx[-1], sx[near])
    return True


def store(z, x):
    """Queue z[...] = x, with x broadcast and cast."""
    f = conversion(x.dtype, z.dtype)
    if not z.size or alike(z, [x]) or not store_by_tiles(z, x, f):
        run(one(f, plain), z, [x])


def accumulate(x, y):
    if not owns(x) or x.shape != y.shape or x.dtype != y.dtype or x.strides != y.strides:
        return False
    add_(x, y)
    return True


def add_(x, y):
    if not same_or_apart(x, [y]):
        y = copy(y)
    run(two(function_of("add", TWO["add"], x.dtype), width(x.dtype)), x, [x, y])


def copy_(x, y):
    store(x, y)


def copy(x):
    z = empty_array(x.shape, x.dtype, x.device)
    store(z, x)
    return z


def copy_with_layout(g, x):
    z = empty_like(x, g.dtype) if g.shape == x.shape and dense(x) else empty_array(g.shape, g.dtype, g.device)
    store(z, g)
    return z


def cast(x, dtype):
    if x.dtype == dtype:
        return x
    z = empty_like(x, dtype) if dense(x) else empty_array(x.shape, dtype, x.device)
    store(z, x)
    return z


def row_major(x):
    """Return `x` if it is row-major without gaps, else a copy that is."""
    return x if x.flags.c_contiguous else copy(x)


def to_host(x):
    return memory.to_host(row_major(x))


class Creation:
    """The kernels that create arrays, for one device."""

    __name__ = "minigrad.kernels.cuda.shape.layout"

    def __init__(self, device):
        self.device = device

    def empty(self, shape, dtype):
        return empty_array(shape, dtype, self.device)

    def from_host(self, x, wait):
        return memory.from_host(x, self.device, wait)

    def full(self, shape, value, dtype):
        return new_full(shape, value, np.dtype(dtype), self.device)
