"""The kernels of randoms.py compile for a real GPU, integers stay integers, and float32 is made in float32."""

import numpy as np
import pytest

from minigrad.kernels.cuda.elementwise import randoms
from minigrad.kernels.cuda.reductions.reduction import wide_of
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler


def types_of(dtype, number):
    from numba import types
    return types.int64, array(dtype), types.uint64, getattr(types, number), getattr(types, number)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_of_float32(dtype):
    assert ".f64" not in compiles(randoms.draw_kernel(randoms.uniform_32, 4), *types_of(dtype, "float32"))
    assert ".f64" not in compiles(randoms.draw_kernel(randoms.normal_32, 4), *types_of(dtype, "float32"))


@pytest.mark.parametrize("draw", [randoms.uniform_64, randoms.normal_64])
def test_of_float64(draw):
    compiles(randoms.draw_kernel(draw, 2), *types_of("float64", "float64"))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64", "complex128"])
def test_of_bernoulli(dtype):
    compiles(randoms.draw_kernel(randoms.bernoulli_32, 4), *types_of(dtype, "float32"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_of_dropout(dtype):
    from numba import from_dtype, types
    wide, real = wide_of(np.dtype(dtype))
    i, number, mask = types.int64, from_dtype(np.dtype(real)), array("bool")
    for ptx in (compiles(randoms.dropout_kernel(wide, real), i, i, array(dtype), i, array(dtype), mask, types.uint64, types.float32, number),
                compiles(randoms.dropout_backward_kernel(wide, real), i, i, array(dtype), i, mask, i, array(dtype), number)):
        if dtype == "float32":
            assert ".f64" not in ptx and "ld.global.v4" in ptx and "st.global.v4" in ptx
