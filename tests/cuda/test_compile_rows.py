"""The kernels of softmax and layer normalisation compile for a real GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda.reductions import normalization, register_rows, rows
from minigrad.kernels.cuda.reductions.reduction import exponentials, sums, wide_of
from tests.cuda.compiling import array, compiles, needs_compiler
from tests.cuda.test_compile_reduction import lean

pytestmark = [needs_compiler, pytest.mark.parametrize("dtype", [np.dtype("float16"), np.dtype("float32"), np.dtype("float64")])]


def of(*dtypes):
    """Types of arrays with their first elements."""
    from numba import types
    return [part for dtype in dtypes for part in (array(dtype), types.int64)]


@pytest.mark.parametrize("logarithm", [False, True])
def test_exponential_rows(dtype, logarithm):
    from numba import from_dtype, types
    kind = wide_of(dtype)[1]
    i, full = types.int64, 16 // dtype.itemsize
    for width, packs in ((full, register_rows.NUMBERS // max(dtype.itemsize // 4, 1) // full), (1, 1)):
        for whole in (True, False):
            kernel = rows.softmax_rows(logarithm, kind, register_rows.Seats(32, 256, packs, width, whole))
            ptx = compiles(kernel, i, i, i, from_dtype(np.dtype(kind)), *of(dtype), array(dtype))
            if dtype == np.float32:
                lean(ptx)
                assert ptx.count("ld.global.v4") == ptx.count("st.global.v4") == (packs if width == 4 else 0)


BACKWARDS = [(rows.product, rows.softmax_slope), (rows.first, rows.log_softmax_slope)]


@pytest.mark.parametrize("value, slope", BACKWARDS)
def test_slopes(dtype, value, slope):
    from numba import types
    kind = wide_of(dtype)[1]
    i, width = types.int64, 16 // dtype.itemsize
    ptx = compiles(rows.slope_rows(value, slope, kind, register_rows.Seats(512, 512, 2, width, True)), i, i, *of(dtype, dtype), array(dtype))
    if dtype == np.float32:
        lean(ptx)
        assert ptx.count("ld.global.v4") == 4


@pytest.mark.parametrize("fold_of, value, write", [(exponentials, rows.number, rows.share), (exponentials, rows.number, rows.log_share),
                                                   *[(sums, *both) for both in BACKWARDS]])
def test_rows_in_memory(dtype, fold_of, value, write):
    from numba import from_dtype, types
    wide, kind = wide_of(dtype)
    for width in (16 // dtype.itemsize, 1):
        ptx = compiles(rows.walk_kernel(fold_of(kind), value, write, wide, width), *[types.int64] * 6, from_dtype(np.dtype(kind)),
                       *of(dtype, dtype), array(dtype))
        if dtype == np.float32:
            lean(ptx)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_layer_norm(dtype, weighted, centred):
    from numba import from_dtype, types
    wide, kind = wide_of(dtype)
    i, real, width = types.int64, from_dtype(np.dtype(kind)), 16 // dtype.itemsize
    for seats in (register_rows.Seats(64, 256, 2, width, True), register_rows.Seats(32, 256, 2, width, False)):
        for ptx in (compiles(normalization.forward_rows(kind, weighted, not weighted, seats, centred), i, i, real, *of(dtype, dtype, dtype),
                             array(dtype), array(dtype), array(dtype)),
                    compiles(normalization.backward_rows(wide, kind, weighted, seats, centred), i, i, *of(*[dtype] * 5), array(dtype))):
            if dtype == np.float32:
                lean(ptx)
                assert ptx.count("st.global.v4") == 2
    for ptx in (compiles(normalization.forward_kernel(wide, kind, weighted, not weighted, width, centred), i, i, i, real,
                         *of(dtype, dtype, dtype), array(dtype), array(dtype), array(dtype)),
                compiles(normalization.backward_kernel(wide, kind, weighted, centred), i, i, i, *of(*[dtype] * 5), array(dtype)),
                compiles(normalization.column_kernel(wide, kind, centred), i, i, i, i, *of(*[dtype] * 4), array(kind), array(kind))):
        if dtype == np.float32:
            lean(ptx)
