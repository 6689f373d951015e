"""Layer, rms, batch and group normalisation, and their gradients: ``ops/nn/normalization.py`` has the formulas."""

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet, total
from minigrad.kernels.numpy_ref.reduction import average

__all__ = ["batch_norm", "batch_norm_backward", "group_norm", "group_norm_backward", "layer_norm", "layer_norm_backward",
           "normalize_channels", "rms_norm", "rms_norm_backward"]


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
def normalize_channels(x, mean, scale, shift):
    z = (x - as_channels(mean, x)) * as_channels(scale, x)
    return np.asarray(z if shift is None else z + as_channels(shift, x), order="C")


@quiet
def group_norm(x, w, b, groups, eps):
    rows = x.reshape(len(x), groups, -1)
    mean = average(rows, (2,))
    d = rows - mean
    rstd = 1 / np.sqrt(average(np.square(d), (2,)) + x.dtype.type(eps))
    z = (d * rstd).reshape(x.shape)
    z = z if w is None else z * as_channels(w, x)
    return np.asarray(z if b is None else z + as_channels(b, x), order="C"), mean[..., 0].copy(), rstd[..., 0].copy()


@quiet
def group_norm_backward(g, x, w, mean, rstd):
    shape, dims, r = (*mean.shape, -1), (0, *range(2, x.ndim)), rstd[..., None]
    h = (g if w is None else g * as_channels(w, x)).reshape(shape)
    y = (x.reshape(shape) - mean[..., None]) * r
    dx = r * (h - average(h, (2,)) - y * average(h * y, (2,)))
    dw, db = total(g * y.reshape(x.shape), dims, False), total(g, dims, False)
    return np.asarray(dx.reshape(x.shape), order="C"), np.asarray(dw), np.asarray(db)
