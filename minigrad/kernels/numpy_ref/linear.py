"""Matrix products. NumPy calls BLAS for float32, float64, complex64 and complex128."""

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet, total

__all__ = ["addmm", "distances", "distances_backward", "dot", "matmul"]

DIFFERENCES = 1 << 17       # numbers that `distances` subtracts together, so that they stay in the cache


@quiet
def matmul(x, y):
    return np.matmul(x, y)


@quiet
def addmm(b, x, y):
    z = np.matmul(x, y)
    np.add(z, b, out=z)
    return z


@quiet
def distances(x, y):
    """sqrt Σ (x[i, k] - y[j, k])² over k, for all i and j."""
    rows = max(DIFFERENCES // max(y.size, 1), 1)
    parts = [x[..., i:i + rows, None, :] - y[..., None, :, :] for i in range(0, max(x.shape[-2], 1), rows)]
    return np.concatenate([np.sqrt(np.sum(d * d, -1)) for d in parts], -2)


@quiet
def distances_backward(g, z, x, y):
    rows = max(DIFFERENCES // max(y.size, 1), 1)
    parts = []
    for i in range(0, max(x.shape[-2], 1), rows):
        some = slice(i, i + rows)
        lengths = z[..., some, :, None]         # g / length may overflow; what a difference is divided by is at least as large
        units = np.where(lengths == 0, 0, (x[..., some, None, :] - y[..., None, :, :]) / np.where(lengths == 0, 1, lengths))
        parts.append(total(g[..., some, :, None] * units, (units.ndim - 2,), False))
    return np.concatenate(parts, -2)


@quiet
def dot(x, y):
    return np.asarray(np.dot(x, y))
