"""Convolution and pooling over planes, as sums over windows.

A window is a view: of x with shape (N, C, H, W) we make one of shape (N, C, OH, OW, KH, KW) by repeating
strides, and a convolution is then a contraction of that with the weights, a pooling a reduction of its
last two dimensions. The gradients add back over the same windows, offset by offset.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minigrad.kernels.numpy_ref.elementwise import quiet

__all__ = ["avg_pool2d", "avg_pool2d_backward", "conv2d", "conv2d_input", "conv2d_weight", "max_pool2d",
           "max_pool2d_backward", "max_pool2d_select"]


def pad(x, padding, value: float = 0):
    """`x` with `padding` = (rows, columns) on each side, and ((top, bottom), (left, right)) likewise."""
    (top, bottom), (left, right) = [(p, p) if isinstance(p, int) else p for p in padding]
    if not (top or bottom or left or right):
        return x
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)


def windows(x, size, stride, dilation, count):
    """The view (N, C, OH, OW, KH, KW) of the padded `x`, with `count` = (OH, OW) windows."""
    n, c, h, w = x.strides
    return as_strided(x, (*x.shape[:2], *count, *size),
                      (n, c, h * stride[0], w * stride[1], h * dilation[0], w * dilation[1]), writeable=False)


def window_count(length, size, stride, padding, dilation, ceil_mode=False):
    """How many windows fit along one dimension."""
    span = length + 2 * padding - dilation * (size - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1      # a window may not begin in the padding on the far side
    return count


@quiet
def conv2d(x, w, stride, padding, dilation, groups):
    count = [window_count(x.shape[2 + i], w.shape[2 + i], stride[i], padding[i], dilation[i]) for i in (0, 1)]
    patches = windows(pad(x, padding), w.shape[2:], stride, dilation, count)
    n, out = len(x), len(w)
    parts = [np.tensordot(p, v, ((1, 4, 5), (1, 2, 3)))
             for p, v in zip(np.split(patches, groups, 1), np.split(w, groups, 0))]
    return np.ascontiguousarray(np.concatenate(parts, -1).transpose(0, 3, 1, 2)).reshape(n, out, *count)


@quiet
def conv2d_weight(g, x, w_shape, stride, padding, dilation, groups):
    patches = windows(pad(x, padding), w_shape[2:], stride, dilation, g.shape[2:])
    parts = [np.tensordot(h, p, ((0, 2, 3), (0, 2, 3)))
             for h, p in zip(np.split(g, groups, 1), np.split(patches, groups, 1))]
    return np.concatenate(parts, 0)


@quiet
def conv2d_input(g, w, x_shape, stride, padding, dilation, groups):
    n, channels, height, width = x_shape
    out = np.zeros((n, channels, height + 2 * padding[0], width + 2 * padding[1]), g.dtype)
    parts = [np.tensordot(h, v, ((1,), (0,)))       # (N, OH, OW, C / groups, KH, KW)
             for h, v in zip(np.split(g, groups, 1), np.split(w, groups, 0))]
    spread = np.concatenate(parts, 3).transpose(0, 3, 1, 2, 4, 5)
    add_windows(out, spread, stride, dilation)
    return crop(out, padding, height, width)


def add_windows(out, parts, stride, dilation):
    """Add `parts` (N, C, OH, OW, KH, KW) back to where their windows came from."""
    oh, ow, kh, kw = parts.shape[2:]
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilation[0], j * dilation[1]
            out[:, :, top:top + stride[0] * oh:stride[0], left:left + stride[1] * ow:stride[1]] += parts[..., i, j]


def crop(x, padding, height, width):
    return np.ascontiguousarray(x[:, :, padding[0]:padding[0] + height, padding[1]:padding[1] + width])


def pool_padding(length, count, size, stride, padding, dilation=1):
    """Padding on both sides; with ceil_mode the last window may reach further than `padding`."""
    return padding, max((count - 1) * stride + dilation * (size - 1) + 1 - length - padding, 0)


def max_pool2d(x, size, stride, padding, dilation, ceil_mode):
    count = [window_count(x.shape[2 + i], size[i], stride[i], padding[i], dilation[i], ceil_mode) for i in (0, 1)]
    sides = [pool_padding(x.shape[2 + i], count[i], size[i], stride[i], padding[i], dilation[i]) for i in (0, 1)]
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    patches = windows(pad(x, sides, lowest), size, stride, dilation, count)
    flat = patches.reshape(*patches.shape[:4], size[0] * size[1])
    best = flat.argmax(-1)
    rows = np.arange(count[0])[:, None] * stride[0] - padding[0] + best // size[1] * dilation[0]
    columns = np.arange(count[1]) * stride[1] - padding[1] + best % size[1] * dilation[1]
    return np.take_along_axis(flat, best[..., None], -1)[..., 0], rows * x.shape[3] + columns


@quiet
def max_pool2d_backward(g, index, x_shape):
    n, c, h, w = x_shape
    m = g.shape[2] * g.shape[3]
    out = np.zeros((n * c, h * w), g.dtype)
    np.add.at(out, (np.arange(n * c)[:, None], index.reshape(n * c, m)), g.reshape(n * c, m))
    return out.reshape(x_shape)


def max_pool2d_select(x, index):
    n, c = x.shape[:2]
    m = x.shape[2] * x.shape[3]
    return np.take_along_axis(x.reshape(n, c, m), index.reshape(n, c, index.shape[2] * index.shape[3]), -1).reshape(index.shape)


def divisors(height, width, count, size, stride, padding, count_include_pad, divisor):
    """By what each window's sum is divided, of shape (OH, OW)."""
    if divisor is not None:
        return np.full(count, divisor)
    extents = []
    for length, n, k, s, p in zip((height, width), count, size, stride, padding):
        start = np.arange(n) * s - p
        stop = np.minimum(start + k, length + p)
        if not count_include_pad:
            start, stop = np.maximum(start, 0), np.minimum(stop, length)
        extents.append(stop - start)
    return extents[0][:, None] * extents[1]


@quiet
def avg_pool2d(x, size, stride, padding, ceil_mode, count_include_pad, divisor):
    height, width = x.shape[2:]
    count = [window_count(x.shape[2 + i], size[i], stride[i], padding[i], 1, ceil_mode) for i in (0, 1)]
    sides = [pool_padding(x.shape[2 + i], count[i], size[i], stride[i], padding[i]) for i in (0, 1)]
    total = windows(pad(x, sides), size, stride, (1, 1), count).sum((4, 5), dtype=x.dtype)
    by = divisors(height, width, count, size, stride, padding, count_include_pad, divisor)
    return total / by.astype(x.dtype)


@quiet
def avg_pool2d_backward(g, x_shape, size, stride, padding, ceil_mode, count_include_pad, divisor):
    n, c, height, width = x_shape
    count = g.shape[2:]
    sides = [pool_padding(x_shape[2 + i], count[i], size[i], stride[i], padding[i]) for i in (0, 1)]
    out = np.zeros((n, c, height + sum(sides[0]), width + sum(sides[1])), g.dtype)
    share = g / divisors(height, width, count, size, stride, padding, count_include_pad, divisor).astype(g.dtype)
    add_windows(out, np.broadcast_to(share[..., None, None], (*g.shape, *size)), stride, (1, 1))
    return crop(out, padding, height, width)
