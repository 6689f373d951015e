"""Sums in the next wider dtype: in float32, a sum of 3,000 float32 numbers loses three of its seven digits.

The result is rounded to the dtype of the arrays once, at the end. (A tensor of float16 computes in float32 altogether, see
``kernels/rounding.py``.) Kernels give no warnings about infinities and NaNs (`quiet`).
"""

import functools
from contextvars import Context

import numpy as np

__all__ = []

WIDER = {"f": np.dtype(np.float64), "F": np.dtype(np.complex128)}
CROWD = 8       # numbers added to one place, on average, above which we add in a wider dtype, and use the memory for it

SILENCE = Context()
SILENCE.run(np.seterr, all="ignore")


def quiet(kernel):
    """Wrap a kernel so that NumPy gives no warnings: 1/0 is inf and log(-1) is nan, as in PyTorch.

    The kernel runs in a copy of a context that never changes. `np.errstate` would set a context variable at each call. That takes
    twice as long, and Python 3.11 crashes if the garbage collector runs at that moment and a finalizer sets one too.
    """
    @functools.wraps(kernel)
    def silent(*args, **kwargs):
        return SILENCE.copy().run(kernel, *args, **kwargs)
    return silent


@quiet
def rounded(number, dtype):
    """The number that an array of `dtype` would hold, as a float: infinity if `number` is too large."""
    return float(dtype.type(float(number)))


def wider(dtype):
    """The dtype for adding up numbers of `dtype`."""
    return WIDER.get(dtype.char, dtype)


def total(x, dims, keepdims=True):
    """Σ x over `dims`, rounded to the dtype of x."""
    return np.add.reduce(x, dims, keepdims=keepdims, dtype=wider(x.dtype)).astype(x.dtype)


def dtype_of_sums(x, n):
    """The dtype for adding `n` numbers to elements of `x` by index: a wider one if many are added to the same element."""
    return wider(x.dtype) if n > CROWD * x.size else x.dtype
