"""The tiled kernel: the one behind matrix products and convolutions.

    z[b, m, n] = Σ_k x[b, m, k] y[b, k, n]      where b, m, n and k may each stand for several dimensions

    idea        a block of threads computes a square tile of z. It walks along k, slice by slice: the slice of x and that of y go
                into shared memory, and from there every number is used by a whole row, or column, of the tile

                              y   . . s s . .          side 128, or 64
                                  . . s s . .          s: a slice, 8 or 16 deep
                          x       . . s s . .
                        . . .     . . . . . .
                        s s s  ─  . . Z Z . .          Z: the tile; each of 16 x 16 threads keeps 8 x 8,
                        s s s     . . Z Z . .          or 4 x 4, of its sums in registers

    bytes       for N x N float32 each operand is read N / side times: 8 N^3 / side in all, and z is written once
    operations  2 N^3: side / 4 of them per byte, 32 for a side of 128. The H200 does 14 while it reads one byte, so that arithmetic
                limits it, if the registers get their numbers in time: a thread reads 8 + 8 for 64 products (Note [Outer products])
    so          large sides, where there are tiles enough to keep the GPU busy; where not, small ones

Note [A matrix is a sum of offsets]
    Element (m, k) of x lies at row[m] + inner[k]. A transposed matrix has other strides, and the windows of an image have several
    dimensions where a matrix has one; for the kernel all are the same. The offsets of a tile's rows and columns are computed
    once, those of a slice by a few threads while the others multiply: no division is left where each number is read.
    Which threads read which number follows the strides (`x_along_inner`): neighbours in memory by neighbours in a warp.

Tensor cores are beyond numba; float16 is computed in float32. Nothing depends on the order in which blocks run.
Mirrors what cuBLAS does for ``aten/src/ATen/native/cuda/Blas.cpp``. After V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense
linear algebra", 2008, and, for k of many dimensions, P. Springer and P. Bientinesi, "Design of a high-performance GEMM-like
tensor-tensor multiplication", 2018.
Read next: ``contraction.py``, which starts it.
"""

from functools import cache

from numba import cuda, int64, uint64

from minigrad.kernels.cuda.elementwise import compiled
from minigrad.kernels.cuda.streams import SIMULATED

__all__ = ["LANES", "LARGE", "SMALL", "tiled"]

LANES = 2 if SIMULATED else 16          # a block has LANES x LANES threads
RUN = 2 if SIMULATED else 4             # neighbouring rows and columns that a thread has: one read of 16 bytes fetches four
SMALL, LARGE = ((4, 8), (8, 8)) if SIMULATED else ((4, 16), (8, 8))     # (sums a thread has in each direction, depth of a slice)
# Room for two blocks on each multiprocessor, 128 registers a thread: not told, ptxas 13.5 gives the large tile 149 on sm_90.
BOUNDS = {} if SIMULATED else {"launch_bounds": (LANES * LANES, 2)}


@compiled
def place(i, shape, strides):
    """`offset`, for an `i` that is less than the product of `shape`: one division less, and none for one dimension."""
    at = 0
    for dim in range(len(shape) - 1, 0, -1):
        at += i % shape[dim] * strides[dim]
        i //= shape[dim]
    return at + i * strides[0]


# An index that the compiler need not test: a negative one would count from the end, as in Python.
index = (lambda i: i) if SIMULATED else compiled(lambda i: uint64(i))


@cache
def tiled(wide, number, each, depth, biased):
    """The kernel that keeps `each` x `each` sums a thread.

    Args:
        wide: numba's type of the sums.
        number: what makes a number of an operand one of that type.
        biased: whether b, which has a row and a column stride, is added.

    Note [Outer products]
        For one k a thread reads `each` numbers of x and of y and adds all their products: each * each for 2 * each reads. The
        threads of a warp read two runs of x, which are broadcast, and sixteen of y, which lie side by side.

    Note [Fetched ahead]
        The numbers of the next slice are on their way to registers while this one is multiplied, so that nobody waits for memory.
    """
    side, threads = LANES * each, LANES * LANES
    fetched = side * depth // threads       # numbers of either operand that a thread fetches for a slice
    slice_shape, sums_shape = (depth, side + RUN), (each, each)     # wider than the tile: a column then lies in different banks

    @cuda.jit(**BOUNDS)
    def kernel(tiles, size, parts, depth_of_part, z, z0, part_stride, x, x0, x_along_inner, y, y0, y_along_inner, b, b0, sb,
               batch, batch_z, batch_x, batch_y, rows, rows_z, rows_x, columns, columns_z, columns_y, inner, inner_x, inner_y):
        xs = cuda.shared.array(slice_shape, wide, alignment=16)
        ys = cuda.shared.array(slice_shape, wide, alignment=16)
        row_at = cuda.shared.array(side, int64)         # see Note [A matrix is a sum of offsets]
        column_at = cuda.shared.array(side, int64)
        inner_x_at = cuda.shared.array(depth, int64)
        inner_y_at = cuda.shared.array(depth, int64)
        sums = cuda.local.array(sums_shape, wide)
        from_x = cuda.local.array(each, wide)
        from_y = cuda.local.array(each, wide)
        next_x = cuda.local.array(fetched, wide)
        next_y = cuda.local.array(fetched, wide)
        from_row = cuda.local.array(fetched, int64)
        from_column = cuda.local.array(fetched, int64)
        n_rows, n_columns, n_inner = size
        down, across = (n_rows + side - 1) // side, (n_columns + side - 1) // side
        t = cuda.threadIdx.x & (threads - 1)        # which it is; the compiler then knows that no index is negative
        ty, tx = t // LANES, t % LANES

        for tile in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
            column0 = tile % across * side
            rest = tile // across
            row0 = rest % down * side
            rest //= down
            part, group = rest % parts, rest // parts
            begin = part * depth_of_part
            stop = min(begin + depth_of_part, n_inner)
            # Where the rows and columns of the tile lie. Beyond the last they are the last: what comes of them is not written.
            for i in range(t, side, threads):
                row_at[i] = x0 + place(group, batch, batch_x) + place(min(row0 + i, n_rows - 1), rows, rows_x)
                column_at[i] = y0 + place(group, batch, batch_y) + place(min(column0 + i, n_columns - 1), columns, columns_y)
            for i in range(t, depth, threads):
                inner_x_at[i] = place(min(begin + i, n_inner), inner, inner_x)
                inner_y_at[i] = place(min(begin + i, n_inner), inner, inner_y)
            for i in range(each):
                for j in range(each):
                    sums[i, j] = 0
            cuda.syncthreads()
            for f in range(fetched):
                e = t + f * threads
                from_row[f] = row_at[e // depth if x_along_inner else e % side]
                from_column[f] = column_at[e // depth if y_along_inner else e % side]

            for k0 in range(begin - depth, stop, depth):        # the first time around only fetches
                if k0 >= begin:
                    # What has been fetched goes into shared memory.
                    for f in range(fetched):
                        e = t + f * threads
                        if x_along_inner:
                            xs[e % depth, e // depth] = next_x[f]
                        else:
                            xs[e // side, e % side] = next_x[f]
                        if y_along_inner:
                            ys[e % depth, e // depth] = next_y[f]
                        else:
                            ys[e // side, e % side] = next_y[f]
                    for i in range(t, depth, threads):
                        inner_x_at[i] = place(min(k0 + depth + i, n_inner), inner, inner_x)
                        inner_y_at[i] = place(min(k0 + depth + i, n_inner), inner, inner_y)
                    cuda.syncthreads()

                # The next slice is fetched, zeros beyond the last k.
                for f in range(fetched):
                    e = t + f * threads
                    k = e % depth if x_along_inner else e // side
                    next_x[f] = 0
                    if k0 + depth + k < stop:
                        next_x[f] = number(x[index(from_row[f] + inner_x_at[k])])
                    k = e % depth if y_along_inner else e // side
                    next_y[f] = 0
                    if k0 + depth + k < stop:
                        next_y[f] = number(y[index(from_column[f] + inner_y_at[k])])

                # See Note [Outer products].
                if k0 >= begin:
                    k = 0
                    while k < depth:        # not a `range`, whose loop numba writes so that it is not unrolled
                        for i in range(each):
                            from_x[i] = xs[k, i // RUN * (LANES * RUN) + ty * RUN + i % RUN]
                            from_y[i] = ys[k, i // RUN * (LANES * RUN) + tx * RUN + i % RUN]
                        for i in range(each):
                            for j in range(each):
                                sums[i, j] += from_x[i] * from_y[j]
                        k += 1
                cuda.syncthreads()

            for i in range(t, side, threads):       # from here on, where the numbers of z lie
                row_at[i] = z0 + part * part_stride + place(group, batch, batch_z) + place(min(row0 + i, n_rows - 1), rows, rows_z)
                column_at[i] = place(min(column0 + i, n_columns - 1), columns, columns_z)
            cuda.syncthreads()
            for i in range(each):
                for j in range(each):
                    m = i // RUN * (LANES * RUN) + ty * RUN + i % RUN
                    n = j // RUN * (LANES * RUN) + tx * RUN + j % RUN
                    if row0 + m < n_rows and column0 + n < n_columns:
                        value = sums[i, j]
                        if biased and part == 0:
                            value += number(b[b0 + (row0 + m) * sb[0] + (column0 + n) * sb[1]])
                        z[index(row_at[m] + column_at[n])] = value
            cuda.syncthreads()
    return kernel
