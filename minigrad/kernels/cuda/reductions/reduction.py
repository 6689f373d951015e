"""Reductions over any dimensions: sums, products, extremes, variances, and logarithms of sums of exponentials.

    idea        each is a `Fold`: a few numbers to remember, a rule to take in another number, and a rule to join two memories
    bytes       each number is read once: 4 bytes of float32. NumPy reads twice for a variance (the mean first) and for logsumexp
                (the maximum first). Here the accumulators remember more instead
    operations  1 per number for a sum, 5 for a variance, 1 exponential and 5 others for logsumexp. An H100 executes about 38
                instructions while it reads 4 bytes; the loops, counted, have 3, 8 and 14 per number
    so          memory limits it. reduce.py reads it in its order, and with the whole GPU
    measured    sums 100 to 102% of the speed of a copy on an H100, variances 98%; down columns 92%, measured when a thread read
                one column

The variance follows B. P. Welford (1962), and joins accumulators as T. F. Chan, G. H. Golub and R. J. LeVeque (1979) do. They are
n, the mean, and the sum of the squared deviations: see Note [Several deviations, one division]. The sum of exponentials is from
M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (2018). Its accumulators are the largest number so far,
and the sum of exp(x - largest), which is scaled down when a larger number comes.

float16 is summed in float32. Integers keep their dtype and wrap around; the ops convert them to int64 before.
Mirrors ``aten/src/ATen/native/cuda/ReduceSumProdKernel.cu``, ``ReduceMomentKernel.cu`` and ``ReduceMaxValuesKernel.cu``.
Read next: ``argreduce.py``.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from minigrad.kernels.cuda.elementwise.elementwise import device_function, isnan, plain, real_of, where
from minigrad.kernels.cuda.elementwise.expressions import larger, smaller
from minigrad.kernels.cuda.reductions.reduce import Fold, fold_array
from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.tuples import combine_halves, map_each, map_each_with
from minigrad.kernels.cuda.shape.views import view
from minigrad.kernels.numpy_ref.reduction import broadcast_dims

__all__ = ["amax", "amin", "exponentials", "logsumexp", "mean", "means", "moments", "nansum", "prod", "sum", "sum_to", "var",
           "wide_of"]


def wide_of(dtype):
    """For arrays of `dtype`: (the function that makes an element wide, the NumPy type of the wide number)."""
    if dtype == np.float16:
        return np.float32, np.float32
    return plain, dtype.type


def single_fold(f, start):
    """Return the fold with one accumulator, f of all numbers. It is cast to the type of `start`: numba makes all integers int64."""
    f, kind = device_function(f), type(start) if isinstance(start, np.integer) else plain

    def take(a, x):
        return (kind(f(a[0], x)),)

    def join(a, b):
        return (kind(f(a[0], b[0])),)

    @cache
    def many(n):
        all_of = combine_halves(f, n)
        return device_function(lambda a, p: (kind(f(a[0], all_of(p))),))
    return Fold((start,), take, join, lambda a, value: a[0], many)


def either(x, y):
    return x or y


def both(x, y):
    return x and y


@cache
def sums(kind):
    return single_fold(either if kind is np.bool_ else lambda x, y: x + y, kind(0))


@cache
def means(kind):
    return replace(sums(kind), done=lambda a, value: a[0] / value)


@cache
def products(kind):
    return single_fold(both if kind is np.bool_ else lambda x, y: x * y, kind(1))


@cache
def extremes(kind, largest):
    """The fold of amax or amin. `larger` and `smaller` keep nan; the start is -inf, the smallest integer or False for amax."""
    if kind is np.bool_:
        return single_fold(either if largest else both, kind(not largest))
    info = np.iinfo(kind) if issubclass(kind, np.integer) else None
    if largest:
        return single_fold(larger, kind(-np.inf) if info is None else kind(info.min))
    return single_fold(smaller, kind(np.inf) if info is None else kind(info.max))


@cache
def moments(kind, done=lambda a, value: a[2].real / value):
    """The fold with accumulators (n, mean, Σ |x - mean|²). `done` divides the last by `value`, which gives the variance.

    Note [Several deviations, one division]
        Welford's rule divides once per number, which takes longer than all the rest. So a lane takes several numbers together,
        in two steps, since they are in registers: first their mean m; then d = Σ (x - m), which is not 0 only because of
        rounding, and s = Σ |x - m|². Their mean is m + d / n, and their squares sum to s - |d|² / n (the *corrected two-pass
        algorithm* of Chan, Golub and LeVeque). Then they are joined with the accumulators: one division for 16 numbers.
    """
    none = kind(0)
    conjugate = device_function((lambda x: x.conjugate()) if issubclass(kind, np.complexfloating) else (lambda x: x))
    add = device_function(lambda x, y: x + y)

    @device_function
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
        total = combine_halves(add, n)
        less, squared = map_each_with(lambda x, mean: x - mean, n), map_each(lambda x: x * conjugate(x), n)

        def take_many(a, p):
            mean = total(p) * share
            apart = less(p, mean)
            rest = total(apart)
            return join(a, (count, mean + rest * share, total(squared(apart)) - rest * conjugate(rest) * share))
        return device_function(take_many)

    one = kind(1)

    def take(a, x):
        n = a[0] + one
        apart = x - a[1]
        mean = a[1] + apart / n
        return n, mean, a[2] + apart * conjugate(x - mean)
    return Fold((none, none, none), take, join, done, many)


def log_of_sum(a, value):
    if m.isinf(a[0]):                               # all numbers are -inf, or one is inf: the result is a[0], unless one is nan
        return a[0] if a[1] == a[1] else a[1]
    return a[0] + m.log(a[1])


@cache
def exponentials(kind, done=log_of_sum):
    """The fold with accumulators (largest, Σ exp(x - largest)). A nan is only in the sum, since it is not larger than any number.

    If the largest is infinite, the sum is Σ exp(x), so that no infinities are subtracted.
    """
    none = kind(0)

    @device_function
    def finite(top):
        return top if top - top == none else none

    @device_function
    def join(a, b):
        top = b[0] if b[0] > a[0] else a[0]
        base = finite(top)
        return top, a[1] * m.exp(a[0] - base) + b[1] * m.exp(b[0] - base)

    @device_function
    def largest(x, y):
        return y if y > x or x != x else x

    @cache
    def many(n):
        top_of, total = combine_halves(largest, n), combine_halves(lambda x, y: x + y, n)
        powers = map_each_with(lambda x, base: m.exp(x - base), n)

        def take_many(a, p):
            top = largest(a[0], top_of(p))              # a[0] is no nan
            base = finite(top)
            return top, a[1] * m.exp(a[0] - base) + total(powers(p, base))
        return device_function(take_many)

    one = many(1)
    return Fold((kind(-np.inf), none), lambda a, x: one(a, (x,)), join, done, many)


def sum(x, dims, keepdim):
    wide, kind = wide_of(x.dtype)
    return fold_array(sums(kind), wide, x, dims, keepdim, x.dtype)


def sum_to(x, shape):
    return view(sum(x, broadcast_dims(x.shape, shape), True), shape)


def mean(x, dims, keepdim):
    wide, kind = wide_of(x.dtype)
    return fold_array(means(kind), wide, x, dims, keepdim, x.dtype, math.prod([x.shape[d] for d in dims]))


def prod(x, dims, keepdim):
    wide, kind = wide_of(x.dtype)
    return fold_array(products(kind), wide, x, dims, keepdim, x.dtype)


def extreme(name, x, dims, keepdim):
    if x.dtype.kind == "c":
        raise missing(name, x.dtype)
    if any(x.shape[dim] == 0 for dim in dims):
        raise ValueError(f"{name} over a dimension of size 0, of an array of shape {x.shape}: there is no such element")
    wide, kind = wide_of(x.dtype)
    return fold_array(extremes(kind, name == "amax"), wide, x, dims, keepdim, x.dtype)


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
    return fold_array(moments(kind), wide, x, dims, keepdim, real_of(x.dtype), max(n - correction, 0))


def nansum(x, dims, keepdim):
    return sum(where(isnan(x), 0.0, x), dims, keepdim)


def logsumexp(x, dims, keepdim):
    if x.dtype.kind != "f":
        raise missing("logsumexp", x.dtype)
    wide, kind = wide_of(x.dtype)
    return fold_array(exponentials(kind), wide, x, dims, keepdim, x.dtype)
