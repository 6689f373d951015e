"""Discrete Fourier transforms, with derivatives: ``mg.fft.fft``, ``mg.fft.rfft`` and their like.

    fft, fft2, fftn             z[k] = Σ x[j] e^(-2πi jk / n), along one dimension, two, or several
    ifft, ...                   the inverse: x[j] = 1/n Σ z[k] e^(2πi jk / n)
    rfft, ..., irfft, ...       of real numbers: half of z, n // 2 + 1 elements along the last dimension, and back
    hfft, ..., ihfft, ...       of half a signal x[n - j] = conj(x[j]), whose transform is real, and back
    fftfreq, rfftfreq           the frequencies k / n of the elements
    fftshift, ifftshift         frequency 0 in the middle, and back

The arguments `n` (or `s`, for several dimensions) cut the input or extend it with zeros. `norm` says where the factor 1/n stands:
in the inverse ("backward", the default), in the forward transform ("forward"), or as 1/√n in both ("ortho").

The rules are in ``ops/linalg/fourier.py``. Mirrors ``torch/fft/__init__.py`` and ``aten/src/ATen/native/SpectralOps.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.creation._options import fills_out
from minigrad.creation._ranges import arange
from minigrad.dtypes import as_dtype, get_default_dtype
from minigrad.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError, TensorTypeError
from minigrad.ops import conj_physical, roll
from minigrad.ops.base.arguments import dimension, integer, real, tensor_argument
from minigrad.ops.base.keywords import accept_names_everywhere
from minigrad.ops.base.out import accept_out
from minigrad.ops.linalg.fourier import FftC2C, FftC2R, FftR2C, pad_end
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
           "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

# Where the factor 1/n stands -> the number that the kernels take, (forward transform, inverse).
NORMS = {None: (0, 2), "backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}


def norm_number(norm, forward):
    """The kernels' number for `norm`."""
    if norm is not None and not isinstance(norm, str):
        raise TensorTypeError("MG-E201", f"fft(): argument 'norm' must be str, not {type(norm).__name__}")
    if norm not in NORMS:
        raise ArgumentError("MG-E321", f'Invalid normalization mode: "{norm}"', expected="backward, ortho or forward")
    return NORMS[norm][0 if forward else 1]


def floating(name, x, complex_=False):
    """Return `x` as floating point numbers, or complex ones. Raises for float16, which no transform is written for."""
    if not x.dtype.differentiable:
        x = cast(x, get_default_dtype())
    if x.dtype.name == "float16":
        raise DtypeError("MG-E203", f"{name}: Unsupported dtype Half", fix="x.float()")
    return cast(x, x.dtype.to_complex()) if complex_ else x


def real_input(name, x):
    """Return `x` as floating point numbers; raise if it is complex."""
    if x.dtype.is_complex:
        raise DtypeError("MG-E203", f"{name} expects a real input tensor, but got {x.dtype.name}", fix=f"fft, or {name}(x.real)")
    return floating(name, x)


def check_points(n):
    """Return the number of elements to transform; raise unless it is positive."""
    if n < 1:
        raise ShapeError("MG-E206", f"Invalid number of data points ({n}) specified")
    return n


def resize(x, dims, sizes):
    """`x` with these sizes along `dims`: cut off at the end, or with zeros after it."""
    for dim, size in zip(dims, sizes):
        x = x.narrow(dim, 0, size) if size < x.shape[dim] else pad_end(x, dim, size)
    return x


def one_dimension(name, input, n, dim):
    """(the dimension, the number of elements along it or None) of a transform along one dimension."""
    tensor_argument(name, input)
    at = dimension(integer(dim, "dim", name), input.ndim)
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", f"{name}: Dimension specified as {dim} but tensor has no dimensions")
    return at, None if n is None else integer(n, "n", name)


def several_dimensions(name, input, s, dim):
    """(dimensions, sizes) of a transform along several dimensions."""
    tensor_argument(name, input)
    s = None if s is None else listed(s, "s", name)
    dims = None if dim is None else [dimension(d, input.ndim) for d in listed(dim, "dim", name)]
    if dims and input.ndim == 0:
        raise OutOfRangeError("MG-E301", f"{name}: Dimension specified as {dim} but tensor has no dimensions")
    if dims is not None and len(set(dims)) < len(dims):
        raise ArgumentError("MG-E302", "FFT dims must be unique", found=f"dim={tuple(dims)}")
    if s is not None:
        if dims is not None and len(dims) != len(s):
            raise ShapeError("MG-E206", "When given, dim and shape arguments must have the same length",
                             found=f"{len(dims)} dimensions, {len(s)} sizes")
        if len(s) > input.ndim:
            raise ShapeError("MG-E206", f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
        dims = list(range(input.ndim - len(s), input.ndim)) if dims is None else dims
        sizes = [input.shape[d] if n == -1 else n for d, n in zip(dims, s)]
    else:
        dims = list(range(input.ndim)) if dims is None else dims
        sizes = [input.shape[d] for d in dims]
    return dims, [check_points(n) for n in sizes]


def listed(value, name, function):
    """An int, or a sequence of them, as a list."""
    return [integer(n, name, function) for n in value] if isinstance(value, (list, tuple)) else [integer(value, name, function)]


def last_size(name, input, dims, sizes, s):
    """The number of real elements along the last dimension, when half of the transform is given."""
    if not dims:
        raise ShapeError("MG-E206", f"{name} must transform at least one axis")
    given = s is not None and listed(s, "s", name)[-1] != -1
    return check_points(sizes[-1] if given else 2 * (input.shape[dims[-1]] - 1))


def complex_transform(name, input, n, dim, norm, forward):
    """`fft` and `ifft`."""
    dim, n = one_dimension(name, input, n, dim)
    x = floating(name, input)
    n = check_points(x.shape[dim] if n is None else n)
    x, norm = resize(x, [dim], [n]), norm_number(norm, forward)
    if x.dtype.is_complex:
        return call(FftC2C.op, (x, (dim,), norm, forward))
    z = call(FftR2C.op, (x, (dim,), norm, False))
    return z if forward else conj_physical(z)


def half_of_real(name, input, n, dim, norm, forward):
    """`rfft` and `ihfft`."""
    dim, n = one_dimension(name, input, n, dim)
    x = real_input(name, input)
    x = resize(x, [dim], [check_points(x.shape[dim] if n is None else n)])
    z = call(FftR2C.op, (x, (dim,), norm_number(norm, forward), True))
    return z if forward else conj_physical(z)


def real_of_half(name, input, n, dim, norm, forward):
    """`irfft` and `hfft`."""
    dim, n = one_dimension(name, input, n, dim)
    x = floating(name, input, True)
    last = check_points(2 * (x.shape[dim] - 1) if n is None else n)
    x = x if n is None else resize(x, [dim], [last // 2 + 1])
    return call(FftC2R.op, (conj_physical(x) if forward else x, (dim,), norm_number(norm, forward), last))


def complex_transforms(name, input, s, dim, norm, forward):
    """`fftn` and `ifftn`."""
    dims, sizes = several_dimensions(name, input, s, dim)
    x = resize(floating(name, input, True), dims, sizes)
    return call(FftC2C.op, (x, tuple(dims), norm_number(norm, forward), forward))


@accept_out
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """z[k] = Σ x[j] e^(-2πi jk / n) along one dimension.

    Args:
        input (Tensor): real or complex.
        n (int, optional): cut the input to n elements, or extend it with zeros. Default: all elements.
        dim (int): the dimension.
        norm (str, optional): "backward" (no factor), "ortho" (1/√n) or "forward" (1/n).

    Returns:
        Tensor: complex, of n elements along `dim`.

    Raises:
        RuntimeError: `n` is not positive, the norm is unknown, or the dtype is float16.

    Mirrors ``torch.fft.fft``.

    >>> mg.fft.fft(mg.tensor([1., 0., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return complex_transform("fft", input, n, dim, norm, True)


@accept_out
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """x[j] = 1/n Σ z[k] e^(2πi jk / n), the inverse of `fft`. The arguments are the same; by default the factor is 1/n.

    Mirrors ``torch.fft.ifft``.

    >>> mg.fft.ifft(mg.fft.fft(mg.tensor([1., 2., 3.]))).real
    tensor([1., 2., 3.])
    """
    return complex_transform("ifft", input, n, dim, norm, False)


@accept_out
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of `fft` of a real input. The others are the conjugates of these.

    Args:
        input (Tensor): real. The other arguments are as in `fft`.

    Raises:
        RuntimeError: the input is complex, or as in `fft`.

    Mirrors ``torch.fft.rfft``.

    >>> mg.fft.rfft(mg.tensor([1., 0., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """
    return half_of_real("rfft", input, n, dim, norm, True)


@accept_out
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: n real numbers from the n // 2 + 1 elements of half a transform.

    Args:
        input (Tensor): the half of a transform.
        n (int, optional): the number of real elements. Default: 2 (m - 1) for m elements; give it if it is odd.
        dim, norm: as in `fft`; by default the factor is 1/n.

    Mirrors ``torch.fft.irfft``.

    >>> mg.fft.irfft(mg.fft.rfft(mg.tensor([1., 2., 3.])), n=3)
    tensor([1., 2., 3.])
    """
    return real_of_half("irfft", input, n, dim, norm, False)


@accept_out
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of a signal with x[n - j] = conj(x[j]), of which the input is the first half: the result is real.

    Args:
        input (Tensor): the n // 2 + 1 first elements of the signal.
        n, dim, norm: as in `irfft`; by default there is no factor.

    Mirrors ``torch.fft.hfft``.

    >>> mg.fft.hfft(mg.tensor([1., 0., 0.]))
    tensor([1., 1., 1., 1.])
    """
    return real_of_half("hfft", input, n, dim, norm, True)


@accept_out
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: half of the signal whose transform is the real input.

    Mirrors ``torch.fft.ihfft``.

    >>> mg.fft.ihfft(mg.tensor([1., 1., 1., 1.])).real
    tensor([1., 0., 0.])
    """
    return half_of_real("ihfft", input, n, dim, norm, False)


@accept_out
def fftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None,
         norm: str | None = None) -> Tensor:
    """`fft` along several dimensions.

    Args:
        input (Tensor): real or complex.
        s (tuple of int, optional): the number of elements along each dimension, as `n` in `fft`; -1 for all.
        dim (tuple of int, optional): the dimensions. Default: all, or the last ``len(s)``.
        norm (str, optional): as in `fft`; n is the product of the sizes.

    Raises:
        RuntimeError: a dimension comes twice, `s` and `dim` have different lengths, or as in `fft`.

    Mirrors ``torch.fft.fftn``.

    >>> mg.fft.fftn(mg.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return complex_transforms("fftn", input, s, dim, norm, True)


@accept_out
def ifftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None,
          norm: str | None = None) -> Tensor:
    """The inverse of `fftn`. Mirrors ``torch.fft.ifftn``.

    >>> mg.fft.ifftn(mg.fft.fftn(mg.ones(2, 2))).real
    tensor([[1., 1.],
            [1., 1.]])
    """
    return complex_transforms("ifftn", input, s, dim, norm, False)


@accept_out
def rfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None,
          norm: str | None = None) -> Tensor:
    """`fftn` of a real input, of which it returns the first n // 2 + 1 elements along the last dimension.

    Raises:
        RuntimeError: the input is complex, there is no dimension, or as in `fftn`.

    Mirrors ``torch.fft.rfftn``.

    >>> mg.fft.rfftn(mg.ones(2, 3)).shape
    minigrad.Size([2, 2])
    """
    x = real_input("rfftn", tensor_argument("rfftn", input))
    dims, sizes = several_dimensions("rfftn", input, s, dim)
    if not dims:
        raise ShapeError("MG-E206", "rfftn must transform at least one axis")
    return call(FftR2C.op, (resize(x, dims, sizes), tuple(dims), norm_number(norm, True), True))


@accept_out
def irfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None,
           norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`. The last number of `s` is the size of the result, which `irfft` explains.

    Mirrors ``torch.fft.irfftn``.

    >>> mg.fft.irfftn(mg.fft.rfftn(mg.ones(2, 3)), s=(2, 3))
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    dims, sizes = several_dimensions("irfftn", input, s, dim)
    last = last_size("irfftn", input, dims, sizes, s)
    x = resize(floating("irfftn", input, True), dims, [*sizes[:-1], last // 2 + 1])
    return call(FftC2R.op, (x, tuple(dims), norm_number(norm, False), last))


@accept_out
def hfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None,
          norm: str | None = None) -> Tensor:
    """`hfft` along the last of `dim`, and `fft` along the others. Mirrors ``torch.fft.hfftn``.

    >>> mg.fft.hfftn(mg.ones(2, 2)).shape
    minigrad.Size([2, 2])
    """
    dims, sizes = several_dimensions("hfftn", input, s, dim)
    last = last_size("hfftn", input, dims, sizes, s)
    x = resize(floating("hfftn", input, True), dims, [*sizes[:-1], last // 2 + 1])
    number = norm_number(norm, True)
    if len(dims) > 1:
        x = call(FftC2C.op, (x, tuple(dims[:-1]), number, True))
    return call(FftC2R.op, (conj_physical(x), (dims[-1],), number, last))


@accept_out
def ihfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None,
           norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`, of a real input. Mirrors ``torch.fft.ihfftn``.

    >>> mg.fft.ihfftn(mg.fft.hfftn(mg.ones(2, 2), s=(2, 2)), s=(2, 2)).real
    tensor([[1., 1.],
            [1., 1.]])
    """
    x = real_input("ihfftn", tensor_argument("ihfftn", input))
    dims, sizes = several_dimensions("ihfftn", input, s, dim)
    if not dims:
        raise ShapeError("MG-E206", "ihfftn must transform at least one axis")
    number = norm_number(norm, False)
    z = conj_physical(call(FftR2C.op, (resize(x, dims, sizes), (dims[-1],), number, True)))
    return z if len(dims) == 1 else call(FftC2C.op, (z, tuple(dims[:-1]), number, False))


def of_two_dimensions(transform):
    """The function of the same kind for the last two dimensions."""
    name = transform.__name__[:-1] + "2"

    def function(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1),
                 norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
        return transform(input, s, dim, norm) if out is None else transform(input, s, dim, norm, out=out)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"`{transform.__name__}` along two dimensions, by default the last two. Mirrors ``torch.fft.{name}``.\n\n"
                        f"    >>> mg.fft.{name}(mg.ones(2, 2)).shape\n    minigrad.Size([2, 2])\n    ")
    return function


fft2, ifft2, rfft2 = of_two_dimensions(fftn), of_two_dimensions(ifftn), of_two_dimensions(rfftn)
irfft2, hfft2, ihfft2 = of_two_dimensions(irfftn), of_two_dimensions(hfftn), of_two_dimensions(ihfftn)


# ---- frequencies and shifts -----------------------------------------------------------------------------------


@fills_out
def fftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None, device: DeviceLike | None = None,
            requires_grad: bool = False) -> Tensor:
    """The frequency of each element of `fft` in cycles per unit of time: 0, 1, ..., -2, -1, divided by n d.

    Args:
        n (int): the number of elements.
        d (float): the time between two elements.

    Mirrors ``torch.fft.fftfreq``.

    >>> mg.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    n = integer(n, "n", "fftfreq")
    numbers = arange(n, dtype=frequency_dtype("fftfreq", dtype), device=device)
    numbers[n // 2 + n % 2:] -= n
    return scaled(numbers, n, d, "fftfreq").requires_grad_(requires_grad)


@fills_out
def rfftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None, device: DeviceLike | None = None,
             requires_grad: bool = False) -> Tensor:
    """The frequency of each element of `rfft`: 0, 1, ..., n // 2, divided by n d. Mirrors ``torch.fft.rfftfreq``.

    >>> mg.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    n = integer(n, "n", "rfftfreq")
    numbers = arange(n // 2 + 1, dtype=frequency_dtype("rfftfreq", dtype), device=device)
    return scaled(numbers, n, d, "rfftfreq").requires_grad_(requires_grad)


def frequency_dtype(name, dtype):
    """The dtype of frequencies: a floating point or complex one."""
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
    if not dtype.differentiable:
        raise DtypeError("MG-E203", f"{name} requires a floating point or complex dtype", found=dtype.name)
    return dtype


def scaled(numbers, n, d, name):
    """The numbers divided by n d."""
    d = real(d, "d", name)
    return numbers.mul_(1.0 / (n * d) if n * d else float("inf"))


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Roll each dimension by half of its size: frequency 0 moves from the beginning to the middle.

    Args:
        input (Tensor): of any dtype.
        dim (int or tuple of int, optional): the dimensions. Default: all.

    Mirrors ``torch.fft.fftshift``.

    >>> mg.fft.fftshift(mg.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return shifted("fftshift", input, dim, lambda n: n // 2)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`. Mirrors ``torch.fft.ifftshift``.

    >>> mg.fft.ifftshift(mg.fft.fftshift(mg.arange(5)))
    tensor([0, 1, 2, 3, 4])
    """
    return shifted("ifftshift", input, dim, lambda n: (n + 1) // 2)


def shifted(name, input, dim, steps):
    """`input` rolled along dimensions by ``steps(size)``."""
    tensor_argument(name, input)
    dims = list(range(input.ndim)) if dim is None else [dimension(d, input.ndim) for d in listed(dim, "dim", name)]
    return roll(input, [steps(input.shape[d]) for d in dims], dims)


# NumPy's names for arguments: mg.fft.fft(x, axis=0).
globals().update(accept_names_everywhere({name: globals()[name] for name in __all__}))
