"""Reductions along a tuple of dimensions. The ops have made the dimensions non-negative. Results are row-major."""

import math

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet, total, wider

__all__ = ["amax", "amin", "argmax", "argmin", "attention_weights", "log_softmax", "log_softmax_backward", "logsumexp", "mean",
           "nansum", "prod", "softmax", "softmax_backward", "sum", "sum_to", "var"]


@quiet
def sum(x, dims, keepdim):
    return np.asarray(total(x, dims, keepdim), order="C")


def nansum(x, dims, keepdim):
    return sum(np.where(np.isnan(x), x.dtype.type(0), x), dims, keepdim)


def sum_to(x, shape):
    return sum(x, broadcast_dims(x.shape, shape), True).reshape(shape)


def broadcast_dims(wide, shape):
    """The dimensions of the shape `wide` along which `shape` is repeated when it is broadcast to `wide`."""
    lead = len(wide) - len(shape)
    return tuple([d for d, n in enumerate(wide) if d < lead or shape[d - lead] != n])


def average(x, dims, keepdims=True):
    """The mean over `dims`."""
    return total(x, dims, keepdims) / x.dtype.type(math.prod([x.shape[d] for d in dims]))


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
