"""What holds of numbers: nan, infinity, sign; and whether two tensors are equal, or nearly so.

    isnan isinf isfinite signbit     one kernel each        -> a bool tensor
    isposinf isneginf isreal isclose made of those and of comparisons
    equal allclose is_nonzero        one answer             -> a Python bool

None of them has a derivative.

Mirrors ``aten/src/ATen/native/{TensorCompare,UnaryOps}.cpp``.
"""

from cython.cimports.minigrad._core.record.apply import unary

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import default_dtype
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import BOOL, Elementwise, flag, op, real, tensor_argument, unary_function
from minigrad.ops.elementwise.comparison import eq
from minigrad.ops.elementwise.selection import abs

__all__ = ["allclose", "equal", "is_complex", "is_floating_point", "is_nonzero", "is_tensor", "isclose", "isfinite", "isinf",
           "isnan", "isneginf", "isposinf", "isreal", "numel", "signbit"]


class Predicate(Elementwise):
    """Base of what is true or false of one number."""

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
    """z = whether x is infinite, elementwise; a complex x if one of its parts is. Mirrors ``torch.isinf``.

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
    """z = whether the sign of x is set, elementwise: that of -0.0 is. Mirrors ``torch.signbit``.

    >>> mg.tensor([1., -0., -2.]).signbit()
    tensor([False,  True,  True])
    """

    kernel = "signbit"
    refuses_complex = "signbit is not implemented for complex tensors."


# ---- public functions -------------------------------------------------------------------------------------


def predicate(rule):
    """The public function of a predicate. PyTorch's take no ``out``."""
    function = unary_function(rule)

    def without_out(input):
        return unary(rule.op, tensor_argument(function.__name__, input))
    without_out.__name__ = without_out.__qualname__ = function.__name__
    without_out.__doc__, without_out.__module__ = function.__doc__, "minigrad"
    return without_out

isnan = predicate(Isnan)
isinf = predicate(Isinf)
isfinite = predicate(Isfinite)
signbit = unary_function(Signbit)


def isposinf(input, *, out=None):
    """Whether input is inf, elementwise. Mirrors ``torch.isposinf``.

    Raises:
        RuntimeError: input is complex.

    >>> mg.tensor([float("-inf"), float("inf")]).isposinf()
    tensor([False,  True])
    """
    if out is not None:
        return into(out, isposinf, input)
    return eq(ordered("isposinf", input), float("inf"))


def isneginf(input, *, out=None):
    """Whether input is -inf, elementwise. Mirrors ``torch.isneginf``.

    Raises:
        RuntimeError: input is complex.

    >>> mg.tensor([float("-inf"), float("inf")]).isneginf()
    tensor([ True, False])
    """
    if out is not None:
        return into(out, isneginf, input)
    return eq(ordered("isneginf", input), float("-inf"))


def ordered(function, x):
    """Raise unless `x` is a tensor of real numbers."""
    if tensor_argument(function, x).dtype.is_complex:
        raise ShapeError("MG-E203", f"{function} does not support complex inputs.", fix="ask it of x.real and x.imag")
    return x


def isreal(input):
    """Whether the imaginary part of input is 0, elementwise. Mirrors ``torch.isreal``.

    >>> mg.tensor([1 + 1j, 2]).isreal()
    tensor([False,  True])
    """
    if tensor_argument("isreal", input).dtype.is_complex:
        return eq(input.imag, 0)
    return input.new_full(input.shape, True, dtype=BOOL)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``|input - other| <= atol + rtol |other|``, elementwise; infinities are close if they are equal.

    Args:
        rtol, atol (float): not negative.
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
        raise ShapeError("MG-E203", f"isclose: {input.dtype.name} did not match {other.dtype.name}",
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


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether `isclose` holds everywhere. Returns a bool. Mirrors ``torch.allclose``.

    Raises:
        RuntimeError: the dtypes differ, a tolerance is negative, or the shapes cannot be broadcast together.

    >>> mg.allclose(mg.tensor([1., 2.]), mg.tensor([1., 2.000001]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input, other):
    """Whether two tensors have the same shape and the same numbers. Returns a bool. Mirrors ``torch.equal``.

    Nan is equal to nothing.

    Raises:
        TypeError: one of them is no tensor.

    >>> mg.equal(mg.tensor([1., 2.]), mg.tensor([1, 2]))
    True
    >>> mg.equal(mg.tensor([1., 2.]), mg.tensor([[1., 2.]]))
    False
    """
    tensor_argument("equal", input)
    tensor_argument("equal", other, "other", 2)
    return input.shape == other.shape and bool(eq(input, other).all())


def is_nonzero(input):
    """Whether the only number of input differs from 0. Returns a bool. Mirrors ``torch.is_nonzero``.

    Raises:
        RuntimeError: there is not exactly one.

    >>> mg.is_nonzero(mg.tensor([2.]))
    True
    """
    return bool(tensor_argument("is_nonzero", input))


def numel(input):
    """How many numbers there are in input. Mirrors ``torch.numel``.

    >>> mg.numel(mg.zeros(2, 3))
    6
    """
    return tensor_argument("numel", input).numel()


def is_floating_point(input):
    """Whether the dtype of input is a floating point one. Mirrors ``torch.is_floating_point``.

    >>> mg.is_floating_point(mg.tensor([1, 2]))
    False
    """
    return tensor_argument("is_floating_point", input).is_floating_point()


def is_complex(input):
    """Whether the dtype of input is a complex one. Mirrors ``torch.is_complex``.

    >>> mg.is_complex(mg.tensor([1j]))
    True
    """
    return tensor_argument("is_complex", input).is_complex()


def is_tensor(obj):
    """Whether `obj` is a tensor. Mirrors ``torch.is_tensor``.

    >>> mg.is_tensor([1., 2.])
    False
    """
    return isinstance(obj, TensorBase)
