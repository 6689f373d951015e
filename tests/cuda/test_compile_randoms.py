"""The kernels of randoms.py compile for a real GPU, integers stay integers, and float32 is made in float32."""

import pytest

from minigrad.kernels.cuda import randoms
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler


def types_of(dtype, number):
    from numba import types
    return types.int64, types.int64, array(dtype), types.uint64, getattr(types, number), getattr(types, number)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_of_float32(dtype):
    assert "f64" not in compiles(randoms.by_four(randoms.uniform_32), *types_of(dtype, "float32"))
    ptx = compiles(randoms.by_four(randoms.normal_32), *types_of(dtype, "float32"))
    assert ptx.count("cvt.rn.f64.s64") == ptx.count("mul.f64") == 4      # of CUDA's sine and cosine, where an angle is very large
    assert "fma.rn.f64" not in ptx


@pytest.mark.parametrize("draw", [randoms.uniform_64, randoms.normal_64])
def test_of_float64(draw):
    compiles(randoms.by_two(draw), *types_of("float64", "float64"))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64", "complex128"])
def test_of_bernoulli(dtype):
    compiles(randoms.by_four(randoms.bernoulli_32), *types_of(dtype, "float32"))
