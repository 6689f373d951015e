"""Signs, choices that overlook nan, sums of exponentials: what else there is of one number or two, elementwise.

    sgn copysign heaviside positive     by the sign
    fmax fmin                           the larger, the smaller; nan only where both are
    logaddexp logaddexp2                log(exp x + exp y), without overflow
    sinc deg2rad rad2deg float_power

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/{BinaryOps,UnaryOps}.cpp``.
"""

import math

from cython.cimports.minigrad.ops.base.rule import conj

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import default_dtype
from minigrad.errors import ShapeError
from minigrad.ops.base.inplace_pairs import IN_PLACE, in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import BOOL, NUMBERS, Elementwise, number, op, tensor_argument, tensor_error
from minigrad.ops.elementwise.arithmetic import pow
from minigrad.ops.elementwise.functions import cos, exp, sigmoid, sin
from minigrad.ops.elementwise.predicates import isfinite, isnan
from minigrad.ops.elementwise.selection import Sgn, abs, two_tensors, where, zeros_like

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

    def vjp_x(g, x, z):         # dx = g z / x, 0 where x is
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
    """z = the larger of x and y, elementwise; where one is nan, the other. Where they are equal x gets the gradient.

    Mirrors ``torch.fmax``.

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
    """z = the smaller of x and y, elementwise; where one is nan, the other. Where they are equal x gets the gradient.

    Mirrors ``torch.fmin``.

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
    """1 / (1 + e^-x), whose own derivative is not computed from its value: that has no digits left where it is almost 1."""
    if x.dtype.is_complex:
        return sigmoid(x)
    above = x >= 0
    t = exp(where(above, -x, x))
    return where(above, 1.0, t) / (1 + t)


def difference(x, y):
    """x - y, 0 for infinities of the same sign, each of which PyTorch gives the gradient nan."""
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
    """(cos y - sin(y) / y) π / y for y = π x: by its series where the difference cancels, as it does next to 0.

    PyTorch takes 0 at 0, and so makes 0 of the second derivative, which is -π²/3.
    """
    near = abs(x) < 0.03
    y = where(near, 1.0, math.pi * x)
    far = (cos(y) - sin(y) / y) * (math.pi / y)
    y = where(near, math.pi * x, 0.0)
    s = y * y
    return where(near, math.pi * y * (-1.0 / 3 + s * (1.0 / 30 + s * (-1.0 / 840 + s * (1.0 / 45360 - s / 3991680)))), far)


class Scaled(Elementwise):
    """Base of x times a number"""

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


def of_floats(rule):
    """The public function of an op on two tensors that are not both of integers."""
    function = two_tensors(rule)
    name = rule.op.name

    def checked(input, other, *, out=None):
        if isinstance(input, TensorBase) and isinstance(other, TensorBase):
            if not (input.dtype.differentiable or other.dtype.differentiable):
                raise ShapeError("MG-E203", f"{name} is not implemented for integers", found=input.dtype.name,
                                 fix=f"convert one of them: minigrad.{name}(x.float(), y)")
        return function(input, other, out=out)
    checked.__name__ = checked.__qualname__ = name
    checked.__doc__, checked.__module__ = rule.__doc__, "minigrad"
    return checked

logaddexp, logaddexp2 = of_floats(Logaddexp), of_floats(Logaddexp2)


@in_place_too
def sgn(input):
    """z = input / |input|, 0 where input is: for real numbers the sign, for complex ones the direction. Mirrors ``torch.sgn``.

    >>> mg.tensor([3 + 4j, 0]).sgn()
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    return Sgn.op, (input,)


@in_place_too
def copysign(input, other):
    """z = input with the sign of other, a tensor or number, elementwise. Mirrors ``torch.copysign``.

    >>> mg.tensor([1., -2.]).copysign(mg.tensor([-0., 1.]))
    tensor([-1.,  2.])
    """
    if not isinstance(other, (TensorBase, *NUMBERS)):
        raise tensor_error("copysign", other, "other", 2)
    return (Copysign if isinstance(other, TensorBase) else CopysignScalar).op, (input, other)


@in_place_too
def heaviside(input, values):
    """z = 0, `values` or 1, as input is negative, 0 or positive, elementwise. Mirrors ``torch.heaviside``.

    PyTorch has no derivative of it. Ours is that of the steps: 0, and where input is 0 that of `values`.

    Raises:
        RuntimeError: the dtypes differ, or are complex.

    >>> mg.tensor([-1., 0., 2.]).heaviside(mg.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    tensor_argument("heaviside", values, "values", 2)
    if input.dtype.is_complex or values.dtype.is_complex:
        raise ShapeError("MG-E203", Heaviside.refuses_complex)
    if input.dtype is not values.dtype:
        raise ShapeError("MG-E203", "heaviside is not yet implemented for tensors with different dtypes.",
                         expected=input.dtype.name, found=values.dtype.name, fix="values.to(input.dtype)")
    return Heaviside.op, (input, values)


def positive(input):
    """input itself: ``+input``. Mirrors ``torch.positive``.

    Raises:
        RuntimeError: input is bool.

    >>> mg.tensor([-1., 2.]).positive()
    tensor([-1.,  2.])
    """
    if tensor_argument("positive", input).dtype is BOOL:
        raise ShapeError("MG-E203", "The `+` operator, on a bool tensor is not supported.")
    return input


@in_place_too
def sinc(input):
    """z = sin(π input) / (π input), 1 where input is 0, elementwise. Mirrors ``torch.sinc``.

    >>> mg.tensor([0., 0.5]).sinc()
    tensor([1.0000, 0.6366])
    """
    return Sinc.op, (input,)


@in_place_too
def rad2deg(input):
    """z = the angle input in degrees, elementwise. Mirrors ``torch.rad2deg``.

    >>> mg.tensor([0., 1.]).rad2deg()
    tensor([ 0.0000, 57.2958])
    """
    return Rad2Deg.op, (angle_of("rad2deg", input),)


@in_place_too
def deg2rad(input):
    """z = the angle input, in degrees, in radians, elementwise. Mirrors ``torch.deg2rad``.

    >>> mg.tensor([0., 180.]).deg2rad()
    tensor([0.0000, 3.1416])
    """
    return Deg2Rad.op, (angle_of("deg2rad", input),)


def angle_of(function, x):
    """`x`, of floating point numbers. Raises if it is complex."""
    if x.dtype.is_complex:
        raise ShapeError("MG-E203", f"{function} is not supported for complex tensors.")
    return x if x.dtype.differentiable else x.to(default_dtype())


def float_power(input, exponent, *, out=None):
    """z = input to the power exponent, in float64 or, if one of them is complex, complex128. Mirrors ``torch.float_power``.

    >>> mg.tensor([2, 3]).float_power(0.5)
    tensor([1.4142, 1.7321], dtype=minigrad.float64)
    """
    if out is not None:
        return into(out, float_power, input, exponent)
    dtype = wide(input, exponent)
    return pow(widened(input, dtype), widened(exponent, dtype))


def float_power_(self, exponent):
    """In place: `minigrad.float_power`. Mirrors ``torch.Tensor.float_power_``.

    Raises:
        RuntimeError: self is not float64, or complex128.

    >>> mg.tensor([4., 9.], dtype=mg.float64).float_power_(0.5)
    tensor([2., 3.], dtype=minigrad.float64)
    """
    dtype = wide(self, exponent)
    if self.dtype is not dtype:
        raise ShapeError("MG-E203", f"the base given to float_power_ has dtype {self.dtype.name} but the operation's result "
                         f"requires dtype {dtype.name}", fix="the function: x = x.float_power(...)")
    return self.pow_(widened(exponent, dtype))


IN_PLACE["float_power_"] = float_power_


def wide(x, y):
    """The dtype that float_power computes in."""
    both = [v.dtype.is_complex if isinstance(v, TensorBase) else isinstance(v, complex) for v in (x, y)]
    return named_dtype("complex128" if any(both) else "float64")


def widened(x, dtype):
    """`x`, a tensor or number, in `dtype`."""
    if isinstance(x, TensorBase):
        return x.to(dtype)
    if not isinstance(x, NUMBERS):
        raise tensor_error("float_power", x, "exponent", 2)
    number(x, "exponent", "float_power")
    return complex(x) if dtype.is_complex else float(x)
