"""The kernels of scans compile for a real GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda.reductions import scan
from tests.cuda.compiling import array, compiles, needs_compiler
from tests.cuda.test_compile_reduction import lean

pytestmark = needs_compiler

FLOATS = ["float16", "float32", "float64"]
CASES = [(scan.plus, [*FLOATS, "complex64", "int64", "int8"]), (scan.times, ["float32", "complex128", "uint8"]),
         (scan.log_of_sum, FLOATS), (scan.larger, [*FLOATS, "int64", "uint8"]), (scan.smaller, ["float32", "int32"]),
         (scan.either, ["bool"]), (scan.both, ["bool"])]


@pytest.mark.parametrize("join, dtypes", CASES, ids=[join.__name__ for join, _ in CASES])
def test_scans(join, dtypes):
    from numba import types
    i = types.int64
    for dtype in map(np.dtype, dtypes):
        wide, kind = scan.wide_of(dtype)
        for make in (scan.row_kernel, scan.column_kernel):
            ptx = compiles(make(join, wide, kind), i, i, i, i, array(dtype), i, array(kind))
            if dtype == np.float32:
                lean(ptx)
        compiles(scan.propagate_kernel(join, kind), i, i, i, i, i, array(kind), array(kind))
        compiles(scan.copy_ends, i, i, i, i, i, array(kind), array(kind))


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool"])
def test_positions(dtype):
    from numba import types
    i = types.int64
    best = scan.wide_of(np.dtype(dtype))[1]
    compiles(scan.find_best, i, i, i, array(dtype), i, array(best), array("int64"))
