"""The kernels of softmax and layer normalisation compile for a real GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda import normalization, rows
from minigrad.kernels.cuda.reduction import wide_of
from tests.cuda.compiling import array, compiles, needs_compiler
from tests.cuda.test_compile_reduction import lean

pytestmark = [needs_compiler, pytest.mark.parametrize("dtype", [np.dtype("float16"), np.dtype("float32"), np.dtype("float64")])]


def of(*dtypes):
    """Types of arrays with their first elements."""
    from numba import types
    return [part for dtype in dtypes for part in (array(dtype), types.int64)]


@pytest.mark.parametrize("fold_of, write", [(rows.of_one_operand, rows.share), (rows.of_one_operand, rows.log_share),
                                            (lambda kind: rows.sum_of(rows.product, kind), rows.softmax_slope),
                                            (lambda kind: rows.sum_of(rows.first, kind), rows.log_softmax_slope)])
def test_rows(dtype, fold_of, write):
    from numba import from_dtype, types
    wide, kind = wide_of(dtype)
    ptx = compiles(rows.kernel_of(fold_of(kind), write, wide), *[types.int64] * 6, from_dtype(np.dtype(kind)), *of(dtype, dtype),
                   array(dtype))
    if dtype == np.float32:
        lean(ptx)


@pytest.mark.parametrize("weighted", [False, True])
def test_layer_norm(dtype, weighted):
    from numba import from_dtype, types
    wide, kind = wide_of(dtype)
    i = types.int64
    for ptx in (compiles(normalization.forward_kernel(wide, kind, weighted, not weighted), i, i, i, from_dtype(np.dtype(kind)),
                         *of(dtype, dtype, dtype), array(dtype), array(dtype), array(dtype)),
                compiles(normalization.backward_kernel(wide, kind, weighted), i, i, i, *of(*[dtype] * 5), array(dtype)),
                compiles(normalization.column_kernel(wide, kind), i, i, i, *of(*[dtype] * 4), array(kind), array(kind))):
        if dtype == np.float32:
            lean(ptx)
