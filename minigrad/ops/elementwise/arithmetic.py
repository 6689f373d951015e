"""Elementwise arithmetic: + - * / and powers, and Python operators that call them.

Formulas follow PyTorch's convention for complex numbers: the gradient of a real loss L with respect to z is
dL/d(Re z) + i dL/d(Im z). So a vjp multiplies by the conjugate of the derivative. `conj` returns a real value
itself, at no cost.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/{BinaryOps,Pow}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import binary, call, unary
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad._core.record.promotion import check_dtypes, operands_dtype
from minigrad.errors import ArgumentError, DtypeError, TensorTypeError
from minigrad.kernels.contract import NUMBER
from minigrad.ops.base.arguments import NUMBERS, convert_number, number, tensor_argument, tensor_error
from minigrad.ops.base.broadcasting import call_broadcasting, explain_misfit
from minigrad.ops.base.inplace_pairs import run
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import FLOAT32, has_reduced, is_reduced, round_to, to_wide
from minigrad.ops.base.rule import BOOL, Elementwise, op, two_operands, unary_function, write_by_kernel
from minigrad.ops.elementwise.functions import Reciprocal, log
from minigrad.ops.elementwise.selection import abs, cast, number_tensor, promote_tensors, where, zeros_like

if TYPE_CHECKING:
    from typing import Literal

    from minigrad.types import Number, Tensor

__all__ = ["add", "div", "divide", "mul", "multiply", "neg", "negative", "pow", "rsub", "square", "sub", "subtract", "true_divide"]


ADD_SCALED = NUMBER["add_scaled"]
SUBTRACT_BOOL = ("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
                 "`~` or `logical_not()` operator instead.")


@op("add")
class Add(Elementwise):
    """z = x + y"""

    constants = {"alpha": 1}
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

    reads_g_once = True
    constants = {"alpha": 1}
    kernel = "sub"
    params = ("x", "y")
    refuses_bool = ("Subtraction, the `-` operator, with two bool tensors is not supported. "
                    "Use the `^` or `logical_xor()` operator instead.")
    refuses_any_bool = SUBTRACT_BOOL

    def vjp_x(g):
        return g

    def vjp_y(g):
        return -g


@op("add_scaled", "Add0")
class AddScaled(Elementwise):
    """z = x + alpha y"""

    def forward(k, x, y, alpha):
        return add_scaled(k, x, y, alpha)

    def write(k, x, y, alpha):
        write_scaled(k, x, y, alpha)

    def vjp_x(g):
        return g

    def vjp_y(g, alpha):
        return g * conj(alpha)


def add_scaled(k, x, y, alpha):
    """x + alpha y. On every device, float16 is rounded once: kernels of a GPU round the product too."""
    if has_reduced(x):
        return round_to(k, k.add_scaled(to_wide(k, x), to_wide(k, y), alpha), x)
    return k.add_scaled(x, y, alpha)


def write_scaled(k, x, y, alpha):
    """Store x + alpha y in x."""
    if has_reduced(x):
        k.copy_(x, add_scaled(k, x, y, alpha))
    else:
        write_by_kernel(k, ADD_SCALED, x, y, alpha)


@op("sub_scaled", "Sub0")
class SubScaled(Elementwise):
    """z = x - alpha y"""

    def forward(k, x, y, alpha):
        return add_scaled(k, x, y, -alpha)

    def write(k, x, y, alpha):
        write_scaled(k, x, y, -alpha)

    def vjp_x(g):
        return g

    def vjp_y(g, alpha):
        return g * -conj(alpha)


@op("rsub", "Rsub1")
class Rsub(Elementwise):
    """z = y - x, for a number y"""

    constants = {"alpha": 1}
    always_recorded = True
    kernel = "rsub"
    params = ("x", "y")
    refuses_any_bool = SUBTRACT_BOOL

    def vjp_x(g):
        return -g


@op("mul")
class Mul(Elementwise):
    """z = x y"""

    reads_g_once = True
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

    reads_g_once = True
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
            raise DtypeError("MG-E203", "div() with a rounding mode is only implemented for real numbers", found=x.dtype.name)
        if mode == "floor":
            return k.floor_divide(x, y)
        if not has_reduced(x):
            return k.trunc_divide(x, y)
        if y.ndim:
            return k.trunc(k.div(x, y))     # truncates the quotient rounded to the dtype, as PyTorch does
        return round_to(k, k.trunc_divide(to_wide(k, x), to_wide(k, y)), x)

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

    reads_g_once = True
    kernel = "neg"
    params = ("x",)
    refuses_bool = ("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                    "use the `~` or `logical_not()` operator instead.")

    def vjp_x(g):
        return -g


@op("pow", "Pow0")
class PowScalar(Elementwise):
    """z = x to the power y, for a number y"""

    kernel = "pow"
    params = ("x", "y")
    torch_names = {"x": "self", "y": "exponent"}

    def vjp_x(g, x, y):     # dx = g y x^(y - 1), 0 if y = 0
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
        none = y == 0
        return g * where(none, 0.0, conj(y * x ** where(none, y, y - 1)))      # the branch that is not chosen must be finite too

    def vjp_y(g, x, y, z):  # dy = g z log x, 0 where x = 0 and y >= 0
        return g * where(at_zero(x, y), 0.0, conj(z * log(cast(x, z.dtype))))      # for complex y, log of a negative x is complex


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
    """Where x = 0 and y >= 0: z log x is not finite there, and PyTorch takes 0 as the derivative with respect to y."""
    if y.dtype.is_complex or x.dtype.is_complex:
        return x == 0
    return (x == 0) & (y >= 0)


def log_of_number(y, like):
    """The logarithm of the number `y`, as a 0-d tensor with the dtype of `like`."""
    return log(like.new_tensor(y))

# ---- public functions -------------------------------------------------------------------------------------


neg = negative = unary_function(Neg)


def add(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """z = input + alpha other, elementwise.

    Args:
        input, other (Tensor or number): at least one is a tensor. The shapes broadcast, and the dtypes are promoted.
        alpha (number): multiplies `other`. It may be a float only for floating point results, complex only for complex ones.

    Mirrors ``torch.add``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.add(mg.tensor([1., 2.]), mg.tensor([3., 4.]), alpha=10)
    tensor([31., 42.])
    """
    if out is not None:
        return into(out, add, input, other, alpha=alpha)
    if type(alpha) is int and alpha == 1:
        return two_operands(Add.op, input, other)
    return explain_misfit(run, *with_alpha("add", input, other, alpha))


def with_alpha(function, input, other, alpha):
    """Return (op, operands) for input + alpha other, or with `function` "sub" for input - alpha other."""
    if isinstance(input, TensorBase) and isinstance(other, TensorBase):
        dtype = cython.cast(TensorBase, input)._meta.dtype
        if dtype is cython.cast(TensorBase, other)._meta.dtype and dtype.differentiable:
            if type(alpha) is not float and type(alpha) is not int:
                alpha = check_alpha(function, input, other, alpha)[0]
            return (AddScaled.op if function == "add" else SubScaled.op), (input, other, alpha)
    return (Add.op if function == "add" else Sub.op), (input, scale_by_alpha(function, input, other, alpha))


def check_alpha(function, input, other, alpha):
    """Return (alpha, the dtype of the sum). Raise if `alpha` is not a number, or of a higher category than the sum."""
    for operand, name, position in ((input, "input", 1), (other, "other", 2)):
        if not isinstance(operand, (TensorBase, *NUMBERS)):
            raise tensor_error(function, operand, name, position)
    alpha = number(alpha, "alpha", function)
    dtype = operands_dtype((input, other))
    if function != "add":
        check_dtypes(Sub, dtype, (input, other))
    if isinstance(alpha, bool) and dtype is not BOOL:
        raise DtypeError("MG-E203", "Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not dtype.differentiable:
        raise DtypeError("MG-E203", "For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise DtypeError("MG-E203", "For non-complex input tensors, argument alpha must not be a complex number.")
    if not dtype.differentiable:
        convert_number(alpha, dtype)
    return alpha, dtype


def scale_by_alpha(function, input, other, alpha):
    """Return alpha other, for a sum with `input`; for errors see `check_alpha`."""
    alpha, dtype = check_alpha(function, input, other, alpha)
    if dtype is BOOL:
        return other & bool(alpha)
    if alpha == 1:
        return other
    if isinstance(other, TensorBase) and other.dtype is not dtype:      # -1 times a uint8 would wrap around
        other = other.to(dtype)
    return alpha * other


def sub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """z = input - alpha other, elementwise.

    Args:
        input, other (Tensor or number): at least one is a tensor. The shapes broadcast, and the dtypes are promoted.
        alpha (number): multiplies `other`. It may be a float only for floating point results, complex only for complex ones.

    Mirrors ``torch.sub``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an operand is bool.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.sub(mg.tensor([1., 2.]), 1)
    tensor([0., 1.])
    """
    if out is not None:
        return into(out, sub, input, other, alpha=alpha)
    if type(alpha) is int and alpha == 1:
        return two_operands(Sub.op, input, other)
    return explain_misfit(run, *with_alpha("sub", input, other, alpha))


def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """z = other - alpha input, elementwise. Mirrors ``torch.rsub``.

    Args:
        input (Tensor): what is subtracted.
        other (Tensor or number): the shapes broadcast, and the dtypes are promoted.
        alpha (number): multiplies `input`.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an operand is bool.
        TypeError: `input` is not a tensor, or `other` neither a tensor nor a number.

    >>> mg.rsub(mg.tensor([1., 2.]), 1)
    tensor([ 0., -1.])
    """
    tensor_argument("rsub", input)
    if isinstance(other, TensorBase):
        return sub(other, input, alpha=alpha)
    return two_operands(Rsub.op, input if alpha == 1 else scale_by_alpha("rsub", other, input, alpha), other)


def mul(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """z = input other, elementwise.

    Args:
        input, other (Tensor or number): at least one is a tensor. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.mul``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.mul(mg.tensor([1., 2.]), mg.tensor([[3.], [4.]]))
    tensor([[3., 6.],
            [4., 8.]])
    """
    if out is not None:
        return into(out, mul, input, other)
    return two_operands(Mul.op, input, other)


def div(input: Tensor, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None = None,
        out: Tensor | None = None) -> Tensor:
    """z = input / other, elementwise; integers give floating point results.

    Args:
        input, other (Tensor or number): at least one is a tensor. The shapes broadcast, and the dtypes are promoted.
        rounding_mode (str, optional): ``"trunc"`` rounds towards zero, ``"floor"`` down. Then integers stay integers,
            and the derivative is 0.

    Division by zero gives inf or nan. Mirrors ``torch.div``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, the rounding mode is unknown, or rounded integers are divided by 0.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.div(mg.tensor([1, 3]), 2)
    tensor([0.5000, 1.5000])
    """
    if out is not None:
        return into(out, div, input, other, rounding_mode=rounding_mode)
    if rounding_mode is None:
        return two_operands(Div.op, input, other)
    return call_broadcasting(DivMode.op, check_rounded_division("div", input, other, rounding_mode))


def check_rounded_division(function, input, other, rounding_mode):
    """Check and return the arguments of `DivMode`."""
    if not isinstance(rounding_mode, str):
        raise TensorTypeError("MG-E201", f"{function}(): argument 'rounding_mode' must be str, not {type(rounding_mode).__name__}")
    if rounding_mode not in ("trunc", "floor"):
        raise ArgumentError("MG-E302", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                            f"{rounding_mode!r}")
    like = input if isinstance(input, TensorBase) else tensor_argument(function, other, "other", 2)
    x, y = promote_tensors(function, like, input, other)
    if is_reduced(x.dtype) and not isinstance(other, TensorBase):
        y = cast(number_tensor(other, like), FLOAT32)       # with all digits of the number
    if not x.dtype.differentiable and not bool(y._array.all()):
        raise ArgumentError("MG-E302", "ZeroDivisionError: integers have no infinity", fix="divide x.float()")
    return x, y, rounding_mode

multiply = mul
subtract = sub
divide = div


def true_divide(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`div` without a rounding mode. Mirrors ``torch.true_divide``.

    Args:
        input, other (Tensor or number): at least one is a tensor. The shapes broadcast, and the dtypes are promoted.

    >>> mg.true_divide(mg.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
    return div(input, other, out=out)



def pow(input: Tensor, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """z = input to the power exponent, elementwise. Mirrors ``torch.pow``.

    Args:
        input, exponent (Tensor or number): at least one is a tensor. The shapes broadcast, and the dtypes are promoted.

    Raises:
        RuntimeError: an integer tensor has a negative int as exponent, or the shapes cannot be broadcast together.
        TypeError: an operand is neither a tensor nor a number.

    >>> mg.pow(mg.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    if out is not None:
        return into(out, pow, input, exponent)
    if not isinstance(input, TensorBase):
        tensor_argument("pow", exponent, "exponent", 2)
        if not isinstance(input, NUMBERS):
            raise tensor_error("pow", input, "input", 1)
        dtype = operands_dtype((input, exponent))
        if not dtype.differentiable:
            return integer_power(number_tensor(input, exponent, dtype), exponent, dtype)
        return call(ScalarPow.op, (exponent.to(dtype), input))
    if isinstance(exponent, TensorBase):
        if not input._meta.dtype.differentiable and not exponent._meta.dtype.differentiable:
            return integer_power(input, exponent, operands_dtype((input, exponent)))
        return two_operands(Pow.op, input, exponent)
    if isinstance(exponent, int) and not input._meta.dtype.differentiable:
        if exponent < 0:
            raise DtypeError("MG-E203", "Integers to negative integer powers are not allowed.",
                             fix="convert first: x.float() ** -1")
        dtype = operands_dtype((input, exponent))
        convert_number(exponent, dtype)
        if exponent != 2 or dtype is not input._meta.dtype:
            return integer_power(input, input.new_tensor(exponent, dtype=None), dtype)
    return two_operands(PowScalar.op, input, exponent)


def integer_power(x, y, dtype):
    """x^y for integers or bools. With y < 0 the result is rounded towards 0, so it is 0 unless x is 1 or -1."""
    if dtype is BOOL:
        return x | ~y
    x, y = x.to(dtype), y.to(dtype)
    return where((y >= 0) | (x * x == 1), two_operands(Pow.op, x, y if y.dtype.name == "uint8" else abs(y)), 0)


def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = input squared, elementwise. Mirrors ``torch.square``.

    >>> mg.square(mg.tensor([1., -3.]))
    tensor([1., 9.])
    """
    if out is not None:
        return into(out, square, input)
    return two_operands(PowScalar.op, tensor_argument("square", input), 2)


def rdiv(x, y):
    """y / x for a number y: the reciprocal of x times y, as in PyTorch. A NumPy array y becomes a tensor on its memory."""
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
