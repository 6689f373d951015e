"""Products of float16 matrices by tensor cores: units that multiply blocks of 16 x 16 numbers, and add in float32.

    z[b, m, n] = Σ_k x[b, m, k] y[b, k, n]      for matrices in which rows, or columns, are contiguous, and begin at 16 bytes

    idea        that of tiles.py, with other registers. A block of 4 warps computes a tile of 128 x 128; a warp has a quarter of it

                              y   ....            64 x 64: 4 x 8 blocks of 16 x 8 sums. For 16 k, a warp loads 4 blocks of x
                                  ....            and 4 of y, of 16 x 16 each, from shared memory, and multiplies each by each:
                          x                       32 instructions of 4096 operations for 8 that load
                        ....      0011
                        ....      0011            Slices, 32 deep, are copied from memory to shared memory without registers in
                        ....      2233            between, two slices ahead of the slice that is multiplied: Note [Three stages]
                        ....      2233

    bytes       for N x N float16 each operand is read N / 128 times: 4 N^3 / 128 in all, mostly from the cache
    operations  2 N^3: 64 for each of these bytes
    so          the tensor cores would limit it, and shared memory nearly does. 8 loads of 512 bytes take its one path 4 cycles
                each: half of the time in which the four tensor cores compute the 32 products
    measured    313 TFLOP/s on an H100 at 4096, 0.42 of cuBLAS

Note [Fragments]
    No thread has a whole block: the 32 threads of a warp share it. Of 16 x 8 sums, thread i has four: in rows i // 4 and
    i // 4 + 8, columns 2 (i % 4) and the next. Of a 16 x 16 block it has eight halves, in four registers, one from each quarter:

        quarters of x   0 2         of y, which is loaded as if   0 1       thread i gives `load_blocks` the address
        (rows: m,       1 3         it were transposed (rows: n,  2 3       of row i % 8 of quarter i // 8
        columns: k)                 columns: k)

    Then the registers of y for its first 8 columns are neighbours, and so are those for the other 8: the tensor cores require that.
    If the other dimension is contiguous, `load_blocks_transposed` swaps the rows and columns of each quarter.

Note [Chunks change places]
    Shared memory has 32 banks of 4 bytes. Eight rows of a quarter, 16 bytes each, should come from all banks. But rows that are 64
    or 256 bytes apart begin in the same few banks. So chunks of 16 bytes are stored at another place in their row: chunk c of row r
    at c ^ r, with as many bits of r as necessary. Then eight rows in a column of chunks are in eight different places.

Note [Three stages]
    Shared memory holds three slices: one is multiplied, and two are on their way. At the barrier of a slice, all threads have
    finished the slice before: its stage is filled next. 3 x 16 KB is all that a kernel may declare.

Nothing depends on the order in which blocks run. After the PTX manual (see instructions.py) and NVIDIA's CUTLASS, "Efficient GEMM
in CUDA" (``media/docs/efficient_gemm.md``).
Read next: ``vectors.py``, ``matmul.py``.
"""

from functools import cache

from numba import cuda, float32, int32, int64, types

from minigrad.kernels.cuda.contractions.tiles import inline_function, place
from minigrad.kernels.cuda.elementwise.quad_kernels import unsigned
from minigrad.kernels.cuda.elementwise.vector_io import pack
from minigrad.kernels.cuda.runtime.instructions import (
    commit,
    copy_later,
    load_blocks,
    load_blocks_transposed,
    make_wait,
    multiply_add,
)
from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["CHUNK", "DEPTH", "THREADS", "product_kernel"]

WARP, THREADS = 32, 128
DEPTH = 32          # of a slice
CHUNK = 8           # halves in 16 bytes
STAGES = 3          # see Note [Three stages]

_, store2 = pack(2)


@cache
def copy_functions(side, along_inner, is_y):
    """The functions that move slices of one operand to registers: (copies, aim, copy_slice, spot, load).

    copies: how many chunks each thread copies.
    aim(places, lefts, t, start, first, n, far, k, step): set the places of these chunks, and how many of their numbers exist, for
        the rows from `first` of n, `far` apart, and the k from `k`, `step` apart.
    copy_slice(room, at, t, x, places, lefts, left, step): start copying a slice, with zeros beyond the `left` k that remain.
    spot(lane, row, k): where this thread's part of the 16 x 16 block at (row, k) begins in a slice.
    load: the instruction that loads a block.
    """
    copies = side * DEPTH // CHUNK // THREADS
    chunks = (DEPTH if along_inner else side) // CHUNK      # of a row in shared memory

    @inline_function
    def chunk_at(r, c):
        """The place of chunk c of row r. See Note [Chunks change places]."""
        if along_inner:
            return (r * chunks + (c ^ (r // 2 % 4))) * CHUNK
        return (r * chunks + (c ^ (r % min(8, chunks)))) * CHUNK

    @inline_function
    def aim(places, lefts, t, start, first, n, far, k, step):
        for f in range(copies):
            r, c = (t + f * THREADS) // chunks, (t + f * THREADS) % chunks
            if along_inner:
                places[f] = start + min(first + r, n - 1) * far + k + c * CHUNK
            else:
                places[f] = start + first + c * CHUNK + (k + r) * step
                lefts[f] = min(max(n - first - c * CHUNK, 0), CHUNK)

    @inline_function
    def copy_slice(room, at, t, x, places, lefts, left, step):
        for f in range(copies):
            r, c = (t + f * THREADS) // chunks, (t + f * THREADS) % chunks
            if along_inner:
                n = min(max(left - c * CHUNK, 0), CHUNK)
            else:
                n = lefts[f] if r < left else 0
            copy_later(room, at + chunk_at(r, c), x, places[f], int32(2 * n))
            places[f] += DEPTH * step

    @inline_function
    def spot(lane, row, k):
        first, second = lane // 8 % 2, lane // 16       # the quarter of this thread's address
        down, along = (second, first) if is_y else (first, second)
        if along_inner:
            return chunk_at(row + lane % 8 + 8 * down, k // CHUNK + along)
        return chunk_at(k + lane % 8 + 8 * along, row // CHUNK + down)
    return copies, aim, copy_slice, spot, load_blocks if along_inner else load_blocks_transposed


@cache
def product_kernel(side, x_along_inner, y_along_inner, pairs_z, biased):
    """The kernel for tiles of side x side. Its arguments are those of `tiled_kernel`'s, except that z, x and y are matrices."""
    copies, aim_x, copy_x, spot_x, load_x = copy_functions(side, x_along_inner, False)
    _, aim_y, copy_y, spot_y, load_y = copy_functions(side, y_along_inner, True)
    slice_size = side * DEPTH
    stage = 2 * slice_size
    last_stage, room_size = (STAGES - 1) * stage, STAGES * stage
    part_of_warp = side // 2
    blocks = part_of_warp // 16
    wait_for_next, wait_for_all = make_wait(STAGES - 2), make_wait(0)
    registers, spots_shape, sums_shape = (blocks, 4), (blocks, DEPTH // 16), (blocks, 2 * blocks, 4)
    bounds = {} if SIMULATED else {"launch_bounds": (THREADS, 2)}

    @inline_function
    def multiply(sums, room, at, spots_x, spots_y, k):
        a = cuda.local.array(registers, int32)
        b = cuda.local.array(registers, int32)
        for i in range(blocks):
            a[i, 0], a[i, 1], a[i, 2], a[i, 3] = load_x(room, at + spots_x[i, k])
            b[i, 0], b[i, 1], b[i, 2], b[i, 3] = load_y(room, at + slice_size + spots_y[i, k])
        for i in range(blocks):
            for j in range(2 * blocks):     # see Note [Fragments]
                sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3] = multiply_add(
                    a[i, 0], a[i, 1], a[i, 2], a[i, 3], b[j // 2, j % 2 * 2], b[j // 2, j % 2 * 2 + 1],
                    sums[i, j, 0], sums[i, j, 1], sums[i, j, 2], sums[i, j, 3])

    @inline_function
    def add_bias(sums, b, first, left_down, left_across, far, step):
        for i in range(blocks):
            for j in range(2 * blocks):
                for e in range(4):      # see Note [Fragments]
                    m, n = 16 * i + e // 2 * 8, 8 * j + e % 2
                    if m < left_down and n < left_across:
                        sums[i, j, e] += float32(b[unsigned(first + m * far + n * step)])

    @cuda.jit(**bounds)
    def kernel(size, parts, depth_of_part, z, z0, part_stride, z_far, z_step, x, x0, x_far, x_step, y, y0, y_far, y_step, b, b0, sb,
               batch, batch_z, batch_x, batch_y):
        room = cuda.shared.array(room_size, types.float16, alignment=128)
        sums = cuda.local.array(sums_shape, float32)
        places_x = cuda.local.array(copies, int64)
        places_y = cuda.local.array(copies, int64)
        lefts_x = cuda.local.array(copies, int64)
        lefts_y = cuda.local.array(copies, int64)
        spots_x = cuda.local.array(spots_shape, int32)
        spots_y = cuda.local.array(spots_shape, int32)
        n_rows, n_columns, n_inner = size
        down, across = (n_rows + side - 1) // side, (n_columns + side - 1) // side
        t = cuda.threadIdx.x & (THREADS - 1)        # the thread's number; the `&` tells the compiler that no index is negative
        warp, lane = t // WARP, t % WARP
        row, column = warp // 2 * part_of_warp, warp % 2 * part_of_warp

        # The tile of this block.
        column0 = cuda.blockIdx.x % across * side
        rest = cuda.blockIdx.x // across
        row0 = rest % down * side
        rest //= down
        part, group = rest % parts, rest // parts
        begin = part * depth_of_part
        stop = min(begin + depth_of_part, n_inner)
        aim_x(places_x, lefts_x, t, x0 + place(group, batch, batch_x), row0, n_rows, x_far, begin, x_step)
        aim_y(places_y, lefts_y, t, y0 + place(group, batch, batch_y), column0, n_columns, y_far, begin, y_step)
        for i in range(blocks):
            for j in range(2 * blocks):
                for e in range(4):
                    sums[i, j, e] = 0

        for i in range(blocks):
            for k in range(DEPTH // 16):
                spots_x[i, k] = spot_x(lane, row + 16 * i, 16 * k)
                spots_y[i, k] = spot_y(lane, column + 16 * i, 16 * k)

        # See Note [Three stages].
        left = stop - begin
        for free in range(0, last_stage, stage):
            copy_x(room, free, t, x, places_x, lefts_x, left, x_step)
            copy_y(room, free + slice_size, t, y, places_y, lefts_y, left, y_step)
            commit()
            left -= DEPTH
        full, free = 0, last_stage           # the stage to multiply, and the stage to fill
        for _ in range(begin, stop, DEPTH):
            wait_for_next()
            cuda.syncthreads()
            copy_x(room, free, t, x, places_x, lefts_x, left, x_step)
            copy_y(room, free + slice_size, t, y, places_y, lefts_y, left, y_step)
            commit()
            left -= DEPTH
            multiply(sums, room, full, spots_x, spots_y, 0)
            multiply(sums, room, full, spots_x, spots_y, 1)
            free, full = full, full + stage if full < last_stage else 0
        wait_for_all()

        m0, n0 = row0 + row + lane // 4, column0 + column + lane % 4 * 2        # the first sum of this thread
        if biased and part == 0:
            add_bias(sums, b, b0 + min(m0, n_rows - 1) * sb[0] + min(n0, n_columns - 1) * sb[1], n_rows - m0, n_columns - n0,
                     sb[0], sb[1])

        for i in range(blocks):
            for half in range(2):
                m = m0 + 16 * i + 8 * half
                if m < n_rows:
                    row_at = z0 + part * part_stride + place(group, batch, batch_z) + m * z_far
                    for j in range(2 * blocks):
                        n = n0 + 8 * j
                        c0, c1 = sums[i, j, 2 * half], sums[i, j, 2 * half + 1]
                        if pairs_z:
                            if n < n_columns:
                                store2(z, unsigned(row_at + n), (c0, c1))
                        else:
                            if n < n_columns:
                                z[unsigned(row_at + n * z_step)] = c0
                            if n + 1 < n_columns:
                                z[unsigned(row_at + (n + 1) * z_step)] = c1
    return kernel
