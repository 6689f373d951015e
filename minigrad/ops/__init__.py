"""The rules: one class per op. See README.md.

Importing this package registers every op and supplies the core with what it was promised: the rules behind
the operators (`use_rules`) and the few functions of tensors that the engine needs (`given`).
"""

from types import SimpleNamespace

from minigrad._core.apply import binary
from minigrad._core.given import given
from minigrad._core.variable import use_rules
from minigrad.ops import (
    arithmetic,
    comparison,
    convolution,
    copies,
    extrema,
    functions,
    indexing,
    inplace,
    joining,
    losses,
    matrix,
    reduction,
    selection,
    softmax as softmaxes,
    views,
)
from minigrad.ops.base import REGISTRY
from minigrad.ops.convolution import conv2d
from minigrad.ops.arithmetic import *
from minigrad.ops.comparison import *
from minigrad.ops.copies import *
from minigrad.ops.extrema import *
from minigrad.ops.functions import *
from minigrad.ops.indexing import *
from minigrad.ops.joining import *
from minigrad.ops.matrix import *
from minigrad.ops.reduction import *
from minigrad.ops.selection import *
from minigrad.ops.views import *
from minigrad.ops.softmax import log_softmax, softmax

# Functions that are spelled ``mg.f(x, ...)``.
__all__ = [*arithmetic.__all__, *comparison.__all__, *copies.__all__, *extrema.__all__, *functions.__all__, *indexing.__all__,
           *joining.__all__, *matrix.__all__, *reduction.__all__, *selection.__all__, *views.__all__,
           "conv2d", "log_softmax", "softmax"]

# Those among them that are methods too: the ones whose first argument is called `input` (or `tensor`).
METHODS = {name: globals()[name] for name in __all__
           if globals()[name].__code__.co_varnames[:1] in (("input",), ("tensor",)) and name not in ("conv2d", "linear", "rsub")}
METHODS |= inplace.METHODS


def where_method(self, condition, other):
    """This tensor where `condition`, else `other`. See `minigrad.where`; mirrors ``torch.Tensor.where``.

    >>> mg.tensor([1., 2.]).where(mg.tensor([True, False]), 0.)
    tensor([1., 0.])
    """
    return selection.where(condition, self, other)


METHODS["where"] = where_method

given.clone = copies.clone
given.cast = copies.cast
given.real = selection.real_part

use_rules(
    arithmetic.Add.op, arithmetic.Sub.op, arithmetic.Mul.op, arithmetic.Div.op, arithmetic.Neg.op,
    SimpleNamespace(
        abs=selection.abs,
        compare=comparison.compare,
        getitem=indexing.getitem,
        invert=comparison.invert,
        logical=comparison.logical,
        matmul_operator=matrix.matmul_operator,
        pow_operator=arithmetic.pow_operator,
        rdiv=arithmetic.rdiv,
        rpow=arithmetic.rpow,
        setitem=inplace.setitem,
        rsub=lambda x, y: binary(arithmetic.Rsub.op, x, y),
    ))
