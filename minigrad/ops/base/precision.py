"""float16 is a format for storing numbers, not for computing: its largest number is 65504, and it has three digits.

    (arange(64.) * 4 - 128).half().std()        the sum of the squares is 349440: in float16, infinite

A single kernel computes in float32 by itself (``kernels/numpy_ref/precision.py``). This file is for computations of several
kernels: a rule uses `to_wide` and `round_to`, a function made of ops uses `in_float32`. All leave other dtypes as they are.
"""

import functools
from typing import Any

import numpy as np

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad.ops.base.rule import FLOAT16
from minigrad.ops.shape.clone_cast import cast

__all__ = ["FLOAT16", "FLOAT32", "HALF", "SINGLE", "in_float32", "round_to", "to_wide", "wide"]

FLOAT32 = named_dtype("float32")
HALF, SINGLE = np.dtype("float16"), np.dtype("float32")


def to_wide(k, x):
    """Return a float16 array as float32; other arrays as they are."""
    return k.cast(x, SINGLE) if x.dtype == HALF else x


def round_to(k, z, x):
    """Return the float32 result `z` as float16 if the array `x`, from which it was computed, is float16; else `z` as it is."""
    return k.cast(z, HALF) if x.dtype == HALF and z.dtype == SINGLE else z


def in_float32(function) -> Any:
    """Decorator: compute with float16 tensors in float32, and return float16 again."""
    @functools.wraps(function)
    def computed(*args, **kwargs):
        if kwargs.get("out") is not None or not only_half((*args, *kwargs.values())):
            return function(*args, **kwargs)
        z = function(*[wide(x) for x in args], **{name: wide(x) for name, x in kwargs.items()})
        return tuple([half(x) for x in z]) if isinstance(z, tuple) else half(z)
    return computed


def half(x):
    """Return a tensor as float16; anything else as it is."""
    return cast(x, FLOAT16) if isinstance(x, TensorBase) else x


def only_half(args):
    """Whether `args` has float16 tensors and no other floating point or complex tensors."""
    found = False
    for x in args:
        if isinstance(x, TensorBase) and x._meta.dtype.differentiable:
            if x._meta.dtype is not FLOAT16:
                return False
            found = True
    return found


def wide(x):
    """Return a float16 tensor as float32; anything else as it is."""
    return cast(x, FLOAT32) if isinstance(x, TensorBase) and x._meta.dtype is FLOAT16 else x
