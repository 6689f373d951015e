"""Discrete Fourier transforms: z[k] = Σ x[j] e^(-2πi jk / n), along one dimension or several.

    c2c     complex to complex              its matrix F is symmetric, so its adjoint is its conjugate: the reverse transform
    r2c     real to complex, half of it     z[n - k] is the conjugate of z[k]; the adjoint fills the other half with zeros
    c2r     such a half to real numbers     the adjoint counts each element twice that stands for two

All three are linear. The public functions are in ``minigrad/fft.py``.

Mirrors fft_r2c_backward and fft_c2r_backward in ``torch/csrc/autograd/FunctionsManual.cpp``, and
``aten/src/ATen/native/SpectralOps.cpp``.
"""

from minigrad._core.record.apply import call
from minigrad.ops.base.rule import Linear, op
from minigrad.ops.elementwise.selection import real_part
from minigrad.ops.nn.padding import ConstantPadNd

__all__: list[str] = []


@op("fft_c2c", "FftC2C0")
class FftC2C(Linear):
    """z[k] = scale Σ x[j] e^(-2πi jk / n), or with e^(2πi jk / n)"""

    inputs = 1
    torch_names = {"x": "self", "dims": "dim", "norm": "normalization"}

    def forward(k, x, dims, norm, forward):
        return k.fft_c2c(x, dims, norm, forward)

    def vjp_x(g, dims, norm, forward):
        return call(FftC2C.op, (g, dims, norm, not forward))


@op("fft_r2c", "FftR2C0")
class FftR2C(Linear):
    """z[k] = scale Σ x[j] e^(-2πi jk / n), x real"""

    inputs = 1
    torch_names = {"x": "self", "dims": "dim", "norm": "normalization"}

    def forward(k, x, dims, norm, onesided):
        return k.fft_r2c(x, dims, norm, onesided)

    def vjp_x(g, x_shape, dims, norm, onesided):
        if onesided:
            g = pad_end(g, dims[-1], x_shape[dims[-1]])
        return real_part(call(FftC2C.op, (g, dims, norm, False)))


@op("fft_c2r", "FftC2R0")
class FftC2R(Linear):
    """x[j] = scale Σ z[k] e^(2πi jk / n), z[n - k] the conjugate of z[k]"""

    inputs = 1
    torch_names = {"x": "self", "dims": "dim", "norm": "normalization", "last": "last_dim_size"}

    def forward(k, x, dims, norm, last):
        return k.fft_c2r(x, dims, norm, last)

    def vjp_x(g, dims, norm):
        z = call(FftR2C.op, (g, dims, norm, True))
        return z * times_counted(z, dims[-1], g.shape[dims[-1]])


def times_counted(z, dim, n):
    """For each element of half a transform along `dim`, how many of the n elements of the whole it stands for: 1 or 2."""
    count = z.new_ones([z.shape[dim] if d == dim else 1 for d in range(z.ndim)], dtype=z.dtype.to_real())
    count.narrow(dim, 1, n - z.shape[dim]).fill_(2)
    return count


def pad_end(x, dim, size):
    """`x` with zeros after its last element along `dim`, up to `size` elements; x itself if it has as many."""
    more = size - x.shape[dim]
    return call(ConstantPadNd.op, (x, (0, 0) * (x.ndim - 1 - dim) + (0, more) + (0, 0) * dim, 0)) if more else x
