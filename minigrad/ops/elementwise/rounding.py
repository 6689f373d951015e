"""Rounding and the remainders of division. Between jumps they have the slope 0 or 1, which is their derivative.

    x = q y + r     floor_divide = q rounded down, remainder = r, with the sign of y
                    with q rounded towards zero r is fmod, with the sign of x

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/{UnaryOps,BinaryOps}.cpp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad._core.graph.metadata import FLOAT, INTEGER
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import check_dtypes, operands_dtype
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError
from minigrad.ops.base.arguments import NUMBERS, integer, tensor_argument, tensor_error
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.precision import round_to, to_wide
from minigrad.ops.base.rule import Elementwise, op
from minigrad.ops.elementwise.arithmetic import div
from minigrad.ops.elementwise.selection import cast, number_tensor, promote_tensors, zeros_like

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["ceil", "fix", "floor", "floor_divide", "fmod", "frac", "remainder", "round", "trunc"]


class Rounded(Elementwise):
    """Base of the ops whose derivative is 0"""

    params = ("x",)
    refuses_bool = "rounding is not implemented for bool"
    refuses_complex = "rounding is not supported for complex inputs"

    def vjp_x(g):
        return zeros_like(g)


@op("floor")
class Floor(Rounded):
    """z = x rounded down"""

    kernel = "floor"


@op("ceil")
class Ceil(Rounded):
    """z = x rounded up"""

    kernel = "ceil"


@op("trunc")
class Trunc(Rounded):
    """z = x rounded towards zero"""

    kernel = "trunc"


@op("round")
class Round(Rounded):
    """z = x rounded to the nearest integer, halves to the even one"""

    kernel = "round"


@op("round_decimals", "Round1")
class RoundDecimals(Rounded):
    """z = x rounded to a number of decimals"""

    def forward(k, x, decimals):
        scale = 10.0 ** abs(decimals) if abs(decimals) <= 308 else math.inf
        wide = to_wide(k, x)            # rounded to float16, a product may be on the other side of a half
        if decimals < 0:
            return round_to(k, k.mul(k.round(k.div(wide, scale)), scale), x)
        return round_to(k, k.div(k.round(k.mul(wide, scale)), scale), x)


@op("frac")
class Frac(Elementwise):
    """z = x - trunc(x)"""

    kernel = "frac"
    params = ("x",)
    refuses_bool = "frac is not implemented for bool"
    refuses_complex = "frac is not supported for complex inputs"

    def vjp_x(g):
        return g


@op("fmod_scalar", "Fmod0")
class FmodScalar(Elementwise):
    """z = x - y trunc(x / y), for a number y"""

    refuses_complex = "fmod is not supported for complex inputs"

    kernel = "fmod"
    params = ("x", "y")
    inputs = 1

    def vjp_x(g):
        return g


@op("fmod", "Fmod1")
class Fmod(FmodScalar):
    """z = x - y trunc(x / y)"""

    inputs = 2

    def vjp_y(g, x, y):         # dy = -g trunc(x / y)
        return -g * div(x, y, rounding_mode="trunc")


@op("remainder_scalar", "Remainder0")
class RemainderScalar(Elementwise):
    """z = x - y floor(x / y), for a number y"""

    refuses_complex = "remainder is not supported for complex inputs"

    kernel = "remainder"
    params = ("x", "y")
    inputs = 1

    def vjp_x(g):
        return g


@op("remainder", "Remainder1")
class Remainder(RemainderScalar):
    """z = x - y floor(x / y)"""

    inputs = 2

    def vjp_y(g, x, y):         # dy = -g floor(x / y)
        return -g * div(x, y, rounding_mode="floor")


@op("floor_divide", "NotImplemented")
class FloorDivide(Elementwise):
    """z = x / y rounded down"""

    inputs = 2
    no_derivative = "aten::floor_divide"

    def forward(k, x, y):
        return k.floor_divide(x, y)


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def floor(input: Tensor):
    """z = the largest integer that is not above input, elementwise. The derivative is 0. Mirrors ``torch.floor``.

    >>> mg.tensor([-1.5, 1.5]).floor()
    tensor([-2.,  1.])
    """
    return Floor.op, (input,)


@in_place_too
def ceil(input: Tensor):
    """z = the smallest integer that is not below input, elementwise. The derivative is 0. Mirrors ``torch.ceil``.

    >>> mg.tensor([-1.5, 1.5]).ceil()
    tensor([-1.,  2.])
    """
    return Ceil.op, (input,)


@in_place_too
def trunc(input: Tensor):
    """z = input rounded towards zero, elementwise. The derivative is 0. Mirrors ``torch.trunc``.

    >>> mg.tensor([-1.5, 1.5]).trunc()
    tensor([-1.,  1.])
    """
    return Trunc.op, (input,)


@in_place_too
def round(input: Tensor, *, decimals: int = 0):
    """z = input rounded to the nearest integer, halves to the even one. The derivative is 0. Mirrors ``torch.round``.

    Args:
        decimals (int): how many decimals to keep; negative numbers round to tens, hundreds and so on.

    >>> mg.tensor([0.5, 1.5, -1.2]).round()
    tensor([ 0.,  2., -1.])
    """
    if integer(decimals, "decimals", "round") == 0:
        return Round.op, (input,)
    check_dtypes(RoundDecimals, input.dtype, (input,))
    return RoundDecimals.op, (input, decimals)


@in_place_too
def frac(input: Tensor):
    """z = input - trunc(input), elementwise: the fractional part. Mirrors ``torch.frac``.

    >>> mg.tensor([-1.5, 2.25]).frac()
    tensor([-0.5000,  0.2500])
    """
    check_dtypes(Frac, input.dtype, (input,))
    if not input.dtype.differentiable:
        raise AutogradNotImplementedError("MG-E203", f'"frac" not implemented for {input.dtype.name}', fix="x.float()")
    return Frac.op, (input,)


@in_place_too
def fmod(input: Tensor, other: Tensor | Number):
    """The remainder of input / other, elementwise, with the sign of input. Mirrors ``torch.fmod``.

    Args:
        input (Tensor): real numbers.
        other (Tensor or number): real. The shapes broadcast, and the dtypes are promoted.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an integer is divided by 0.

    >>> mg.tensor([-3., 3.]).fmod(2)
    tensor([-1.,  1.])
    """
    return choose_division("fmod", Fmod, FmodScalar, input, other)


@in_place_too
def remainder(input: Tensor | Number, other: Tensor | Number):
    """The remainder of input / other, elementwise, with the sign of other: ``input % other``. Mirrors ``torch.remainder``.

    Args:
        input, other (Tensor or number): real; at least one is a tensor. The shapes broadcast, and the dtypes are promoted.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an integer is divided by 0.

    >>> mg.tensor([-3., 3.]).remainder(2)
    tensor([1., 1.])
    """
    return choose_division("remainder", Remainder, RemainderScalar, first_as_tensor(input, other), other)


@in_place_too
def floor_divide(input: Tensor | Number, other: Tensor | Number):
    """input / other rounded down, elementwise: ``input // other``. Mirrors ``torch.floor_divide``.

    A backward through it raises `NotImplementedError`, as in PyTorch. ``div(..., rounding_mode="floor")`` has the derivative 0.

    Args:
        input, other (Tensor or number): real; at least one is a tensor. The shapes broadcast, and the dtypes are promoted.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an integer is divided by 0.

    >>> mg.tensor([-3., 3.]).floor_divide(2)
    tensor([-2.,  1.])
    """
    x, y = promote_operands("floor_divide", first_as_tensor(input, other), other)
    if x.dtype.is_complex or x.dtype.name == "bool":
        raise DtypeError("MG-E203", f"floor_divide is not implemented for {x.dtype.name}")
    return FloorDivide.op, (x, y)


fix = trunc


def first_as_tensor(x, y):
    """Return `x`; if it is a number and `y` a tensor, a tensor of it in their promoted dtype."""
    return cast(number_tensor(x, y), operands_dtype((x, y))) if isinstance(x, NUMBERS) and isinstance(y, TensorBase) else x


def choose_division(function, rule, scalar_rule, input, other):
    """Return the op for `other`, a tensor or a number, and its arguments."""
    if not isinstance(other, TensorBase):
        if type(other) is int and 0 < other < 128 and isinstance(input, TensorBase) and input.dtype.category in (INTEGER, FLOAT):
            return scalar_rule.op, (input, other)       # the usual case: a number that every such dtype can represent
        x, y = promote_operands(function, input, other)
        return scalar_rule.op, (input, other) if x.dtype is input.dtype and x.dtype.differentiable else (x, y.item())
    promote_operands(function, input, other)
    return rule.op, (input, other)


def promote_operands(function, input, other):
    """Return both operands as tensors of one dtype; raise if integers are divided by 0."""
    tensor_argument(function, input)
    if not isinstance(other, (TensorBase, *NUMBERS)):
        raise tensor_error(function, other, "other", 2)
    x, y = promote_tensors(function, input, input, other)
    if not x.dtype.differentiable and not bool(y._array.all()):
        raise ArgumentError("MG-E302", f"ZeroDivisionError in {function}(): integers have no infinity", fix="divide x.float()")
    return x, y


def make_operator(function, reverse=False):
    """Make the method of an operator: ``x // y``, or ``y // x`` with `reverse`."""
    def run(x: Tensor, y: Tensor | Number) -> Tensor:
        if not isinstance(y, (TensorBase, *NUMBERS)):
            return NotImplemented
        return function(y, x) if reverse else function(x, y)
    return run

floordiv, rfloordiv = make_operator(floor_divide), make_operator(floor_divide, reverse=True)
mod, rmod = make_operator(remainder), make_operator(remainder, reverse=True)
