"""Which numbers of a line a result is made of: the tables of pooling and resampling.

    x           a b c d e
    z           (a+b)/2  (c+d)/2        result i = Σ weights[t] x[columns[t]],  starts[i] <= t < starts[i + 1]

    starts      0 2 4
    columns     0 1 2 3
    weights     ½ ½ ½ ½

An average over windows and an interpolation are products with a matrix along each dimension, and this is that matrix, row by
row without its zeros. So one kernel (`resample`) computes them all, and with the transposed matrix their gradients. A maximum
needs the places only (`places`), as a rectangle.

Tables are made once for each geometry and kept; nobody may write to them.
"""

from functools import lru_cache

import numpy as np

__all__ = ["Taps", "adaptive", "averages", "cubic", "filtered", "linear", "nearest", "places", "window_count", "windows_in"]

KEPT = 512      # tables of each kind


class Taps:
    """A sparse matrix: for `length` numbers, rows as in the head of this file."""

    __slots__ = ("columns", "length", "starts", "transposed", "weights")

    def __init__(self, length, counts, columns, weights):
        self.length = length
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.columns = np.ascontiguousarray(columns, dtype=np.int64)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.transposed = None

    def __len__(self):
        return len(self.starts) - 1

    def adjoint(self):
        """The transposed matrix. A weight of 0 stays behind: 0 times an infinite gradient would be nan."""
        if self.transposed is None:
            there = self.weights != 0
            rows = np.repeat(np.arange(len(self)), np.diff(self.starts))[there]
            columns, weights = self.columns[there], self.weights[there]
            order = np.argsort(columns, kind="stable")
            self.transposed = Taps(len(self), np.bincount(columns, minlength=self.length), rows[order], weights[order])
        return self.transposed


def ranges(length, first, stop, weights):
    """Taps whose row i is first[i] .. stop[i], all of them with weights[i]."""
    counts = stop - first
    rows = np.repeat(np.arange(len(first)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return Taps(length, counts, first[rows] + within, np.broadcast_to(weights, len(first))[rows])


# ---- pooling ----------------------------------------------------------------------------------------------------


def window_count(length, size, stride, padding, dilation, ceil_mode=False):
    """How many windows fit along one dimension."""
    span = length + 2 * padding - dilation * (size - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1      # a window may not begin in the padding on the far side
    return count


@lru_cache(KEPT)
def places(length, size, stride, padding, dilation, ceil_mode):
    """Where the numbers of each window are, (windows, size); instead of the padding, another of the same window.

    The order stays, so that the first of several maxima is the first in the window.
    """
    table = np.arange(window_count(length, size, stride, padding, dilation, ceil_mode))[:, None] * stride - padding
    table = table + np.arange(size) * dilation
    inside = (table >= 0) & (table < length)
    first = np.where(inside, table, length).min(1, initial=length, keepdims=True)
    last = np.where(inside, table, -1).max(1, initial=-1, keepdims=True)
    return np.ascontiguousarray(np.clip(table, first, np.maximum(last, first)).astype(np.int64))


@lru_cache(KEPT)
def averages(length, size, stride, padding, ceil_mode, count_include_pad, weight):
    """Means over windows, the padding counting as zeros or not at all; or sums, all with the same weight."""
    start = np.arange(window_count(length, size, stride, padding, 1, ceil_mode)) * stride - padding
    stop = np.minimum(start + size, length + padding)
    first, last = np.maximum(start, 0), np.minimum(stop, length)
    if weight is not None:
        return ranges(length, first, last, weight)
    return ranges(length, first, last, 1 / np.maximum(stop - start if count_include_pad else last - first, 1))


def windows_in(length, count):
    """(first, stop) of `count` windows that cover `length` numbers."""
    i = np.arange(count, dtype=np.int64)
    return i * length // max(count, 1), -(-(i + 1) * length // max(count, 1))


@lru_cache(KEPT)
def adaptive(length, count, as_places=False):
    """Means over `count` windows that cover all numbers; or where the numbers are, as in `places`."""
    first, stop = windows_in(length, count)
    if as_places:
        return np.minimum(first[:, None] + np.arange((stop - first).max(initial=0)), stop[:, None] - 1)
    return ranges(length, first, stop, 1 / np.maximum(stop - first, 1))


# ---- interpolation ------------------------------------------------------------------------------------------------


def sources(length, count, align_corners, factor, dtype, offset=0.5):
    """Where in the input result i lies, and how far apart results are. In the dtype of the tensor, as the result of rounding
    down may depend on it."""
    real = np.dtype(dtype).type
    if align_corners:
        scale = real(length - 1) / real(count - 1) if count > 1 else real(0)
        return scale * np.arange(count, dtype=dtype), scale
    scale = real(1 / factor) if factor else real(length) / real(count)
    return scale * (np.arange(count, dtype=dtype) + real(offset)) - real(offset), scale


@lru_cache(KEPT)
def nearest(length, count, factor, exact, dtype):
    """The number whose interval it falls into: of the left end of the result, or (exact) of its middle."""
    source = sources(length, count, False, factor, dtype, 0.5 if exact else 0)[0]
    source = source + np.dtype(dtype).type(0.5) if exact else source
    columns = np.minimum(np.floor(source.astype(np.float32)).astype(np.int64), length - 1)
    return Taps(length, np.ones(count, np.int64), columns, np.ones(count))


@lru_cache(KEPT)
def linear(length, count, align_corners, factor, dtype):
    """The two neighbours, the nearer with the larger weight."""
    source = np.maximum(sources(length, count, align_corners, factor, dtype)[0], 0) if count != length else np.arange(float(count))
    left = np.minimum(source.astype(np.int64), length - 1)
    share = np.clip(source - left, 0, 1)
    columns = np.stack([left, np.minimum(left + 1, length - 1)], 1)
    return Taps(length, np.full(count, 2), columns.ravel(), np.stack([1 - share, share], 1).ravel())


def keys(x, a):
    """Keys' cubic kernel ("Cubic convolution interpolation for digital image processing", 1981)."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    return np.where(x < 1, near, np.where(x < 2, ((x - 5) * x + 8) * x * a - 4 * a, 0))


@lru_cache(KEPT)
def cubic(length, count, align_corners, factor, dtype):
    """The four neighbours, weighted by Keys' kernel with a = -3/4."""
    source = sources(length, count, align_corners, factor, dtype)[0]
    left = np.floor(source).astype(np.int64)
    columns = left[:, None] + np.arange(-1, 3)
    weights = keys(source[:, None] - columns, -0.75)
    return Taps(length, np.full(count, 4), np.clip(columns, 0, length - 1).ravel(), weights.ravel())


# Filters against aliasing, and how far they reach.
FILTERS = {
    "bilinear": (lambda x: np.maximum(1 - np.abs(x), 0), 1),
    "bicubic": (lambda x: keys(x, -0.5), 2),
    "lanczos": (lambda x: np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0), 3),
}


@lru_cache(KEPT)
def filtered(length, count, align_corners, factor, kind):
    """All numbers within reach of a filter, which is as wide as the results are apart."""
    shape, reach = FILTERS[kind]
    scale = float(sources(length, count, align_corners, factor if count != length else None, np.float64)[1])
    width = max(scale, 1.0)
    centre = scale * (np.arange(count) + 0.5)
    first = np.maximum((centre - reach * width + 0.5).astype(np.int64), 0)
    stop = np.minimum((centre + reach * width + 0.5).astype(np.int64), length)
    taps = ranges(length, first, np.maximum(stop, first), 1.0)
    rows = np.repeat(np.arange(count), np.diff(taps.starts))
    weights = shape((taps.columns - centre[rows] + 0.5) / width)
    total = np.bincount(rows, weights, count)
    taps.weights = weights / np.where(total == 0, 1, total)[rows]
    return taps
