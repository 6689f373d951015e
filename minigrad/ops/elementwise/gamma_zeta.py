"""More special functions: incomplete gamma functions, the Hurwitz zeta function, the Bessel functions I₀ and I₁.

    igamma + igammac = 1        igamma ─dx─> the density of the gamma distribution      zeta ─dq─> -s zeta(s + 1, q)
    i0 ─d─> i1

igamma, igammac and zeta have no derivative with respect to the first argument, as in PyTorch.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/Math.h``. The kernels: ``kernels/numpy_ref/gamma.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call, unary
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import AutogradNotImplementedError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import FLOAT64, Elementwise, op, without_derivative
from minigrad.ops.elementwise.functions import exp
from minigrad.ops.elementwise.selection import where
from minigrad.ops.elementwise.special import Special, lgamma, promote_to_floating
from minigrad.ops.elementwise.xlogy import xlogy
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor


__all__ = ["i0", "igamma", "igammac"]


def density(a, x):
    """x^(a - 1) e^-x / Γ(a), in float64: the terms of its logarithm cancel."""
    a, x = cast(a, FLOAT64), cast(x, FLOAT64)
    return exp(xlogy(a - 1, x) - x - lgamma(a))


@op("igamma")
class Igamma(Elementwise):
    """z = 1/Γ(x) times the integral of t^(x - 1) e^-t from 0 to y"""

    kernel = "gammainc"
    params = ("x", "y")
    vjp_x, _ = without_derivative("igamma: input")

    def vjp_y(g, x, y):
        return cast(g * density(x, y), g.dtype)


@op("igammac")
class Igammac(Elementwise):
    """z = 1/Γ(x) times the integral of t^(x - 1) e^-t from y on"""

    kernel = "gammaincc"
    params = ("x", "y")
    vjp_x, _ = without_derivative("igammac: input")

    def vjp_y(g, x, y):
        return cast(g * -density(x, y), g.dtype)


@op("special_zeta", "SpecialZeta0")
class Zeta(Elementwise):
    """z = Σ (y + k)^-x, k = 0, 1, ..."""

    kernel = "zeta"
    params = ("x", "y")
    floats_only = True
    vjp_x, _ = without_derivative("zeta")

    def vjp_y(g, x, y):
        return g * (-x * zeta(x + 1, y))


@op("i0")
class I0(Special):
    """z = the modified Bessel function of order 0"""

    kernel = "i0"

    @in_float32
    def vjp_x(g, x):
        return g * i1(x)


@op("special_i1", "SpecialI10")
class I1(Special):
    """z = the modified Bessel function of order 1"""

    kernel = "i1"

    @in_float32
    def vjp_x(g, x):            # dx = g (I₀(x) - I₁(x) / x), g/2 at 0
        away = where(x == 0, 1.0, x)
        return g * where(x == 0, 0.5, i0(x) - i1(x) / away)


# ---- public functions -------------------------------------------------------------------------------------


def two_floats(function, input, other):
    """Return (input, other); raise unless they are tensors and promote to a floating point dtype."""
    for name, x, position in (("input", input, 1), ("other", other, 2)):
        tensor_argument(function, x, name, position)
    dtype = operands_dtype((input, other))
    if not dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for \'{dtype.name}\'')
    return input, other


@in_place_too
def igamma(input: Tensor, other: Tensor):
    """The lower incomplete gamma function of `other`, divided by Γ(input). Mirrors ``torch.igamma``.

    It is the probability that a number of the gamma distribution with shape `input` is below `other`. It is nan where an
    argument is negative.

    Args:
        input (Tensor): the shape parameter. There is no derivative with respect to it.
        other (Tensor): where the integral ends. The shapes broadcast, and the dtypes promote to a floating point one.

    Raises:
        NotImplementedError: no dtype is floating point, or a backward needs the gradient of `input`.

    >>> mg.tensor([1., 4.]).igamma(mg.tensor([1., 3.]))
    tensor([0.6321, 0.3528])
    """
    return Igamma.op, two_floats("igamma", input, other)


@in_place_too
def igammac(input: Tensor, other: Tensor):
    """The upper incomplete gamma function of `other`, divided by Γ(input). Mirrors ``torch.igammac``.

    It is 1 - igamma, and accurate also where that is small.

    Args:
        input (Tensor): the shape parameter. There is no derivative with respect to it.
        other (Tensor): where the integral begins. The shapes broadcast, and the dtypes promote to a floating point one.

    Raises:
        NotImplementedError: no dtype is floating point, or a backward needs the gradient of `input`.

    >>> mg.tensor([1., 4.]).igammac(mg.tensor([1., 3.]))
    tensor([0.3679, 0.6472])
    """
    return Igammac.op, two_floats("igammac", input, other)


@in_place_too
def i0(input: Tensor):
    """z = the modified Bessel function of the first kind and order 0, elementwise. Mirrors ``torch.i0``.

    >>> mg.tensor([0., 1.]).i0()
    tensor([1.0000, 1.2661])
    """
    return I0.op, (input,)


# ---- only in minigrad.special -----------------------------------------------------------------------------------


def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = the modified Bessel function of the first kind and order 1, elementwise. Mirrors ``torch.special.i1``.

    >>> mg.special.i1(mg.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
    """
    if out is not None:
        return into(out, i1, input)
    return unary(I1.op, tensor_argument("i1", input))


def zeta(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of (other + k)^-input over k = 0, 1, ... Mirrors ``torch.special.zeta``.

    Args:
        input, other (Tensor or number): at least one is a tensor. The shapes broadcast.

    The result is inf where `input` is 1, and nan where it is less. There is no derivative with respect to `input`.

    Raises:
        TypeError: neither is a tensor.
        NotImplementedError: a backward needs the gradient of `input`.

    >>> mg.special.zeta(mg.tensor([2., 4.]), 1)
    tensor([1.6449, 1.0823])
    """
    if out is not None:
        return into(out, zeta, input, other)
    if not isinstance(input, TensorBase):
        tensor_argument("zeta", other, "other", 2)
    return call(Zeta.op, tuple(promote_to_floating("zeta", input, other)))
