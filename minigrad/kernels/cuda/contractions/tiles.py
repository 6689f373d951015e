"""The tiled kernel, for matrix products and convolutions.

    z[b, m, n] = Σ_k x[b, m, k] y[b, k, n]      where b, m, n and k may each stand for several dimensions

    idea        a block of threads computes a tile of z. It walks along k, slice by slice: a slice of x and a slice of y go into
                shared memory. From there a whole row, or a whole column, of the tile uses every number

                              y   . . s s . .          sides of 128, or 64
                                  . . s s . .          s: a slice, 8 or 16 deep
                          x       . . s s . .
                        . . .     . . . . . .
                        s s s  ─  . . Z Z . .          Z: the tile; each of 16 x 16 threads keeps 8 x 8
                        s s s     . . Z Z . .          of its sums in registers

    bytes       for N x N float32 each operand is read N / side times: 8 N^3 / side in all, and z is written once
    operations  2 N^3: side / 4 per byte, 32 for a side of 128. The H200 does 14 while it reads one byte. So arithmetic limits
                it, if the registers get their numbers in time: a thread reads 8 + 8 for 64 products (Note [Outer products])
    so          large sides, if there are enough tiles to keep the GPU busy; else small sides (contraction.py chooses)
    measured    37.5 TFLOP/s of float32 on an H100 at 4096, three quarters of cuBLAS; 29.8 at 1024

Note [A matrix is a sum of offsets]
    Element (m, k) of x is at row[m] + inner[k]. A transposed matrix has other strides, and the windows of an image have several
    dimensions where a matrix has one; for the kernel all are the same. The offsets of a tile's rows and columns are computed once.
    The offsets of the next `TABLE` k are computed by one thread each. So no division is needed to read a number, and few elsewhere.

Note [Four ways to read]
    Neighbours in a warp should read neighbours in memory, whether these follow each other along k or along the rows. And if the
    rows of a matrix begin at multiples of four numbers, four are read together, with a quarter of the instructions. A `Way` says
    both; the kernel is compiled for the `Way` of x and the `Way` of y.

Tensor cores, for float16, are in tensor_cores.py. Nothing depends on the order in which blocks run.
Mirrors what cuBLAS does for ``aten/src/ATen/native/cuda/Blas.cpp``. After V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense
linear algebra", 2008, and, for k of many dimensions, P. Springer and P. Bientinesi, "Design of a high-performance GEMM-like
tensor-tensor multiplication", 2018.
Read next: ``tensor_cores.py``.
"""

from functools import cache
from typing import NamedTuple

from numba import cuda, int64

from minigrad.kernels.cuda.elementwise.elementwise import device_function
from minigrad.kernels.cuda.elementwise.quad_kernels import unsigned
from minigrad.kernels.cuda.elementwise.vector_io import pack
from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["COMPLEX", "LARGE", "MEDIUM", "RUN", "SMALL", "TALL", "WIDE", "Tile", "Way", "place", "tiled_kernel"]

RUN = 4                                 # neighbouring rows and columns of a thread: one read of 16 bytes fetches four
TABLE = 16 if SIMULATED else 256        # offsets of k that are computed together
WARP_DOWN, WARP_ACROSS = (1, 2) if SIMULATED else (4, 8)    # the threads of a warp in a tile


class Tile(NamedTuple):
    """How a block divides a tile of z among its threads."""

    threads_down: int
    threads_across: int
    down: int               # a thread has down x across sums
    across: int
    depth: int              # of a slice

    @property
    def threads(self):
        return self.threads_down * self.threads_across

    @property
    def rows(self):
        return self.threads_down * self.down

    @property
    def columns(self):
        return self.threads_across * self.across


class Way(NamedTuple):
    """How an operand is read. See Note [Four ways to read]."""

    along_inner: bool       # neighbouring threads read neighbours along k; else along the rows of x, or columns of y
    packs: bool             # whether four numbers are read together


if SIMULATED:
    LARGE, MEDIUM, SMALL = Tile(2, 2, 8, 8, 8), Tile(2, 2, 8, 4, 8), Tile(2, 2, 4, 4, 8)
    TALL, WIDE, COMPLEX = Tile(4, 2, 4, 4, 8), Tile(2, 4, 4, 4, 8), Tile(2, 2, 4, 4, 8)
else:
    LARGE, MEDIUM, SMALL = Tile(16, 16, 8, 8, 8), Tile(8, 16, 8, 4, 16), Tile(16, 16, 4, 4, 16)
    TALL, WIDE, COMPLEX = Tile(16, 8, 8, 8, 8), Tile(8, 16, 8, 8, 8), Tile(16, 16, 4, 4, 8)


load, store = pack(RUN)


@device_function
def place(i, shape, strides):
    """`offset`, for an `i` less than the product of `shape`: one division less, and none for one dimension."""
    at = 0
    for dim in range(len(shape) - 1, 0, -1):
        at += i % shape[dim] * strides[dim]
        i //= shape[dim]
    return at + i * strides[0]


def inline_function(function):
    """Compile a part of a kernel, always inlined: its array arguments are registers, which cannot be passed to a function."""
    return function if SIMULATED else cuda.jit(device=True, forceinline=True)(function)


@cache
def read_functions(way, side, depth, threads, number):
    """The functions that move a slice of one operand, `side` x `depth`, to shared memory: (fetched, aim, fetch, put).

    fetched: how many numbers each thread reads.
    aim(places, t, at, first, step): set the places of the thread's numbers, or packs; `at` has the offsets of the `side`.
    fetch(numbers, places, a, t, left, table, k, step): read numbers of the next slice, zeros for the k that are not `left`.
    put(slices, numbers, t, k): write them to row `k` of shared memory and those after it.
    """
    fetched, run = side * depth // threads, RUN if way.packs else 1
    assert fetched % run == 0, "each thread reads whole packs"
    along = (depth if way.along_inner else side) // run         # reads that follow each other

    @inline_function
    def split(e):
        """The (k, row) at which read number `e` of a slice begins."""
        if way.along_inner:
            return e % along * run, e // along
        return e // along, e % along * run

    @inline_function
    def aim(places, t, at, first, step):
        for f in range(fetched // run):
            k, m = split(t + f * threads)
            places[f] = at[m]
            if way.packs:
                places[f] += (first + k) * step

    @inline_function
    def fetch(numbers, places, a, t, left, table, first, step):
        for f in range(fetched // run):
            k, _ = split(t + f * threads)
            for i in range(run):
                numbers[f * run + i] = 0
            if k < left:
                if way.packs:
                    n0, n1, n2, n3 = load(a, unsigned(places[f]))
                    numbers[f * run] = number(n0)
                    numbers[f * run + 1] = number(n1)
                    numbers[f * run + 2] = number(n2)
                    numbers[f * run + 3] = number(n3)
                else:
                    numbers[f] = number(a[unsigned(places[f] + table[unsigned(first + k)])])
            if way.packs:
                places[f] += depth * step

    @inline_function
    def put(slices, numbers, t, first):
        for f in range(fetched // run):
            k, m = split(t + f * threads)
            for i in range(run):
                if way.along_inner:
                    slices[unsigned(first + k + i), unsigned(m)] = numbers[f * run + i]
                else:
                    slices[unsigned(first + k), unsigned(m + i)] = numbers[f * run + i]
    return fetched, aim, fetch, put


@cache
def tiled_kernel(wide, number, tile, way_x, way_y, packs_z, biased):
    """The kernel for tiles of one shape.

    Args:
        wide: numba's type of the sums.
        number: the function that converts a number of an operand to this type.
        tile: the `Tile`.
        way_x, way_y: the `Way` of each operand.
        packs_z: whether z is written in packs of four numbers.
        biased: whether to add b, which has a row stride and a column stride.

    Note [Outer products]
        For one k a thread reads `down` numbers of x and `across` of y, and adds all their products: 64 products for 16 numbers.
        Both come four at a time. The threads of a warp are 4 x 8 in the tile. They read four runs of x, each broadcast to eight
        threads, and eight runs of y, which are 128 contiguous bytes: no two of them wait for the same bank.

    Note [Fetched ahead]
        The numbers of the next slice are on their way to registers while this slice is multiplied. Then they go to the other of
        two slices in shared memory. No thread waits for memory, and all threads wait for each other once per slice.
    """
    threads, depth, down, across = tile.threads, tile.depth, tile.down, tile.across
    threads_down, threads_across, tile_rows, tile_columns = tile.threads_down, tile.threads_across, tile.rows, tile.columns
    fetched_x, aim_x, fetch_x, put_x = read_functions(way_x, tile_rows, depth, threads, number)
    fetched_y, aim_y, fetch_y, put_y = read_functions(way_y, tile_columns, depth, threads, number)
    tables = not (way_x.packs and way_y.packs)
    run_x, run_y = [RUN if way.packs and not way.along_inner else 1 for way in (way_x, way_y)]      # rows of one read
    slices_x, slices_y, sums_shape = (2 * depth, tile_rows + RUN), (2 * depth, tile_columns + RUN), (down, across)
    # Rows of shared memory are a run wider than the tile: then a thread writes the numbers of a column to different banks.
    warp, warps_across = WARP_DOWN * WARP_ACROSS, threads_across // WARP_ACROSS
    # Registers for 512 threads on each multiprocessor: 128 per thread.
    bounds = {} if SIMULATED else {"launch_bounds": (threads, 512 // threads)}

    @inline_function
    def add_products(sums, xs, ys, k, ty, tx):
        from_x = cuda.local.array(down, wide)
        from_y = cuda.local.array(across, wide)
        for i in range(down):
            from_x[i] = xs[unsigned(k), unsigned(i // RUN * (threads_down * RUN) + ty * RUN + i % RUN)]
        for i in range(across):
            from_y[i] = ys[unsigned(k), unsigned(i // RUN * (threads_across * RUN) + tx * RUN + i % RUN)]
        for i in range(down):
            for j in range(across):
                sums[i, j] += from_x[i] * from_y[j]

    @inline_function
    def multiply(sums, xs, ys, first, ty, tx):
        for k in range(first, first + depth, 8):        # eight calls: the compiler does not unroll such a long loop
            add_products(sums, xs, ys, k, ty, tx)
            add_products(sums, xs, ys, k + 1, ty, tx)
            add_products(sums, xs, ys, k + 2, ty, tx)
            add_products(sums, xs, ys, k + 3, ty, tx)
            add_products(sums, xs, ys, k + 4, ty, tx)
            add_products(sums, xs, ys, k + 5, ty, tx)
            add_products(sums, xs, ys, k + 6, ty, tx)
            add_products(sums, xs, ys, k + 7, ty, tx)

    @inline_function
    def add_bias(sums, b, first, left_down, left_across, far, step):
        for i in range(down):
            m = i // RUN * (threads_down * RUN) + i % RUN
            for j in range(across):
                n = j // RUN * (threads_across * RUN) + j % RUN
                if m < left_down and n < left_across:
                    sums[i, j] += number(b[unsigned(first + m * far + n * step)])

    @cuda.jit(**bounds)
    def kernel(size, parts, depth_of_part, z, z0, part_stride, x, x0, y, y0, b, b0, sb,
               batch, batch_z, batch_x, batch_y, rows, rows_z, rows_x, columns, columns_z, columns_y, inner, inner_x, inner_y):
        xs = cuda.shared.array(slices_x, wide, alignment=16)
        ys = cuda.shared.array(slices_y, wide, alignment=16)
        row_at = cuda.shared.array(tile_rows, int64)        # see Note [A matrix is a sum of offsets]
        column_at = cuda.shared.array(tile_columns, int64)
        inner_x_at = cuda.shared.array(TABLE if tables else 1, int64)
        inner_y_at = cuda.shared.array(TABLE if tables else 1, int64)
        sums = cuda.local.array(sums_shape, wide)
        next_x = cuda.local.array(fetched_x, wide)
        next_y = cuda.local.array(fetched_y, wide)
        places_x = cuda.local.array(fetched_x, int64)
        places_y = cuda.local.array(fetched_y, int64)
        n_rows, n_columns, n_inner = size
        tiles_down, tiles_across = (n_rows + tile_rows - 1) // tile_rows, (n_columns + tile_columns - 1) // tile_columns
        t = cuda.threadIdx.x & (threads - 1)        # the thread's number; the `&` tells the compiler that no index is negative
        ty = t // warp // warps_across * WARP_DOWN + t % warp // WARP_ACROSS
        tx = t // warp % warps_across * WARP_ACROSS + t % WARP_ACROSS

        # The tile of this block.
        column0 = cuda.blockIdx.x % tiles_across * tile_columns
        rest = cuda.blockIdx.x // tiles_across
        row0 = rest % tiles_down * tile_rows
        rest //= tiles_down
        part, group = rest % parts, rest // parts
        begin = part * depth_of_part
        stop = min(begin + depth_of_part, n_inner)
        # The offsets of its rows and columns. Beyond the end they are those of the last one: these sums are not written.
        for i in range(t, tile_rows, threads):
            row_at[i] = x0 + place(group, batch, batch_x) + place(min(row0 + i, n_rows - run_x), rows, rows_x)
        for i in range(t, tile_columns, threads):
            column_at[i] = y0 + place(group, batch, batch_y) + place(min(column0 + i, n_columns - run_y), columns, columns_y)
        for i in range(down):
            for j in range(across):
                sums[i, j] = 0
        cuda.syncthreads()
        aim_x(places_x, t, row_at, begin, inner_x[0])
        aim_y(places_y, t, column_at, begin, inner_y[0])

        buffer = 0
        for k in range(begin - depth, stop, depth):         # the first round only fetches
            in_table = (k + depth - begin) & (TABLE - 1)
            if tables:
                if in_table == 0:
                    for i in range(t, TABLE, threads):
                        inner_x_at[i] = place(min(k + depth + i, n_inner), inner, inner_x)
                        inner_y_at[i] = place(min(k + depth + i, n_inner), inner, inner_y)
                    cuda.syncthreads()
            fetch_x(next_x, places_x, x, t, stop - k - depth, inner_x_at, in_table, inner_x[0])
            fetch_y(next_y, places_y, y, t, stop - k - depth, inner_y_at, in_table, inner_y[0])
            if k >= begin:
                multiply(sums, xs, ys, buffer, ty, tx)      # see Note [Outer products]
            buffer = depth - buffer
            put_x(xs, next_x, t, buffer)
            put_y(ys, next_y, t, buffer)
            cuda.syncthreads()

        for i in range(t, tile_rows, threads):      # from here on, the offsets of z
            row_at[i] = z0 + part * part_stride + place(group, batch, batch_z) + place(min(row0 + i, n_rows - 1), rows, rows_z)
        for i in range(t, tile_columns, threads):
            column_at[i] = place(min(column0 + i, n_columns - 1), columns, columns_z)
        cuda.syncthreads()
        if biased and part == 0:
            first = b0 + min(row0 + ty * RUN, n_rows - 1) * sb[0] + min(column0 + tx * RUN, n_columns - 1) * sb[1]
            add_bias(sums, b, first, n_rows - row0 - ty * RUN, n_columns - column0 - tx * RUN, sb[0], sb[1])
        for i in range(down):
            m = i // RUN * (threads_down * RUN) + ty * RUN + i % RUN
            for j in range(across):
                n = j // RUN * (threads_across * RUN) + tx * RUN + j % RUN
                if row0 + m < n_rows and column0 + n < n_columns:
                    if not packs_z:
                        z[unsigned(row_at[m] + column_at[n])] = sums[i, j]
                    elif j % RUN == RUN - 1:
                        store(z, unsigned(row_at[m] + column_at[n - RUN + 1]),
                              (sums[i, j - 3], sums[i, j - 2], sums[i, j - 1], sums[i, j]))
    return kernel
