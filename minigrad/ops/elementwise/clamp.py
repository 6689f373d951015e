"""clamp_min and clamp_max, limits on one side; and nan_to_num, which replaces nan and inf.

Mirrors ``aten/src/ATen/native/{TensorCompare,UnaryOps}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import DtypeError
from minigrad.ops.base.arguments import NUMBERS, real, tensor_error
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.rule import Elementwise, op
from minigrad.ops.elementwise.selection import check_numbers, promote_tensors, where

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

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
    """z = x, with numbers instead of nan, inf and -inf"""

    inputs = 1

    def forward(k, x, nan, posinf, neginf):
        return k.nan_to_num(x, nan, posinf, neginf)

    def vjp_x(g, x):
        return where(x - x == 0, g, 0.0)        # where x is finite


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def clamp_min(input: Tensor, min: Tensor | Number | None):
    """The larger of `input` and `min`, elementwise. Mirrors ``torch.clamp_min``.

    Args:
        input (Tensor): the numbers to limit.
        min (number or Tensor): the lower limit; a tensor is broadcast. Where the two are equal, the gradient goes to `input`.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.
        TypeError: `min` is neither a tensor nor a number.

    >>> mg.tensor([-1., 2.]).clamp_min(0)
    tensor([0., 2.])
    """
    return choose_limit_op("clamp_min", ClampMin, ClampMinScalar, input, min)


@in_place_too
def clamp_max(input: Tensor, max: Tensor | Number | None):
    """The smaller of `input` and `max`, elementwise. Mirrors ``torch.clamp_max``.

    Args:
        input (Tensor): the numbers to limit.
        max (number or Tensor): the upper limit; a tensor is broadcast. Where the two are equal, the gradient goes to `input`.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.
        TypeError: `max` is neither a tensor nor a number.

    >>> mg.tensor([-1., 2.]).clamp_max(0)
    tensor([-1.,  0.])
    """
    return choose_limit_op("clamp_max", ClampMax, ClampMaxScalar, input, max)


def choose_limit_op(function, rule, scalar_rule, x, y):
    """Return the op for `y`, a tensor or a number, and its arguments."""
    if not isinstance(y, (TensorBase, *NUMBERS)):
        raise tensor_error(function, y, function[-3:], 2)
    check_numbers(operands_dtype((x, y)), x, y)
    wide, z = promote_tensors(function, x, x, y)
    if wide.dtype.is_complex:
        raise DtypeError("MG-E203", "clamp is not supported for complex types")
    return (rule.op, (wide, z)) if isinstance(y, TensorBase) else (scalar_rule.op, (wide, y))


@in_place_too
def nan_to_num(input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None):
    """Replace nan, inf and -inf in `input`. The gradient passes where `input` is finite. Mirrors ``torch.nan_to_num``.

    Args:
        input (Tensor): of any dtype; integers have nothing to replace.
        nan (number, optional): replaces nan; 0 if it is None.
        posinf, neginf (number, optional): replace inf and -inf; by default the largest and smallest finite number of the dtype.

    >>> mg.tensor([1., float("nan"), float("inf")]).nan_to_num(posinf=9)
    tensor([1., 0., 9.])
    """
    given = {"nan": nan, "posinf": posinf, "neginf": neginf}
    nan, posinf, neginf = [None if x is None else real(x, name, "nan_to_num") for name, x in given.items()]
    return NanToNum.op, (input, 0.0 if nan is None else nan, posinf, neginf)
