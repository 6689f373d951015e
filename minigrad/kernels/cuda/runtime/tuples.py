"""Functions for tuples: what a thread does to several numbers at once.

    mapped(f, 4)        (f(p[0]), f(p[1]), f(p[2]), f(p[3]))
    halves(f, 4)        f(f(p[0], p[1]), f(p[2], p[3])): the two inner ones do not wait for each other

A thread's registers have no numbers: which one is meant has to be known when the kernel is compiled. A loop over a tuple would
leave that to luck. So these write out a function for n numbers as one for the first half, and one for the second.

Read next: ``reduce.py``.
"""

from functools import cache

from minigrad.kernels.cuda.elementwise.elementwise import compiled
from minigrad.kernels.cuda.elementwise.vector_io import pack

__all__ = ["gathered", "halves", "mapped", "mapped_with", "reader"]


@cache
def mapped(f, n):
    """(f(p[0]), ..., f(p[n - 1])) of a tuple p."""
    f = compiled(f)
    if n == 1:
        return compiled(lambda p: (f(p[0]),))
    half = n // 2
    low, high = mapped(f, half), mapped(f, n - half)
    return compiled(lambda p: low(p[:half]) + high(p[half:]))


@cache
def mapped_with(f, n):
    """(f(p[0], y), ..., f(p[n - 1], y)) of a tuple p."""
    f = compiled(f)
    if n == 1:
        return compiled(lambda p, y: (f(p[0], y),))
    before = mapped_with(f, n - 1)
    return compiled(lambda p, y: before(p[:-1], y) + (f(p[-1], y),))


@cache
def halves(f, n):
    """f of all of a tuple, by halves: f(f(p[0], p[1]), f(p[2], p[3]))."""
    f = compiled(f)
    if n == 1:
        return compiled(lambda p: p[0])
    half = n // 2
    low, high = halves(f, half), halves(f, n - half)
    return compiled(lambda p: f(low(p[:half]), high(p[half:])))


@cache
def reader(wide, width, count):
    """A device function (x, at, jump): `count` packs of `width` numbers, `jump` apart, made wide, as one tuple."""
    load, _ = pack(width)
    widened = mapped(lambda value: wide(value), width * count)

    def raw(count):
        if count == 1:
            return compiled(lambda x, at, jump: load(x, at))
        before, last = raw(count - 1), count - 1
        return compiled(lambda x, at, jump: before(x, at, jump) + load(x, at + last * jump))
    loads = raw(count)
    return compiled(lambda x, at, jump: widened(loads(x, at, jump)))


@cache
def gathered(n):
    """A device function: the n numbers of an array of a thread from place k on, as a tuple."""
    if n == 1:
        return compiled(lambda held, k: (held[k],))
    half = n // 2
    low, high = gathered(half), gathered(n - half)
    return compiled(lambda held, k: low(held, k) + high(held, k + half))
