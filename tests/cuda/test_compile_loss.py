"""The kernels of the negative log likelihood compile for a real GPU."""

import numpy as np
import pytest

from minigrad.kernels.cuda.reductions import loss
from minigrad.kernels.cuda.reductions.reduction import wide_of
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses(dtype, weighted):
    from numba import types
    dtype = np.dtype(dtype)
    wide, real = wide_of(dtype)
    i, steps = types.int64, types.UniTuple(types.int64, 2)
    compiles(loss.loss_kernel(wide, real, weighted, not weighted), i, i, i, steps, array("int64"), i, steps, array(dtype), i, steps, i,
             array(dtype), i, i, array(dtype), array(real))
    for reduction in ("none", "mean", "sum"):
        compiles(loss.total_kernel(real, reduction), i, array(real), array(dtype), array(dtype))
    compiles(loss.gradient_kernel(wide, real, weighted, not weighted), i, i, i, steps, array("int64"), i, steps, array(dtype), i, steps,
             array(dtype), i, i, array(dtype), i, array(dtype), steps, i)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_look_for_classes(dtype):
    from numba import types
    i, steps = types.int64, types.UniTuple(types.int64, 2)
    compiles(loss.find_outside, i, i, i, steps, array(dtype), i, steps, array("int64"))
