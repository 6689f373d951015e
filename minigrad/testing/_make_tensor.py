"""`make_tensor` and `assert_allclose`, for tests. Mirrors ``torch/testing/_creation.py`` and ``_comparison.py``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad.creation import as_tensor, empty
from minigrad.dtypes import as_dtype, iinfo
from minigrad.ops import stack, where
from minigrad.random import randint
from minigrad.tensor import Tensor as _Tensor
from minigrad.testing._comparison import TOLERANCES, assert_close

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["assert_allclose", "make_tensor"]


def make_tensor(*shape: int | Sequence[int], dtype: DType, device: DeviceLike = "cpu", low: float | None = None,
                high: float | None = None, requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """A tensor of uniform random numbers in [low, high). Mirrors ``torch.testing.make_tensor``.

    Args:
        shape (ints or a sequence): the shape.
        dtype, device, requires_grad: of the result.
        low, high (number, optional): the bounds; by default -9 and 9, for integers -9 and 10, for uint8 0 and 10.
        noncontiguous (bool): leave gaps between the elements.
        exclude_zero (bool): 1 instead of 0.
        memory_format (optional): as in `Tensor.to`.

    >>> mg.testing.make_tensor(2, 3, dtype=mg.float32).shape
    minigrad.Size([2, 3])
    """
    dtype = as_dtype(dtype)
    sizes: Any = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and sizes:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    if dtype.name == "bool":
        found = randint(0, 2, sizes, device=device).bool()
    elif dtype.differentiable:
        found = empty(sizes, dtype=dtype, device=device)
        numbers = stack([found.real, found.real], -1) if dtype.is_complex else found
        numbers = numbers.uniform_(-9 if low is None else low, 9 if high is None else high)
        found = found.copy_(numbers[..., 0] + 1j * numbers[..., 1]) if dtype.is_complex else numbers
    else:
        least = max(int(iinfo(dtype).min), -9 if low is None else int(low))
        found = randint(least, 10 if high is None else int(high), sizes, dtype=dtype, device=device)
    if exclude_zero:
        found = where(found == 0, as_tensor(1, dtype=dtype), found)
    if noncontiguous and sizes:
        found = found[..., ::2]
    if memory_format is not None:
        found = found.to(memory_format=memory_format)
    return found.detach().requires_grad_(requires_grad) if requires_grad else found


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
                    msg: str = "") -> None:
    """`assert_close` that compares no dtypes and devices. Deprecated. Mirrors ``torch.testing.assert_allclose``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     mg.testing.assert_allclose(mg.ones(2), [1, 1])
    """
    warnings.warn("`minigrad.testing.assert_allclose` is deprecated. Please use `minigrad.testing.assert_close` instead.",
                  FutureWarning, stacklevel=2)
    actual = actual if isinstance(actual, _Tensor) else as_tensor(actual)
    expected = expected if isinstance(expected, _Tensor) else as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        pairs = [TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = max(r for r, _ in pairs), max(a for _, a in pairs)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
                 check_stride=False, msg=msg or None)
