"""More elementwise ops: signs, extrema that ignore nan, logarithms of sums of exponentials, sinc, degrees.

    sgn copysign heaviside positive     signs
    fmax fmin                           the larger, the smaller; nan only where both are nan
    logaddexp logaddexp2                log(exp x + exp y), without overflow
    sinc deg2rad rad2deg float_power

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/{BinaryOps,UnaryOps}.cpp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cython.cimports.minigrad.ops.base.rule import conj

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import default_dtype
from minigrad.errors import DtypeError
from minigrad.ops.base.arguments import NUMBERS, number, tensor_argument, tensor_error
from minigrad.ops.base.inplace_pairs import IN_PLACE, in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import BOOL, Elementwise, op
from minigrad.ops.elementwise.arithmetic import pow
from minigrad.ops.elementwise.functions import cos, exp, sigmoid, sin
from minigrad.ops.elementwise.predicates import isfinite, isnan
from minigrad.ops.elementwise.selection import Sgn, abs, two_tensors, where, zeros_like

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["copysign", "deg2rad", "float_power", "fmax", "fmin", "heaviside", "logaddexp", "logaddexp2", "positive", "rad2deg",
           "sgn", "sinc"]


@op("copysign_scalar", "Copysign1")
class CopysignScalar(Elementwise):
    """z = |x| with the sign of y, a number"""

    kernel = "copysign"
    params = ("x", "y")
    inputs = 1
    floats_only = True
    refuses_complex = "copysign is not implemented for complex numbers"

    def vjp_x(g, x, z):         # dx = g z / x, 0 where x = 0
        return where(x == 0, 0.0, g * (z / x))


@op("copysign", "Copysign0")
class Copysign(CopysignScalar):
    """z = |x| with the sign of y"""

    inputs = 2

    def vjp_y(g):
        return zeros_like(g)


@op("heaviside", "NotImplemented")
class Heaviside(Elementwise):
    """z = 0, y or 1, as x is negative, 0 or positive"""

    kernel = "heaviside"
    params = ("x", "y")
    inputs = 2
    torch_names = {"x": "self", "y": "values"}
    refuses_complex = "heaviside is not yet implemented for complex tensors."
    no_derivative = "aten::heaviside"


@op("fmax")
class Fmax(Elementwise):
    """z = the larger of x and y, elementwise; where one is nan, the other. Where they are equal, x gets the gradient.

    Args:
        input, other (Tensor): x and y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.fmax``.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.

    >>> mg.fmax(mg.tensor([1., float("nan")]), mg.tensor([2., 3.]))
    tensor([2., 3.])
    """

    kernel = "fmax"
    params = ("x", "y")
    refuses_complex = "fmax not implemented for complex tensors."

    def vjp_x(g, x, y):
        return where((x >= y) | isnan(y), g, 0.0)

    def vjp_y(g, x, y):
        return where((x >= y) | isnan(y), 0.0, g)


@op("fmin")
class Fmin(Elementwise):
    """z = the smaller of x and y, elementwise; where one is nan, the other. Where they are equal, x gets the gradient.

    Args:
        input, other (Tensor): x and y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.fmin``.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.

    >>> mg.fmin(mg.tensor([1., float("nan")]), mg.tensor([2., 3.]))
    tensor([1., 3.])
    """

    kernel = "fmin"
    params = ("x", "y")
    refuses_complex = "fmin not implemented for complex tensors."

    def vjp_x(g, x, y):
        return where((x <= y) | isnan(y), g, 0.0)

    def vjp_y(g, x, y):
        return where((x <= y) | isnan(y), 0.0, g)


@op("logaddexp")
class Logaddexp(Elementwise):
    """z = log(exp x + exp y), elementwise, without overflow. Mirrors ``torch.logaddexp``.

    Args:
        input, other (Tensor): x and y, at least one of them floating point or complex. The shapes broadcast.

    Raises:
        RuntimeError: both are integers, or the shapes cannot be broadcast together.

    >>> mg.logaddexp(mg.tensor([0., 90.]), mg.tensor([0., 90.]))
    tensor([ 0.6931, 90.6931])
    """

    kernel = "logaddexp"
    params = ("x", "y")

    @in_float32
    def vjp_x(g, x, y):         # dx = g / (1 + exp(y - x))
        return g * conj(portion(difference(x, y)))

    @in_float32
    def vjp_y(g, x, y):
        return g * conj(portion(difference(y, x)))


@op("logaddexp2")
class Logaddexp2(Elementwise):
    """z = the logarithm to the base 2 of 2^x + 2^y, elementwise, without overflow. Mirrors ``torch.logaddexp2``.

    Args:
        input, other (Tensor): x and y, at least one of them floating point. The shapes broadcast.

    Raises:
        RuntimeError: both are integers, one is complex, or the shapes cannot be broadcast together.

    >>> mg.logaddexp2(mg.tensor([3.]), mg.tensor([3.]))
    tensor([4.])
    """

    kernel = "logaddexp2"
    params = ("x", "y")
    refuses_complex = "logaddexp2 is not implemented for complex numbers"

    @in_float32
    def vjp_x(g, x, y):
        return g * portion(difference(x, y) * math.log(2))

    @in_float32
    def vjp_y(g, x, y):
        return g * portion(difference(y, x) * math.log(2))


def portion(x):
    """1 / (1 + e^-x), written so that its derivative does not use 1 - z, which loses its digits where z is almost 1."""
    if x.dtype.is_complex:
        return sigmoid(x)
    above = x >= 0
    t = exp(where(above, -x, x))
    return where(above, 1.0, t) / (1 + t)


def difference(x, y):
    """x - y, but 0 for two infinities of the same sign. PyTorch's gradients are nan there."""
    return where((x == y) & ~isfinite(x), 0.0, x - y)


@op("sinc")
class Sinc(Elementwise):
    """z = sin(π x) / (π x), 1 where x is 0"""

    kernel = "sinc"
    params = ("x",)
    floats_only = True

    @in_float32
    def vjp_x(g, x):
        return g * conj(sinc_derivative(x))


def sinc_derivative(x):
    """(cos y - sin(y) / y) π / y for y = π x. Near 0, where the difference cancels, we use its series.

    PyTorch takes the constant 0 at 0. So its second derivative there is 0 too, but the true one is -π²/3.
    """
    near = abs(x) < 0.03
    y = where(near, 1.0, math.pi * x)
    far = (cos(y) - sin(y) / y) * (math.pi / y)
    y = where(near, math.pi * x, 0.0)
    s = y * y
    return where(near, math.pi * y * (-1.0 / 3 + s * (1.0 / 30 + s * (-1.0 / 840 + s * (1.0 / 45360 - s / 3991680)))), far)


class Scaled(Elementwise):
    """Base of x times a constant"""

    inputs = 1
    factor = 1.0


@op("rad2deg", "Rad2Deg0")
class Rad2Deg(Scaled):
    """z = 180 x / π"""

    def forward(k, x):
        return k.mul(x, 180 / math.pi)

    def vjp_x(g):
        return rad2deg(g)


@op("deg2rad", "Deg2Rad0")
class Deg2Rad(Scaled):
    """z = π x / 180"""

    def forward(k, x):
        return k.mul(x, math.pi / 180)

    def vjp_x(g):
        return deg2rad(g)


# ---- public functions -------------------------------------------------------------------------------------

fmax, fmin = two_tensors(Fmax), two_tensors(Fmin)


def make_float_function(rule):
    """Make the public function of an op on two tensors. It refuses two integer tensors."""
    function = two_tensors(rule)
    name = rule.op.name

    def checked(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        if isinstance(input, TensorBase) and isinstance(other, TensorBase):
            if not (input.dtype.differentiable or other.dtype.differentiable):
                raise DtypeError("MG-E203", f"{name} is not implemented for integers", found=input.dtype.name,
                                 fix=f"convert one of them: minigrad.{name}(x.float(), y)")
        return function(input, other, out=out)
    checked.__name__ = checked.__qualname__ = name
    checked.__doc__, checked.__module__ = rule.__doc__, "minigrad"
    return checked

logaddexp, logaddexp2 = make_float_function(Logaddexp), make_float_function(Logaddexp2)


@in_place_too
def sgn(input: Tensor):
    """z = input / |input|, 0 where input is 0: the sign of a real number, the direction of a complex one. Mirrors ``torch.sgn``.

    >>> mg.tensor([3 + 4j, 0]).sgn()
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    return Sgn.op, (input,)


@in_place_too
def copysign(input: Tensor, other: Tensor | Number):
    """z = |input| with the sign of other, elementwise. Mirrors ``torch.copysign``.

    Args:
        input (Tensor): real numbers; integers give floating point results.
        other (Tensor or number): its sign is used; -0.0 is negative. The shapes broadcast.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.
        TypeError: `other` is neither a tensor nor a number.

    >>> mg.tensor([1., -2.]).copysign(mg.tensor([-0., 1.]))
    tensor([-1.,  2.])
    """
    if not isinstance(other, (TensorBase, *NUMBERS)):
        raise tensor_error("copysign", other, "other", 2)
    return (Copysign if isinstance(other, TensorBase) else CopysignScalar).op, (input, other)


@in_place_too
def heaviside(input: Tensor, values: Tensor):
    """z = 0 where input is negative, `values` where it is 0, 1 where it is positive. Mirrors ``torch.heaviside``.

    A backward through it raises `NotImplementedError`, as in PyTorch.

    Args:
        input, values (Tensor): real, of the same dtype. The shapes broadcast.

    Raises:
        RuntimeError: the dtypes differ or are complex, or the shapes cannot be broadcast together.

    >>> mg.tensor([-1., 0., 2.]).heaviside(mg.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    tensor_argument("heaviside", values, "values", 2)
    if input.dtype.is_complex or values.dtype.is_complex:
        raise DtypeError("MG-E203", Heaviside.refuses_complex)
    if input.dtype is not values.dtype:
        raise DtypeError("MG-E203", "heaviside is not yet implemented for tensors with different dtypes.",
                         expected=input.dtype.name, found=values.dtype.name, fix="values.to(input.dtype)")
    return Heaviside.op, (input, values)


def positive(input: Tensor) -> Tensor:
    """Return `input`: ``+input``. Mirrors ``torch.positive``.

    Raises:
        RuntimeError: `input` is bool.

    >>> mg.tensor([-1., 2.]).positive()
    tensor([-1.,  2.])
    """
    if tensor_argument("positive", input).dtype is BOOL:
        raise DtypeError("MG-E203", "The `+` operator, on a bool tensor is not supported.")
    return input


@in_place_too
def sinc(input: Tensor):
    """z = sin(π input) / (π input), 1 where input is 0, elementwise. Mirrors ``torch.sinc``.

    >>> mg.tensor([0., 0.5]).sinc()
    tensor([1.0000, 0.6366])
    """
    return Sinc.op, (input,)


@in_place_too
def rad2deg(input: Tensor):
    """Convert angles from radians to degrees, elementwise. Mirrors ``torch.rad2deg``.

    >>> mg.tensor([0., 1.]).rad2deg()
    tensor([ 0.0000, 57.2958])
    """
    return Rad2Deg.op, (angle_of("rad2deg", input),)


@in_place_too
def deg2rad(input: Tensor):
    """Convert angles from degrees to radians, elementwise. Mirrors ``torch.deg2rad``.

    >>> mg.tensor([0., 180.]).deg2rad()
    tensor([0.0000, 3.1416])
    """
    return Deg2Rad.op, (angle_of("deg2rad", input),)


def angle_of(function, x):
    """Return `x`, integers converted to the default dtype; raise if it is complex."""
    if x.dtype.is_complex:
        raise DtypeError("MG-E203", f"{function} is not supported for complex tensors.")
    return x if x.dtype.differentiable else x.to(default_dtype())


def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """z = input to the power exponent, computed in float64 or complex128. Mirrors ``torch.float_power``.

    Args:
        input, exponent (Tensor or number): at least one is a tensor. The shapes broadcast.

    Returns:
        Tensor: complex128 if `input` or `exponent` is complex, else float64.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.tensor([2, 3]).float_power(0.5)
    tensor([1.4142, 1.7321], dtype=minigrad.float64)
    """
    if out is not None:
        return into(out, float_power, input, exponent)
    dtype = wide(input, exponent)
    return pow(convert_to(input, dtype), convert_to(exponent, dtype))


def float_power_(self, exponent: Tensor | Number) -> Tensor:
    """In place: `minigrad.float_power`. Mirrors ``torch.Tensor.float_power_``.

    Raises:
        RuntimeError: self is not of the dtype of the result: complex128 if an operand is complex, else float64.

    >>> mg.tensor([4., 9.], dtype=mg.float64).float_power_(0.5)
    tensor([2., 3.], dtype=minigrad.float64)
    """
    dtype = wide(self, exponent)
    if self.dtype is not dtype:
        raise DtypeError("MG-E203", f"the base given to float_power_ has dtype {self.dtype.name} but the operation's result "
                         f"requires dtype {dtype.name}", fix="use the function that returns a new tensor: x = x.float_power(...)")
    return self.pow_(convert_to(exponent, dtype))


IN_PLACE["float_power_"] = float_power_


def wide(x, y):
    """The dtype that float_power computes in."""
    both = [v.dtype.is_complex if isinstance(v, TensorBase) else isinstance(v, complex) for v in (x, y)]
    return named_dtype("complex128" if any(both) else "float64")


def convert_to(x, dtype) -> Any:
    """Convert `x`, a tensor or number, to `dtype`."""
    if isinstance(x, TensorBase):
        return x.to(dtype)
    if not isinstance(x, NUMBERS):
        raise tensor_error("float_power", x, "exponent", 2)
    number(x, "exponent", "float_power")
    return complex(x) if dtype.is_complex else float(x)
