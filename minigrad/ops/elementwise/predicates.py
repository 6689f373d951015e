"""Predicates: whether numbers are nan, infinite or negative, and whether two tensors are equal or close.

    isnan isinf isfinite signbit     one kernel each        -> a bool tensor
    isposinf isneginf isreal isclose computed from those and comparisons
    equal allclose is_nonzero        a single answer        -> a Python bool

None of them has a derivative.

Mirrors ``aten/src/ATen/native/{TensorCompare,UnaryOps}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cython.cimports.minigrad._core.graph.tensor import TensorBase, is_plain
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.apply import call

from minigrad._core.record.promotion import default_dtype
from minigrad.errors import ArgumentError, DtypeError
from minigrad.ops.base.arguments import flag, real, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import BOOL, Elementwise, op, unary_function
from minigrad.ops.elementwise.comparison import eq
from minigrad.ops.elementwise.selection import abs

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["allclose", "equal", "is_complex", "is_floating_point", "is_nonzero", "is_tensor", "isclose", "isfinite", "isinf",
           "isnan", "isneginf", "isposinf", "isreal", "numel", "signbit"]


class Predicate(Elementwise):
    """Base of the functions that map one number to True or False."""

    params = ("x",)
    inputs = 1
    result = BOOL
    differentiable = False


@op("isnan")
class Isnan(Predicate):
    """z = whether x is nan, elementwise. Mirrors ``torch.isnan``.

    >>> mg.tensor([1., float("nan")]).isnan()
    tensor([False,  True])
    """

    kernel = "isnan"


@op("isinf")
class Isinf(Predicate):
    """z = whether x is infinite, elementwise; for a complex x, whether a part is. Mirrors ``torch.isinf``.

    >>> mg.tensor([1., float("-inf")]).isinf()
    tensor([False,  True])
    """

    kernel = "isinf"


@op("isfinite")
class Isfinite(Predicate):
    """z = whether x is neither infinite nor nan, elementwise. Mirrors ``torch.isfinite``.

    >>> mg.tensor([1., float("inf"), float("nan")]).isfinite()
    tensor([ True, False, False])
    """

    kernel = "isfinite"


@op("signbit")
class Signbit(Predicate):
    """z = whether the sign bit of x is set, elementwise; it is for -0.0. Mirrors ``torch.signbit``.

    >>> mg.tensor([1., -0., -2.]).signbit()
    tensor([False,  True,  True])
    """

    kernel = "signbit"
    refuses_complex = "signbit is not implemented for complex tensors."


# ---- public functions -------------------------------------------------------------------------------------


def make_predicate(rule):
    """Make the public function of a predicate. As in PyTorch, it takes no ``out``."""
    function = unary_function(rule)

    def without_out(input: Tensor) -> Tensor:
        return call(rule.op, (tensor_argument(function.__name__, input),))
    without_out.__name__ = without_out.__qualname__ = function.__name__
    without_out.__doc__, without_out.__module__ = function.__doc__, "minigrad"
    return without_out

isnan = make_predicate(Isnan)
isinf = make_predicate(Isinf)
isfinite = make_predicate(Isfinite)
signbit = unary_function(Signbit)


def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether `input` is inf, elementwise. Mirrors ``torch.isposinf``.

    Raises:
        RuntimeError: `input` is complex.

    >>> mg.tensor([float("-inf"), float("inf")]).isposinf()
    tensor([False,  True])
    """
    if out is not None:
        return into(out, isposinf, input)
    return eq(ordered("isposinf", input), float("inf"))


def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether `input` is -inf, elementwise. Mirrors ``torch.isneginf``.

    Raises:
        RuntimeError: `input` is complex.

    >>> mg.tensor([float("-inf"), float("inf")]).isneginf()
    tensor([ True, False])
    """
    if out is not None:
        return into(out, isneginf, input)
    return eq(ordered("isneginf", input), float("-inf"))


def ordered(function, x):
    """Return `x`; raise unless it is a tensor of real numbers."""
    if tensor_argument(function, x).dtype.is_complex:
        raise DtypeError("MG-E203", f"{function} does not support complex inputs.", fix="call it with x.real and x.imag")
    return x


def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part of `input` is 0, elementwise. Mirrors ``torch.isreal``.

    >>> mg.tensor([1 + 1j, 2]).isreal()
    tensor([False,  True])
    """
    if tensor_argument("isreal", input).dtype.is_complex:
        return eq(input.imag, 0)
    return input.new_full(input.shape, True, dtype=BOOL)


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether ``|input - other| <= atol + rtol |other|``, elementwise; infinities are close if they are equal.

    Args:
        input, other (Tensor): of the same dtype. The shapes broadcast.
        rtol, atol (float): the relative and the absolute tolerance, not negative.
        equal_nan (bool): whether nan is close to nan.

    Mirrors ``torch.isclose``.

    Raises:
        RuntimeError: the dtypes differ, a tolerance is negative, or the shapes cannot be broadcast together.

    >>> mg.isclose(mg.tensor([1., 2.]), mg.tensor([1.000001, 3.]))
    tensor([ True, False])
    """
    tensor_argument("isclose", input)
    tensor_argument("isclose", other, "other", 2)
    flag(equal_nan, "equal_nan", "isclose")
    if input.dtype is not other.dtype:
        raise DtypeError("MG-E203", f"isclose: {input.dtype.name} did not match {other.dtype.name}",
                         fix="convert one of them: other.to(input.dtype)")
    rtol, atol = real(rtol, "rtol", "isclose"), real(atol, "atol", "isclose")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise ArgumentError("MG-E302", f"{name} must be greater than or equal to zero, but got {tolerance}")
    x, y = input.detach(), other.detach()
    close = x == y
    if equal_nan and x.dtype.differentiable:
        close = close | (isnan(x) & isnan(y))
    if not x.dtype.differentiable:
        x, y = x.to(default_dtype()), y.to(default_dtype())
    error = abs(x - y)
    return close | (isfinite(error) & (error <= atol + abs(y * rtol)))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` is True for all elements, as a Python bool. Mirrors ``torch.allclose``.

    Args: as for `isclose`.

    Raises:
        RuntimeError: the dtypes differ, a tolerance is negative, or the shapes cannot be broadcast together.

    >>> mg.allclose(mg.tensor([1., 2.]), mg.tensor([1., 2.000001]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements, as a Python bool. Mirrors ``torch.equal``.

    Args:
        input, other (Tensor): their dtypes may differ. Nan is equal to nothing.

    Raises:
        TypeError: an argument is not a tensor.

    >>> mg.equal(mg.tensor([1., 2.]), mg.tensor([1, 2]))
    True
    >>> mg.equal(mg.tensor([1., 2.]), mg.tensor([[1., 2.]]))
    False
    """
    tensor_argument("equal", input)
    tensor_argument("equal", other, "other", 2)
    x: TensorBase = input
    y: TensorBase = other
    if x._meta.shape != y._meta.shape:
        return False
    if x._meta is y._meta and is_plain(x) and is_plain(y) and current().fast_path:
        return x._meta.backend.kernels.equal(x._array, y._array)
    return bool(eq(input, other).all())


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of `input` differs from 0, as a Python bool. Mirrors ``torch.is_nonzero``.

    Raises:
        RuntimeError: `input` does not have exactly one element.

    >>> mg.is_nonzero(mg.tensor([2.]))
    True
    """
    return bool(tensor_argument("is_nonzero", input))


def numel(input: Tensor) -> int:
    """The number of elements of `input`. Mirrors ``torch.numel``.

    >>> mg.numel(mg.zeros(2, 3))
    6
    """
    return tensor_argument("numel", input).numel()


def is_floating_point(input: Tensor) -> bool:
    """Whether `input` has a floating point dtype. Mirrors ``torch.is_floating_point``.

    >>> mg.is_floating_point(mg.tensor([1, 2]))
    False
    """
    return tensor_argument("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether `input` has a complex dtype. Mirrors ``torch.is_complex``.

    >>> mg.is_complex(mg.tensor([1j]))
    True
    """
    return tensor_argument("is_complex", input).is_complex()


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor. Mirrors ``torch.is_tensor``.

    >>> mg.is_tensor([1., 2.])
    False
    """
    return isinstance(obj, TensorBase)
