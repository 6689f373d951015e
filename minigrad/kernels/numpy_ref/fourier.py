"""Discrete Fourier transforms, by NumPy's pocketfft: z[k] = scale Σ x[j] e^(∓2πi jk / n) along each of `dims`.

    fft_c2c     complex to complex
    fft_r2c     real to complex; z has a symmetry along the last of `dims`, so that half of it is enough (one-sided)
    fft_c2r     complex to real: the reverse of a one-sided transform, with `last` elements along the last of `dims`

`norm` says what divides the sums: 0 nothing, 1 the root of the number of elements, 2 their number. float32 stays float32.

Mirrors ``aten/src/ATen/native/mkl/SpectralOps.cpp``.
"""

import numpy as np

__all__ = ["fft_c2c", "fft_c2r", "fft_r2c"]

FORWARD, INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")      # norm -> NumPy's name for it


def fft_c2c(x, dims, norm, forward):
    if not dims or not x.size:
        return x.copy()
    return np.fft.fftn(x, axes=dims, norm=FORWARD[norm]) if forward else np.fft.ifftn(x, axes=dims, norm=INVERSE[norm])


def fft_r2c(x, dims, norm, onesided):
    if not x.size:
        shape = list(x.shape)
        shape[dims[-1]] = shape[dims[-1]] // 2 + 1 if onesided else shape[dims[-1]]
        return np.empty(shape, np.result_type(x.dtype, np.complex64))
    return np.fft.rfftn(x, axes=dims, norm=FORWARD[norm]) if onesided else np.fft.fftn(x, axes=dims, norm=FORWARD[norm])


def fft_c2r(x, dims, norm, last):
    if not x.size:
        return np.empty([last if d == dims[-1] else n for d, n in enumerate(x.shape)], x.real.dtype)
    sizes = [*[x.shape[d] for d in dims[:-1]], last]
    return np.fft.irfftn(x, sizes, dims, INVERSE[norm])
