"""Comparison and logic, elementwise. They have no derivative.

Mirrors ``aten/src/ATen/native/BinaryOps.cpp``.
"""

from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import binary, unary

from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import AutogradNotImplementedError, TensorTypeError
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.inplace_pairs import run
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import BOOL, NUMBERS, Elementwise, named, op, tensor_argument, tensor_error, two_operands

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


class Truth(Elementwise):
    """Base of and, or, xor of the truth of numbers: whether they differ from 0."""

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
    """z = whether one of x and y differs from 0"""

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


def comparison(rule):
    """The public function of a comparison, of a tensor with a tensor or number."""
    name = rule.op.name

    def function(input, other, *, out=None):
        if out is not None:
            return into(out, function, input, other)
        return two_operands(rule.op, tensor_argument(name, input), other)
    return named(function, name, rule.__doc__)

eq = comparison(Eq)
ne = not_equal = comparison(Ne)
lt = less = comparison(Lt)
le = less_equal = comparison(Le)
gt = greater = comparison(Gt)
ge = greater_equal = comparison(Ge)


def logical_not(input, *, out=None):
    """Whether input is zero, elementwise. Mirrors ``torch.logical_not``.

    >>> mg.logical_not(mg.tensor([0., 2.]))
    tensor([ True, False])
    """
    if out is not None:
        return into(out, logical_not, input)
    return eq(tensor_argument("logical_not", input), 0)


def truth_of_two(rule):
    """The public function of `rule`, on two tensors."""
    name = rule.op.name

    def function(input, other, *, out=None):
        if out is not None:
            return into(out, function, input, other)
        return explain_misfit(run, rule.op, (tensor_argument(name, input), tensor_argument(name, other, "other", 2)))
    return named(function, name, f"""{rule.__doc__}, elementwise. Mirrors ``torch.{name}``.

    >>> mg.tensor([0., 2., 2.]).{name}(mg.tensor([0., 0., 1.])).tolist()
    {dict(logical_and=[False, False, True], logical_or=[False, True, True], logical_xor=[False, True, False])[name]}
    """)

logical_and = truth_of_two(LogicalAnd)
logical_or = truth_of_two(LogicalOr)
logical_xor = truth_of_two(LogicalXor)


def bitwise_and(input, other, *, out=None):
    """input & other, elementwise: of integers bit by bit, of bools "and". Mirrors ``torch.bitwise_and``.

    Raises:
        NotImplementedError: floating point numbers, which have no bits here.

    >>> mg.bitwise_and(mg.tensor([6, 3]), 5)
    tensor([4, 1])
    """
    if out is not None:
        return into(out, bitwise_and, input, other)
    return bitwise("and", input, other)


def bitwise_or(input, other, *, out=None):
    """input | other, elementwise: of integers bit by bit, of bools "or". Mirrors ``torch.bitwise_or``.

    Raises:
        NotImplementedError: floating point numbers, which have no bits here.

    >>> mg.bitwise_or(mg.tensor([6, 3]), 5)
    tensor([7, 7])
    """
    if out is not None:
        return into(out, bitwise_or, input, other)
    return bitwise("or", input, other)


def bitwise_xor(input, other, *, out=None):
    """input ^ other, elementwise: of integers bit by bit, of bools "exclusive or". Mirrors ``torch.bitwise_xor``.

    Raises:
        NotImplementedError: floating point numbers, which have no bits here.

    >>> mg.bitwise_xor(mg.tensor([6, 3]), 5)
    tensor([3, 6])
    """
    if out is not None:
        return into(out, bitwise_xor, input, other)
    return bitwise("xor", input, other)


def bitwise(how, x, y):
    """``bitwise_and(x, y)`` and its like."""
    result = logical(tensor_argument(f"bitwise_{how}", x), y, how)
    if result is NotImplemented:
        raise tensor_error(f"bitwise_{how}", y, "other", 2)
    return result


def bitwise_not(input, *, out=None):
    """~input, elementwise: of integers bit by bit, of bools "not". Mirrors ``torch.bitwise_not``.

    Raises:
        NotImplementedError: floating point numbers, which have no bits here.

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
    """x == y and its like. With what is no tensor or number, == falls back to identity."""
    return binary(COMPARISONS[how], x, y)


def logical(x, y, how):
    """x & y and its like."""
    for operand in (x, y):
        if not isinstance(operand, (TensorBase, *NUMBERS)):
            return NotImplemented
    check_bits((x, y), how)
    return binary(LOGIC[how], x, y)


def check_bits(operands, how):
    """Raise if the operands are no integers or bools."""
    dtype = operands_dtype(operands)
    if dtype.differentiable:
        raise AutogradNotImplementedError("MG-E203", f'"bitwise_{how}" not implemented for {dtype.name}',
                                          fix="convert to integers or bools first: x.long(), x > 0")


def invert(x):
    """~x"""
    if x.dtype.differentiable:
        raise TensorTypeError("MG-E203", "~ (operator.invert) is only implemented on integer and Boolean-type tensors, not "
                              f"{x.dtype.name}")
    return unary(Invert.op, x)
