"""Comparison and logic, elementwise. They have no derivative.

Mirrors ``aten/src/ATen/native/BinaryOps.cpp``.
"""

import cython

from minigrad._core.promotion import operands_dtype
from minigrad._core.tensor import TensorBase
from minigrad.ops.base import BOOL, NUMBERS, Elementwise, named, op, tensor_argument, two_operands

if not cython.compiled:
    from minigrad._core.apply import binary, unary

__all__ = ["eq", "ge", "greater", "gt", "le", "less", "logical_not", "lt", "ne"]


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

# ---- public functions -------------------------------------------------------------------------------------


def comparison(rule):
    """The public function of a comparison, of a tensor with a tensor or number."""
    name = rule.op.name

    def function(input, other):
        return two_operands(rule.op, tensor_argument(name, input), other)
    return named(function, name, rule.__doc__)

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
