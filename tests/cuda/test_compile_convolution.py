"""The kernel that adds windows compiles for a real GPU; the others of convolutions are those of test_compile_matmul.py."""

import numpy as np
import pytest

from minigrad.kernels.cuda.contractions import convolution
from minigrad.kernels.cuda.contractions.contraction import sum_dtype
from minigrad.kernels.cuda.elementwise.elementwise import width
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "complex64", "complex128"])
def test_windows_are_added(dtype):
    from numba import types
    i, x, number = types.int64, array(dtype), np.dtype(dtype)
    wide = sum_dtype("col2im", number)
    for columns in {number, wide}:      # of an array, and of conv_input
        for few in (True, False):
            kernel = convolution.add_windows_kernel(width(columns), wide.type(0), few)
            code = compiles(kernel, i, *[types.UniTuple(i, 3)] * 6, x, i, array(columns), i)
            assert few != ("div.s64" in code)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "complex64", "complex128"])
def test_zeros_around(dtype, few):
    from numba import types
    i, x = types.int64, array(dtype)
    code = compiles(convolution.pad_kernel(few), i, *[types.UniTuple(i, 3)] * 3, x, i, x, i)
    assert ("div.u32" in code and "div.s64" not in code) if few else "div.s64" in code


def test_each_dtype_has_its_kernel():
    """Zeros of two dtypes are equal: a kernel found by its zero alone would be that of whichever was asked for first."""
    kernels = [convolution.add_windows_kernel(width(np.dtype(kind)), kind(0), True) for kind in (np.complex64, np.float32, np.float64, np.int64)]
    assert len(set(map(id, kernels))) == 4
