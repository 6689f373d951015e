# cython: c_api_binop_methods=True
"""The operators of a tensor: ``+ - * / ** @``, comparison, ``x[i]``.

The operators are slots of this compiled class, so ``x * b`` reaches its rule without a look-up by name. `use_rules` supplies
the rules to this file.

Note [Operators in C]
    A slot such as ``nb_multiply`` is one C function for both ``x * 2`` and ``2 * x``. It gets the operands in the order
    of the source, and either may be the tensor. Compiled, the methods below *are* these slots (``c_api_binop_methods``),
    so their ``self`` may be a number. Interpreted, Python needs a second method for the reversed order. These methods are
    added below the class.

    But a Python subclass would look up ``__mul__`` by name at every operation, because Cython lists the operators as
    methods too. That costs 25 ns, a sixth of a small op. So `use_operators` copies the slots into the subclass. If a
    further subclass overrides an operator, Python dispatches that operator itself.

Mirrors ``torch/csrc/autograd/python_variable.cpp`` and ``python_variable_indexing.cpp``. Read next: ``variable.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.capi import inherit_dealloc, inherit_number_slots
from cython.cimports.minigrad._core.record.apply import binary, unary

from minigrad._core.graph.tensor import TensorBase


@cython.binding(False)
@cython.cclass
class Rules:
    """The rules behind the operators: five frequent ops as primitives, indexing, and `functions` with all others by name."""

    def __init__(self):
        self.add = self.sub = self.mul = self.div = self.neg = None
        self.getitem = self.setitem = self.functions = None


rules = cython.declare(Rules, Rules())


def use_rules(add, sub, mul, div, neg, functions):
    """Supply the rules of the operators. `functions` has the other functions as attributes, such as ``abs``."""
    rules.add, rules.sub, rules.mul, rules.div, rules.neg = add, sub, mul, div, neg
    rules.getitem, rules.setitem, rules.functions = functions.getitem, functions.setitem, functions


@cython.binding(False)
@cython.cclass
class Operators(TensorBase):
    """The operators of a tensor, such as ``x * y`` and ``x[i]``: each calls a rule."""

    # ---- arithmetic: see Note [Operators in C] ------------------------------------------------------------

    def __add__(self, other):
        return binary(rules.add, self, other)

    def __sub__(self, other):
        if not isinstance(self, TensorBase):
            return rules.functions.rsub(other, self)
        return binary(rules.sub, self, other)

    def __mul__(self, other):
        return binary(rules.mul, self, other)

    def __truediv__(self, other):
        if not isinstance(self, TensorBase):
            return rules.functions.rdiv(other, self)
        return binary(rules.div, self, other)

    def __pow__(self, other, modulo):
        if not isinstance(self, TensorBase):
            return rules.functions.rpow(other, self)
        return rules.functions.pow_operator(self, other)

    def __matmul__(self, other):
        return rules.functions.matmul_operator(self, other)

    def __and__(self, other):
        return rules.functions.logical(self, other, "and")

    def __or__(self, other):
        return rules.functions.logical(self, other, "or")

    def __xor__(self, other):
        return rules.functions.logical(self, other, "xor")

    def __neg__(self):
        return unary(rules.neg, self)

    def __pos__(self):
        return self

    def __abs__(self):
        return rules.functions.abs(self)

    def __invert__(self):
        return rules.functions.invert(self)

    # ---- comparison: elementwise, as in PyTorch, so the hash is the identity -------------------------------

    def __eq__(self, other):
        return rules.functions.compare(self, other, "eq")

    def __ne__(self, other):
        return rules.functions.compare(self, other, "ne")

    def __lt__(self, other):
        return rules.functions.compare(self, other, "lt")

    def __le__(self, other):
        return rules.functions.compare(self, other, "le")

    def __gt__(self, other):
        return rules.functions.compare(self, other, "gt")

    def __ge__(self, other):
        return rules.functions.compare(self, other, "ge")

    def __hash__(self):
        return id(self)

    # ---- indexing ---------------------------------------------------------------------------------------

    def __getitem__(self, index):
        return rules.getitem(self, index)

    def __setitem__(self, index, value):
        rules.setitem(self, index, value)


if not cython.compiled:
    Operators.__pow__ = lambda self, other: rules.functions.pow_operator(self, other)
    Operators.__radd__ = lambda self, other: binary(rules.add, other, self)
    Operators.__rsub__ = lambda self, other: rules.functions.rsub(self, other)
    Operators.__rmul__ = lambda self, other: binary(rules.mul, other, self)
    Operators.__rtruediv__ = lambda self, other: rules.functions.rdiv(self, other)
    Operators.__rpow__ = lambda self, other: rules.functions.rpow(self, other)
    Operators.__rmatmul__ = lambda self, other: rules.functions.matmul_operator(other, self)
    Operators.__rand__ = lambda self, other: rules.functions.logical(other, self, "and")
    Operators.__ror__ = lambda self, other: rules.functions.logical(other, self, "or")
    Operators.__rxor__ = lambda self, other: rules.functions.logical(other, self, "xor")


inherit_dealloc(Operators, TensorBase)


def use_operators(cls):
    """Copy the operators of this file into the slots of `cls`, a subclass of `Operators`."""
    if not isinstance(cls, type) or not issubclass(cls, Operators):
        raise TypeError(f"{cls!r} is not a class of tensors")
    inherit_number_slots(cls, Operators)
