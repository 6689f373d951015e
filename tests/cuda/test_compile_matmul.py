"""The kernels of matrix products compile for a real GPU, and keep their sums in registers."""

import numpy as np
import pytest

from minigrad.kernels.cuda.contractions import contraction, tensor_cores, tiles, vectors
from minigrad.kernels.cuda.elementwise.elementwise import width
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

DTYPES = ["float16", "float32", "float64", "int64", "int32", "uint8", "complex64", "complex128"]


WAYS = [tiles.Way(along_inner, packs) for along_inner in (True, False) for packs in (True, False)]
ROW_BY_ROW = WAYS[0], WAYS[2], True     # how two matrices in row-major order are read, and their product is written


def tiled(dtype, tile, ways=ROW_BY_ROW, biased=False, columns=1, inner=1):
    """The code of a tiled kernel for `dtype`, with that many dimensions of columns and of k."""
    from numba import from_dtype, types
    wide, i = from_dtype(contraction.sum_dtype("matmul", np.dtype(dtype))), types.int64
    x, pair = array(dtype), types.UniTuple(i, 2)
    z = [types.UniTuple(i, n) for n in (*[1] * 4, *[1] * 3, *[columns] * 3, *[inner] * 3)]
    kernel = tiles.tiled_kernel(wide, width(np.dtype(dtype)), tile, *ways, biased)
    return compiles(kernel, types.UniTuple(i, 3), i, i, x, i, i, x, i, x, i, x, i, pair, *z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    assert ".local" not in tiled(dtype, tiles.SMALL), "sums are in memory"
    assert ".local" not in tiled(dtype, tiles.SMALL, (WAYS[1], WAYS[3], False), biased=True)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("tile", contraction.SHAPES, ids=lambda tile: f"{tile.rows}x{tile.columns}")
def test_shapes_of_tiles(tile, dtype):
    """Sums in registers, and four numbers of shared memory at a time: what the head of tiles.py counts on."""
    code = tiled(dtype, tile, biased=dtype == "float32")
    assert ".local" not in code
    assert code.count("fma.rn.f32") == 8 * tile.down * tile.across
    assert code.count("ld.shared.v4.f32") >= 0.9 * 8 * (tile.down + tile.across) / 4


@pytest.mark.parametrize(("x", "y"), list(zip(WAYS, WAYS[1:] + WAYS[:1])), ids=str)
def test_ways(x, y):
    """Where four numbers can be read at once they are, and where not, one."""
    code = tiled("float32", tiles.LARGE, (x, y, False))
    assert ".local" not in code
    assert code.count("ld.global.v4.f32") == x.packs + y.packs
    assert code.count("ld.global.f32") == 4 * (2 - x.packs - y.packs)


def test_several_dimensions():
    """As a convolution has them."""
    ways = WAYS[0], WAYS[3], True
    tiled("float32", tiles.WIDE, ways, columns=3, inner=4)
    tiled("float64", tiles.SMALL, ways, columns=3, inner=3)


@pytest.mark.parametrize(("side", "x_along", "y_along", "pairs", "biased", "dtype"), [
    (128, True, False, True, False, "float16"), (128, False, True, False, True, "float16"), (64, True, True, True, False, "float32")])
def test_tensor_cores(side, x_along, y_along, pairs, biased, dtype):
    """A quarter of a tile, for 32 of k: in registers, with as few instructions as the head of tensor_cores.py says."""
    from numba import types
    i, x, one = types.int64, array("float16"), types.UniTuple(types.int64, 1)
    kernel = tensor_cores.product_kernel(side, x_along, y_along, pairs, biased)
    code = compiles(kernel, types.UniTuple(i, 3), i, i, array(dtype), i, i, i, i, *[x, i, i, i] * 2, x, i, types.UniTuple(i, 2), *[one] * 4)
    assert ".local" not in code
    blocks = side // 2 // 16
    assert code.count("mma.sync.aligned.m16n8k16") == 2 * 2 * blocks * blocks
    assert code.count("ldmatrix.sync") == 2 * 2 * blocks
    assert code.count(".trans.") == 2 * blocks * ((not x_along) + (not y_along))


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
    compiles(vectors.dot_kernel(*kind), i, sums, i, x, i, i, x, i, i)
    compiles(vectors.total, i, x, i, sums, i)
    for biased in (False, True):
        two = types.UniTuple(i, 2)
        compiles(vectors.row_kernel(*kind, biased), i, i, i, types.boolean, two, x, i, two, x, i, two, i, x, i, two, i, x, i, two)
