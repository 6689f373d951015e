"""Numbers: ranges, windows, arrays as tensors, positions in a shape.

Mirrors ``torch/functional.py`` and ``aten/src/ATen/native/TensorFactories.cpp``.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# (the results of ops have no types inside the package)
from minigrad.creation import arange, as_tensor, ones, tensor
from minigrad.creation._options import fills_out, takes_storage_options
from minigrad.dtypes import as_dtype, float64, get_default_dtype
from minigrad.errors import ArgumentError, DtypeError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops import narrow, remainder
from minigrad.ops.base.arguments import flag, integer, integers, real, tensor_argument
from minigrad.ops.base.keywords import accept_names
from minigrad.ops.base.out import into

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["asarray", "bartlett_window", "blackman_window", "conj", "detach", "hamming_window", "hann_window", "is_conj", "is_neg",
           "is_same_size", "is_signed", "narrow_copy", "range", "unravel_index"]


@fills_out
def range(start: float = 0, end: float | None = None, step: float = 1, *, dtype: DType | None = None,
          device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """The numbers from `start` to `end`, with both ends. Deprecated: use `arange`, which leaves `end` out.

    Args:
        start, end, step (number): start, start + step, ... up to `end`.
        dtype (optional): the default dtype (float32) if not given, also for integers.

    Mirrors ``torch.range``.

    Raises:
        RuntimeError: `step` is 0, or has the wrong sign.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     mg.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    warnings.warn("minigrad.range is deprecated, as in PyTorch: its behavior is inconsistent with Python's range builtin. Instead, "
                  "use minigrad.arange, which produces values in [start, end).", UserWarning, stacklevel=3)
    start, stop, step = real(start, "start", "range"), real(end, "end", "range"), real(step, "step", "range")
    if step == 0:
        raise ArgumentError("MG-E302", "range(): step must be nonzero")
    if not math.isfinite((stop - start) / step):
        raise ArgumentError("MG-E302", f"range(): unsupported range: {start} -> {stop} by {step}")
    if (stop - start) * step < 0:
        raise ArgumentError("MG-E302", "range(): upper bound and lower bound inconsistent with step sign",
                            found=f"{start}, {stop}, {step}")
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    count = math.floor((stop - start) / step) + 1
    numbers = (start + np.arange(count) * step).astype(kind.numpy)
    return tensor(numbers, device=device, requires_grad=requires_grad)


def asarray(obj: Any, *, dtype: DType | None = None, device: DeviceLike | None = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:
    """`obj` as a tensor: on its memory if possible, else a copy. Mirrors ``torch.asarray``.

    Args:
        obj: a tensor, an array, a number or nested sequences of numbers.
        copy (bool, optional): True makes a copy; False raises if one is needed; None makes one if it is needed.
        requires_grad (bool): record the ops on it.

    Raises:
        ValueError: `copy` is False, and the memory cannot be shared.

    >>> mg.asarray([1, 2])
    tensor([1, 2])
    """
    shared = as_tensor(obj, dtype, device)
    source = obj if hasattr(obj, "_array") else None
    if source is not None:
        is_copy = shared is not source
    else:
        is_copy = not isinstance(obj, np.ndarray) or not np.shares_memory(shared._array, obj)
    if copy is False and is_copy:
        raise TensorValueError("MG-E305", "can't alias arbitrary sequence into a tensor." if source is None and
                               not isinstance(obj, np.ndarray) else "asarray(): a copy is needed for this dtype or device",
                               fix="copy=None")
    if copy is True and not is_copy:
        shared = shared.clone()
    return shared.requires_grad_() if flag(requires_grad, "requires_grad", "asarray") else shared


def window(function, window_length, periodic, values, dtype, device, requires_grad):
    """The window with the values ``values(t)``, t from 0 to 1. A periodic one is a longer window without its last element."""
    n = integer(window_length, "window_length", function)
    if n < 0:
        raise ShapeError("MG-E206", f"{function} requires non-negative window_length, got window_length={n}")
    if dtype is not None and not as_dtype(dtype).is_floating_point:
        raise DtypeError("MG-E203", f"{function} expects floating point dtypes, got: {as_dtype(dtype)}")
    steps = n + 1 if flag(periodic, "periodic", function) and n > 1 else n
    made = ones(n, dtype=float64) if n < 2 else values(arange(steps, dtype=float64) / (steps - 1))
    made = narrow(made, 0, 0, n).to(get_default_dtype() if dtype is None else dtype).to(device=device).detach()
    return made.clone().requires_grad_(flag(requires_grad, "requires_grad", function))


def cosines(*factors):
    """t -> Σ factors[k] cos(2πkt)"""
    return lambda t: sum([(t * (2 * math.pi * k)).cos() * factor for k, factor in enumerate(factors)])


@takes_storage_options
def hann_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None, device: DeviceLike | None = None,
                requires_grad: bool = False) -> Tensor:
    """1/2 - 1/2 cos 2πt, for t from 0 to 1. Mirrors ``torch.hann_window``.

    Args:
        window_length (int): the number of elements.
        periodic (bool): leave out t = 1, as Fourier transforms need it.

    Raises:
        RuntimeError: `window_length` is negative, or the dtype is not floating point.

    >>> mg.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return window("hann_window", window_length, periodic, cosines(0.5, -0.5), dtype, device, requires_grad)


@takes_storage_options
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: DType | None = None, device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """α - β cos 2πt, for t from 0 to 1. Mirrors ``torch.hamming_window``. The arguments are as in `hann_window`.

    >>> mg.hamming_window(3, periodic=False)
    tensor([0.0800, 1.0000, 0.0800])
    """
    alpha, beta = real(alpha, "alpha", "hamming_window"), real(beta, "beta", "hamming_window")
    return window("hamming_window", window_length, periodic, cosines(alpha, -beta), dtype, device, requires_grad)


@takes_storage_options
def blackman_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None, device: DeviceLike | None = None,
                    requires_grad: bool = False) -> Tensor:
    """0.42 - 0.5 cos 2πt + 0.08 cos 4πt. Mirrors ``torch.blackman_window``. The arguments are as in `hann_window`.

    >>> mg.blackman_window(3, periodic=False)[1]
    tensor(1.)
    """
    return window("blackman_window", window_length, periodic, cosines(0.42, -0.5, 0.08), dtype, device, requires_grad)


@takes_storage_options
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None, device: DeviceLike | None = None,
                    requires_grad: bool = False) -> Tensor:
    """The triangle 1 - |2t - 1|. Mirrors ``torch.bartlett_window``. The arguments are as in `hann_window`.

    >>> mg.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return window("bartlett_window", window_length, periodic, lambda t: 1 - (2 * t - 1).abs(), dtype, device, requires_grad)


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The position in a tensor of `shape` of each element number: one tensor for each dimension. Mirrors ``torch.unravel_index``.

    Raises:
        ValueError: `indices` are not integers, or a size is negative.

    >>> mg.unravel_index(mg.tensor([5, 7]), (3, 4))
    (tensor([1, 1]), tensor([1, 3]))
    """
    tensor_argument("unravel_index", indices, "indices")
    if indices.dtype.differentiable or indices.dtype.name == "bool":
        raise TensorTypeError("MG-E203", f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = integers((shape,) if isinstance(shape, int) else shape, "shape", "unravel_index")
    if any([size < 0 for size in sizes]):
        raise TensorValueError("MG-E302", f"'shape' cannot have negative values, but got {tuple(sizes)}")
    found = []
    for size in reversed(sizes):
        found.append(remainder(indices, size))
        indices = indices.div(size, rounding_mode="floor")
    return tuple(reversed(found))


def conj(input: Tensor) -> Tensor:
    """The complex conjugate; for a real tensor, itself. Mirrors ``torch.conj``.

    >>> mg.conj(mg.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return tensor_argument("conj", input).conj()


def detach(input: Tensor) -> Tensor:
    """``input.detach()``. Mirrors ``torch.detach``.

    >>> mg.detach(mg.ones(2, requires_grad=True)).requires_grad
    False
    """
    return tensor_argument("detach", input).detach()


def is_conj(input: Tensor) -> bool:
    """False: a conjugate is computed immediately here. Mirrors ``torch.is_conj``.

    >>> mg.is_conj(mg.ones(2))
    False
    """
    return tensor_argument("is_conj", input) is None


def is_neg(input: Tensor) -> bool:
    """False: a negative is computed immediately here. Mirrors ``torch.is_neg``.

    >>> mg.is_neg(mg.ones(2))
    False
    """
    return tensor_argument("is_neg", input) is None


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape. Mirrors ``torch.is_same_size``.

    >>> mg.is_same_size(mg.ones(2), mg.zeros(2))
    True
    """
    return tensor_argument("is_same_size", input).is_same_size(other)


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers. Mirrors ``torch.is_signed``.

    >>> mg.is_signed(mg.ones(2))
    True
    """
    return tensor_argument("is_signed", input).is_signed()


@accept_names
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `narrow`. Mirrors ``torch.narrow_copy``.

    >>> mg.narrow_copy(mg.arange(4), 0, 1, 2)
    tensor([1, 2])
    """
    if out is not None:
        return into(out, narrow_copy, input, dim, start, length)
    return narrow(input, dim, start, length).clone()
