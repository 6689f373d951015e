"""Templates of elementwise kernels, in which a thread computes a *quad*, four neighbouring elements.

    in order    all operands have the same order in memory without gaps: the kernel walks over memory, two quads per thread, without
                divisions. All reads come before the first use, so a thread has 64 bytes of x and y under way
    strided     the kernel computes the address of its quad in each operand; a quad never leaves its row, the last dimension

    x (3, 6)    0 1 2 3 | 4 5        a row of 6 has two quads, the second with 2 elements;
                6 7 8 9 | 10 11      thread 3 has the last two elements of the second row

Note [A thread for each quad]
    Unlike other kernels, these have as many blocks as they need, and no loop (Note [Grid-stride loops] in launch.py). In a loop the
    reads of the next quad would wait for the writes of this one: the compiler cannot know that they use different memory.

Note [Rows that packs cannot read]
    Some operands are repeated or transposed, or their rows do not all begin at a multiple of 16 bytes. Four instructions instead
    of one read and write these (vector_io.py). All threads take the same branch, so the branch costs almost nothing. Beyond the
    last element of a row, the last element is read again, and not written: without a loop all reads are under way together.

Read next: ``vector_io.py``, then ``expressions.py``.
"""

from functools import cache

from numba import cuda, uint64

from minigrad.kernels.cuda.elementwise.vector_io import pack, quotient
from minigrad.kernels.cuda.runtime.launch import THREADS
from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["FEW", "QUAD", "TILE", "device_function", "fill_kernels", "last_of", "make_division", "one", "one_and_number", "place",
           "plain", "read", "three", "two", "unsigned", "write"]

QUAD = 4
TILE = 2 * QUAD * THREADS       # elements of a block, in order: two quads for each thread
load, store = pack(QUAD)


@cache
def device_function(function):
    """Compile a function that kernels call. The simulator calls the Python function itself."""
    return function if SIMULATED else cuda.jit(device=True)(function)


@device_function
def plain(x):
    return x


# Without `unsigned` the compiler tests each index: a negative index counts from the end, as in Python.
unsigned = (lambda i: i) if SIMULATED else device_function(lambda i: uint64(i))
FEW = 1 << 32       # numbers below it have 32 bits


@cache
def make_division(few):
    """A device function i // n, for i >= 0. If `few`, i is less than FEW, and 32 bits take a quarter of the instructions."""
    return quotient if few else device_function(lambda i, n: i // n)


@device_function
def place(i, shape, strides):
    """The offset of the first element of quad `i`, counted row by row; a row has shape[-1] quads."""
    last = len(shape) - 1
    scale = QUAD
    at = 0
    for dim in range(last, 0, -1):
        rest = quotient(i, shape[dim])
        at += (i - rest * shape[dim]) * (strides[dim] * scale)
        i = rest
        scale = 1
    return at + i * (strides[0] * scale)


@device_function
def last_of(i, quads, length):
    """The index of the last element in quad `i`: 3, or less at the end of a row of `length` elements."""
    return min(QUAD, length - QUAD * (i - quotient(i, quads) * quads)) - 1


@device_function
def read(x, at, step, packed, last):
    """Read four elements, `step` apart. Beyond the last, read the last one again."""
    if packed and last == QUAD - 1:
        return load(x, at)
    return (x[unsigned(at)], x[unsigned(at + min(1, last) * step)], x[unsigned(at + min(2, last) * step)],
            x[unsigned(at + last * step)])


@device_function
def write(z, at, step, packed, last, values):
    """Write four elements, `step` apart, up to the last."""
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
# `f` is the expression. `wide` is the type in which it is computed: float32 for float16, else the type of the operand.


@cache
def one(f, wide):
    """Kernels for one operand: (in order, strided)."""
    quad = device_function(lambda a: (f(wide(a[0])), f(wide(a[1])), f(wide(a[2])), f(wide(a[3]))))

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
    """Kernels for one operand and a number."""
    quad = device_function(lambda a, v: (f(wide(a[0]), v), f(wide(a[1]), v), f(wide(a[2]), v), f(wide(a[3]), v)))

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
    """Kernels for two operands."""
    quad = device_function(lambda a, b: (f(wide(a[0]), wide(b[0])), f(wide(a[1]), wide(b[1])),
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
    """Kernels for three operands."""
    quad = device_function(lambda a, b, c: (f(a[0], b[0], c[0]), f(a[1], b[1], c[1]), f(a[2], b[2], c[2]), f(a[3], b[3], c[3])))

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


fill_kernels = fill_in_order, fill_strided       # kernels for a number alone
