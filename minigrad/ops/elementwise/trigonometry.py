"""Elementwise trigonometric and hyperbolic functions and their inverses; exp and log to other bases.

exp, sin, cos and tanh are in ``functions.py``, which also has the convention for complex numbers.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/UnaryOps.cpp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad._core.graph.metadata import INTEGER
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import AutogradNotImplementedError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.rule import Elementwise, conj, op
from minigrad.ops.elementwise.functions import exp, rsqrt
from minigrad.ops.elementwise.selection import float_operands, where

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cosh",
    "exp2",
    "expm1",
    "hypot",
    "log2",
    "log10",
    "sinh",
    "tan",
]


class Function(Elementwise):
    """Base of the functions of one number"""

    params = ("x",)
    floats_only = True


@op("exp2")
class Exp2(Function):
    """z = 2 to the power x"""

    kernel = "exp2"

    def vjp_x(g, z):        # dx = g z log 2
        return g * conj(z * math.log(2))


@op("expm1")
class Expm1(Function):
    """z = e to the power x, less 1, accurate for small x"""

    kernel = "expm1"

    def vjp_x(g, x):        # dx = g e^x; z + 1 would cancel where z is almost -1
        return g * conj(exp(x))


@op("log2")
class Log2(Function):
    """z = logarithm of x to the base 2"""

    kernel = "log2"

    def vjp_x(g, x):
        return g / conj(x * math.log(2))


@op("log10")
class Log10(Function):
    """z = logarithm of x to the base 10"""

    kernel = "log10"

    def vjp_x(g, x):
        return g / conj(x * math.log(10))


@op("tan")
class Tan(Function):
    """z = tangent of x, in radians"""

    kernel = "tan"

    def vjp_x(g, z):        # dx = g (1 + z²)
        return g * conj(1 + z * z)


@op("sinh")
class Sinh(Function):
    """z = hyperbolic sine of x"""

    kernel = "sinh"

    def vjp_x(g, x):
        return g * conj(cosh(x))


@op("cosh")
class Cosh(Function):
    """z = hyperbolic cosine of x"""

    kernel = "cosh"

    def vjp_x(g, x):
        return g * conj(sinh(x))


@op("asin")
class Asin(Function):
    """z = the angle whose sine is x"""

    kernel = "asin"

    def vjp_x(g, x):        # dx = g / √(1 - x²)
        return g * conj(rsqrt(1 - x * x))


@op("acos")
class Acos(Function):
    """z = the angle whose cosine is x"""

    kernel = "acos"

    def vjp_x(g, x):        # dx = -g / √(1 - x²)
        return -g * conj(rsqrt(1 - x * x))


@op("atan")
class Atan(Function):
    """z = the angle whose tangent is x"""

    kernel = "atan"

    def vjp_x(g, x):        # dx = g / (1 + x²)
        return g / conj(1 + x * x)


@op("asinh")
class Asinh(Function):
    """z = inverse hyperbolic sine of x"""

    kernel = "asinh"

    def vjp_x(g, x):        # dx = g / √(1 + x²)
        return g * conj(rsqrt(1 + x * x))


@op("acosh")
class Acosh(Function):
    """z = inverse hyperbolic cosine of x"""

    kernel = "acosh"

    def vjp_x(g, x):        # dx = g / √(x² - 1), as a product of roots: for complex x the root of the product may differ
        if not x.dtype.is_complex:
            return g * rsqrt((x - 1) * (x + 1))
        return g * conj(rsqrt(x - 1) * rsqrt(x + 1))


@op("atanh")
class Atanh(Function):
    """z = inverse hyperbolic tangent of x"""

    kernel = "atanh"

    def vjp_x(g, x):        # dx = g / (1 - x²)
        return g / conj(1 - x * x)


@op("atan2")
class Atan2(Elementwise):
    """z = the angle of the point (y, x), from -π to π. x, the first argument, is the second coordinate, as in PyTorch"""

    kernel = "atan2"
    params = ("x", "y")
    floats_only = True
    refuses_complex = "atan2 is not implemented for complex numbers"

    def vjp_x(g, x, y):         # dx = g y / (x² + y²), 0 at the origin
        return across(g, *float_operands(g, x, y))

    def vjp_y(g, x, y):         # dy = -g x / (x² + y²)
        x, y = float_operands(g, x, y)
        return across(-g, y, x)


def across(g, x, y):
    """g y / (x² + y²), 0 where both are 0."""
    square = x * x + y * y
    none = square == 0
    return where(none, 0.0, g * y / where(none, 1.0, square))


@op("hypot")
class Hypot(Elementwise):
    """z = √(x² + y²)"""

    kernel = "hypot"
    params = ("x", "y")
    refuses_bool = "hypot is not implemented for bool"
    refuses_complex = "hypot is not implemented for complex numbers"

    def vjp_x(g, x, z):
        return g * (x / z)

    def vjp_y(g, y, z):
        return g * (y / z)


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def exp2(input: Tensor):
    """z = 2 to the power input, elementwise. Mirrors ``torch.exp2``.

    >>> mg.tensor([0., 3.]).exp2()
    tensor([1., 8.])
    """
    return Exp2.op, (input,)


@in_place_too
def expm1(input: Tensor):
    """z = e to the power input, less 1, accurate for small input, elementwise. Mirrors ``torch.expm1``.

    >>> mg.tensor([0., 1.]).expm1()
    tensor([0.0000, 1.7183])
    """
    return Expm1.op, (input,)


@in_place_too
def log2(input: Tensor):
    """z = logarithm of input to the base 2, elementwise. Mirrors ``torch.log2``.

    >>> mg.tensor([1., 8.]).log2()
    tensor([0., 3.])
    """
    return Log2.op, (input,)


@in_place_too
def log10(input: Tensor):
    """z = logarithm of input to the base 10, elementwise. Mirrors ``torch.log10``.

    >>> mg.tensor([1., 10.]).log10()
    tensor([0., 1.])
    """
    return Log10.op, (input,)


@in_place_too
def tan(input: Tensor):
    """z = tangent of input, in radians, elementwise. Mirrors ``torch.tan``.

    >>> mg.tensor([0., 1.]).tan()
    tensor([0.0000, 1.5574])
    """
    return Tan.op, (input,)


@in_place_too
def sinh(input: Tensor):
    """z = hyperbolic sine of input, elementwise. Mirrors ``torch.sinh``.

    >>> mg.tensor([0., 1.]).sinh()
    tensor([0.0000, 1.1752])
    """
    return Sinh.op, (input,)


@in_place_too
def cosh(input: Tensor):
    """z = hyperbolic cosine of input, elementwise. Mirrors ``torch.cosh``.

    >>> mg.tensor([0., 1.]).cosh()
    tensor([1.0000, 1.5431])
    """
    return Cosh.op, (input,)


@in_place_too
def asin(input: Tensor):
    """z = the angle whose sine is input, elementwise. Mirrors ``torch.asin``.

    >>> mg.tensor([0., 1.]).asin()
    tensor([0.0000, 1.5708])
    """
    return Asin.op, (input,)


@in_place_too
def acos(input: Tensor):
    """z = the angle whose cosine is input, elementwise. Mirrors ``torch.acos``.

    >>> mg.tensor([0., 1.]).acos()
    tensor([1.5708, 0.0000])
    """
    return Acos.op, (input,)


@in_place_too
def atan(input: Tensor):
    """z = the angle whose tangent is input, elementwise. Mirrors ``torch.atan``.

    >>> mg.tensor([0., 1.]).atan()
    tensor([0.0000, 0.7854])
    """
    return Atan.op, (input,)


@in_place_too
def asinh(input: Tensor):
    """z = inverse hyperbolic sine of input, elementwise. Mirrors ``torch.asinh``.

    >>> mg.tensor([0., 1.]).asinh()
    tensor([0.0000, 0.8814])
    """
    return Asinh.op, (input,)


@in_place_too
def acosh(input: Tensor):
    """z = inverse hyperbolic cosine of input, elementwise. Mirrors ``torch.acosh``.

    >>> mg.tensor([1., 2.]).acosh()
    tensor([0.0000, 1.3170])
    """
    return Acosh.op, (input,)


@in_place_too
def atanh(input: Tensor):
    """z = inverse hyperbolic tangent of input, elementwise. Mirrors ``torch.atanh``.

    >>> mg.tensor([0., 0.5]).atanh()
    tensor([0.0000, 0.5493])
    """
    return Atanh.op, (input,)


@in_place_too
def atan2(input: Tensor, other: Tensor | Number):
    """The angle of the point (other, input) in the plane, from -π to π. Mirrors ``torch.atan2``.

    Args:
        input, other (Tensor): the second and the first coordinate. The shapes broadcast; integers give floating point results.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.

    >>> mg.tensor([1., -1.]).atan2(mg.tensor([1., -1.]))
    tensor([ 0.7854, -2.3562])
    """
    return Atan2.op, (input, tensor_argument("atan2", other, "other", 2))


@in_place_too
def hypot(input: Tensor, other: Tensor | Number):
    """The length of the hypotenuse: the root of input² + other². Mirrors ``torch.hypot``.

    Args:
        input, other (Tensor): the two legs. The shapes broadcast, and the dtypes are promoted.

    Raises:
        RuntimeError: an operand is bool or complex, or the shapes cannot be broadcast together.
        NotImplementedError: both are integers.

    >>> mg.tensor([3.]).hypot(mg.tensor([4.]))
    tensor([5.])
    """
    dtype = operands_dtype((input, tensor_argument("hypot", other, "other", 2)))
    if dtype.category == INTEGER:
        raise AutogradNotImplementedError("MG-E203", f'"hypot" not implemented for {dtype.name}', fix="convert first: x.float()")
    return Hypot.op, (input, other)


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
