"""Reductions over any dimensions: sums, products, extremes, variances, and logarithms of sums of exponentials.

    idea        each is a `Fold`: a few numbers to remember, how another is taken in, and how two memories are joined
    bytes       each number is read once: 4 bytes of float32. Where NumPy reads twice (the mean before the variance, the maximum
                before the exponentials), these remember more instead
    operations  1 a number for a sum, 5 for a variance, 1 exponential and 5 others for logsumexp. An H100 does about 38 instructions
                while it reads 4 bytes, and those of the hot loops, counted, are 3, 8 and 14 a number
    so          the time is that of the memory. reduce.py sees to it that it is read in its order, and by the whole GPU
    measured    sums 100 to 102% of what a copy moves on an H100, variances 98%; down columns 92%, when a
                thread read one of them

The variance keeps what B. P. Welford (1962) does, joined as by T. F. Chan, G. H. Golub and R. J. LeVeque (1979): n, the mean and
the sum of the squares of the deviations. See Note [Several deviations, one division]. The sum of exponentials is that of M. Milakov
and N. Gimelshein, "Online normalizer calculation for softmax" (2018): the largest number so far, and the sum of exp(x - largest),
which shrinks when a larger one comes.

float16 is summed in float32. Integers keep their dtype, and wrap around; the ops make int64 of them before.
Mirrors ``aten/src/ATen/native/cuda/ReduceSumProdKernel.cu``, ``ReduceMomentKernel.cu`` and ``ReduceMaxValuesKernel.cu``.
Read next: ``argreduce.py``.
"""

from functools import cache

import numpy as np

from minigrad.kernels.cuda.elementwise.elementwise import compiled, plain, real_of
from minigrad.kernels.cuda.elementwise.expressions import larger, smaller
from minigrad.kernels.cuda.reductions.reduce import Fold, folded
from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.tuples import halves, mapped, mapped_with

__all__ = ["amax", "amin", "exponentials", "logsumexp", "moments", "prod", "sum", "var", "wide_of"]


def wide_of(dtype):
    """(what makes an element wide, the NumPy type that it has then), for arrays of `dtype`."""
    if dtype == np.float16:
        return np.float32, np.float32
    return plain, dtype.type


def of_one(f, start):
    """The fold whose only accumulator is f of all numbers, in the type of `start`: numba makes int64 of all integers."""
    f, kind = compiled(f), type(start) if isinstance(start, np.integer) else plain

    def take(a, x):
        return (kind(f(a[0], x)),)

    def join(a, b):
        return (kind(f(a[0], b[0])),)

    @cache
    def many(n):
        all_of = halves(f, n)
        return compiled(lambda a, p: (kind(f(a[0], all_of(p))),))
    return Fold((start,), take, join, lambda a, value: a[0], many)


def either(x, y):
    return x or y


def both(x, y):
    return x and y


@cache
def sums(kind):
    return of_one(either if kind is np.bool_ else lambda x, y: x + y, kind(0))


@cache
def products(kind):
    return of_one(both if kind is np.bool_ else lambda x, y: x * y, kind(1))


@cache
def extremes(kind, largest):
    """Larger and smaller keep nan, see expressions.py. Everything is at least -inf, or the smallest integer, or False."""
    if kind is np.bool_:
        return of_one(either if largest else both, kind(not largest))
    info = np.iinfo(kind) if issubclass(kind, np.integer) else None
    if largest:
        return of_one(larger, kind(-np.inf) if info is None else kind(info.min))
    return of_one(smaller, kind(np.inf) if info is None else kind(info.max))


@cache
def moments(kind, done=lambda a, value: a[2].real / value):
    """(n, mean, sum of |x - mean|²). `done` gives the variance, where `value` is what the squares are divided by.

    Note [Several deviations, one division]
        Welford's rule divides once a number, which takes longer than all the rest. So a lane takes several numbers, in two steps,
        as they are in registers: their mean m, and d = Σ (x - m), which rounding leaves, and s = Σ |x - m|². Their moments are
        m + d / n and s - |d|² / n (the *corrected two-pass algorithm* of Chan, Golub and LeVeque), and they are joined with those
        so far: one division for 16 numbers.
    """
    none = kind(0)
    conjugate = compiled((lambda x: x.conjugate()) if issubclass(kind, np.complexfloating) else (lambda x: x))
    add = compiled(lambda x, y: x + y)

    @compiled
    def join(a, b):
        if b[0] == none:
            return a
        if a[0] == none:
            return b
        n = a[0] + b[0]
        share = b[0] / n
        apart = b[1] - a[1]
        return n, a[1] + apart * share, a[2] + b[2] + apart * conjugate(apart) * a[0] * share

    @cache
    def many(n):
        count, share = kind(n), kind(1) / kind(n)
        total = halves(add, n)
        less, squared = mapped_with(lambda x, mean: x - mean, n), mapped(lambda x: x * conjugate(x), n)

        def take_many(a, p):
            mean = total(p) * share
            apart = less(p, mean)
            rest = total(apart)
            return join(a, (count, mean + rest * share, total(squared(apart)) - rest * conjugate(rest) * share))
        return compiled(take_many)

    one = kind(1)

    def take(a, x):
        n = a[0] + one
        apart = x - a[1]
        mean = a[1] + apart / n
        return n, mean, a[2] + apart * conjugate(x - mean)
    return Fold((none, none, none), take, join, done, many)


def log_of_sum(a, value):
    if m.isinf(a[0]):                               # all are -inf, or some inf: the result is that, unless there is a nan
        return a[0] if a[1] == a[1] else a[1]
    return a[0] + m.log(a[1])


@cache
def exponentials(kind, done=log_of_sum):
    """(largest, sum of exp(x - largest)). Nan is in the sum alone: it is not larger than anything.

    Where the largest is infinite, the sum is that of exp(x), so that no infinities are subtracted.
    """
    none = kind(0)

    @compiled
    def finite(top):
        return top if top - top == none else none

    @compiled
    def join(a, b):
        top = b[0] if b[0] > a[0] else a[0]
        base = finite(top)
        return top, a[1] * m.exp(a[0] - base) + b[1] * m.exp(b[0] - base)

    @compiled
    def largest(x, y):
        return y if y > x or x != x else x

    @cache
    def many(n):
        top_of, total = halves(largest, n), halves(lambda x, y: x + y, n)
        powers = mapped_with(lambda x, base: m.exp(x - base), n)

        def take_many(a, p):
            top = largest(a[0], top_of(p))              # a[0] is no nan
            base = finite(top)
            return top, a[1] * m.exp(a[0] - base) + total(powers(p, base))
        return compiled(take_many)

    one = many(1)
    return Fold((kind(-np.inf), none), lambda a, x: one(a, (x,)), join, done, many)


def sum(x, dims, keepdim):
    wide, kind = wide_of(x.dtype)
    return folded(sums(kind), wide, x, dims, keepdim, x.dtype)


def prod(x, dims, keepdim):
    wide, kind = wide_of(x.dtype)
    return folded(products(kind), wide, x, dims, keepdim, x.dtype)


def extreme(name, x, dims, keepdim):
    if x.dtype.kind == "c":
        raise missing(name, x.dtype)
    if any(x.shape[dim] == 0 for dim in dims):
        raise ValueError(f"{name} over a dimension of size 0, of an array of shape {x.shape}: there is no such element")
    wide, kind = wide_of(x.dtype)
    return folded(extremes(kind, name == "amax"), wide, x, dims, keepdim, x.dtype)


def amax(x, dims, keepdim):
    return extreme("amax", x, dims, keepdim)


def amin(x, dims, keepdim):
    return extreme("amin", x, dims, keepdim)


def var(x, dims, correction, keepdim):
    if x.dtype.kind not in "fc":
        raise missing("var", x.dtype)
    n = 1
    for dim in dims:
        n *= x.shape[dim]
    wide, kind = wide_of(x.dtype)
    return folded(moments(kind), wide, x, dims, keepdim, real_of(x.dtype), max(n - correction, 0))


def logsumexp(x, dims, keepdim):
    if x.dtype.kind != "f":
        raise missing("logsumexp", x.dtype)
    wide, kind = wide_of(x.dtype)
    return folded(exponentials(kind), wide, x, dims, keepdim, x.dtype)
