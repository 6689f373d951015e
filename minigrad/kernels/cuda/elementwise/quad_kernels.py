"""Quads: the templates of elementwise kernels, in which a thread computes four neighbouring elements at once.

    in order    all operands lie in the same order without gaps: the kernel walks over memory, two quads a thread, no division.
                All reads come before the first use, so that a thread has 64 bytes of x and y under way
    strided     it computes where its quad begins in each operand; a quad never leaves its row, the last dimension

    x (3, 6)    0 1 2 3 | 4 5        a row of 6 has two quads, the second with 2 elements;
                6 7 8 9 | 10 11      thread 3 has the last two of the second row

Note [A thread for each quad]
    Unlike others, these kernels have as many blocks as there is work, and no loop (Note [Grid-stride loops] in launch.py): in one,
    the reads of the next quad wait for the writes of this one, as the compiler cannot know that they are of other memory.

Note [Rows that packs cannot read]
    An operand that is repeated or transposed, or whose rows do not all begin at a multiple of 16 bytes, is read and written in four
    instructions instead of one (vector_io.py). That is the same for all threads, and a branch on it costs next to nothing.
    After the last element of a row that one is read again, and not written: there is no loop, and all reads are under way at once.

Read next: ``elementwise.py``, which says what is computed by which of them.
"""

from functools import cache

from numba import cuda, uint64

from minigrad.kernels.cuda.elementwise.vector_io import pack, quotient
from minigrad.kernels.cuda.runtime.launch import THREADS
from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["FEW", "QUAD", "TILE", "compiled", "division", "filling", "last_of", "one", "one_and_number", "place", "plain",
           "read", "three", "two", "unsigned", "write"]

QUAD = 4
TILE = 2 * QUAD * THREADS       # elements of a block, in order: two quads for each thread
load, store = pack(QUAD)


@cache
def compiled(function):
    """An expression as a function that kernels call. The simulator calls it as it is."""
    return function if SIMULATED else cuda.jit(device=True)(function)


@compiled
def plain(x):
    return x


# An index that the compiler need not test: a negative one would count from the end, as in Python.
unsigned = (lambda i: i) if SIMULATED else compiled(lambda i: uint64(i))
FEW = 1 << 32       # numbers below it have 32 bits


@cache
def division(few):
    """i // n for numbers that are not negative: of 32 bits, a quarter of the instructions, where there are less than FEW."""
    return quotient if few else compiled(lambda i, n: i // n)


@compiled
def place(i, shape, strides):
    """Where quad `i`, counted row by row, begins; a row has shape[-1] quads."""
    last = len(shape) - 1
    scale = QUAD
    at = 0
    for dim in range(last, 0, -1):
        rest = quotient(i, shape[dim])
        at += (i - rest * shape[dim]) * (strides[dim] * scale)
        i = rest
        scale = 1
    return at + i * (strides[0] * scale)


@compiled
def last_of(i, quads, length):
    """The number of the last element of quad `i`: 3, or less at the end of a row of `length` elements."""
    return min(QUAD, length - QUAD * (i - quotient(i, quads) * quads)) - 1


@compiled
def read(x, at, step, packed, last):
    """Four elements, `step` apart; after the last that again."""
    if packed and last == QUAD - 1:
        return load(x, at)
    return (x[unsigned(at)], x[unsigned(at + min(1, last) * step)], x[unsigned(at + min(2, last) * step)],
            x[unsigned(at + last * step)])


@compiled
def write(z, at, step, packed, last, values):
    """Four elements, `step` apart, up to the last."""
    if packed and last == QUAD - 1:
        store(z, at, values)
    else:
        z[unsigned(at)] = values[0]
        if last > 0:
            z[unsigned(at + step)] = values[1]
        if last > 1:
            z[unsigned(at + 2 * step)] = values[2]
        if last > 2:
            z[unsigned(at + 3 * step)] = values[3]


# ---- templates ------------------------------------------------------------------------------------------
# `f` is the expression, and `wide` the type that it is computed in: float32 for float16, else that of the operand.


@cache
def one(f, wide):
    """Kernels for one operand: (in order, strided)."""
    quad = compiled(lambda a: (f(wide(a[0])), f(wide(a[1])), f(wide(a[2])), f(wide(a[3]))))

    @cuda.jit
    def in_order(n, packed, z, z0, x, x0):
        first, t = cuda.blockIdx.x * TILE, cuda.threadIdx.x
        i, j = first + QUAD * t, first + QUAD * (t + THREADS)
        if packed and first + TILE <= n:
            a, b = load(x, x0 + i), load(x, x0 + j)
            store(z, z0 + i, quad(a))
            store(z, z0 + j, quad(b))
        else:
            for k in range(first + t, min(first + TILE, n), THREADS):
                z[unsigned(z0 + k)] = f(wide(x[unsigned(x0 + k)]))

    @cuda.jit
    def strided(n, shape, length, packed, z, z0, sz, x, x0, sx):
        i = cuda.grid(1)
        if i < n:
            to, at = z0 + place(i, shape, sz), x0 + place(i, shape, sx)
            last = last_of(i, shape[-1], length)
            write(z, to, sz[-1], packed[0], last, quad(read(x, at, sx[-1], packed[1], last)))
    return in_order, strided


@cache
def one_and_number(f, wide):
    """For an operand and a number."""
    quad = compiled(lambda a, v: (f(wide(a[0]), v), f(wide(a[1]), v), f(wide(a[2]), v), f(wide(a[3]), v)))

    @cuda.jit
    def in_order(n, packed, z, z0, x, x0, value):
        first, t = cuda.blockIdx.x * TILE, cuda.threadIdx.x
        i, j = first + QUAD * t, first + QUAD * (t + THREADS)
        if packed and first + TILE <= n:
            a, b = load(x, x0 + i), load(x, x0 + j)
            store(z, z0 + i, quad(a, value))
            store(z, z0 + j, quad(b, value))
        else:
            for k in range(first + t, min(first + TILE, n), THREADS):
                z[unsigned(z0 + k)] = f(wide(x[unsigned(x0 + k)]), value)

    @cuda.jit
    def strided(n, shape, length, packed, z, z0, sz, x, x0, sx, value):
        i = cuda.grid(1)
        if i < n:
            to, at = z0 + place(i, shape, sz), x0 + place(i, shape, sx)
            last = last_of(i, shape[-1], length)
            write(z, to, sz[-1], packed[0], last, quad(read(x, at, sx[-1], packed[1], last), value))
    return in_order, strided


@cache
def two(f, wide):
    """For two operands."""
    quad = compiled(lambda a, b: (f(wide(a[0]), wide(b[0])), f(wide(a[1]), wide(b[1])),
                                  f(wide(a[2]), wide(b[2])), f(wide(a[3]), wide(b[3]))))

    @cuda.jit
    def in_order(n, packed, z, z0, x, x0, y, y0):
        first, t = cuda.blockIdx.x * TILE, cuda.threadIdx.x
        i, j = first + QUAD * t, first + QUAD * (t + THREADS)
        if packed and first + TILE <= n:
            a, b, c, d = load(x, x0 + i), load(y, y0 + i), load(x, x0 + j), load(y, y0 + j)
            store(z, z0 + i, quad(a, b))
            store(z, z0 + j, quad(c, d))
        else:
            for k in range(first + t, min(first + TILE, n), THREADS):
                z[unsigned(z0 + k)] = f(wide(x[unsigned(x0 + k)]), wide(y[unsigned(y0 + k)]))

    @cuda.jit
    def strided(n, shape, length, packed, z, z0, sz, x, x0, sx, y, y0, sy):
        i = cuda.grid(1)
        if i < n:
            to, at, by = z0 + place(i, shape, sz), x0 + place(i, shape, sx), y0 + place(i, shape, sy)
            last = last_of(i, shape[-1], length)
            write(z, to, sz[-1], packed[0], last, quad(read(x, at, sx[-1], packed[1], last), read(y, by, sy[-1], packed[2], last)))
    return in_order, strided


@cache
def three(f):
    """For three operands."""
    quad = compiled(lambda a, b, c: (f(a[0], b[0], c[0]), f(a[1], b[1], c[1]), f(a[2], b[2], c[2]), f(a[3], b[3], c[3])))

    @cuda.jit
    def in_order(n, packed, z, z0, w, w0, x, x0, y, y0):
        first, t = cuda.blockIdx.x * TILE, cuda.threadIdx.x
        i, j = first + QUAD * t, first + QUAD * (t + THREADS)
        if packed and first + TILE <= n:
            a, b, c = load(w, w0 + i), load(x, x0 + i), load(y, y0 + i)
            d, e, g = load(w, w0 + j), load(x, x0 + j), load(y, y0 + j)
            store(z, z0 + i, quad(a, b, c))
            store(z, z0 + j, quad(d, e, g))
        else:
            for k in range(first + t, min(first + TILE, n), THREADS):
                z[unsigned(z0 + k)] = f(w[unsigned(w0 + k)], x[unsigned(x0 + k)], y[unsigned(y0 + k)])

    @cuda.jit
    def strided(n, shape, length, packed, z, z0, sz, w, w0, sw, x, x0, sx, y, y0, sy):
        i = cuda.grid(1)
        if i < n:
            to, at = z0 + place(i, shape, sz), w0 + place(i, shape, sw)
            by, on = x0 + place(i, shape, sx), y0 + place(i, shape, sy)
            last = last_of(i, shape[-1], length)
            write(z, to, sz[-1], packed[0], last, quad(read(w, at, sw[-1], packed[1], last), read(x, by, sx[-1], packed[2], last),
                                                     read(y, on, sy[-1], packed[3], last)))
    return in_order, strided


@cuda.jit
def fill_in_order(n, packed, z, z0, value):
    first, t = cuda.blockIdx.x * TILE, cuda.threadIdx.x
    if packed and first + TILE <= n:
        store(z, z0 + first + QUAD * t, (value, value, value, value))
        store(z, z0 + first + QUAD * (t + THREADS), (value, value, value, value))
    else:
        for k in range(first + t, min(first + TILE, n), THREADS):
            z[unsigned(z0 + k)] = value


@cuda.jit
def fill_strided(n, shape, length, packed, z, z0, sz, value):
    i = cuda.grid(1)
    if i < n:
        to = z0 + place(i, shape, sz)
        write(z, to, sz[-1], packed[0], last_of(i, shape[-1], length), (value, value, value, value))


filling = fill_in_order, fill_strided       # for no operand but a number
