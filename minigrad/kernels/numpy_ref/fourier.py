"""Discrete Fourier transforms, by NumPy's pocketfft: z[k] = scale Σ x[j] e^(∓2πi jk / n) along each of `dims`.

    fft_c2c     complex to complex
    fft_r2c     real to complex; z has a symmetry along the last of `dims`, so that half of it is enough (one-sided)
    fft_c2r     complex to real: the reverse of a one-sided transform, with `last` elements along the last of `dims`

`norm` says what divides the sums: 0 nothing, 1 the root of the number of elements, 2 their number. float32 stays float32.

NumPy transforms float32 in float64 too, but converts before and after each dimension, into new memory. So we convert once, and
transform complex numbers in place. The whole transform of many real numbers is a half and its conjugates.

Mirrors ``aten/src/ATen/native/mkl/SpectralOps.cpp``.
"""

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet

__all__ = ["fft_c2c", "fft_c2r", "fft_r2c"]

FORWARD, INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")      # norm -> NumPy's name for it


FEW = 4096      # real numbers that NumPy transforms as they are in less time


@quiet
def fft_c2c(x, dims, norm, forward):
    if not dims or not x.size:
        return x.copy()
    z = np.array(x, np.result_type(x, np.float64), order="C")      # NumPy takes twice as long for an expanded or transposed one
    if forward:
        np.fft.fftn(z, axes=dims, norm=FORWARD[norm], out=z)
    else:
        np.fft.ifftn(z, axes=dims, norm=INVERSE[norm], out=z)
    return z.astype(x.dtype, copy=False)


@quiet
def fft_r2c(x, dims, norm, onesided):
    dtype, n = np.result_type(x, np.complex64), x.shape[dims[-1]]
    if not x.size:
        shape = list(x.shape)
        shape[dims[-1]] = n // 2 + 1 if onesided else n
        return np.empty(shape, dtype)
    if x.size < FEW:
        return (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=dims, norm=FORWARD[norm])
    wide = x.astype(np.result_type(x, np.float64), copy=False)
    half = np.fft.rfftn(wide, axes=dims, norm=FORWARD[norm]).astype(dtype, copy=False)
    return half if onesided else add_conjugates(half, dims, n)


def add_conjugates(half, dims, n):
    """All n elements along the last of `dims`: z[n - k] is the conjugate of z[k]; along the others, -j stands for n - j."""
    z = np.empty_like(half, shape=[n if d == dims[-1] else m for d, m in enumerate(half.shape)])
    at = [slice(None)] * half.ndim
    at[dims[-1]] = slice(half.shape[dims[-1]])
    z[tuple(at)] = half
    at[dims[-1]] = slice((n - 1) // 2, 0, -1)
    rest = half[tuple(at)]
    for d in dims[:-1]:
        rest = np.roll(np.flip(rest, d), 1, d)
    at[dims[-1]] = slice(half.shape[dims[-1]], None)
    np.conj(rest, out=z[tuple(at)])
    return z


def fft_c2r(x, dims, norm, last):
    if not x.size:
        return np.empty([last if d == dims[-1] else n for d, n in enumerate(x.shape)], x.real.dtype)
    sizes = [*[x.shape[d] for d in dims[:-1]], last]
    return np.fft.irfftn(x, sizes, dims, INVERSE[norm])
