"""Elementwise comparison and logic. These ops have no derivative.

Mirrors ``aten/src/ATen/native/BinaryOps.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase, is_plain
from cython.cimports.minigrad._core.record.apply import binary, call

from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import AutogradNotImplementedError, TensorTypeError
from minigrad.ops.base.arguments import NUMBERS, tensor_argument, tensor_error
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.inplace_pairs import run
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import BOOL, Elementwise, named, op, two_operands

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "eq", "ge", "greater", "greater_equal", "gt", "le", "less",
           "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "ne", "not_equal"]


class Comparison(Elementwise):
    """Base of the comparisons."""

    params = ("x", "y")
    inputs = 2
    result = BOOL
    differentiable = False


@op("eq")
class Eq(Comparison):
    """z = whether x = y, elementwise

    Args:
        input (Tensor): x.
        other (Tensor or number): y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.eq``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.

    >>> mg.eq(mg.tensor([1, 2, 3]), 2)
    tensor([False,  True, False])
    """

    kernel = "eq"


@op("ne")
class Ne(Comparison):
    """z = whether x differs from y, elementwise

    Args:
        input (Tensor): x.
        other (Tensor or number): y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.ne``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.

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

    Args:
        input (Tensor): x.
        other (Tensor or number): y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.lt``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an operand is complex.

    >>> mg.lt(mg.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """

    kernel = "lt"


@op("le")
class Le(Ordering):
    """z = whether x <= y, elementwise

    Args:
        input (Tensor): x.
        other (Tensor or number): y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.le``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an operand is complex.

    >>> mg.le(mg.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """

    kernel = "le"


@op("gt")
class Gt(Ordering):
    """z = whether x > y, elementwise

    Args:
        input (Tensor): x.
        other (Tensor or number): y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.gt``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an operand is complex.

    >>> mg.gt(mg.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """

    kernel = "gt"


@op("ge")
class Ge(Ordering):
    """z = whether x >= y, elementwise

    Args:
        input (Tensor): x.
        other (Tensor or number): y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.ge``.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or an operand is complex.

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


class Truth(Elementwise):
    """Base of logical and, or, xor: a number is true if it differs from 0."""

    differentiable = False
    inputs = 2


@op("logical_and")
class LogicalAnd(Truth):
    """z = whether neither x nor y is 0"""

    def forward(k, x, y):
        return k.logical_and(k.ne(x, 0), k.ne(y, 0))


@op("logical_or")
class LogicalOr(Truth):
    """z = whether x or y differs from 0"""

    def forward(k, x, y):
        return k.logical_or(k.ne(x, 0), k.ne(y, 0))


@op("logical_xor")
class LogicalXor(Truth):
    """z = whether exactly one of x and y differs from 0"""

    def forward(k, x, y):
        return k.logical_xor(k.ne(x, 0), k.ne(y, 0))


@op("bitwise_not")
class Invert(Elementwise):
    """z = not x"""

    kernel = "invert"
    params = ("x",)
    inputs = 1
    differentiable = False

# ---- public functions -------------------------------------------------------------------------------------


def make_comparison(rule):
    """Make the public function of a comparison between a tensor and a tensor or number."""
    name = rule.op.name

    def function(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return into(out, function, input, other)
        return two_operands(rule.op, tensor_argument(name, input), other)
    return named(function, name, rule.__doc__)

eq = make_comparison(Eq)
ne = not_equal = make_comparison(Ne)
lt = less = make_comparison(Lt)
le = less_equal = make_comparison(Le)
gt = greater = make_comparison(Gt)
ge = greater_equal = make_comparison(Ge)


def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether `input` is 0, elementwise. Mirrors ``torch.logical_not``.

    >>> mg.logical_not(mg.tensor([0., 2.]))
    tensor([ True, False])
    """
    if out is not None:
        return into(out, logical_not, input)
    x = tensor_argument("logical_not", input)
    return ~x if x.dtype.name == "bool" else eq(x, 0)


def make_truth_function(rule):
    """Make the public function of `rule`, which takes two tensors."""
    name = rule.op.name

    def function(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return into(out, function, input, other)
        return explain_misfit(run, rule.op, (tensor_argument(name, input), tensor_argument(name, other, "other", 2)))
    return named(function, name, f"""{rule.__doc__}, elementwise. Mirrors ``torch.{name}``.

    Args:
        input, other (Tensor): x and y, of any dtypes. The shapes broadcast.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.

    >>> mg.tensor([0., 2., 2.]).{name}(mg.tensor([0., 0., 1.])).tolist()
    {dict(logical_and=[False, False, True], logical_or=[False, True, True], logical_xor=[False, True, False])[name]}
    """)

logical_and = make_truth_function(LogicalAnd)
logical_or = make_truth_function(LogicalOr)
logical_xor = make_truth_function(LogicalXor)


def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """input & other, elementwise: bit by bit for integers, "and" for bools. Mirrors ``torch.bitwise_and``.

    Args:
        input, other (Tensor or number): integers or bools; at least one is a tensor. The shapes broadcast, and the dtypes are
            promoted.

    Raises:
        NotImplementedError: an operand is floating point or complex.
        RuntimeError: the shapes cannot be broadcast together.

    >>> mg.bitwise_and(mg.tensor([6, 3]), 5)
    tensor([4, 1])
    """
    if out is not None:
        return into(out, bitwise_and, input, other)
    return run_bitwise("and", input, other)


def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """input | other, elementwise: bit by bit for integers, "or" for bools. Mirrors ``torch.bitwise_or``.

    Args:
        input, other (Tensor or number): integers or bools; at least one is a tensor. The shapes broadcast, and the dtypes are
            promoted.

    Raises:
        NotImplementedError: an operand is floating point or complex.
        RuntimeError: the shapes cannot be broadcast together.

    >>> mg.bitwise_or(mg.tensor([6, 3]), 5)
    tensor([7, 7])
    """
    if out is not None:
        return into(out, bitwise_or, input, other)
    return run_bitwise("or", input, other)


def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """input ^ other, elementwise: bit by bit for integers, "exclusive or" for bools. Mirrors ``torch.bitwise_xor``.

    Args:
        input, other (Tensor or number): integers or bools; at least one is a tensor. The shapes broadcast, and the dtypes are
            promoted.

    Raises:
        NotImplementedError: an operand is floating point or complex.
        RuntimeError: the shapes cannot be broadcast together.

    >>> mg.bitwise_xor(mg.tensor([6, 3]), 5)
    tensor([3, 6])
    """
    if out is not None:
        return into(out, bitwise_xor, input, other)
    return run_bitwise("xor", input, other)


def run_bitwise(how, x, y):
    """``bitwise_and(x, y)``; or ``bitwise_or``, ``bitwise_xor``, as `how` says."""
    if isinstance(x, NUMBERS) and isinstance(y, TensorBase):
        x, y = y, x         # it makes no difference which is first
    result = logical(tensor_argument(f"bitwise_{how}", x), y, how)
    if result is NotImplemented:
        raise tensor_error(f"bitwise_{how}", y, "other", 2)
    return result


def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """~input, elementwise: bit by bit for integers, "not" for bools. Mirrors ``torch.bitwise_not``.

    Raises:
        NotImplementedError: `input` is floating point or complex.

    >>> mg.bitwise_not(mg.tensor([0, 5]))
    tensor([-1, -6])
    """
    if out is not None:
        return into(out, bitwise_not, input)
    check_bits((tensor_argument("bitwise_not", input),), "not")
    return ~input


COMPARISONS = {"eq": Eq.op, "ne": Ne.op, "lt": Lt.op, "le": Le.op, "gt": Gt.op, "ge": Ge.op}
LOGIC = {"and": And.op, "or": Or.op, "xor": Xor.op}


def compare(x, y, how):
    """x == y, or the comparison `how`. Return NotImplemented for other operands: == then compares identity.

    For == and !=, a NumPy array counts as a tensor. An array on the left leaves them to us: see `Tensor.__array_priority__`.
    """
    if how in ("eq", "ne") and isinstance(y, np.ndarray):
        y = x._of_array(y)
    return binary(COMPARISONS[how], x, y)


def logical(x, y, how):
    """x & y, x | y or x ^ y, as `how` says."""
    if is_plain(x) and is_plain(y) and x._meta is y._meta and not x._meta.dtype.differentiable:
        return call(LOGIC[how], (x, y))     # needs no type promotion
    for operand in (x, y):
        if not isinstance(operand, (TensorBase, *NUMBERS)):
            return NotImplemented
    check_bits((x, y), how)
    return binary(LOGIC[how], x, y)


def check_bits(operands, how):
    """Raise unless the operands are integers or bools."""
    dtype = operands_dtype(operands)
    if dtype.differentiable:
        raise AutogradNotImplementedError("MG-E203", f'"bitwise_{how}" not implemented for {dtype.name}',
                                          fix="convert to integers or bools first: x.long(), x > 0")


def invert(x):
    """~x"""
    if x.dtype.differentiable:
        raise TensorTypeError("MG-E203", "~ (operator.invert) is only implemented on integer and Boolean-type tensors, not "
                              f"{x.dtype.name}")
    return call(Invert.op, (x,))
