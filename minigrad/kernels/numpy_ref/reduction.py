"""Reductions along a tuple of dimensions, already checked and counted from the front. Results are row-major."""

import numpy as np

from minigrad.kernels.numpy_ref.elementwise import quiet

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "log_softmax_backward", "logsumexp",
           "prod", "softmax", "softmax_backward", "sum", "var"]


@quiet
def sum(x, dims, keepdim):
    return np.asarray(np.add.reduce(x, dims, keepdims=keepdim, dtype=x.dtype), order="C")


@quiet
def prod(x, dims, keepdim):
    return np.asarray(np.multiply.reduce(x, dims, keepdims=keepdim, dtype=x.dtype), order="C")


def amax(x, dims, keepdim):
    return np.asarray(np.maximum.reduce(x, dims, keepdims=keepdim), order="C")


def amin(x, dims, keepdim):
    return np.asarray(np.minimum.reduce(x, dims, keepdims=keepdim), order="C")


def argmax(x, dim, keepdim):
    return np.asarray(np.argmax(x, dim, keepdims=keepdim), order="C")


def argmin(x, dim, keepdim):
    return np.asarray(np.argmin(x, dim, keepdims=keepdim), order="C")


@quiet
def cumsum(x, dim):
    return np.asarray(np.cumsum(x, dim, dtype=x.dtype)) if x.ndim else x.copy()


@quiet
def cumprod(x, dim):
    return np.asarray(np.cumprod(x, dim, dtype=x.dtype)) if x.ndim else x.copy()


@quiet
def var(x, dims, correction, keepdim):
    n = 1
    for dim in dims:
        n *= x.shape[dim]
    deviation = x - np.add.reduce(x, dims, keepdims=True) / x.dtype.type(n)     # np.mean warns of n = 0
    squares = (deviation * np.conjugate(deviation)).real
    total = np.asarray(np.add.reduce(squares, dims, keepdims=keepdim, dtype=squares.dtype))
    return np.asarray(total / squares.dtype.type(max(n - correction, 0)), order="C")


@quiet
def logsumexp(x, dims, keepdim):
    top = np.maximum.reduce(x, dims, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), x.dtype.type(0), top)
    z = np.log(np.add.reduce(np.exp(x - top), dims, keepdims=True)) + top
    return np.asarray(z if keepdim else z.reshape([n for dim, n in enumerate(x.shape) if dim not in dims]))


@quiet
def softmax(x, dim):
    if x.size == 0:
        return x.copy()
    e = np.exp(x - np.max(x, dim, keepdims=True))
    return np.asarray(e / np.sum(e, dim, keepdims=True))


@quiet
def softmax_backward(g, z, dim):
    return np.asarray(z * (g - np.sum(g * z, dim, keepdims=True)))


@quiet
def log_softmax(x, dim):
    if x.size == 0:
        return x.copy()
    shifted = x - np.max(x, dim, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), dim, keepdims=True)))


@quiet
def log_softmax_backward(g, z, dim):
    return np.asarray(g - np.exp(z) * np.sum(g, dim, keepdims=True))
