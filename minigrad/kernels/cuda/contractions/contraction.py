"""Contractions: sums of products over some dimensions of two arrays. Matrix products are contractions, and so are convolutions.

    z[b, m, n] = Σ_k x[b, m, k] y[b, k, n]      where b, m, n and k may each stand for several dimensions

`contract` joins dimensions that are contiguous, chooses the shape of the tiles and how each operand is read, and starts the kernel
of tiles.py, where the figures are. The arrays may have any strides.

Note [Which tiles]
    All multiprocessors work at the same time, so the one with most tiles determines the time: `cost` is its number of products.
    Large tiles read least. But 64 large tiles leave half of 132 multiprocessors idle, and a matrix of 64 rows wastes half of each
    tile. And a multiprocessor with few threads waits for each read: sixteen warps hide the wait, four warps hide half of it.

Note [Parts]
    A gradient of weights has few numbers, each a sum over all images. Its few tiles would leave most of a GPU idle. So several
    blocks share a tile, each with a part of k. `add_parts` adds the parts in order, so the result is always the same. The price is
    that each part is written and read once more.

Note [Matrices for tensor cores]
    Tensor cores multiply float16 many times as fast as the other arithmetic units. They need matrices in which rows, or columns,
    are contiguous and begin at multiples of 16 bytes. Any other operand, such as the windows of an image, is copied first. That
    is 4 bytes of traffic for each number, which is then used in 64 products or more. For fewer products, tiles.py is faster.

Read next: ``tiles.py``, ``tensor_cores.py``, ``vectors.py``.
"""

from functools import lru_cache
from math import prod

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.contractions.tensor_cores import CHUNK, DEPTH, THREADS, product_kernel
from minigrad.kernels.cuda.contractions.tiles import COMPLEX, LARGE, MEDIUM, RUN, SMALL, TALL, WIDE, Way, tiled_kernel
from minigrad.kernels.cuda.elementwise.elementwise import (
    broadcast_strides,
    collapse,
    element_strides,
    fill_,
    offset,
    row_major_strides,
    width,
)
from minigrad.kernels.cuda.runtime.launch import launch, launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.shape.layout import store

__all__ = ["contract", "sum_dtype"]

MULTIPROCESSORS = 2 if SIMULATED else 132
SLICES = 2 if SIMULATED else 16         # the fewest slices of a part
SIDES = 128, 64                         # of tiles for tensor cores: the large tiles, if there are enough
MOST_COPIED = 1 << 28                   # the most numbers of an operand that is copied for tensor cores
SHAPES = {LARGE: 1, WIDE: 1, TALL: 1, MEDIUM: 0.9}      # tiles for float32, and their relative speed


@cuda.jit
def add_parts(n, parts, shape, z, z0, sz, p, p0):
    """z[i] = Σ p[part, i], in the order of the parts."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total = p[p0 + i]
        for part in range(1, parts):
            total += p[p0 + part * n + i]
        z[z0 + offset(i, shape, sz)] = total


def sum_dtype(name, dtype):
    """The dtype in which products of numbers of `dtype` are summed. Raises `NotImplementedError` for bools."""
    if dtype.kind == "b":
        raise missing(name, dtype)
    return np.dtype(np.float32) if dtype == np.float16 else np.dtype(np.int64) if dtype.kind in "iu" else dtype


def choose_tile(n_rows, n_columns, groups, wide):
    """Choose the `Tile` for sums of dtype `wide`. See Note [Which tiles]."""
    if wide != np.float32:      # sums of 8 or 16 bytes: registers hold no larger tile, and shared memory no longer slice
        return SMALL if wide.itemsize == 8 else COMPLEX

    def cost(tile):
        tiles = -(-groups * -(-n_rows // tile.rows) * -(-n_columns // tile.columns) // MULTIPROCESSORS)
        warps = min(tiles * tile.threads, 512) / 32
        return tiles * tile.rows * tile.columns / (SHAPES[tile] * warps / (warps + 4))
    return min(SHAPES, key=cost)


def count_parts(tiles, n_inner, depth):
    """The number of parts of k. See Note [Parts]."""
    return max(min(2 * MULTIPROCESSORS // max(tiles, 1), n_inner // (depth * SLICES)), 1)


def fits_packs(start, shape, strides, *others):
    """Whether an array can be read or written in packs of four along the dimension of `shape`; `others` are its other strides."""
    return len(shape) == 1 and strides[0] == 1 and shape[0] % RUN == 0 and all(
        s % RUN == 0 for s in (start, *[s for each in others for s in each]))


def step(shape, strides):
    """The stride of the last of these dimensions; very large if it has size 1."""
    return abs(strides[-1]) if shape[-1] > 1 else 1 << 62


def choose_way(start, side, strides, inner, inner_strides, batch_strides, fetched):
    """Choose the `Way` to read an operand, `fetched` numbers per thread. See Note [Four ways to read] in tiles.py."""
    along_inner = step(inner, inner_strides) < step(side, strides)
    if fetched < RUN:
        return Way(along_inner, False)
    if along_inner:
        return Way(True, fits_packs(start, inner, inner_strides, strides, batch_strides))
    return Way(False, len(inner) == 1 and fits_packs(start, side, strides, inner_strides, batch_strides))


def matrix(start, shape, rows, strides, batch_strides):
    """Return (stride of the rows, stride along k, whether k is contiguous), or None if tensor cores cannot read the operand.

    Args:
        start: index of the first element.
        shape, strides: of the dimensions after the batch.
        rows: how many of these dimensions are rows; the others are k.
        batch_strides: the strides of the batch.
    """
    (side, far), (inner, step) = collapse(shape[:rows], strides[:rows]), collapse(shape[rows:], strides[rows:])
    if len(side) > 1 or len(inner) > 1 or any(s % CHUNK for s in (start, *batch_strides)):
        return None
    far, step = far[0], step[0]
    if step == 1 and far % CHUNK == 0:
        return far, step, True
    return (far, step, False) if far == 1 and step % CHUNK == 0 else None


def copy_as_matrix(x, lead, first):
    """Return a copy of `x` (batch ..., first ..., second ...) in which the second dimensions are contiguous."""
    n = prod(x.shape[lead + first:])
    whole = empty_array((*x.shape[:lead + first], -(-n // CHUNK) * CHUNK), x.dtype, x.device)
    z = whole.make_view(whole.layout[..., :n].reshape(x.shape))
    store(z, x)
    return z


def contract_by_tensor_cores(z, x, y, lead, rows, inner, bias):
    """Queue z = x y + bias for float16 on tensor cores; return False if they are not suitable.

    See Note [Matrices for tensor cores].
    """
    n_rows, n_columns = prod(z.shape[lead:lead + rows]), prod(z.shape[lead + rows:])
    n_inner, groups = prod(x.shape[lead + rows:]), prod(z.shape[:lead])
    if min(n_rows, n_columns, n_inner) < CHUNK:
        return False

    def of_x(x):
        s = element_strides(x, x.shape)
        return matrix(x.start, x.shape[lead:], rows, s[lead:], s[:lead])

    def of_y(y):
        s, k = element_strides(y, y.shape), lead + inner
        return matrix(y.start, y.shape[k:] + y.shape[lead:k], y.ndim - k, s[k:] + s[lead:k], s[:lead])
    ways = of_x(x), of_y(y)
    if None in ways and (min(n_rows, n_columns) < 64 or max(x.size, y.size) > MOST_COPIED):
        return False
    x = x if ways[0] else copy_as_matrix(x, lead, rows)
    y = y if ways[1] else copy_as_matrix(y, lead, inner)
    ways = of_x(x), of_y(y)

    def tiles_of(side):
        return groups * -(-n_rows // side) * -(-n_columns // side)
    side = SIDES[0] if tiles_of(SIDES[0]) >= MULTIPROCESSORS else SIDES[1]
    tiles = tiles_of(side)
    parts = count_parts(tiles, n_inner, DEPTH)

    def sides_of(sz):
        return collapse(z.shape[lead:lead + rows], sz[lead:lead + rows]), collapse(z.shape[lead + rows:], sz[lead + rows:])
    in_place = parts == 1 and all(len(n) == 1 for n, _ in sides_of(element_strides(z, z.shape)))
    whole = z if in_place else empty_array((parts, *z.shape), z.dtype if parts == 1 else np.dtype(np.float32), z.device)
    sz = element_strides(z, z.shape) if in_place else element_strides(whole, whole.shape)[1:]
    batches = collapse(z.shape[:lead], sz[:lead], element_strides(x, x.shape)[:lead], element_strides(y, y.shape)[:lead])
    (_, (z_far,)), (_, (z_step,)) = sides_of(sz)
    pairs = z_step == 1 and not any(s % 2 for s in (n_columns, whole.start, z_far, *batches[1]))
    b, sb = (x, (0, 0)) if bias is None else (bias, element_strides(bias, bias.shape))
    launch(product_kernel(side, ways[0][2], ways[1][2], pairs, bias is not None), tiles * parts, THREADS, z.device,
           (n_rows, n_columns, n_inner), parts, -(-n_inner // (parts * DEPTH)) * DEPTH,
           whole.block.of(whole.dtype), whole.start, z.size, z_far, z_step, x.block.of(x.dtype), x.start, *ways[0][:2],
           y.block.of(y.dtype), y.start, *ways[1][:2], b.block.of(b.dtype), b.start, sb, *batches)
    if parts > 1:
        add_all(z, whole, parts)
    elif not in_place:
        store(z, whole.make_view(whole.layout[0]))
    return True


def add_all(z, whole, parts):
    """Queue z = Σ whole[part]."""
    launch_each(add_parts, z.size, z.device, z.size, parts, z.shape, z.block.of(z.dtype), z.start, element_strides(z, z.shape),
                whole.block.of(whole.dtype), whole.start)


def contract(name, z, x, y, rows, columns, bias=None):
    """Queue z = x y + bias.

    Args:
        name: the kernel of the contract, for errors.
        z: an array of shape (batch ..., rows ..., columns ...). All arrays may have any strides.
        x: (batch ..., rows ..., inner ...).
        y: (batch ..., inner ..., columns ...).
        rows, columns: how many dimensions are rows, and how many are columns.
        bias: an array with the shape of z, or None; only if `rows` and `columns` are 1 and there is no batch.

    Raises:
        ValueError: the shapes of x, y and z do not fit.
        NotImplementedError: the dtype is bool.
    """
    lead = z.ndim - rows - columns
    inner = x.ndim - lead - rows
    middle = y.shape[lead:lead + inner]
    if x.shape != (*z.shape[:lead + rows], *middle) or y.shape != (*z.shape[:lead], *middle, *z.shape[lead + rows:]):
        raise ValueError(f"{name}: shapes {x.shape} and {y.shape} cannot be contracted to {z.shape}")
    wide = sum_dtype(name, x.dtype)
    if not z.size:
        return
    if not prod(middle) and bias is None:
        fill_(z, 0)
        return
    if x.dtype == np.float16 and not SIMULATED and contract_by_tensor_cores(z, x, y, lead, rows, inner, bias):
        return
    b, sb = (x, (0, 0)) if bias is None else (bias, element_strides(bias, bias.shape))
    kernel, tile, tiles, parts, size, depth, dimensions = make_plan(
        wide, x.dtype, lead, rows, inner, bias is not None, z.itemsize, z.shape, z.strides, z.start % RUN,
        x.shape, x.strides, x.start % RUN, y.shape, y.strides, y.start % RUN)
    whole = z if parts == 1 else empty_array((parts, *z.shape), wide, z.device)
    launch(kernel, tiles * parts, tile.threads, z.device, size, parts, depth, whole.block.of(whole.dtype), whole.start,
           z.size if parts > 1 else 0, x.block.of(x.dtype), x.start, y.block.of(y.dtype), y.start, b.block.of(b.dtype), b.start, sb,
           *dimensions)
    if parts > 1:
        add_all(z, whole, parts)


@lru_cache(4096)
def make_plan(wide, dtype, lead, rows, inner, biased, itemsize, shape, sz, z0, x_shape, sx, x0, y_shape, sy, y0):
    """Plan a contraction of arrays of these shapes. The plan is cached: training repeats the same contractions.

    Args:
        wide, dtype: of the sums, and of the operands.
        lead, rows, inner: how many dimensions are in the batch, are rows, and are summed over.
        biased: whether there is a bias.
        itemsize: of z.
        shape, sz, z0 and so on: of each array the shape, the strides in bytes, the index of the first element modulo RUN.

    Returns:
        (kernel, tile, number of tiles, number of parts, the three sizes, depth of a part, dimensions as arguments of the kernel)
    """
    sz = broadcast_strides(shape, sz, itemsize, shape)
    sx, sy = [broadcast_strides(own, s, dtype.itemsize, own) for own, s in ((x_shape, sx), (y_shape, sy))]
    batch, down, across, middle = shape[:lead], shape[lead:lead + rows], shape[lead + rows:], x_shape[lead + rows:]
    n_rows, n_columns, n_inner, groups = prod(down), prod(across), prod(middle), prod(batch)
    tile = choose_tile(n_rows, n_columns, groups, wide)
    tiles = groups * -(-n_rows // tile.rows) * -(-n_columns // tile.columns)
    parts = count_parts(tiles, n_inner, tile.depth)
    if parts > 1:           # each part is written to its own row-major array
        sz, z0 = row_major_strides(shape), 0
    batches = collapse(batch, sz[:lead], sx[:lead], sy[:lead])
    row = collapse(down, sz[lead:lead + rows], sx[lead:lead + rows])
    column = collapse(across, sz[lead + rows:], sy[lead + inner:])
    inside = collapse(middle, sx[lead + rows:], sy[lead:lead + inner]) if n_inner else ((1,), (0,), (0,))
    fetched_x, fetched_y = [side * tile.depth // tile.threads for side in (tile.rows, tile.columns)]
    kernel = tiled_kernel(from_dtype(wide), width(dtype), tile, choose_way(x0, row[0], row[2], *inside[:2], batches[2], fetched_x),
                          choose_way(y0, column[0], column[2], inside[0], inside[2], batches[3], fetched_y),
                          fits_packs(z0, column[0], column[1], row[1], batches[1]), biased)
    return (kernel, tile, tiles, parts, (n_rows, n_columns, n_inner), -(-n_inner // (parts * tile.depth)) * tile.depth,
            (*batches, *row, *column, *inside))
