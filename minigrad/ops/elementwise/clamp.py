"""One-sided limits, and numbers in place of nan and inf.

Mirrors ``aten/src/ATen/native/{TensorCompare,UnaryOps}.cpp``.
"""

from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.rule import NUMBERS, Elementwise, op, real, tensor_error
from minigrad.ops.elementwise.selection import promote_tensors, where

__all__ = ["clamp_max", "clamp_min", "nan_to_num"]


@op("clamp_min_scalar", "ClampMin0")
class ClampMinScalar(Elementwise):
    """z = x, at least y, a number"""

    inputs = 1
    torch_names = {"x": "self", "y": "min"}

    def forward(k, x, y):
        return k.clamp(x, y, None)

    def vjp_x(g, x, y):
        return where(x >= y, g, 0.0)


@op("clamp_min", "ClampMin1")
class ClampMin(ClampMinScalar):
    """z = x, at least y"""

    inputs = 2

    def vjp_y(g, x, y):
        return where(x < y, g, 0.0)


@op("clamp_max_scalar", "ClampMax0")
class ClampMaxScalar(Elementwise):
    """z = x, at most y, a number"""

    inputs = 1
    torch_names = {"x": "self", "y": "max"}

    def forward(k, x, y):
        return k.clamp(x, None, y)

    def vjp_x(g, x, y):
        return where(x <= y, g, 0.0)


@op("clamp_max", "ClampMax1")
class ClampMax(ClampMaxScalar):
    """z = x, at most y"""

    inputs = 2

    def vjp_y(g, x, y):
        return where(x > y, g, 0.0)


@op("nan_to_num")
class NanToNum(Elementwise):
    """z = x, with numbers in place of nan, inf and -inf"""

    inputs = 1

    def forward(k, x, nan, posinf, neginf):
        return k.nan_to_num(x, nan, posinf, neginf)

    def vjp_x(g, x):
        return where(x - x == 0, g, 0.0)        # where x is finite


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def clamp_min(input, min):
    """The larger of input and `min`, elementwise. Mirrors ``torch.clamp_min``.

    Args:
        min (number or Tensor): where input is equal to it, the gradient goes to input.

    >>> mg.tensor([-1., 2.]).clamp_min(0)
    tensor([0., 2.])
    """
    return limit("clamp_min", ClampMin, ClampMinScalar, input, min)


@in_place_too
def clamp_max(input, max):
    """The smaller of input and `max`, elementwise. Mirrors ``torch.clamp_max``.

    Args:
        max (number or Tensor): where input is equal to it, the gradient goes to input.

    >>> mg.tensor([-1., 2.]).clamp_max(0)
    tensor([-1.,  0.])
    """
    return limit("clamp_max", ClampMax, ClampMaxScalar, input, max)


def limit(function, rule, scalar_rule, x, y):
    """Which of the two rules runs, and on what."""
    if not isinstance(y, (TensorBase, *NUMBERS)):
        raise tensor_error(function, y, function[-3:], 2)
    wide, z = promote_tensors(function, x, x, y)
    return (rule.op, (wide, z)) if isinstance(y, TensorBase) else (scalar_rule.op, (wide, y))


@in_place_too
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """input with numbers in place of nan, inf and -inf. The gradient passes where it is finite. Mirrors ``torch.nan_to_num``.

    Args:
        nan (number): for nan.
        posinf, neginf (number, optional): for inf and -inf; by default the largest and smallest number of the dtype.

    >>> mg.tensor([1., float("nan"), float("inf")]).nan_to_num(posinf=9)
    tensor([1., 0., 9.])
    """
    given = {"nan": nan, "posinf": posinf, "neginf": neginf}
    nan, posinf, neginf = [None if x is None else real(x, name, "nan_to_num") for name, x in given.items()]
    return NanToNum.op, (input, 0.0 if nan is None else nan, posinf, neginf)
