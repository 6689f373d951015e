"""The steps of optimisers compile for a real GPU, in all variants, and compute float32 in float32."""

from itertools import product

import numpy as np
import pytest

from minigrad.kernels.cuda.elementwise import optim
from minigrad.kernels.cuda.elementwise.elementwise import width
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

FLAGS = (False, True)


def types_of(dtype, arrays, numbers):
    from numba import from_dtype, types
    pair = types.UniTuple(types.int64, 2)
    number = from_dtype(np.dtype({"float16": "float32", "complex64": "float32", "complex128": "float64"}.get(dtype, dtype)))
    packed = types.UniTuple(types.int64, arrays)
    return types.int64, pair, types.int64, packed, *(array(dtype), types.int64, pair) * arrays, *(number,) * numbers


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_sgd(dtype):
    wide = width(np.dtype(dtype))
    for maximize, decays in product(FLAGS, FLAGS):
        ptx = compiles(optim.sgd(maximize, decays, wide), *types_of(dtype, 2, 2))
        assert dtype != "float32" or ".f64" not in ptx
    for kinds in [(False, False, False, True), (False, True, True, False), (True, True, False, False)]:
        ptx = compiles(optim.sgd_with_momentum(*kinds, wide), *types_of(dtype, 3, 4))
        assert dtype != "float32" or ".f64" not in ptx


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_adam(dtype):
    wide = width(np.dtype(dtype))
    for kinds in [(False, False, False), (False, True, False), (True, True, True)]:
        for largest in FLAGS:
            ptx = compiles(optim.adam(*kinds, largest, wide), *types_of(dtype, 5, 8))
            assert dtype != "float32" or ".f64" not in ptx
