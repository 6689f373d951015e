"""Reductions along a tuple of dimensions. The ops have made the dimensions non-negative. Results are row-major."""

import math

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet, total, wider

__all__ = ["amax", "amin", "argmax", "argmin", "attention_weights", "batch_norm", "batch_norm_backward", "layer_norm",
           "layer_norm_backward", "log_softmax", "log_softmax_backward", "logsumexp", "mean", "prod", "rms_norm",
           "rms_norm_backward", "softmax", "softmax_backward", "sum", "sum_to", "var"]


@quiet
def sum(x, dims, keepdim):
    return np.asarray(total(x, dims, keepdim), order="C")


def sum_to(x, shape):
    return sum(x, broadcast_dims(x.shape, shape), True).reshape(shape)


def broadcast_dims(wide, shape):
    """The dimensions of the shape `wide` along which `shape` is repeated when it is broadcast to `wide`."""
    lead = len(wide) - len(shape)
    return tuple([d for d, n in enumerate(wide) if d < lead or shape[d - lead] != n])


@quiet
def mean(x, dims, keepdim):
    return np.asarray(average(x, dims, keepdim), order="C")


@quiet
def prod(x, dims, keepdim):
    return np.asarray(np.multiply.reduce(x, dims, keepdims=keepdim, dtype=wider(x.dtype)).astype(x.dtype), order="C")


def amax(x, dims, keepdim):
    return np.asarray(np.maximum.reduce(x, dims, keepdims=keepdim), order="C")


def amin(x, dims, keepdim):
    return np.asarray(np.minimum.reduce(x, dims, keepdims=keepdim), order="C")


def argmax(x, dim, keepdim):
    return np.asarray(np.argmax(x, dim, keepdims=keepdim), order="C")


def argmin(x, dim, keepdim):
    return np.asarray(np.argmin(x, dim, keepdims=keepdim), order="C")


@quiet
def var(x, dims, correction, keepdim):
    n = 1
    for dim in dims:
        n *= x.shape[dim]
    wide = x.astype(wider(x.dtype))
    deviation = wide - np.add.reduce(wide, dims, keepdims=True) / max(n, 1)
    squares = (deviation * np.conjugate(deviation)).real
    z = np.add.reduce(squares, dims, keepdims=keepdim) / np.float64(max(n - correction, 0))
    return np.asarray(z.astype(x.real.dtype), order="C")


@quiet
def logsumexp(x, dims, keepdim):
    top = np.maximum.reduce(x, dims, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), x.dtype.type(0), top)
    z = np.log(total(np.exp(x - top), dims)) + top
    return np.asarray(z if keepdim else z.reshape([n for dim, n in enumerate(x.shape) if dim not in dims]))


@quiet
def softmax(x, dim):
    if x.size == 0:
        return x.copy()
    e = np.exp(np.asarray(x - np.max(x, dim, keepdims=True), order="C"))
    return np.asarray(e / total(e, dim))


@quiet
def softmax_backward(g, z, dim):
    return np.asarray(z * (g - total(g * z, dim)))


@quiet
def log_softmax(x, dim):
    if x.size == 0:
        return x.copy()
    shifted = np.asarray(x - np.max(x, dim, keepdims=True), order="C")
    return np.asarray(shifted - np.log(total(np.exp(shifted), dim)))


@quiet
def log_softmax_backward(g, z, dim):
    return np.asarray(g - np.exp(z) * total(g, dim))


@quiet
def attention_weights(x, scale, causal):
    x = x * x.dtype.type(scale)
    if causal:
        x = np.where(np.tri(*x.shape[-2:], dtype=bool), x, x.dtype.type(-np.inf))
    return softmax(x, x.ndim - 1)


def average(x, dims, keepdims=True):
    """The mean over `dims`."""
    return total(x, dims, keepdims) / x.dtype.type(math.prod([x.shape[d] for d in dims]))


@quiet
def layer_norm(x, w, b, n_dims, eps):
    dims = tuple(range(x.ndim - n_dims, x.ndim))
    mean = average(x, dims)
    rstd = 1 / np.sqrt(average(np.square(x - mean), dims) + x.dtype.type(eps))
    z = (x - mean) * rstd
    z = z if w is None else z * w
    return np.asarray(z if b is None else z + b), np.asarray(mean), np.asarray(rstd)


@quiet
def layer_norm_backward(g, x, w, mean, rstd, n_dims):
    lead, dims = tuple(range(x.ndim - n_dims)), tuple(range(x.ndim - n_dims, x.ndim))
    y, h = (x - mean) * rstd, g if w is None else g * w
    dx = rstd * (h - average(h, dims) - y * average(h * y, dims))
    return np.asarray(dx), np.array(total(g * y, lead, False)), np.array(total(g, lead, False))


def as_channels(w, x):
    """w, which has a number for each channel of x, so that it broadcasts with x."""
    return w.reshape(-1, *[1] * (x.ndim - 2))


@quiet
def batch_norm(x, w, b, eps):
    dims = (0, *range(2, x.ndim))
    mean = average(x, dims)
    d = x - mean
    variance = average(np.square(d), dims)
    rstd = 1 / np.sqrt(variance + x.dtype.type(eps))
    z = d * (rstd if w is None else rstd * as_channels(w, x))
    z = z if b is None else z + as_channels(b, x)
    return np.asarray(z, order="C"), *[np.array(of.reshape(x.shape[1])) for of in (mean, rstd, variance)]


@quiet
def batch_norm_backward(g, x, w, mean, rstd):
    dims, n, r = (0, *range(2, x.ndim)), x.dtype.type(x.size // x.shape[1]), as_channels(rstd, x)
    y = (x - as_channels(mean, x)) * r
    dw, db = total(g * y, dims, False), total(g, dims, False)
    scale = r if w is None else r * as_channels(w, x)
    dx = scale * (g - as_channels(db / n, x) - y * as_channels(dw / n, x))
    return np.asarray(dx, order="C"), np.asarray(dw), np.asarray(db)


@quiet
def rms_norm(x, w, n_dims, eps):
    dims = tuple(range(x.ndim - n_dims, x.ndim))
    rstd = 1 / np.sqrt(average(np.square(x), dims) + x.dtype.type(eps))
    return np.asarray(x * rstd if w is None else x * rstd * w), np.asarray(rstd)


@quiet
def rms_norm_backward(g, x, w, rstd, n_dims):
    lead, dims = tuple(range(x.ndim - n_dims)), tuple(range(x.ndim - n_dims, x.ndim))
    y, h = x * rstd, g if w is None else g * w
    return np.asarray(rstd * (h - y * average(h * y, dims))), np.array(total(g * y, lead, False))
