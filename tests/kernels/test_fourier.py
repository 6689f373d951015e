"""Fourier transforms of many numbers: the whole transform of real ones is made of a half."""

import numpy as np
import pytest

from minigrad.kernels import NUMPY


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, dims", [((5000,), (0,)), ((4999,), (0,)), ((70, 65), (0, 1)), ((65, 70), (1, 0)), ((1, 4100), (0, 1)),
                                         ((4100, 1), (1,)), ((4100, 2), (1,)), ((9, 20, 31), (2, 0)), ((9, 20, 31), (0, 1, 2)),
                                         ((9, 20, 31), (1,))])
def test_whole_transform_of_real_numbers(shape, dims, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    for norm, name in enumerate(("backward", "ortho", "forward")):
        for a in (x, x.T.copy().T):
            found = NUMPY.fft_r2c(a, dims, norm, False)
            expected = np.fft.fftn(a.astype(np.float64), axes=dims, norm=name)
            assert found.dtype == np.result_type(dtype, np.complex64)
            assert found.strides == np.fft.fftn(a, axes=dims).strides
            np.testing.assert_allclose(found, expected, rtol=0, atol=20 * np.finfo(dtype).eps * np.abs(expected).max())
