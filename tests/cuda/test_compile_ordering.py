"""The kernels of nonzero.py, sorting.py and ordering.py compile for a real GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda.elementwise.elementwise import plain
from minigrad.kernels.cuda.index import ordering, sorting
from minigrad.kernels.cuda.reductions import nonzero
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler


def types_of(dtype):
    from numba import types
    return types.int64, array(dtype), array("int64")


def test_scans():
    n, flags, counts = types_of("bool")
    assert "bar.sync" in compiles(nonzero.scan_kernel(nonzero.as_flag), n, n, flags, counts, counts)
    compiles(nonzero.scan_kernel(plain), n, n, counts, counts, counts)
    compiles(nonzero.add_tiles_before, n, counts, counts)


def test_coordinates():
    from numba import types
    n, flags, counts = types_of("bool")
    for dims in (1, 3):
        compiles(nonzero.write_coordinates, n, types.UniTuple(types.int64, dims), flags, counts, counts)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "complex64"])
def test_writing_in_turn(dtype):
    from numba import types
    n, x, counts = types_of(dtype)
    pair = types.UniTuple(types.int64, 2)
    compiles(nonzero.write_in_turn, n, array("bool"), counts, x, x, n, pair, pair)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "float64"])
def test_sorting(dtype):
    from numba import from_dtype
    n, keys, order = types_of(dtype)
    for before in (sorting.ascending, sorting.descending):
        ptx = compiles(sorting.tile_kernel(before, from_dtype(np.dtype(dtype))), n, n, n, keys, order)
        assert "bar.sync" in ptx and ".shared" in ptx
        compiles(sorting.merge_kernel(before), n, n, n, keys, order, keys, order)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_what_is_found(dtype):
    from numba import types
    n, keys, order = types_of(dtype)
    compiles(ordering.find_medians, n, n, keys, order, order, types.boolean)
    compiles(ordering.find_modes, n, n, keys, order, order)
    for right in (False, True):
        compiles(ordering.search_kernel(right), n, n, n, keys, keys, order)
