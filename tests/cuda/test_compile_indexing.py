"""The kernels of joining.py, indexing.py and scattering.py compile for a real GPU, in every dtype that they are used for."""

import numpy as np
import pytest

from minigrad.kernels.cuda.elementwise import elementwise, expressions
from minigrad.kernels.cuda.index import indexing, joining, scattering
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

DTYPES = ["float16", "float32", "float64", "int64", "int32", "uint8", "bool", "complex64", "complex128"]


def types_of(dtype):
    from numba import types
    return types.int64, types.UniTuple(types.int64, 2), array(dtype), array("int64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles(dtype):
    n, pair, x, _ = types_of(dtype)
    for kernel in (joining.keep_below, joining.keep_above):
        compiles(kernel, n, pair, x, x, n, pair, n, n, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reading_and_storing(dtype):
    n, pair, x, index = types_of(dtype)
    for few, width in ((True, 1), (False, 1), (True, 16 // np.dtype(dtype).itemsize)):
        code = compiles(indexing.read_kernel(few, width), n, pair, x, x, n, pair, index, n, pair, n)
        assert few != (".s64" in "".join(line for line in code.splitlines() if "div" in line or "rem" in line))
        assert np.dtype(dtype).itemsize * width != 16 or "ld.global.v" in code or "ld.global.nc.v" in code or width == 1
    compiles(scattering.write, n, pair, x, n, pair, index, n, pair, n, x, n, pair)
    compiles(scattering.write_last, n, pair, x, n, pair, index, n, pair, n, x, n, pair, index)


def test_the_last_is_found():
    n, pair, _, index = types_of("float32")
    assert "atom" in compiles(scattering.note_last, n, pair, index, pair, index, n, pair, n)


@pytest.mark.parametrize("dtype", sorted({scattering.wide_for_sums(np.dtype(d)).name for d in DTYPES if "complex" not in d}))
def test_adding(dtype):
    n, pair, x, index = types_of(dtype)
    ptx = compiles(scattering.add_atomically, n, pair, x, n, pair, index, n, pair, n, x, n, pair)
    assert "atom" in ptx or "red." in ptx


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype):
    n, pair, x, index = types_of(dtype)
    for name in ("mul", "maximum", "minimum"):
        f = expressions.TWO[name].of(np.dtype(dtype))
        if f is not None:
            kernel = scattering.reduce_kernel(elementwise.device_function(f), elementwise.width(np.dtype(dtype)))
            compiles(kernel, n, pair, x, n, pair, n, index, n, pair, n, x, n, pair, n, n)
