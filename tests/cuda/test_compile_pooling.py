"""The kernels of pooling and resampling compile for a real GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda.contractions import pooling
from minigrad.kernels.cuda.contractions.contraction import sum_dtype
from minigrad.kernels.cuda.elementwise.elementwise import width
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

FLOATS = ["float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "uint8"])
def test_maxima(dtype):
    from numba import types
    i, x, index, three = types.int64, array(dtype), array("int64"), types.UniTuple(types.int64, 3)
    for few, sizes in ((True, (1, 2, 2)), (False, (3, 3, 40))):
        compiles(pooling.max_pool_kernel(few, sizes), i, three, three, x, i, index, i, x, i, *[index, i] * 3)
    compiles(pooling.pick, i, i, i, x, i, index, i, x, i)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_backward(dtype):
    from numba import types
    i, x, index = types.int64, array(dtype), array("int64")
    assert "atom" in (code := compiles(pooling.add_at, i, i, i, x, i, index, i, x, i)) or "red." in code


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_taps(dtype):
    from numba import types
    i, x, table = types.int64, array(dtype), array("int64")
    kernel = pooling.resample_kernel(width(np.dtype(dtype)), sum_dtype("resample", np.dtype(dtype)).type(0))
    compiles(kernel, i, i, i, i, x, i, x, i, table, i, table, i, x, i)
