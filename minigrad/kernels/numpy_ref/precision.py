"""How many digits a kernel computes with: more than its arrays have.

    adding up       in the next wider dtype: a sum of 3,000 float32 numbers in float32 has lost three of its seven digits
    float16         all of a kernel's steps in float32, for it ends at 65504: the square of 256 is infinite, and 1 / (1 + e¹²) is 0

The result is rounded to the dtype of the arrays once, at the end. And what is said of infinities and NaNs: nothing.
"""

import functools
from contextvars import Context

import numpy as np

__all__ = []

WIDER = {"e": np.dtype(np.float32), "f": np.dtype(np.float64), "F": np.dtype(np.complex128)}
HALF = np.dtype(np.float16)
CROWD = 8       # numbers that meet in one place, on average, from which their sum takes more memory to lose no digits

SILENCE = Context()
SILENCE.run(np.seterr, all="ignore")


def quiet(kernel):
    """The kernel without NumPy's warnings: 1/0 is inf and log(-1) nan, as in PyTorch.

    It runs in a copy of a context that never changes. `np.errstate` would set a context variable at each call, which costs
    twice as much, and Python 3.11 crashes when the garbage collector strikes just then and a finalizer sets one too.
    """
    @functools.wraps(kernel)
    def silent(*args, **kwargs):
        return SILENCE.copy().run(kernel, *args, **kwargs)
    return silent


def wider(dtype):
    """The dtype in which numbers of `dtype` are added up."""
    return WIDER.get(dtype.char, dtype)


def total(x, dims, keepdims=True):
    """Σ x, in the dtype of x."""
    return np.add.reduce(x, dims, keepdims=keepdims, dtype=wider(x.dtype)).astype(x.dtype)


def dtype_of_sums(x, n):
    """The dtype in which `n` numbers are added to those of `x`, each where an index says: wider, if many meet in one place."""
    return wider(x.dtype) if x.dtype is HALF or n > CROWD * x.size else x.dtype


def in_float32(kernel):
    """The kernel with float16 arrays as float32, and its results as float16. Its first array has the dtype of all."""
    @functools.wraps(kernel)
    def computed(*args):
        first = args[0] if isinstance(args[0], np.ndarray) else args[1]
        if first.dtype is not HALF:
            return kernel(*args)
        z = kernel(*[a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype is HALF else a for a in args])
        return tuple([narrow(a) for a in z]) if isinstance(z, tuple) else narrow(z)
    return computed


@quiet
def narrow(z):
    """A result of float32 as float16."""
    return np.asarray(z.astype(HALF)) if z.dtype == np.float32 else z
