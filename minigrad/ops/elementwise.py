"""Elementwise ops: arithmetic, powers, exponentials, comparison.

Formulas follow one convention for complex numbers, PyTorch's: the gradient of a real loss with respect to
z is dL/d(Re z) + i dL/d(Im z), so a vjp multiplies by the conjugate of the derivative. `conj` of a real
value is the value itself and costs nothing.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/{BinaryOps,UnaryOps,PointwiseOps}.cpp``.
"""

import cython
import numpy as np

from minigrad._core.given import given as core
from minigrad._core.meta import named_dtype
from minigrad._core.operands import broadcast_shape
from minigrad._core.promotion import check_dtypes, operands_dtype, ranks_of
from minigrad._core.tensor import TensorBase
from minigrad.errors import ArgumentError, ShapeError, TensorTypeError
from minigrad.ops.base import Elementwise, Linear, View, named, op, tensor_argument, tensor_error, two_operands, unary_function

if not cython.compiled:
    from minigrad._core.apply import binary, call, unary
    from minigrad.ops.base import conj

__all__ = ["abs", "absolute", "add", "clamp", "clip", "cos", "div", "divide", "eq", "exp", "ge", "greater",
           "gt", "le", "less", "log", "log1p", "logical_not", "lt", "maximum", "minimum", "mul", "multiply", "ne", "neg",
           "negative", "pow", "reciprocal", "relu", "rsqrt", "rsub", "sigmoid", "sign", "sin", "sqrt", "square", "sub",
           "subtract", "tanh", "true_divide", "where"]

BOOL = named_dtype("bool")
# What counts as a number: NumPy's too.
NUMBERS = (bool, int, float, complex, np.number, np.bool_)

# The limits with which clamp needs no type promotion.
PLAIN = (float, int, type(None))

SUBTRACT_BOOL = ("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
                 "`~` or `logical_not()` operator instead.")


# ---- arithmetic ---------------------------------------------------------------------------------------


@op("add")
class Add(Elementwise):
    """z = x + y"""

    kernel = "add"
    params = ("x", "y")
    commutative = True

    def vjp_x(g):
        return g

    def vjp_y(g):
        return g


@op("sub")
class Sub(Elementwise):
    """z = x - y"""

    kernel = "sub"
    params = ("x", "y")
    refuses_bool = ("Subtraction, the `-` operator, with two bool tensors is not supported. "
                    "Use the `^` or `logical_xor()` operator instead.")
    refuses_any_bool = SUBTRACT_BOOL

    def vjp_x(g):
        return g

    def vjp_y(g):
        return -g


@op("rsub", "Rsub1")
class Rsub(Elementwise):
    """z = y - x, for a number y"""

    kernel = "rsub"
    params = ("x", "y")
    refuses_any_bool = SUBTRACT_BOOL

    def vjp_x(g):
        return -g


@op("mul")
class Mul(Elementwise):
    """z = x y"""

    kernel = "mul"
    params = ("x", "y")
    commutative = True

    def vjp_x(g, y):        # dx = g ȳ
        return g * conj(y)

    def vjp_y(g, x):        # dy = g x̄
        return g * conj(x)


@op("div")
class Div(Elementwise):
    """z = x / y"""

    kernel = "div"
    params = ("x", "y")
    floats_only = True

    def vjp_x(g, y):        # dx = g / ȳ
        return g / conj(y)

    def vjp_y(g, x, y):     # dy = -g x / y²
        return -g * conj((x / y) / y)


@op("div_mode", "Div2")
class DivMode(Elementwise):
    """z = x / y, rounded to an integer: towards zero ("trunc") or down ("floor"). The derivative is 0."""

    inputs = 2
    torch_names = {"x": "self", "y": "other", "mode": "rounding_mode"}

    def forward(k, x, y, mode):
        if x.dtype.kind in "cb":
            raise ShapeError("MG-E203", "div() with a rounding mode is only implemented for real numbers", found=x.dtype.name)
        with np.errstate(all="ignore"):
            if mode == "floor":
                return np.asarray(np.floor_divide(x, y))
            if x.dtype.kind == "f":
                return np.asarray(np.trunc(x / y))
            return np.asarray(np.abs(x) // np.abs(y) * np.sign(x) * np.sign(y), x.dtype)

    def vjp_x(g):
        return zeros_like(g)

    def vjp_y(g):
        return zeros_like(g)


@op("neg")
class Neg(Elementwise):
    """z = -x

    >>> mg.neg(mg.tensor([1., -2.]))
    tensor([-1.,  2.])
    """

    kernel = "neg"
    params = ("x",)
    refuses_bool = ("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                    "use the `~` or `logical_not()` operator instead.")

    def vjp_x(g):
        return -g


@op("reciprocal")
class Reciprocal(Elementwise):
    """z = 1 / x

    >>> mg.reciprocal(mg.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
    """

    kernel = "reciprocal"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = -g z²
        return -g * conj(z * z)


# ---- powers -------------------------------------------------------------------------------------------


@op("pow", "Pow0")
class PowScalar(Elementwise):
    """z = x to the power y, for a number y"""

    kernel = "pow"
    params = ("x", "y")
    torch_names = {"x": "self", "y": "exponent"}

    def vjp_x(g, x, y):     # dx = g y x^(y - 1), 0 where y is
        if y == 0:
            return zeros_like(g)
        return g * conj(x * y if y == 2 else y * x ** (y - 1))


@op("pow_tensor", "Pow1")
class Pow(Elementwise):
    """z = x to the power y, for a tensor y"""

    kernel = "pow"
    params = ("x", "y")
    torch_names = {"x": "self", "y": "exponent", "z": "result"}

    def vjp_x(g, x, y):
        return g * where(y == 0, 0.0, conj(y * x ** (y - 1)))

    def vjp_y(g, x, y, z):  # dy = g z log x, 0 where x = 0 and y >= 0
        return g * where(at_zero(x, y), 0.0, conj(z * log(x)))


@op("pow_scalar_base", "Pow2")
class ScalarPow(Elementwise):
    """z = y to the power x, for a number y"""

    inputs = 1
    torch_names = {"x": "exponent", "y": "self", "z": "result"}

    def forward(k, x, y):
        return k.pow(y, x)

    def vjp_x(g, x, y, z):
        if y == 0:
            return g * where(x >= 0, 0.0, z * float("-inf"))
        return g * conj(z * log_of_number(y, z))


def at_zero(x, y):
    """Where x^y has no derivative by y, x being 0, but PyTorch's 0 is right: y >= 0."""
    if y.dtype.is_complex or x.dtype.is_complex:
        return x == 0
    return (x == 0) & (y >= 0)


def log_of_number(y, like):
    """The logarithm of the number `y`, as a 0-d tensor of like's dtype."""
    return log(like.new_tensor(y))


@op("sqrt")
class Sqrt(Elementwise):
    """z = √x

    >>> mg.sqrt(mg.tensor([4., 9.]))
    tensor([2., 3.])
    """

    kernel = "sqrt"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = g / 2z
        return g / (2 * conj(z))


@op("rsqrt")
class Rsqrt(Elementwise):
    """z = 1 / √x

    >>> mg.rsqrt(mg.tensor([4., 16.]))
    tensor([0.5000, 0.2500])
    """

    kernel = "rsqrt"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = -g z³ / 2
        return -0.5 * g * conj(z ** 3)


# ---- exponentials and their kin -------------------------------------------------------------------------


@op("exp")
class Exp(Elementwise):
    """z = e to the power x

    >>> mg.exp(mg.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
    """

    kernel = "exp"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):
        return g * conj(z)


@op("log")
class Log(Elementwise):
    """z = natural logarithm of x

    >>> mg.log(mg.tensor([1., 2.]))
    tensor([0.0000, 0.6931])
    """

    kernel = "log"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g / conj(x)


@op("log1p", "Log1P0")
class Log1p(Elementwise):
    """z = log(1 + x), accurate for small x

    >>> mg.log1p(mg.tensor([0., 1.]))
    tensor([0.0000, 0.6931])
    """

    kernel = "log1p"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g / conj(x + 1)


@op("sin")
class Sin(Elementwise):
    """z = sin x, x in radians

    >>> mg.sin(mg.tensor([0., 1.]))
    tensor([0.0000, 0.8415])
    """

    kernel = "sin"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g * conj(cos(x))


@op("cos")
class Cos(Elementwise):
    """z = cos x, x in radians

    >>> mg.cos(mg.tensor([0., 1.]))
    tensor([1.0000, 0.5403])
    """

    kernel = "cos"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g * conj(-sin(x))


@op("tanh")
class Tanh(Elementwise):
    """z = hyperbolic tangent of x

    >>> mg.tanh(mg.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """

    kernel = "tanh"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = g (1 - z²)
        return binary(TanhBackward.op, g, conj(z))


@op("tanh_backward")
class TanhBackward(Elementwise):
    """z = x (1 - y²): the gradient of tanh in one pass"""

    kernel = "tanh_backward"
    params = ("x", "y")
    torch_names = {"x": "grad_output", "y": "result"}

    def vjp_x(g, y):
        return binary(TanhBackward.op, g, conj(y))

    def vjp_y(g, x, y):
        return g * conj(-2 * x * y)


@op("sigmoid")
class Sigmoid(Elementwise):
    """z = 1 / (1 + e to the power -x)

    >>> mg.sigmoid(mg.tensor([0., 1.]))
    tensor([0.5000, 0.7311])
    """

    kernel = "sigmoid"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = g z (1 - z)
        return binary(SigmoidBackward.op, g, conj(z))


@op("sigmoid_backward")
class SigmoidBackward(Elementwise):
    """z = x y (1 - y): the gradient of sigmoid in one pass"""

    kernel = "sigmoid_backward"
    params = ("x", "y")
    torch_names = {"x": "grad_output", "y": "result"}

    def vjp_x(g, y):
        return binary(SigmoidBackward.op, g, conj(y))

    def vjp_y(g, x, y):
        return g * conj(x * (1 - 2 * y))


@op("relu")
class Relu(Elementwise):
    """z = max(x, 0). The derivative at 0 is 0.

    >>> mg.relu(mg.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    kernel = "relu"
    params = ("x",)
    refuses_bool = "Boolean inputs not supported for relu"
    refuses_complex = "relu is not supported for complex types"

    def vjp_x(g, z):
        return binary(ReluBackward.op, g, z)


@op("relu_backward", "ThresholdBackward0")
class ReluBackward(Elementwise):
    """z = x where y > 0, else 0: the gradient of relu"""

    kernel = "relu_backward"
    params = ("x", "y")
    torch_names = {"x": "grad_output", "y": "self"}

    def vjp_x(g, y):
        return binary(ReluBackward.op, g, y)


# ---- sign, size, selection ------------------------------------------------------------------------------


@op("abs")
class Abs(Elementwise):
    """z = |x|, real for complex x. The derivative at 0 is 0.

    >>> mg.abs(mg.tensor([-1., 2.]))
    tensor([1., 2.])
    """

    kernel = "abs"
    params = ("x",)
    refuses_bool = "abs() is not implemented for bool"

    def vjp_x(g, x):        # dx = g x / |x|
        return g * sgn(x)

    def jvp_x(t, x):
        return real_part(t * conj(sgn(x)))


@op("sign")
class Sign(Elementwise):
    """z = -1, 0 or 1, as x is negative, 0 or positive. The derivative is 0.

    >>> mg.sign(mg.tensor([-3., 0., 2.]))
    tensor([-1.,  0.,  1.])
    """

    kernel = "sign"
    params = ("x",)
    refuses_complex = "Unlike NumPy, sign() is not intended to support complex numbers: divide by abs() instead."

    def vjp_x(g):
        return zeros_like(g)


@op("maximum")
class Maximum(Elementwise):
    """z = the larger of x and y; nan if one is. Where they are equal each gets half the gradient.

    >>> mg.maximum(mg.tensor([1., 5.]), mg.tensor([2., 3.]))
    tensor([2., 5.])
    """

    kernel = "maximum"
    params = ("x", "y")
    refuses_complex = "maximum not implemented for complex tensors."

    def vjp_x(g, x, y):
        return g * share(x, y, x > y)

    def vjp_y(g, x, y):
        return g * share(x, y, x < y)


@op("minimum")
class Minimum(Elementwise):
    """z = the smaller of x and y; nan if one is. Where they are equal each gets half the gradient.

    >>> mg.minimum(mg.tensor([1., 5.]), mg.tensor([2., 3.]))
    tensor([1., 3.])
    """

    kernel = "minimum"
    params = ("x", "y")
    refuses_complex = "minimum not implemented for complex tensors."

    def vjp_x(g, x, y):
        return g * share(x, y, x < y)

    def vjp_y(g, x, y):
        return g * share(x, y, x > y)


def share(x, y, wins):
    """1 where an operand wins, 1/2 where it ties, else 0."""
    return where(x == y, 0.5, wins.to(x.dtype))


@op("where")
class Where(Elementwise):
    """z = x where c, else y"""

    inputs = 2
    torch_names = {"c": "condition"}

    def forward(k, x, y, c):
        return k.where(c, x, y)

    def vjp_x(g, c):
        return where(c, g, 0.0)

    def vjp_y(g, c):
        return where(c, 0.0, g)


@op("clamp", "Clamp1")
class Clamp(Elementwise):
    """z = x limited to [low, high], two numbers of which one may be None"""

    inputs = 1
    torch_names = {"x": "self", "low": "min", "high": "max"}

    def forward(k, x, low, high):
        return k.clamp(x, low, high)

    def vjp_x(g, x, low, high):
        return where(inside(x, low, high), g, 0.0)


@op("clamp_tensor", "Clamp0")
class ClampTensor(Elementwise):
    """z = x limited to [low, high], of which at least one is a tensor"""

    inputs = 3
    torch_names = {"x": "self", "low": "min", "high": "max"}

    def forward(k, x, low, high):
        return k.clamp(x, low, high)

    def vjp_x(g, x, low, high):
        return where(inside(x, low, high), g, 0.0)

    def vjp_low(g, x, low, high):
        below = x < low
        return where(below if high is None else below & (low < high), g, 0.0)

    def vjp_high(g, x, low, high):
        above = x > high
        return where(above if low is None else above | (high < low), g, 0.0)


def inside(x, low, high):
    """Where clamp leaves x as it is."""
    if low is None:
        return x <= high
    return x >= low if high is None else (x >= low) & (x <= high)


# ---- comparison and logic: no derivative ----------------------------------------------------------------


class Comparison(Elementwise):
    """Base of the comparisons."""

    params = ("x", "y")
    inputs = 2
    result = BOOL
    differentiable = False


@op("eq")
class Eq(Comparison):
    """z = whether x = y, elementwise

    >>> mg.eq(mg.tensor([1, 2, 3]), 2)
    tensor([False,  True, False])
    """

    kernel = "eq"


@op("ne")
class Ne(Comparison):
    """z = whether x differs from y, elementwise

    >>> mg.ne(mg.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """

    kernel = "ne"


class Ordering(Comparison):
    """Base of the comparisons that need an order."""

    refuses_complex = "complex numbers have no order: compare their abs(), or their real parts"


@op("lt")
class Lt(Ordering):
    """z = whether x < y, elementwise

    >>> mg.lt(mg.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """

    kernel = "lt"


@op("le")
class Le(Ordering):
    """z = whether x <= y, elementwise

    >>> mg.le(mg.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """

    kernel = "le"


@op("gt")
class Gt(Ordering):
    """z = whether x > y, elementwise

    >>> mg.gt(mg.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """

    kernel = "gt"


@op("ge")
class Ge(Ordering):
    """z = whether x >= y, elementwise

    >>> mg.ge(mg.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """

    kernel = "ge"


class Logic(Elementwise):
    """Base of and, or, xor: logical for bool, bitwise for integers."""

    params = ("x", "y")
    inputs = 2
    differentiable = False


@op("bitwise_and")
class And(Logic):
    """z = x and y"""

    kernel = "logical_and"


@op("bitwise_or")
class Or(Logic):
    """z = x or y"""

    kernel = "logical_or"


@op("bitwise_xor")
class Xor(Logic):
    """z = x exclusive-or y"""

    kernel = "logical_xor"


@op("bitwise_not")
class Invert(Elementwise):
    """z = not x"""

    kernel = "invert"
    params = ("x",)
    inputs = 1
    differentiable = False


# ---- complex --------------------------------------------------------------------------------------------


@op("conj")
class Conj(Linear):
    """z = the complex conjugate of x"""

    def forward(k, x):
        return k.conj(x)

    def vjp_x(g):
        return g.conj()


@op("real")
class Real(View):
    """z = the real part of x, a view"""

    def forward(k, x):
        return k.real(x)

    def vjp_x(g):           # the engine makes g complex, as x is
        return g


def real_part(x):
    """The real part of x, x itself if it is real."""
    return call(Real.op, (x,)) if x.dtype.is_complex else x


def sgn(x):
    """x / |x|, 0 at 0."""
    if not x.dtype.is_complex:
        return sign(x)
    size = abs(x)
    return where(size == 0, 0.0, x / size)


# ---- public functions -------------------------------------------------------------------------------------

neg = negative = unary_function(Neg)
reciprocal = unary_function(Reciprocal)
sqrt = unary_function(Sqrt)
rsqrt = unary_function(Rsqrt)
exp = unary_function(Exp)
log = unary_function(Log)
log1p = unary_function(Log1p)
sin = unary_function(Sin)
cos = unary_function(Cos)
tanh = unary_function(Tanh)
sigmoid = unary_function(Sigmoid)
relu = unary_function(Relu)
abs = absolute = unary_function(Abs)
sign = unary_function(Sign)


def add(input, other, *, alpha=1):
    """z = input + alpha other, elementwise.

    Shapes broadcast, dtypes are promoted; `other` may be a number. Mirrors ``torch.add``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.add(mg.tensor([1., 2.]), mg.tensor([3., 4.]), alpha=10)
    tensor([31., 42.])
    """
    return two_operands(Add.op, input, other if type(alpha) is int and alpha == 1 else scaled("add", input, other, alpha))


def scaled(function, input, other, alpha):
    """alpha other, for a sum with `input`. Raises if `alpha` is no number, or of a higher category than the sum."""
    for operand, name, position in ((input, "input", 1), (other, "other", 2)):
        if not isinstance(operand, (TensorBase, *NUMBERS)):
            raise tensor_error(function, operand, name, position)
    if not isinstance(alpha, NUMBERS):
        raise TensorTypeError("MG-E201", f"{function}(): argument 'alpha' must be Number, not {type(alpha).__name__}")
    dtype = operands_dtype((input, other))
    if function != "add":
        check_dtypes(Sub, dtype, ranks_of((input, other)))
    if isinstance(alpha, bool) and dtype is not BOOL:
        raise ShapeError("MG-E203", "Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not dtype.differentiable:
        raise ShapeError("MG-E203", "For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise ShapeError("MG-E203", "For non-complex input tensors, argument alpha must not be a complex number.")
    if dtype is BOOL:
        return other & bool(alpha)
    return other if alpha == 1 else alpha * other


def sub(input, other, *, alpha=1):
    """z = input - alpha other, elementwise.

    Shapes broadcast, dtypes are promoted; `other` may be a number. Mirrors ``torch.sub``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or both are bool.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.sub(mg.tensor([1., 2.]), 1)
    tensor([0., 1.])
    """
    if type(alpha) is not int or alpha != 1:
        other = scaled("sub", input, other, alpha)
    return two_operands(Sub.op, input, other)


def rsub(input, other, *, alpha=1):
    """z = other - alpha input, elementwise. Mirrors ``torch.rsub``.

    >>> mg.rsub(mg.tensor([1., 2.]), 1)
    tensor([ 0., -1.])
    """
    tensor_argument("rsub", input)
    if isinstance(other, TensorBase):
        return sub(other, input, alpha=alpha)
    return two_operands(Rsub.op, input if alpha == 1 else scaled("rsub", other, input, alpha), other)


def mul(input, other):
    """z = input other, elementwise.

    Shapes broadcast, dtypes are promoted; `other` may be a number. Mirrors ``torch.mul``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.mul(mg.tensor([1., 2.]), mg.tensor([[3.], [4.]]))
    tensor([[3., 6.],
            [4., 8.]])
    """
    return two_operands(Mul.op, input, other)


def div(input, other, *, rounding_mode=None):
    """z = input / other, elementwise; integers give floating point results.

    Args:
        rounding_mode: None, or ``"trunc"`` (towards zero) or ``"floor"``, which keep integers integer and
            have no derivative.

    Shapes broadcast, dtypes are promoted; `other` may be a number. Division by zero gives inf or nan.
    Mirrors ``torch.div``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or the rounding mode is unknown.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.div(mg.tensor([1, 3]), 2)
    tensor([0.5000, 1.5000])
    """
    if rounding_mode is None:
        return two_operands(Div.op, input, other)
    if not isinstance(rounding_mode, str):
        raise TensorTypeError("MG-E201", f"div(): argument 'rounding_mode' must be str, not {type(rounding_mode).__name__}")
    if rounding_mode not in ("trunc", "floor"):
        raise ArgumentError("MG-E302", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                            f"{rounding_mode!r}")
    like = input if isinstance(input, TensorBase) else tensor_argument("div", other, "other", 2)
    x, y = promoted("div", like, input, other)
    if not x.dtype.differentiable and not bool(y._array.all()):
        raise ShapeError("MG-E302", "ZeroDivisionError: integers have no infinity", fix="divide x.float()")
    return together(DivMode.op, (x, y, rounding_mode))


multiply = mul
subtract = sub
divide = true_divide = div


def pow(input, exponent):
    """z = input to the power exponent, elementwise; one of them may be a number.

    Mirrors ``torch.pow``.

    Raises:
        RuntimeError: integers to a negative integer power, or shapes that cannot be broadcast together.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.pow(mg.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    if not isinstance(input, TensorBase):
        tensor_argument("pow", exponent, "exponent", 2)
        if not isinstance(input, NUMBERS):
            raise tensor_error("pow", input, "input", 1)
        dtype = operands_dtype((input, exponent))
        if not dtype.differentiable:
            return integer_power(exponent.new_tensor(input, dtype=dtype), exponent, dtype)
        return call(ScalarPow.op, (exponent.to(dtype), input))
    if isinstance(exponent, TensorBase):
        if not input._meta.dtype.differentiable and not exponent._meta.dtype.differentiable:
            return integer_power(input, exponent, operands_dtype((input, exponent)))
        return two_operands(Pow.op, input, exponent)
    if isinstance(exponent, int) and not input._meta.dtype.differentiable:
        if exponent < 0:
            raise ShapeError("MG-E203", "Integers to negative integer powers are not allowed.",
                             fix="convert first: x.float() ** -1")
        return integer_power(input, input.new_tensor(exponent, dtype=None), operands_dtype((input, exponent)))
    return two_operands(PowScalar.op, input, exponent)


def integer_power(x, y, dtype):
    """x^y of integers or bools: with y < 0 it is rounded towards 0, so that only 1 and -1 leave something."""
    if dtype is BOOL:
        return x | ~y
    x, y = x.to(dtype), y.to(dtype)
    return where((y >= 0) | (x * x == 1), two_operands(Pow.op, x, y if y.dtype.name == "uint8" else abs(y)), 0)


def square(input):
    """z = input squared, elementwise. Mirrors ``torch.square``.

    >>> mg.square(mg.tensor([1., -3.]))
    tensor([1., 9.])
    """
    return two_operands(PowScalar.op, tensor_argument("square", input), 2)


def two_tensors(rule):
    """The public function of an op both of whose operands have to be tensors."""
    name = rule.op.name

    def function(input, other):
        tensor_argument(name, input)
        return two_operands(rule.op, input, tensor_argument(name, other, "other", 2))
    return named(function, name, rule.__doc__)


def comparison(rule):
    """The public function of a comparison, of a tensor with a tensor or number."""
    name = rule.op.name

    def function(input, other):
        return two_operands(rule.op, tensor_argument(name, input), other)
    return named(function, name, rule.__doc__)


maximum = two_tensors(Maximum)
minimum = two_tensors(Minimum)
eq = comparison(Eq)
ne = comparison(Ne)
lt = less = comparison(Lt)
le = comparison(Le)
gt = greater = comparison(Gt)
ge = comparison(Ge)


def logical_not(input):
    """Whether input is zero, elementwise. Mirrors ``torch.logical_not``.

    >>> mg.logical_not(mg.tensor([0., 2.]))
    tensor([ True, False])
    """
    return eq(tensor_argument("logical_not", input), 0)


def where(condition, input, other):
    """z = input where condition, else other, elementwise.

    Args:
        condition (Tensor): bool; the three shapes broadcast together.
        input, other (Tensor or number): of any dtypes; they are promoted.

    The gradient goes to the operand that was chosen. Mirrors ``torch.where``.

    Raises:
        RuntimeError: the condition is not bool, or the shapes cannot be broadcast together.

    >>> x = mg.tensor([-1., 2.])
    >>> mg.where(x > 0, x, 0.)
    tensor([0., 2.])
    """
    tensor_argument("where", condition, "condition")
    for position, x in ((2, input), (3, other)):
        if not isinstance(x, (TensorBase, *NUMBERS)):
            raise tensor_error("where", x, "input" if position == 2 else "other", position)
    if condition.dtype is not BOOL:
        raise ShapeError("MG-E203", f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                         f"{condition.dtype.name}", fix="compare: condition != 0")
    input, other = promoted("where", condition, input, other)
    return together(Where.op, (input, other, condition))


def clamp(input, min=None, max=None):
    """z = input limited to [min, max], elementwise; where min > max the result is max.

    Args:
        min, max (number, Tensor or None): at least one of them is given.

    The gradient is 1 inside the limits, bounds included, and 0 outside. Mirrors ``torch.clamp``.

    Raises:
        RuntimeError: neither limit is given.

    >>> mg.clamp(mg.tensor([-1., 0.5, 2.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    tensor_argument("clamp", input)
    if input._meta.dtype.is_floating_point and type(min) in PLAIN and type(max) in PLAIN and (min is not None or max is not None):
        return call(Clamp.op, (input, min, max))
    given = clamp_limits("clamp", min, max)
    dtype = operands_dtype((input, *given))
    if dtype.is_complex:
        raise ShapeError("MG-E203", "clamp is not supported for complex types")
    if isinstance(given[0], TensorBase):
        return together(ClampTensor.op, (cast(input, dtype), *[None if x is None else cast(x, dtype) for x in (min, max)]))
    if min is not None:
        min = given[0]
    return call(Clamp.op, (cast(input, dtype), min, max))


def clamp_limits(function, min, max):
    """Those limits of clamp that are given: tensors or numbers, at least one."""
    given = [limit for limit in (min, max) if limit is not None]
    numbers = [limit for limit in given if isinstance(limit, NUMBERS)]
    if not given:
        raise ArgumentError("MG-E302", f"{function}: At least one of 'min' or 'max' must not be None")
    if numbers and isinstance(given[0], TensorBase) and given[0].ndim == 0:     # as PyTorch: a 0-d tensor counts as a number
        given[0] = given[0].detach().item()
        numbers = given
    if len(numbers) not in (0, len(given)) or not all(isinstance(x, (TensorBase, *NUMBERS)) for x in given):
        raise TensorTypeError("MG-E201", f"{function}(): 'min' and 'max' must be two tensors or two numbers, not "
                              f"{' and '.join(type(x).__name__ for x in given)}")
    return given


clip = clamp


def promoted(function, like, *operands):
    """`operands`, tensors or numbers, as tensors of one dtype. `like` gives the device of the numbers."""
    found = []
    for position, x in enumerate(operands):
        if not isinstance(x, TensorBase):
            if not isinstance(x, NUMBERS):
                raise tensor_error(function, x, ("input", "other")[position % 2], position + 1)
            x = like.new_tensor(x, dtype=None)
        found.append(x)
    dtype = operands_dtype(operands)
    return [x.to(dtype) for x in found]


def together(op, args):
    """`call`, with the error of broadcasting where the tensors among `args` do not fit."""
    try:
        return call(op, args)
    except ValueError:
        broadcast_shape([x._meta for x in args if isinstance(x, TensorBase)])
        raise


def cast(x, dtype):
    """`x` in `dtype`: itself if it has it already."""
    return x if x._meta.dtype is dtype else core.cast(x, dtype)


# ---- operators --------------------------------------------------------------------------------------------


def rdiv(x, y):
    """y / x for a number y: as in PyTorch, the reciprocal times y. Of an array y we use the memory."""
    if isinstance(y, np.ndarray):
        y = type(x)._of_array(y)
    return NotImplemented if not isinstance(y, (TensorBase, *NUMBERS)) else binary(Mul.op, unary(Reciprocal.op, x), y)


def pow_operator(x, y):
    """x ** y"""
    if isinstance(y, (TensorBase, *NUMBERS)):
        return pow(x, y)
    return NotImplemented


def rpow(x, y):
    """y ** x"""
    return pow(y, x) if isinstance(y, NUMBERS) else NotImplemented


COMPARISONS = {"eq": Eq.op, "ne": Ne.op, "lt": Lt.op, "le": Le.op, "gt": Gt.op, "ge": Ge.op}
LOGIC = {"and": And.op, "or": Or.op, "xor": Xor.op}


def compare(x, y, how):
    """x == y and its like. With what is no tensor or number, == falls back to identity."""
    return binary(COMPARISONS[how], x, y)


def logical(x, y, how):
    """x & y and its like."""
    for operand in (x, y):
        if not isinstance(operand, (TensorBase, *NUMBERS)):
            return NotImplemented
    dtype = operands_dtype((x, y))
    if dtype.differentiable:
        raise NotImplementedError(f'"bitwise_{how}" not implemented for {dtype.name}')
    return binary(LOGIC[how], x, y)


def invert(x):
    """~x"""
    if x.dtype.differentiable:
        raise TypeError(f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, not {x.dtype.name}")
    return unary(Invert.op, x)


def zeros_like(x):
    """Zeros in the shape of x, without history."""
    return x.new_zeros(x.shape)
