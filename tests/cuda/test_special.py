"""Special functions on a GPU where they are delicate: below 0, at poles, at the ends of their ranges."""

import numpy as np
import pytest

from tests.cuda.test_indexing import same

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_log_gamma(dtype):
    x = np.array([0.1, 1, 1.5, 9.9, 40, -0.5, -3.3, -20.25, 0.0, -0.0, -1, -7, INF, -INF, NAN], dtype)
    same("digamma", x)
    for n in (0, 1, 2, 5):
        same("polygamma", x, n)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_erfinv(dtype):
    same("erfinv", np.array([0.0, -0.0, 1e-4, 0.3, -0.5, 0.75, -0.999, 1, -1, 1.5, NAN, INF], dtype))


def test_nan_to_num():
    x = np.array([[1, NAN], [INF, -INF]])
    for dtype in ("float16", "float32", "float64", "complex64", "int64", "bool"):
        y = x.astype(dtype) if dtype[0] in "fc" else np.ones((2, 2), dtype)
        for values in ((0.0, None, None), (2.0, 7.0, None), (2.0, None, -7.0)):
            same("nan_to_num", y, *values)
            same("nan_to_num", y.T[::-1], *values)
    same("nan_to_num", np.array([complex(INF, NAN), complex(NAN, 1)], "complex64"), 3.0, 4.0, 5.0)


def test_limits_beyond_integers():
    for dtype in ("uint8", "int32"):
        x = np.array([0, 1, 5], dtype)
        same("clamp", x, -1, 300)
        same("clamp", x, 1, 1 << 40)
        same("clamp", x, -(1 << 70), None)
