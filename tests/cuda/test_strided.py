"""Parts that strides describe, on a GPU: overlapping ones, ones of memory that lies otherwise, and memory of another size."""

import numpy as np
import pytest

from minigrad import kernels
from tests.cuda.test_indexing import same
from tests.cuda.test_kernels import CUDA, on_cpu, on_gpu

ROWS = ((3, 2), (1, 1), 1)      # shape, strides, offset: each shares an element with the next


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
def test_elements_that_share_memory(dtype):
    x, y = np.arange(8).astype(dtype), np.arange(10, 16).reshape(3, 2).astype(dtype)
    same("as_strided_add", y, (8,), (1,), *ROWS)
    same("as_strided_scatter", x, y, (1,), *ROWS)
    same("as_strided_scatter", x, 5, (1,), *ROWS)
    same("as_strided", x, (1,), *ROWS)


def test_a_base_that_lies_otherwise():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(10.0, 14.0).reshape(2, 2)
    for base in (x, np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2]):
        same("as_strided", base, (1, 2), (2, 2), (1, 2), 2)
        same("as_strided_scatter", base, y, (1, 2), (2, 2), (1, 2), 2)
    same("as_strided_add", y.T, (2, 3), (1, 2), (2, 2), (1, 2), 2)


def test_a_view_is_a_view():
    mine = on_gpu(np.arange(6.0))
    part = CUDA.as_strided(mine, (1,), (2,), (2,), 1)
    CUDA.fill_(part, 9)
    assert on_cpu(mine).tolist() == [0, 9, 2, 9, 4, 5]


def test_resize():
    x = np.arange(6.0)
    mine = on_gpu(x)
    smaller, larger = CUDA.resize(mine, (2, 2)), CUDA.resize(mine, (2, 4))
    assert smaller.block is mine.block
    assert on_cpu(smaller).tolist() == [[0, 1], [2, 3]]
    assert on_cpu(larger).tolist() == kernels.NUMPY.resize(x, (2, 4)).tolist() == [[0, 1, 2, 3], [4, 5, 0, 0]]
    assert on_cpu(CUDA.resize(CUDA.slice(mine, 0, 2, 3, 1), (3,))).tolist() == [2, 3, 4]
