"""`assert_close`: compare two tensors, numbers, or structures of them, up to rounding.

    |actual - expected| <= atol + rtol |expected|       by default, rtol and atol depend on the dtype

    pairs       walk over both structures side by side, and yield the pairs to compare
    judge       compare each pair: its attributes first, then its numbers
    report      the first pair that fails: how many elements differ, and where the difference is greatest

The numbers are compared as NumPy arrays, so that minigrad does not test itself.

Mirrors ``torch/testing/_comparison.py``.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minigrad.errors import MinigradError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import real, truth
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["NotCloseError", "assert_close"]

# dtype -> rtol, atol. Numbers of other dtypes must be equal.
TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
              "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}


class NotCloseError(MinigradError, AssertionError):
    """Two things that should be the same are not.

    >>> try:
    ...     mg.testing.assert_close(1.0, 2.0)
    ... except mg.testing.NotCloseError as error:
    ...     print(error.code)
    MG-E268
    """

    __module__ = "minigrad.testing"


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
                 equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
                 check_stride: bool = False, msg: str | Callable[[str], str] | None = None) -> None:
    """Assert that two tensors, arrays or numbers are close, or two sequences or mappings of them.

    Args:
        actual, expected: both tensors, both NumPy arrays, both numbers, or both None. Sequences and mappings of these are compared
            element by element; the types of the sequences and mappings may differ.
        allow_subclasses (bool, optional): if False, both types must be the same; if True, one may be a subclass of the other.
        rtol, atol (float, optional): give both or none. The defaults depend on the dtype, and are the larger ones of two dtypes:
            1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for float64,
            likewise for complex dtypes. Numbers of other dtypes must be equal.
        equal_nan (bool, optional): whether a nan is close to a nan.
        check_device, check_dtype (bool, optional): whether the devices and dtypes must be equal. For Python numbers the dtype is
            the type.
        check_layout (bool, optional): ignored, since minigrad has no sparse tensors.
        check_stride (bool, optional): whether the strides must be equal.
        msg (str or Callable, optional): the message of the error, or a function that makes it from the default message.

    Raises:
        AssertionError: the two are not close. In a structure, the message is about the first pair that is not.
        TypeError: the two cannot be compared, or a tolerance is not a number.
        ValueError: only one of `rtol` and `atol` is given.

    Mirrors ``torch.testing.assert_close``.

    >>> mg.testing.assert_close(mg.tensor([1., 2.]).exp().log(), mg.tensor([1., 2.]))
    >>> mg.testing.assert_close(mg.tensor([1., 2., 3.]), mg.tensor([1., 4., 5.]))
    Traceback (most recent call last):
        ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 2 / 3 (66.7%)
    Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)
      help:     mg.explain("MG-E268")
    """
    if (rtol is None) != (atol is None):
        raise TensorValueError("MG-E269", "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                               f"{'rtol' if rtol is None else 'atol'}.", fix="give both, with 0 for the one that you do not need")
    if rtol is not None:
        rtol, atol = real(rtol, "rtol", "assert_close"), real(atol, "atol", "assert_close")
    equal_nan = truth(equal_nan, "equal_nan", "assert_close")
    checks = {name: truth(check, f"check_{name}", "assert_close")
              for name, check in (("device", check_device), ("dtype", check_dtype), ("stride", check_stride))}
    for a, e, where in list(pairs(actual, expected, allow_subclasses, "")):     # list: a bad pair raises first
        problem = differing_attribute(a, e, checks) or difference(a, e, rtol, atol, equal_nan)
        if problem:
            problem += f"\n\nThe failure occurred for item {where}" if where else ""
            error = NotCloseError("MG-E268", problem)
            if msg is not None:
                error.args = (msg(problem) if callable(msg) else msg,)
            raise error


# ---- pairs to compare -------------------------------------------------------------------------------------


def pairs(a, e, allow_subclasses, where):
    """(actual, expected, place in the structure) for each pair to compare."""
    if all(isinstance(x, Sequence) and not isinstance(x, (str, bytes)) for x in (a, e)):
        if len(a) != len(e):
            raise NotCloseError("MG-E268", f"The length of the sequences mismatch: {len(a)} != {len(e)}{located(where)}")
        for i, (x, y) in enumerate(zip(a, e)):
            yield from pairs(x, y, allow_subclasses, f"{where}[{i}]")
    elif isinstance(a, Mapping) and isinstance(e, Mapping):
        if set(a) != set(e):
            missing, more = ([key for key in one if key not in other] for one, other in ((e, a), (a, e)))
            raise NotCloseError("MG-E268", "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                                f"{missing}\nAdditional keys in the actual mapping: {more}{located(where)}")
        for key in a:
            yield from pairs(a[key], e[key], allow_subclasses, f"{where}[{key!r}]")
    elif a is None or e is None or (is_number(a) and is_number(e)) or (
            array_like(a, e) and (allow_subclasses or type(a) is type(e))):
        yield a, e, where
    else:
        raise TensorTypeError("MG-E269", "No comparison pair was able to handle inputs of type "
                              f"{type(a)} and {type(e)}.{located(where)}",
                              fix="compare like with like: mg.tensor(expected), or actual.numpy(); a number with x.item()")


def located(where):
    """The end of a message, which names the place in the structure."""
    return f"\n\nThe failure occurred for item {where}" if where else ""


def is_number(x):
    return isinstance(x, (numbers.Number, np.number, np.bool_))


def array_like(a, e):
    """Whether both are tensors or both are arrays, of related types."""
    return any(isinstance(a, kind) and isinstance(e, kind) for kind in (Tensor, np.ndarray)) and (
        isinstance(a, type(e)) or isinstance(e, type(a)))


# ---- one pair ---------------------------------------------------------------------------------------------


def differing_attribute(a, e, checks):
    """A message about the first attribute that differs, or None."""
    if a is None or e is None:
        return None if a is e else f"None mismatch: {a} is not {e}"
    if is_number(a):
        a, e = plain(a), plain(e)
        return f"The (d)types do not match: {type(a)} != {type(e)}." if checks["dtype"] and type(a) is not type(e) else None
    if tuple(a.shape) != tuple(e.shape):
        return f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}."
    if isinstance(a, Tensor) and checks["device"] and a.device != e.device:
        return f"The values for attribute 'device' do not match: {a.device} != {e.device}."
    if checks["dtype"] and a.dtype != e.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {e.dtype}."
    if checks["stride"] and strides(a) != strides(e):
        return f"The values for attribute 'stride()' do not match: {strides(a)} != {strides(e)}."
    return None


def strides(x):
    """Strides in elements."""
    return x.stride() if isinstance(x, Tensor) else tuple([s // x.itemsize for s in x.strides])


def plain(x):
    """A number as a Python number."""
    return x.item() if isinstance(x, (np.number, np.bool_)) else x


def difference(a, e, rtol, atol, equal_nan):
    """A message about the numbers of a pair that are not close, or None."""
    if a is None:
        return None
    scalar = is_number(a)
    if scalar and isinstance(a, (bool, np.bool_)) and isinstance(e, (bool, np.bool_)):
        return None if a == e else f"Booleans mismatch: {a} is not {e}"
    x, y = numbers_of(a), numbers_of(e)
    if rtol is None:
        rtol, atol = (max(pair) for pair in zip(tolerances(x.dtype), tolerances(y.dtype)))
    x, y = [v.astype(np.float32) if v.dtype.name == "bfloat16" else v for v in (x, y)]
    common = np.result_type(x.dtype, y.dtype)
    common = np.dtype(np.int64) if common.kind in "bui" else common     # differences of small integers wrap around
    x, y = x.astype(common), y.astype(common)
    with np.errstate(all="ignore"):
        off = np.abs(x - y)
        wrong = ~((off <= atol + rtol * np.abs(y)) & np.isfinite(x) & np.isfinite(y) | (x == y))
        if equal_nan:
            wrong &= ~(np.isnan(x) & np.isnan(y))
        if not wrong.any():
            return None
        absolute, relative = np.where(wrong, off, 0), np.where(wrong, off / np.abs(y), 0)
    exact = rtol == atol == 0
    kind, verb = "Scalars" if x.ndim == 0 else "Tensor-likes", "equal" if exact else "close"
    limits = ["" if exact else f" (up to {limit} allowed)" for limit in (atol, rtol)]
    if x.ndim == 0:
        return (f"Scalars are not {verb}!\n\nExpected {y.item()} but got {x.item()}.\n"
                f"Absolute difference: {absolute.item()}{limits[0]}\nRelative difference: {relative.item()}{limits[1]}")
    lines = [f"{kind} are not {verb}!\n", f"Mismatched elements: {int(wrong.sum())} / {wrong.size} "
             f"({100 * wrong.sum() / wrong.size:.1f}%)"]
    for name, found, limit in (("absolute", absolute, limits[0]), ("relative", relative, limits[1])):
        at = tuple([int(k) for k in np.unravel_index(int(found.argmax()), found.shape)])
        lines.append(f"Greatest {name} difference: {found[at].item()} at index {at}{limit}")
    return "\n".join(lines)


def numbers_of(x):
    """A tensor, array or number as an array."""
    return x.detach().cpu()._array if isinstance(x, Tensor) else np.asarray(plain(x))


def tolerances(dtype):
    """The default (rtol, atol) for the dtype of an array."""
    return TOLERANCES.get(dtype.name, (0.0, 0.0))
