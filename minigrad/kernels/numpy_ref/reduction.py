"""Reductions along a tuple of dimensions, already checked and counted from the front. Results are row-major."""

import numpy as np

from minigrad.kernels.numpy_ref.elementwise import quiet

__all__ = ["amax", "amin", "argmax", "argmin", "attention_weights", "cumprod", "cumsum", "layer_norm", "layer_norm_backward",
           "log_softmax", "log_softmax_backward", "logsumexp", "prod", "rms_norm", "rms_norm_backward", "softmax",
           "softmax_backward", "sum", "var"]


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


@quiet
def attention_weights(x, scale, causal):
    x = x * x.dtype.type(scale)
    if causal:
        x = np.where(np.tri(*x.shape[-2:], dtype=bool), x, x.dtype.type(-np.inf))
    return softmax(x, x.ndim - 1)


@quiet
def layer_norm(x, w, b, n_dims, eps):
    dims = tuple(range(x.ndim - n_dims, x.ndim))
    mean = np.mean(x, dims, keepdims=True)
    rstd = 1 / np.sqrt(np.mean(np.square(x - mean), dims, keepdims=True) + x.dtype.type(eps))
    z = (x - mean) * rstd
    z = z if w is None else z * w
    return np.asarray(z if b is None else z + b), np.asarray(mean), np.asarray(rstd)


@quiet
def layer_norm_backward(g, x, w, mean, rstd, n_dims):
    lead, dims = tuple(range(x.ndim - n_dims)), tuple(range(x.ndim - n_dims, x.ndim))
    y, h = (x - mean) * rstd, g if w is None else g * w
    dx = rstd * (h - np.mean(h, dims, keepdims=True) - y * np.mean(h * y, dims, keepdims=True))
    return np.asarray(dx), np.asarray(np.sum(g * y, lead)), np.array(np.sum(g, lead))


@quiet
def rms_norm(x, w, n_dims, eps):
    dims = tuple(range(x.ndim - n_dims, x.ndim))
    rstd = 1 / np.sqrt(np.mean(np.square(x), dims, keepdims=True) + x.dtype.type(eps))
    return np.asarray(x * rstd if w is None else x * rstd * w), np.asarray(rstd)


@quiet
def rms_norm_backward(g, x, w, rstd, n_dims):
    lead, dims = tuple(range(x.ndim - n_dims)), tuple(range(x.ndim - n_dims, x.ndim))
    y, h = x * rstd, g if w is None else g * w
    return np.asarray(rstd * (h - y * np.mean(h * y, dims, keepdims=True))), np.array(np.sum(g * y, lead))
