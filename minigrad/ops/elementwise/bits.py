"""Shifts, common divisors, and x · 2ⁿ. They are composed of other ops.

Mirrors ``aten/src/ATen/native/BinaryOps.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import ArgumentError, AutogradNotImplementedError
from minigrad.ops.base.arguments import in_words, tensor_argument, tensor_error
from minigrad.ops.base.out import into
from minigrad.ops.elementwise.arithmetic import mul, pow
from minigrad.ops.elementwise.rounding import floor_divide, remainder
from minigrad.ops.elementwise.selection import abs, where
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


def power_of_two(other, name):
    """2^other, for a tensor or an integer from 0 to 63."""
    if isinstance(other, TensorBase):
        return pow(2, other)
    if not 0 <= other < 64:
        raise ArgumentError("MG-E302", f"{name}(): integers have 64 bits", found=f"a shift by {in_words(other)[:20]}",
                            expected="0 to 63")
    return 2 ** other


def bitwise_left_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits of each integer, moved `other` places to the left: input · 2^other. Mirrors ``torch.bitwise_left_shift``.

    Args:
        input (Tensor): integers.
        other (Tensor or int): not negative; the shapes broadcast.

    Raises:
        NotImplementedError: an operand is not an integer.

    >>> mg.bitwise_left_shift(mg.tensor([1, -1]), mg.tensor([2, 3]))
    tensor([ 4, -8])
    """
    if out is not None:
        return into(out, bitwise_left_shift, input, other)
    dtype = integers_only("bitwise_left_shift", input, other)
    return mul(input, power_of_two(other, "bitwise_left_shift")).to(dtype)


def bitwise_right_shift(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits of each integer, moved `other` places to the right: ⌊input / 2^other⌋. Mirrors ``torch.bitwise_right_shift``.

    Args:
        input (Tensor): integers.
        other (Tensor or int): not negative; the shapes broadcast.

    Raises:
        NotImplementedError: an operand is not an integer.

    >>> mg.bitwise_right_shift(mg.tensor([8, -5]), 1)
    tensor([ 4, -3])
    """
    if out is not None:
        return into(out, bitwise_right_shift, input, other)
    dtype = integers_only("bitwise_right_shift", input, other)
    return floor_divide(input, power_of_two(other, "bitwise_right_shift")).to(dtype)


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
    tensor_argument("ldexp", other, "other", 2)
    if tensor_argument("ldexp", input).dtype.is_floating_point and not other.dtype.differentiable:
        other = cast(other, input.dtype)
    return mul(input, pow(2.0, other))
