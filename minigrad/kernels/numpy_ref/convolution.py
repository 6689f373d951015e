"""Convolution, pooling and resampling over 1, 2 or 3 dimensions, as sums over windows.

The windows are a view: x with shape (N, C, H, W), seen with the shape (N, C, OH, OW, KH, KW) by repeating strides. A convolution
contracts this view with the weights. The gradients are added back over the same windows, one offset in the window at a time.
Maxima and averages use tables (``kernels/resampling.py``), and these leave out the padding.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minigrad.kernels.numpy_ref.precision import quiet, wider
from minigrad.kernels.refusals import translate_index_errors
from minigrad.kernels.resampling import window_count

__all__ = ["col2im", "conv", "conv_input", "conv_weight", "im2col", "max_pool", "max_pool_backward", "max_pool_select",
           "resample"]


def pad(x, padding):
    """`x` with `padding` zeros on both sides of each of its last dimensions."""
    if not any(padding):
        return x
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding])


def windows(x, size, stride, padding, dilation):
    """The view (..., OH, OW, KH, KW) of the padded x (..., H, W), for any number of dimensions."""
    n = len(size)
    if not len(stride) == len(padding) == len(dilation) == n < x.ndim or min(*stride, *dilation, *size) < 1 or min(padding) < 0:
        raise ValueError(f"windows of size {size}, stride {stride}, padding {padding} and dilation {dilation} do not fit the shape "
                         f"{x.shape}")
    count = [max(window_count(*each), 0) for each in zip(x.shape[-n:], size, stride, padding, dilation)]
    x = pad(x, padding)
    lead, last = x.strides[:-n], x.strides[-n:]
    return as_strided(x, (*x.shape[:-n], *count, *size),
                      (*lead, *[a * b for a, b in zip(last, stride)], *[a * b for a, b in zip(last, dilation)]), writeable=False)


def add_windows(parts, shape, stride, padding, dilation):
    """Zeros of `shape` (..., H, W), with `parts` (..., OH, OW, KH, KW) added at the positions of their windows."""
    n = len(stride)
    count, size = parts.shape[-2 * n:-n], parts.shape[-n:]
    out = np.zeros((*shape[:-n], *[s + 2 * p for s, p in zip(shape[-n:], padding)]), parts.dtype)
    for offset in np.ndindex(*size):
        at = [slice(o * d, o * d + s * c, s) for o, d, s, c in zip(offset, dilation, stride, count)]
        out[(..., *at)] += parts[(..., *offset)]
    return np.ascontiguousarray(out[(..., *[slice(p, p + s) for p, s in zip(padding, shape[-n:])])])


@quiet
def conv(x, w, stride, padding, dilation, groups):
    n = w.ndim - 2
    patches = windows(x, w.shape[2:], stride, padding, dilation)
    inner, outer = (1, *range(n + 2, 2 * n + 2)), tuple(range(1, n + 2))
    parts = [np.tensordot(p, v, (inner, outer)) for p, v in zip(np.split(patches, groups, 1), np.split(w, groups, 0))]
    return np.ascontiguousarray(np.moveaxis(np.concatenate(parts, -1), -1, 1)).reshape(len(x), len(w), *patches.shape[2:n + 2])


@quiet
def conv_weight(g, x, w_shape, stride, padding, dilation, groups):
    n = len(w_shape) - 2
    patches = windows(x, w_shape[2:], stride, padding, dilation)
    patches = patches[(..., *[slice(c) for c in g.shape[2:]], *[slice(None)] * n)]      # g may have fewer windows than fit
    places = (0, *range(2, n + 2))
    parts = [np.tensordot(h, p, (places, places)) for h, p in zip(np.split(g, groups, 1), np.split(patches, groups, 1))]
    return np.concatenate(parts, 0)


@quiet
def conv_input(g, w, x_shape, stride, padding, dilation, groups):
    parts = [np.tensordot(h, v, ((1,), (0,)))       # (N, OH, OW, C / groups, KH, KW)
             for h, v in zip(np.split(g, groups, 1), np.split(w, groups, 0))]
    n = w.ndim - 2
    return add_windows(np.moveaxis(np.concatenate(parts, n + 1), n + 1, 1), x_shape, stride, padding, dilation)


def im2col(x, size, stride, padding, dilation):
    patches = windows(x, size, stride, padding, dilation)
    n, channels = len(size), x.shape[-len(size) - 1]
    lead = x.shape[:-n - 1]
    order = [len(lead), *[len(lead) + 1 + n + i for i in range(n)], *[len(lead) + 1 + i for i in range(n)]]
    count = patches.shape[-2 * n:-n]
    patches = patches.transpose(*range(len(lead)), *order)
    return patches.copy().reshape(*lead, channels * math.prod(size), math.prod(count))


@quiet
def col2im(x, shape, size, stride, padding, dilation):
    n = len(size)
    count = [window_count(*each) for each in zip(shape[-n:], size, stride, padding, dilation)]
    parts = x.reshape(*x.shape[:-2], shape[-n - 1], *size, *count)
    lead = parts.ndim - 2 * n
    parts = parts.transpose(*range(lead), *[lead + n + i for i in range(n)], *[lead + i for i in range(n)])
    return add_windows(parts, shape, stride, padding, dilation)


def max_pool(x, places):
    n = len(places)
    lead, plane = x.shape[:-n], x.shape[-n:]
    counts, sizes = [p.shape[0] for p in places], [p.shape[1] for p in places]
    # the position in the plane of each element of each window: (OH OW, KH KW)
    flat = np.zeros((1, 1), np.int64)
    for length, table in zip(plane, places):
        flat = flat[:, None, :, None] * length + table[:, None, :]
        flat = flat.reshape(flat.shape[0] * flat.shape[1], flat.shape[2] * flat.shape[3])
    values = x.reshape(math.prod(lead), math.prod(plane))[:, flat]
    if not math.prod(sizes) or not values.size:
        return np.empty((*lead, *counts), x.dtype), np.empty((*lead, *counts), np.int64)
    best = values.argmax(-1)
    nans = values != values
    if nans.any():          # the last nan wins
        best = np.where(nans.any(-1), nans.shape[-1] - 1 - nans[..., ::-1].argmax(-1), best)
    index = flat[np.arange(len(flat)), best]
    return np.take_along_axis(values, best[..., None], -1).reshape(*lead, *counts), index.reshape(*lead, *counts)


def flatten_planes(x, shape, n):
    """`x` and `shape` with two dimensions: the last n as one, and those before them as one."""
    planes = math.prod(shape[:-n])
    return x.reshape(planes, math.prod(x.shape[-n:])), (planes, math.prod(shape[-n:]))


@quiet
@translate_index_errors
def max_pool_backward(g, index, x_shape, n):
    flat, shape = flatten_planes(g, x_shape, n)
    out = np.zeros(shape, g.dtype)
    np.add.at(out, (np.arange(shape[0])[:, None], index.reshape(flat.shape)), flat)
    return out.reshape(x_shape)


@translate_index_errors
def max_pool_select(x, index, n):
    flat, shape = flatten_planes(index, x.shape, n)
    return np.take_along_axis(x.reshape(shape), flat, -1).reshape(index.shape)


@quiet
def resample(x, dim, starts, columns, weights):
    counts = np.diff(starts)
    z = np.zeros((*x.shape[:dim], len(counts), *x.shape[dim + 1:]), wider(x.dtype))
    weights = weights.astype(z.dtype).reshape(-1, *[1] * (x.ndim - dim - 1))
    for t in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > t)       # the rows that have an element number t
        at = starts[rows] + t
        z[(slice(None),) * dim + (slice(None) if len(rows) == len(counts) else rows,)] += x.take(columns[at], dim) * weights[at]
    return z.astype(x.dtype)
