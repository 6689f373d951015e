"""Tables for pooling and resampling: which elements of a line each result sums up, and with which weights.

    x           a b c d e
    z           (a+b)/2  (c+d)/2        z[i] = Σ weights[t] x[columns[t]],  starts[i] <= t < starts[i + 1]

    starts      0 2 4
    columns     0 1 2 3
    weights     ½ ½ ½ ½

Averaging over windows and interpolating multiply by a matrix along each dimension. A table is such a matrix, row by row, without
its zeros. So one kernel (`resample`) computes all of them, and their gradients with the transposed matrix. A maximum over windows
needs no weights: `places` is a rectangular array of positions.

The last tables are cached, keyed by the sizes that they were made for. Do not write to them.

Read next: ``numpy_ref/convolution.py``, where kernels use them.
"""

from functools import lru_cache

import numpy as np

__all__ = ["Matrix", "adaptive", "averages", "cubic", "filtered", "linear", "nearest", "places", "window_count", "windows_in"]

CACHED = 512        # tables of each kind


class Matrix:
    """A sparse matrix with `length` columns, row by row: see the head of this file.

    Args:
        length (int): the number of columns.
        counts (array): how many elements each row has.
        columns (array): the column of each element, row after row.
        weights (array): the value of each element.
    """

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
        """The transposed matrix. It leaves out weights of 0: 0 times an infinite gradient would be nan."""
        if self.transposed is None:
            there = self.weights != 0
            rows = np.repeat(np.arange(len(self)), np.diff(self.starts))[there]
            columns, weights = self.columns[there], self.weights[there]
            order = np.argsort(columns, kind="stable")
            self.transposed = Matrix(len(self), np.bincount(columns, minlength=self.length), rows[order], weights[order])
        return self.transposed


@lru_cache(CACHED)
def cheapest_first(*matrices):
    """(dimension, matrix) for each of the matrices of the last dimensions, except None; dimensions count from the end: -1, -2, ...

    The smallest ratio of sizes comes first: later products are then smaller. Of equal ones that grow, the last dimension does.
    """
    order = []
    for i, matrix in enumerate(matrices):
        if matrix is not None:
            ratio = len(matrix) / max(matrix.length, 1)
            order.append((ratio, i if ratio < 1 else -i, i - len(matrices), matrix))
    return tuple([(dim, matrix) for _, _, dim, matrix in sorted(order, key=lambda entry: entry[:2])])


def ranges(length, first, stop, weights):
    """The matrix whose row i has weights[i] in the columns from first[i] to stop[i] - 1."""
    counts = stop - first
    rows = np.repeat(np.arange(len(first)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return Matrix(length, counts, first[rows] + within, np.broadcast_to(weights, len(first))[rows])


# ---- pooling ----------------------------------------------------------------------------------------------------


def window_count(length, size, stride, padding, dilation, ceil_mode=False):
    """The number of windows along one dimension.

    Args:
        length (int): number of elements along the dimension.
        size (int): elements in a window.
        stride (int): elements from one window to the next.
        padding (int): elements added on each side.
        dilation (int): elements from one element of a window to the next.
        ceil_mode (bool): also count a window that goes beyond the end.
    """
    span = length + 2 * padding - dilation * (size - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1      # a window may not begin in the padding on the far side
    return count


@lru_cache(CACHED)
def places(length, size, stride, padding, dilation, ceil_mode):
    """The positions of each window's elements, of shape (windows, size).

    A position in the padding is replaced by the nearest position of the same window that is inside. This keeps the order, so that
    the first of several equal maxima is the first in the window.
    """
    table = np.arange(window_count(length, size, stride, padding, dilation, ceil_mode))[:, None] * stride - padding
    table = table + np.arange(size) * dilation
    inside = (table >= 0) & (table < length)
    first = np.where(inside, table, length).min(1, initial=length, keepdims=True)
    last = np.where(inside, table, -1).max(1, initial=-1, keepdims=True)
    return np.ascontiguousarray(np.clip(table, first, np.maximum(last, first)).astype(np.int64))


@lru_cache(CACHED)
def averages(length, size, stride, padding, ceil_mode, count_include_pad, weight):
    """The matrix of means over windows; or of sums over windows times `weight`, if that is not None.

    Args:
        length, size, stride, padding, ceil_mode: see `window_count`.
        count_include_pad (bool): a mean counts the padding as zeros; otherwise it is over the elements inside.
        weight (float or None): for sums.
    """
    start = np.arange(window_count(length, size, stride, padding, 1, ceil_mode)) * stride - padding
    stop = np.minimum(start + size, length + padding)
    first, last = np.maximum(start, 0), np.minimum(stop, length)
    if weight is not None:
        return ranges(length, first, last, weight)
    return ranges(length, first, last, 1 / np.maximum(stop - start if count_include_pad else last - first, 1))


def windows_in(length, count):
    """(first, stop) of `count` windows that cover `length` elements."""
    i = np.arange(count, dtype=np.int64)
    return i * length // max(count, 1), -(-(i + 1) * length // max(count, 1))


@lru_cache(CACHED)
def adaptive(length, count, as_places=False):
    """The matrix of means over `count` windows that cover all elements; with `as_places`, their positions as in `places`."""
    first, stop = windows_in(length, count)
    if as_places:
        return np.minimum(first[:, None] + np.arange((stop - first).max(initial=0)), stop[:, None] - 1)
    return ranges(length, first, stop, 1 / np.maximum(stop - first, 1))


# ---- interpolation ------------------------------------------------------------------------------------------------


def sources(length, count, align_corners, factor, dtype, offset=0.5):
    """(the position in the input of each result, the distance from one result to the next).

    They are computed in the dtype of the tensor, because rounding down may give another result in another dtype.

    Args:
        length (int): elements of the input along the dimension.
        count (int): elements of the result.
        align_corners (bool): the first and last elements of both coincide; otherwise the edges of their intervals do.
        factor (float or None): the scale factor; None for count / length.
        dtype (numpy.dtype): of the tensor.
        offset (float, optional): the position in its interval that counts as an element's place: 1/2 for the middle.
    """
    real = np.dtype(dtype).type
    if align_corners:
        scale = real(length - 1) / real(count - 1) if count > 1 else real(0)
        return scale * np.arange(count, dtype=dtype), scale
    scale = real(1 / factor) if factor else real(length) / real(count)
    return scale * (np.arange(count, dtype=dtype) + real(offset)) - real(offset), scale


@lru_cache(CACHED)
def nearest(length, count, factor, exact, dtype):
    """The matrix that copies the element at the left end of each result's interval, or (exact) at its middle."""
    source = sources(length, count, False, factor, dtype, 0.5 if exact else 0)[0]
    source = source + np.dtype(dtype).type(0.5) if exact else source
    columns = np.minimum(np.floor(source.astype(np.float32)).astype(np.int64), length - 1)
    return Matrix(length, np.ones(count, np.int64), columns, np.ones(count))


@lru_cache(CACHED)
def linear(length, count, align_corners, factor, dtype):
    """The matrix of linear interpolation: two neighbours, the nearer one with the larger weight."""
    source = np.maximum(sources(length, count, align_corners, factor, dtype)[0], 0) if count != length else np.arange(float(count))
    left = np.minimum(source.astype(np.int64), length - 1)
    share = np.clip(source - left, 0, 1)
    columns = np.stack([left, np.minimum(left + 1, length - 1)], 1)
    return Matrix(length, np.full(count, 2), columns.ravel(), np.stack([1 - share, share], 1).ravel())


def keys(x, a):
    """Keys' cubic kernel ("Cubic convolution interpolation for digital image processing", 1981)."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    return np.where(x < 1, near, np.where(x < 2, ((x - 5) * x + 8) * x * a - 4 * a, 0))


@lru_cache(CACHED)
def cubic(length, count, align_corners, factor, dtype):
    """The matrix of cubic interpolation: four neighbours, weighted by Keys' kernel with a = -3/4."""
    source = sources(length, count, align_corners, factor, dtype)[0]
    left = np.floor(source).astype(np.int64)
    columns = left[:, None] + np.arange(-1, 3)
    weights = keys(source[:, None] - columns, -0.75)
    return Matrix(length, np.full(count, 4), np.clip(columns, 0, length - 1).ravel(), weights.ravel())


# The filters against aliasing: the function, and the distance beyond which it is 0.
FILTERS = {
    "bilinear": (lambda x: np.maximum(1 - np.abs(x), 0), 1),
    "bicubic": (lambda x: keys(x, -0.5), 2),
    "lanczos": (lambda x: np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0), 3),
}


@lru_cache(CACHED)
def filtered(length, count, align_corners, factor, kind):
    """The matrix of a filter against aliasing, which is as wide as the distance between results, and at least 1."""
    shape, reach = FILTERS[kind]
    scale = float(sources(length, count, align_corners, factor if count != length else None, np.float64)[1])
    width = max(scale, 1.0)
    centre = scale * (np.arange(count) + 0.5)
    first = np.maximum((centre - reach * width + 0.5).astype(np.int64), 0)
    stop = np.minimum((centre + reach * width + 0.5).astype(np.int64), length)
    matrix = ranges(length, first, np.maximum(stop, first), 1.0)
    rows = np.repeat(np.arange(count), np.diff(matrix.starts))
    weights = shape((matrix.columns - centre[rows] + 0.5) / width)
    total = np.bincount(rows, weights, count)
    matrix.weights = weights / np.where(total == 0, 1, total)[rows]
    return matrix
