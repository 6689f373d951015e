"""Shifts, common divisors, and x · 2ⁿ. They are composed of other ops.

Mirrors ``aten/src/ATen/native/BinaryOps.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.metadata import INTEGER
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import AutogradNotImplementedError
from minigrad.ops.base.arguments import tensor_argument, tensor_error
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import named
from minigrad.ops.elementwise.arithmetic import mul, pow
from minigrad.ops.elementwise.rounding import floor_divide, remainder
from minigrad.ops.elementwise.selection import abs, promote_tensors, where
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportArgumentType=false

__all__ = ["bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "ldexp"]


def integers_only(name, x, y):
    """Raise unless both operands are integers, and one of them is a tensor."""
    if not isinstance(x, TensorBase) and not isinstance(y, TensorBase):
        raise tensor_error(name, x, "input", 1)
    for operand, label, position in ((x, "input", 1), (y, "other", 2)):
        if not isinstance(operand, (TensorBase, int)):
            raise tensor_error(name, operand, label, position)
    dtype = operands_dtype((x, y))
    if dtype.differentiable or dtype.name == "bool":
        raise AutogradNotImplementedError("MG-E203", f'"{name}" not implemented for {dtype.name}', fix="x.long()")
    return dtype


def is_usual(x, places):
    """Whether `x` is a tensor of integers, and `places` a number that leaves some of their bits, also of int8."""
    return type(places) is int and 0 <= places < 7 and isinstance(x, TensorBase) and x.dtype.category == INTEGER


def prepare_shift(name, input, other, right):
    """Return the integers x, the powers of two for their shift by `other`, and where x loses all its bits: a tensor or a bool."""
    dtype = integers_only(name, input, other)
    x, places = promote_tensors(name, input if isinstance(input, TensorBase) else other, input, other)
    bits = 8 * dtype.itemsize - (right and dtype.name != "uint8")       # a right shift keeps the sign, a bit of all dtypes but one
    lost = (places < 0) | (places >= bits)
    if not isinstance(other, TensorBase):
        lost = bool(lost.item())
        return x, 0 if lost else 2 ** places.item(), lost
    return x, pow(2, where(lost, 0, places)), lost


def bitwise_left_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits of each integer, moved `other` places to the left: input · 2^other. Mirrors ``torch.bitwise_left_shift``.

    Args:
        input (Tensor): integers.
        other (Tensor or int): how many places; the shapes broadcast. A negative number of places, or one as large as the number of
            bits, gives 0.

    Raises:
        NotImplementedError: an operand is not an integer.

    >>> mg.bitwise_left_shift(mg.tensor([1, -1]), mg.tensor([2, 3]))
    tensor([ 4, -8])
    """
    if out is not None:
        return into(out, bitwise_left_shift, input, other)
    if is_usual(input, other):
        return mul(input, 1 << other)
    x, power, lost = prepare_shift("bitwise_left_shift", input, other, right=False)
    return mul(x, where(lost, 0, power) if isinstance(lost, TensorBase) else power)


def bitwise_right_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits of each integer, moved `other` places to the right: ⌊input / 2^other⌋. Mirrors ``torch.bitwise_right_shift``.

    Args:
        input (Tensor): integers.
        other (Tensor or int): how many places; the shapes broadcast. A negative number of places, or one as large as the number of
            bits, gives 0, or -1 for a negative integer.

    Raises:
        NotImplementedError: an operand is not an integer.

    >>> mg.bitwise_right_shift(mg.tensor([8, -5]), 1)
    tensor([ 4, -3])
    """
    if out is not None:
        return into(out, bitwise_right_shift, input, other)
    if is_usual(input, other):
        return floor_divide(input, 1 << other)
    x, power, lost = prepare_shift("bitwise_right_shift", input, other, right=True)
    if isinstance(lost, TensorBase):
        return where(lost, -(x < 0).to(x.dtype), floor_divide(x, power))
    return -(x < 0).to(x.dtype) if lost else floor_divide(x, power)


def rlshift(self, other: Number) -> Tensor:
    """other << self. Mirrors ``torch.Tensor.__rlshift__``.

    >>> 3 << mg.tensor([0, 2])
    tensor([ 3, 12])
    """
    return bitwise_left_shift(other, self)


def rrshift(self, other: Number) -> Tensor:
    """other >> self. Mirrors ``torch.Tensor.__rrshift__``.

    >>> 12 >> mg.tensor([0, 2])
    tensor([12,  3])
    """
    return bitwise_right_shift(other, self)


def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of each pair of integers, by Euclid's algorithm. Mirrors ``torch.gcd``.

    Raises:
        NotImplementedError: an operand is not an integer.

    >>> mg.gcd(mg.tensor([12, -6, 0]), mg.tensor([8, 4, 5]))
    tensor([4, 2, 5])
    """
    if out is not None:
        return into(out, gcd, input, other)
    dtype = integers_only("gcd", input, other)
    x, y = abs(input + other * 0), abs(other + input * 0)
    while bool((more := y != 0).any()):
        x, y = where(more, y, x), remainder(x, where(more, y, 1))       # where y is 0, x stays, and so does the 0
    return x.to(dtype)


def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of each pair of integers; 0 if one of them is 0. Mirrors ``torch.lcm``.

    Raises:
        NotImplementedError: an operand is not an integer.

    >>> mg.lcm(mg.tensor([4, 6, 0]), mg.tensor([6, -4, 5]))
    tensor([12, 12,  0])
    """
    if out is not None:
        return into(out, lcm, input, other)
    integers_only("lcm", input, other)
    divisor = gcd(input, other)
    return abs(floor_divide(input, where(divisor == 0, 1, divisor)) * other)


def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input · 2^other. Mirrors ``torch.ldexp``.

    >>> mg.ldexp(mg.tensor([1., 3.]), mg.tensor([2, -1]))
    tensor([4.0000, 1.5000])
    """
    if out is not None:
        return into(out, ldexp, input, other)
    return mul(input, power_of_two(input, other))


def power_of_two(x, other):
    """2^other, for a tensor, in the dtype in which the product with `x` is computed."""
    tensor_argument("ldexp", other, "other", 2)
    if tensor_argument("ldexp", x).dtype.is_floating_point and not other.dtype.differentiable:
        other = cast(other, x.dtype)
    return pow(2.0, other)


def ldexp_(self, other: Tensor) -> Tensor:
    """In place: `minigrad.ldexp`. Mirrors ``torch.Tensor.ldexp_``.

    >>> mg.tensor([1., 3.]).ldexp_(mg.tensor([2, -1]))
    tensor([4.0000, 1.5000])
    """
    return self.mul_(power_of_two(self, other))


def make_in_place(function, example):
    """Make the in-place method of `function`."""
    name = function.__name__

    def method(self, other: Tensor | Number) -> Tensor:
        return self.copy_(function(self, other))
    return named(method, name + "_", f"""In place: `minigrad.{name}`. Mirrors ``torch.Tensor.{name}_``.

    >>> mg.tensor([12, 5]).{name}_(mg.tensor([2, 3]))
    {example}
    """)


METHODS = {"ldexp_": ldexp_, "bitwise_left_shift_": make_in_place(bitwise_left_shift, "tensor([48, 40])"),
           "bitwise_right_shift_": make_in_place(bitwise_right_shift, "tensor([3, 0])"),
           "gcd_": make_in_place(gcd, "tensor([2, 1])"), "lcm_": make_in_place(lcm, "tensor([12, 15])")}
