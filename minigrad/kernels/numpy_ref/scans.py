"""Running sums and products along a dimension.

    x                           1 2 3 4
    cumsum                      1 3 6 10            reverse     10 9 7 4
    cumprod                     1 2 6 24
    recurrence(a, x)            z[k] = a[k] z[k - 1] + x[k]: the derivatives of the others have this form

The running value has the next wider dtype (precision.py).
"""

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet, wider

__all__ = ["cumprod", "cumsum", "logcumsumexp", "recurrence"]


@quiet
def scan(ufunc, x, dim):
    """Accumulate `x` along `dim` with a ufunc."""
    return np.ascontiguousarray(ufunc.accumulate(x, dim, dtype=wider(x.dtype)).astype(x.dtype)) if x.ndim else x.copy()


def cumsum(x, dim, reverse):
    if x.ndim:
        x = x + x.dtype.type(0)     # a sum begins with 0, and so is never -0
    return np.ascontiguousarray(np.flip(scan(np.add, np.flip(x, dim), dim), dim)) if reverse and x.ndim else scan(np.add, x, dim)


def cumprod(x, dim):
    return scan(np.multiply, x, dim)


def logcumsumexp(x, dim):
    return scan(np.logaddexp, x, dim)


@quiet
def recurrence(a, b, dim, reverse):
    z = np.empty(b.shape, b.dtype)
    of_a, of_b, of_z = [np.moveaxis(v, dim, 0)[::-1 if reverse else 1] for v in (a, b, z)]
    running = np.zeros(of_b.shape[1:], wider(b.dtype))
    for k in range(len(of_b)):
        before = running if k == 0 else np.where(of_a[k] == 0, 0, of_a[k] * running)
        running = before + of_b[k]
        of_z[k] = running
    return z
