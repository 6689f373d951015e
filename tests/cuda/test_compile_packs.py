"""Packs become instructions that move 16 bytes: see Note [Packs are made by the compiler's builder] in kernels/cuda/elementwise/vector_io.py."""

import pytest

from minigrad.kernels.cuda.elementwise import vector_io
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

WIDE = {"float32": "v4.f32", "float64": "v2.f64", "float16": "v4.u32", "int64": "v2.u64", "uint8": "v4.u32", "complex64": "v4.f32"}


def copied(load, store, dtype):
    """The PTX of a kernel that copies a pack."""
    from numba import cuda, types

    @cuda.jit
    def kernel(z, z0, x, x0):
        store(z, z0, load(x, x0))
    return compiles(kernel, array(dtype), types.int64, array(dtype), types.int64)


@pytest.mark.parametrize("dtype", WIDE)
def test_sixteen_bytes_are_one_instruction(dtype):
    ptx = copied(vector_io.load, vector_io.store, dtype)
    assert ptx.count("ld.global") == ptx.count("st.global") == 1
    assert f"ld.global.{WIDE[dtype]}" in ptx and f"st.global.{WIDE[dtype]}" in ptx


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64", "float32", "float16", "uint8", "bool"])
def test_four_numbers_are_as_few_instructions_as_can_be(dtype):
    ptx = copied(*vector_io.pack(4), dtype)
    expected = 2 if dtype in ("float64", "int64", "complex64") else 1
    assert ptx.count("ld.global") == ptx.count("st.global") == expected
