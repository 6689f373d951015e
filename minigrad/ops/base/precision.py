"""float16 is for keeping numbers, not for computing with them: it ends at 65504 and has three digits.

    (arange(64.) * 4 - 128).half().std()        the sum of the squares is 349440: in float16, infinite

A kernel computes in float32 by itself (``kernels/numpy_ref/precision.py``). What consists of several kernels does so here: a rule
by `widened` and `narrowed`, a function that is made of ops by `in_float32`. The other dtypes pass through both.
"""

import functools

import numpy as np

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad.ops.base.rule import FLOAT16
from minigrad.ops.shape.clone_cast import cast

__all__ = ["FLOAT16", "FLOAT32", "HALF", "SINGLE", "in_float32", "narrowed", "wide", "widened"]

FLOAT32 = named_dtype("float32")
HALF, SINGLE = np.dtype("float16"), np.dtype("float32")


def widened(k, x):
    """An array of float16 as float32; others as they are."""
    return k.cast(x, SINGLE) if x.dtype == HALF else x


def narrowed(k, z, x):
    """A result in the dtype of the array `x` that it was computed from, if that is float16."""
    return k.cast(z, HALF) if x.dtype == HALF and z.dtype == SINGLE else z


def in_float32(function):
    """A function made of ops, which computes with tensors of float16 in float32, and whose results are of float16 again."""
    @functools.wraps(function)
    def computed(*args, **kwargs):
        if kwargs.get("out") is not None or not only_half((*args, *kwargs.values())):
            return function(*args, **kwargs)
        z = function(*[wide(x) for x in args], **{name: wide(x) for name, x in kwargs.items()})
        return tuple([half(x) for x in z]) if isinstance(z, tuple) else half(z)
    return computed


def half(x):
    """A tensor as float16; anything else as it is."""
    return cast(x, FLOAT16) if isinstance(x, TensorBase) else x


def only_half(args):
    """Whether there are tensors of float16 among `args`, and no others of floating point numbers."""
    found = False
    for x in args:
        if isinstance(x, TensorBase) and x._meta.dtype.differentiable:
            if x._meta.dtype is not FLOAT16:
                return False
            found = True
    return found


def wide(x):
    """A tensor of float16 as float32; anything else as it is."""
    return cast(x, FLOAT32) if isinstance(x, TensorBase) and x._meta.dtype is FLOAT16 else x
