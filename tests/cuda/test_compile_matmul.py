"""The kernels of matrix products compile for a real GPU, and keep their sums in registers."""

import numpy as np
import pytest

from minigrad.kernels.cuda import contraction, tiles, vectors
from minigrad.kernels.cuda.elementwise import width
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

DTYPES = ["float16", "float32", "float64", "int64", "int32", "uint8", "complex64", "complex128"]


def tiled(dtype, sizes, biased=False, columns=1, inner=1):
    """The code of a tiled kernel for `dtype`, with that many dimensions of columns and of k."""
    from numba import from_dtype, types
    wide, i, b = from_dtype(contraction.sum_dtype("matmul", np.dtype(dtype))), types.int64, types.boolean
    x, pair = array(dtype), types.UniTuple(i, 2)
    z = [types.UniTuple(i, n) for n in (*[1] * 4, *[1] * 3, *[columns] * 3, *[inner] * 3)]
    kernel = tiles.tiled(wide, width(np.dtype(dtype)), *sizes, biased)
    return compiles(kernel, i, types.UniTuple(i, 3), i, i, x, i, i, x, i, b, x, i, b, x, i, pair, *z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    assert ".local" not in tiled(dtype, tiles.SMALL), "sums are in memory"
    assert ".local" not in tiled(dtype, tiles.SMALL, biased=True)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_large_tiles(dtype):
    """Sums in registers, and four numbers of shared memory at a time: what the head of tiles.py counts on."""
    code = tiled(dtype, tiles.LARGE)
    assert ".local" not in code
    assert code.count("fma.rn.f32") == tiles.LARGE[0]**2
    assert code.count("ld.shared.v4.f32") == tiles.LARGE[0] // 2


def test_several_dimensions():
    """As a convolution has them."""
    tiled("float32", tiles.SMALL, columns=3, inner=4)
    tiled("float64", tiles.SMALL, columns=3, inner=3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts(dtype):
    from numba import types
    i, one = types.int64, types.UniTuple(types.int64, 1)
    compiles(contraction.add_parts, i, i, one, array(dtype), i, one, array(contraction.sum_dtype("matmul", np.dtype(dtype))), i)


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype):
    from numba import from_dtype, types
    i, x, number = types.int64, array(dtype), np.dtype(dtype)
    wide = contraction.sum_dtype("dot", number)
    kind, sums = (from_dtype(wide), width(number), wide.type(0)), array(wide)
    compiles(vectors.products(*kind), i, sums, i, x, i, i, x, i, i)
    compiles(vectors.total, i, x, i, sums, i)
    for biased in (False, True):
        two = types.UniTuple(i, 2)
        compiles(vectors.row_sums(*kind, biased), i, i, i, types.boolean, two, x, i, two, x, i, two, i, x, i, two, i, x, i, two)
