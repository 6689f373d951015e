"""The kernels of special.py compile for a real GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda.elementwise import special
from minigrad.kernels.cuda.elementwise.elementwise import one, width
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_special_functions(dtype):
    from numba import types
    x, n, pair = array(dtype), types.int64, types.UniTuple(types.int64, 2)
    for f in (special.inverse_of_erf, special.slope_of_log_gamma, special.derivative(1), special.derivative(2)):
        in_order, strided = one(f, np.float64)
        compiles(in_order, n, n, x, n, x, n)
        compiles(strided, n, pair, n, pair, x, n, pair, x, n, pair)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_to_num(dtype):
    from numba import from_dtype, types
    x, n, pair = array(dtype), types.int64, types.UniTuple(types.int64, 2)
    values = [from_dtype(np.dtype("float32" if dtype == "float16" else dtype))] * 3
    in_order, strided = special.nan_to_num_kernels(width(np.dtype(dtype)))
    for kernel, operands in ((in_order, (n, n, x, n, x, n)), (strided, (n, pair, n, pair, x, n, pair, x, n, pair))):
        ptx = compiles(kernel, *operands, *values)
        assert dtype == "float64" or ".f64" not in ptx
