"""float16 and bfloat16 are formats for storing numbers, not for computing.

    float16     ends at 65504, and has three digits     (arange(64.) * 4 - 128).half().std(): the sum of the squares is infinite
    bfloat16    has the range of float32, and two digits                a sum of ones would stop at 256, where 256 + 1 is 256

A single kernel computes in float32 by itself (``kernels/rounding.py``). This file is for
computations of several kernels: a rule uses `to_wide` and `round_to`, a function made of ops uses `in_float32`. All leave other
dtypes as they are.
"""

import functools
from typing import Any

import numpy as np

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad.ops.base.rule import is_reduced
from minigrad.ops.shape.clone_cast import cast

__all__ = ["FLOAT32", "SINGLE", "has_reduced", "in_float32", "is_reduced", "round_to", "to_wide", "wide", "wide_on_cpu"]

FLOAT32 = named_dtype("float32")
SINGLE = np.dtype("float32")


def has_reduced(x):
    """Whether an array is float16 or bfloat16."""
    return x.dtype.itemsize == 2 and x.dtype.kind in "fV"      # V: a dtype that NumPy does not have


def to_wide(k, x):
    """Return a float16 or bfloat16 array as float32; other arrays as they are."""
    return k.cast(x, SINGLE) if has_reduced(x) else x


def wide_on_cpu(k, x):
    """`to_wide` for a NumPy array. A GPU multiplies float16 matrices many times as fast, so its arrays stay as they are."""
    return k.cast(x, SINGLE) if isinstance(x, np.ndarray) and has_reduced(x) else x


def round_to(k, z, x):
    """Return the float32 result `z` in the dtype of the array `x`, from which it was computed, if `x` was converted; else `z`."""
    return k.cast(z, x.dtype) if has_reduced(x) and z.dtype == SINGLE else z


def in_float32(function) -> Any:
    """Decorator: compute with float16 (or bfloat16) tensors in float32, and return float16 (or bfloat16) again."""
    @functools.wraps(function)
    def computed(*args, **kwargs):
        dtype = None if kwargs.get("out") is not None else common_reduced_dtype((*args, *kwargs.values()))
        if dtype is None:
            return function(*args, **kwargs)
        z = function(*[wide(x) for x in args], **{name: wide(x) for name, x in kwargs.items()})
        return tuple([rounded(x, dtype) for x in z]) if isinstance(z, tuple) else rounded(z, dtype)
    return computed


def rounded(x, dtype):
    """Return a tensor in `dtype`; anything else as it is."""
    return cast(x, dtype) if isinstance(x, TensorBase) else x


def common_reduced_dtype(args):
    """Return float16 or bfloat16 if all floating point and complex tensors in `args` have that dtype, else None."""
    found = None
    for x in args:
        if isinstance(x, TensorBase) and x._meta.dtype.differentiable:
            if not is_reduced(x._meta.dtype) or found not in (None, x._meta.dtype):
                return None
            found = x._meta.dtype
    return found


def wide(x):
    """Return a float16 or bfloat16 tensor as float32; anything else as it is."""
    return cast(x, FLOAT32) if isinstance(x, TensorBase) and is_reduced(x._meta.dtype) else x
