"""x log y and similar terms of entropies, which are 0 where x is 0.

xlog1py and entr are only in `mg.special`, as in PyTorch.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/BinaryOps.cpp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad._core.record.promotion import operands_dtype
from minigrad.ops.base.arguments import NUMBERS, tensor_argument, tensor_error
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.inplace_pairs import IN_PLACE
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Elementwise, op, two_operands
from minigrad.ops.elementwise.functions import log, log1p
from minigrad.ops.elementwise.selection import cast, where
from minigrad.ops.elementwise.special import convert_to_floating, promote_to_floating

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["xlogy"]


@op("xlogy_scalar", "Xlogy2")
class XlogyScalar(Elementwise):
    """z = x log y, 0 where x is 0; for a number y"""

    kernel = "xlogy"
    params = ("x", "y")
    inputs = 1
    floats_only = True
    refuses_complex = "xlogy is not implemented for complex numbers"

    def vjp_x(g, x, y):         # dx = g log y, 0 where x = 0 and y <= 0
        return g * math.log(y) if y > 0 else g * where(x == 0, 0.0, -math.inf if y == 0 else math.nan)


@op("xlogy", "Xlogy0")
class Xlogy(XlogyScalar):
    """z = x log y, 0 where x is 0"""

    inputs = 2

    def vjp_x(g, x, y):
        return g * where((x == 0) & (y <= 0), 0.0, log(y))

    def vjp_y(g, x, y):
        return g * x / y


@op("xlogy_number", "Xlogy1")
class XlogyNumber(Elementwise):
    """z = y log x, for a number y"""

    inputs = 1
    torch_names = {"x": "other", "y": "self"}

    def forward(k, x, y):
        return k.xlogy(y, x)

    def vjp_x(g, x, y):
        return g * y / x


@op("special_xlog1py", "SpecialXlog1Py0")
class Xlog1py(Elementwise):
    """z = x log(1 + y), 0 where x is 0"""

    kernel = "xlog1py"
    params = ("x", "y")
    floats_only = True
    refuses_complex = "xlog1py is not implemented for complex numbers"

    def vjp_x(g, x, y):         # dx = g log(1 + y), 0 where x = 0 and y <= -1
        return g * where((x == 0) & (y <= -1), 0.0, log1p(y))

    def vjp_y(g, x, y):
        return g * x / (1 + y)


@op("special_entr", "SpecialEntr0")
class Entr(Elementwise):
    """z = -x log x, 0 where x is 0 and -inf below"""

    inputs = 1

    def forward(k, x):
        return k.where(k.eq(x, 0), 0.0, k.where(k.lt(x, 0), -math.inf, k.neg(k.xlogy(x, x))))     # not -0 at 0

    def vjp_x(g, x):            # dx = -g (1 + log x)
        return g * -(1 + log(x))


# ---- public functions -------------------------------------------------------------------------------------


def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """z = input log(other), elementwise; 0 where input is 0, and nan where other is nan. Mirrors ``torch.xlogy``.

    Args:
        input, other (Tensor or number): real; at least one is a tensor. The shapes broadcast.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.
        TypeError: neither is a tensor.

    >>> mg.tensor([0., 2.]).xlogy(mg.tensor([0., 3.]))
    tensor([0.0000, 2.1972])
    """
    if out is not None:
        return into(out, xlogy, input, other)
    if not isinstance(input, TensorBase):
        if not isinstance(input, NUMBERS):
            raise tensor_error("xlogy", input, "input", 1)
        tensor_argument("xlogy", other, "other", 2)
        return call(XlogyNumber.op, (promote_with(other, input), input))
    return two_operands((Xlogy if isinstance(other, TensorBase) else XlogyScalar).op, input, other)


def xlogy_(self, other: Tensor | Number) -> Tensor:
    """In place: `minigrad.xlogy`. Mirrors ``torch.Tensor.xlogy_``.

    >>> mg.tensor([0., 2.]).xlogy_(3.)
    tensor([0.0000, 2.1972])
    """
    if not isinstance(other, (TensorBase, *NUMBERS)):
        raise tensor_error("xlogy_", other, "other", 1)
    return explain_misfit(apply_inplace, (Xlogy if isinstance(other, TensorBase) else XlogyScalar).op, self, (other,))


IN_PLACE["xlogy_"] = xlogy_


def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = -input log(input), elementwise; 0 at 0 and -inf below. Mirrors ``torch.special.entr``.

    >>> mg.special.entr(mg.tensor([0., 0.5]))
    tensor([0.0000, 0.3466])
    """
    if out is not None:
        return into(out, entr, input)
    return call(Entr.op, (convert_to_floating(tensor_argument("entr", input)),))


def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """z = input log(1 + other), elementwise; 0 where input is 0, nan where other is nan. Mirrors ``torch.special.xlog1py``.

    Args:
        input, other (Tensor or number): real; at least one is a tensor. The shapes broadcast.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.
        TypeError: neither is a tensor.

    >>> mg.special.xlog1py(mg.tensor([0., 2.]), mg.tensor([-1., 1e-3]))
    tensor([0.0000, 0.0020])
    """
    if out is not None:
        return into(out, xlog1py, input, other)
    if not isinstance(input, TensorBase):
        tensor_argument("xlog1py", other, "other", 2)
    return two_operands(Xlog1py.op, *promote_to_floating("xlog1py", input, other))


def promote_with(x, number):
    """Promote `x` with `number`, to a floating point dtype."""
    dtype = operands_dtype((x, number))
    return convert_to_floating(cast(x, dtype))
