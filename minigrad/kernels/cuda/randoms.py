"""Random numbers on a GPU: a function of a key and a counter, so that thread i needs nothing that thread i - 1 has done.

    a generator with a state       x1 -> x2 -> x3 -> ...            each number waits for the one before
    a counter-based one            f(key, 0)  f(key, 1)  f(key, 2)  all at once

    idea        *Philox 4x32-10*: ten rounds of two multiplications, of which the upper halves are mixed with the key, make four
                random words of 32 bits out of a counter
    bytes       only the result is written
    operations  about 150 of integers for four words; for a pair of normal numbers also a logarithm, a root, a sine and a cosine
    so          arithmetic counts here as much as memory, or more: numba has products of 64 bits, where 32 and their upper half
                (__umulhi) would do

Each call draws one key of 64 bits from the `numpy.random.Generator` that it gets: the same seed gives the same stream on every GPU,
whatever its number of threads. They are other numbers than those of the CPU, where NumPy draws one after the other.

Sources: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011; G. Box, M. Muller, "A Note
on the Generation of Random Normal Deviates", 1958. Mirrors ``aten/src/ATen/native/cuda/DistributionTemplates.h``.
"""

from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda import mathematics as m
from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.elementwise import (
    add,  # pyright: ignore[reportAttributeAccessIssue] - made from the table
    compiled,
    lt,  # pyright: ignore[reportAttributeAccessIssue]
)
from minigrad.kernels.cuda.launch import launch_each
from minigrad.kernels.cuda.layout import cast
from minigrad.kernels.cuda.memory import empty_array
from minigrad.kernels.cuda.missing import missing

__all__ = ["Randoms"]

U = np.uint64           # in which the product of two words of 32 bits is exact
LOW, HALF = U(0xFFFFFFFF), U(32)
FACTOR_0, FACTOR_1 = U(0xD2511F53), U(0xCD9E8D57)
BUMP_0, BUMP_1 = U(0x9E3779B9), U(0xBB67AE85)       # of the golden ratio, and of the root of 3
ZERO, ONE, FIVE, SIX, EIGHT = U(0), U(1), U(5), U(6), U(8)     # numba makes a float64 of uint64 and a plain int


@compiled
def philox(counter, key):
    """Four random words of 32 bits, each as uint64, for a counter and a key of 64 bits."""
    a, b, c, d = counter & LOW, counter >> HALF, ZERO, ZERO
    key_0, key_1 = key & LOW, key >> HALF
    for _ in range(10):
        even, odd = a * FACTOR_0, c * FACTOR_1
        a, b, c, d = (odd >> HALF) ^ b ^ key_0, odd & LOW, (even >> HALF) ^ d ^ key_1, even & LOW
        key_0, key_1 = (key_0 + BUMP_0) & LOW, (key_1 + BUMP_1) & LOW
    return a, b, c, d


# ---- from words to numbers ----------------------------------------------------------------------------------
# A `draw` makes two numbers (float64) or four (the others) out of the words of a counter, and of two parameters.

TO_24, TO_32, TO_53 = np.float32(2.0 ** -24), np.float32(2.0 ** -32), np.float64(2.0 ** -53)
SHIFT_26 = np.float64(2.0 ** 26)


@compiled
def fraction(word):
    """In [0, 1), of the 24 bits that a float32 holds."""
    return np.float32(word >> EIGHT) * TO_24


@compiled
def fraction_of_two(a, b):
    """In [0, 1), of 53 bits."""
    return (np.float64(a >> FIVE) * SHIFT_26 + np.float64(b >> SIX)) * TO_53


def polar(kind):
    """Two normal numbers out of u in (0, 1] and v in [0, 1), by Box and Muller: an angle, and a distance from the origin."""
    less, turn = kind(-2), kind(2 * np.pi)

    def of(u, v):
        radius, angle = m.sqrt(less * m.log(u)), turn * v
        return radius * m.cos(angle), radius * m.sin(angle)
    return compiled(of)


polar_32, polar_64 = polar(np.float32), polar(np.float64)


@compiled
def uniform_32(a, b, c, d, scale, shift):
    return (fraction(a) * scale + shift, fraction(b) * scale + shift, fraction(c) * scale + shift, fraction(d) * scale + shift)


@compiled
def uniform_64(a, b, c, d, scale, shift):
    return fraction_of_two(a, b) * scale + shift, fraction_of_two(c, d) * scale + shift


@compiled
def normal_32(a, b, c, d, scale, shift):
    p, q = polar_32(np.float32(a + ONE) * TO_32, fraction(b))       # 32 bits, as the largest radius is that of the smallest u
    r, s = polar_32(np.float32(c + ONE) * TO_32, fraction(d))
    return p * scale + shift, q * scale + shift, r * scale + shift, s * scale + shift


@compiled
def normal_64(a, b, c, d, scale, shift):
    p, q = polar_64(fraction_of_two(a, b) + TO_53, fraction_of_two(c, d))
    return p * scale + shift, q * scale + shift


@compiled
def bernoulli_32(a, b, c, d, p, _):
    return 1 if fraction(a) < p else 0, 1 if fraction(b) < p else 0, 1 if fraction(c) < p else 0, 1 if fraction(d) < p else 0


# ---- kernels ------------------------------------------------------------------------------------------------
# The numbers of a counter go into different halves or quarters of z, so that neighbouring threads write neighbouring numbers.


@cache
def by_two(draw):
    @cuda.jit
    def kernel(n, part, z, key, first, second):
        for i in range(cuda.grid(1), part, cuda.gridsize(1)):
            a, b, c, d = philox(U(i), key)
            p, q = draw(a, b, c, d, first, second)
            z[i] = p
            if part + i < n:
                z[part + i] = q
    return kernel


@cache
def by_four(draw):
    @cuda.jit
    def kernel(n, part, z, key, first, second):
        for i in range(cuda.grid(1), part, cuda.gridsize(1)):
            a, b, c, d = philox(U(i), key)
            p, q, r, s = draw(a, b, c, d, first, second)
            z[i] = p
            if part + i < n:
                z[part + i] = q
            if 2 * part + i < n:
                z[2 * part + i] = r
            if 3 * part + i < n:
                z[3 * part + i] = s
    return kernel


def drawn(generator, shape, dtype, device, draw_32, draw_64, first, second):
    """A new array, its numbers drawn with one key of `generator`."""
    z = empty_array(shape, dtype, device)
    key = generator.integers(0, 1 << 64, dtype=np.uint64)
    kernel, each, kind = (by_two(draw_64), 2, np.float64) if dtype == np.float64 else (by_four(draw_32), 4, np.float32)
    part = (z.size + each - 1) // each
    launch_each(kernel, part, device, z.size, part, z.block.of(z.dtype), key, kind(first), kind(second))
    return z


class Randoms:
    """The kernels that draw numbers, for one device."""

    __name__ = "minigrad.kernels.cuda.randoms"

    def __init__(self, device):
        self.device = device

    def uniform(self, generator, shape, low, high, dtype):
        if dtype.kind == "c":
            return of_parts(self.uniform, generator, shape, low, high, dtype)
        if dtype.kind != "f":
            raise missing("uniform", dtype)
        return drawn(generator, shape, dtype, self.device, uniform_32, uniform_64, high - low, low)

    def normal(self, generator, shape, mean, std, dtype):
        if dtype.kind == "c":       # std is that of the whole
            z = of_parts(self.normal, generator, shape, 0, std * 0.5 ** 0.5, dtype)
            return z if mean == 0 else add(z, mean)
        if dtype.kind != "f":
            raise missing("normal", dtype)
        return drawn(generator, shape, dtype, self.device, normal_32, normal_64, std, mean)

    def bernoulli(self, generator, shape, p, dtype):
        if isinstance(p, CudaArray):
            u = drawn(generator, shape, np.dtype("float32"), self.device, uniform_32, None, 1, 0)
            return cast(lt(cast(u, np.dtype(f"f{max(p.itemsize, 4)}")), cast(p, np.dtype(f"f{max(p.itemsize, 4)}"))), dtype)
        narrow = np.dtype("float32") if dtype == np.float64 else dtype
        return cast(drawn(generator, shape, narrow, self.device, bernoulli_32, None, p, 0), dtype)


def of_parts(draw, generator, shape, a, b, dtype):
    """Complex random numbers, of two real ones each."""
    parts = draw(generator, (*shape, 2), a, b, np.dtype(f"f{dtype.itemsize // 2}"))
    return CudaArray(parts.block, parts.layout.view(dtype).reshape(shape))
