"""Functions for tuples: the operations of a thread on several numbers at the same time.

    map_each(f, 4)          (f(p[0]), f(p[1]), f(p[2]), f(p[3]))
    combine_halves(f, 4)    f(f(p[0], p[1]), f(p[2], p[3])): the two inner calls do not wait for each other

A thread cannot choose a register by a number: the compiler must know which register each instruction uses. It is not certain that
it unrolls a loop over a tuple. So these functions write the loop out: a function for n numbers is one for the first half, and one
for the second half.

Read next: ``reductions/lanes.py``.
"""

from functools import cache

from minigrad.kernels.cuda.elementwise.elementwise import device_function
from minigrad.kernels.cuda.elementwise.vector_io import pack

__all__ = ["combine_halves", "map_each", "map_each_with", "read_tuple", "reader"]


@cache
def map_each(f, n):
    """A device function p -> (f(p[0]), ..., f(p[n - 1]))."""
    f = device_function(f)
    if n == 1:
        return device_function(lambda p: (f(p[0]),))
    half = n // 2
    low, high = map_each(f, half), map_each(f, n - half)
    return device_function(lambda p: low(p[:half]) + high(p[half:]))


@cache
def map_each_with(f, n):
    """A device function (p, y) -> (f(p[0], y), ..., f(p[n - 1], y))."""
    f = device_function(f)
    if n == 1:
        return device_function(lambda p, y: (f(p[0], y),))
    before = map_each_with(f, n - 1)
    return device_function(lambda p, y: before(p[:-1], y) + (f(p[-1], y),))


@cache
def combine_halves(f, n):
    """A device function that joins the n numbers of a tuple by halves: p -> f(f(p[0], p[1]), f(p[2], p[3]))."""
    f = device_function(f)
    if n == 1:
        return device_function(lambda p: p[0])
    half = n // 2
    low, high = combine_halves(f, half), combine_halves(f, n - half)
    return device_function(lambda p: f(low(p[:half]), high(p[half:])))


@cache
def reader(wide, width, count):
    """A device function (x, at, jump) that reads `count` packs of `width` numbers, `jump` apart, as one tuple of wide numbers."""
    load, _ = pack(width)
    widened = map_each(lambda value: wide(value), width * count)

    def raw(count):
        if count == 1:
            return device_function(lambda x, at, jump: load(x, at))
        before, last = raw(count - 1), count - 1
        return device_function(lambda x, at, jump: before(x, at, jump) + load(x, at + last * jump))
    loads = raw(count)
    return device_function(lambda x, at, jump: widened(loads(x, at, jump)))


@cache
def read_tuple(n):
    """A device function (held, k) -> the tuple (held[k], ..., held[k + n - 1])."""
    if n == 1:
        return device_function(lambda held, k: (held[k],))
    half = n // 2
    low, high = read_tuple(half), read_tuple(n - half)
    return device_function(lambda held, k: low(held, k) + high(held, k + half))
