"""The rules: one class per op. See README.md.

Importing this package registers every op and supplies the core with what it was promised: the rules behind
the operators (`use_rules`) and the few functions of tensors that the engine needs (`given`).
"""

from types import SimpleNamespace

from minigrad._core.apply import binary
from minigrad._core.given import given
from minigrad._core.variable import use_rules
from minigrad.ops import elementwise, indexing, inplace, matrix, nn, reduction, views
from minigrad.ops.base import REGISTRY
from minigrad.ops.elementwise import *
from minigrad.ops.indexing import *
from minigrad.ops.matrix import *
from minigrad.ops.nn import conv2d, log_softmax, softmax
from minigrad.ops.reduction import *
from minigrad.ops.views import *

# Functions that are spelled ``mg.f(x, ...)``.
__all__ = [*elementwise.__all__, *indexing.__all__, *matrix.__all__, *reduction.__all__, *views.__all__,
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
    return elementwise.where(condition, self, other)


METHODS["where"] = where_method

given.clone = views.clone
given.cast = views.cast
given.real = elementwise.real_part

use_rules(
    elementwise.Add.op, elementwise.Sub.op, elementwise.Mul.op, elementwise.Div.op, elementwise.Neg.op,
    SimpleNamespace(
        abs=elementwise.abs,
        compare=elementwise.compare,
        getitem=indexing.getitem,
        invert=elementwise.invert,
        logical=elementwise.logical,
        matmul_operator=matrix.matmul_operator,
        pow_operator=elementwise.pow_operator,
        rdiv=elementwise.rdiv,
        rpow=elementwise.rpow,
        setitem=inplace.setitem,
        rsub=lambda x, y: binary(elementwise.Rsub.op, x, y),
    ))
