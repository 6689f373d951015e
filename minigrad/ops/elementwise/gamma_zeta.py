"""More special functions: the incomplete gamma functions, the zeta function of Hurwitz, the Bessel functions I₀ and I₁.

    igamma + igammac = 1        igamma ─dx─> the density of the gamma distribution      zeta ─dq─> -s zeta(s + 1, q)
    i0 ─d─> i1

Of igamma and zeta PyTorch has no derivative with respect to the first argument, and neither have we.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/Math.h``. The numbers: ``kernels/numpy_ref/gamma.py``.
"""

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call, unary
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import AutogradNotImplementedError
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import Elementwise, op, tensor_argument, without_derivative
from minigrad.ops.elementwise.functions import exp
from minigrad.ops.elementwise.selection import promote_tensors, where
from minigrad.ops.elementwise.special import Special, as_floating, lgamma
from minigrad.ops.elementwise.xlogy import xlogy
from minigrad.ops.shape.clone_cast import cast

DOUBLE = named_dtype("float64")

__all__ = ["i0", "igamma", "igammac"]


def density(a, x):
    """x^(a - 1) e^-x / Γ(a), of terms that cancel: in float64."""
    a, x = cast(a, DOUBLE), cast(x, DOUBLE)
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
    """The two, checked: tensors whose common dtype is one of floating point numbers."""
    for name, x, position in (("input", input, 1), ("other", other, 2)):
        tensor_argument(function, x, name, position)
    dtype = operands_dtype((input, other))
    if not dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for \'{dtype.name}\'')
    return input, other


@in_place_too
def igamma(input, other):
    """The lower incomplete gamma function of shape `input` up to `other`, divided by Γ(input). Mirrors ``torch.igamma``.

    It is how likely a number of the gamma distribution of that shape is below `other`. There is no derivative with respect to
    `input`. nan where one of them is negative.

    Raises:
        NotImplementedError: they are no floating point numbers; or the gradient of `input` is asked for.

    >>> mg.tensor([1., 4.]).igamma(mg.tensor([1., 3.]))
    tensor([0.6321, 0.3528])
    """
    return Igamma.op, two_floats("igamma", input, other)


@in_place_too
def igammac(input, other):
    """The upper incomplete gamma function of shape `input` from `other` on, divided by Γ(input).

    It is 1 - igamma, accurate also where that is small. Mirrors ``torch.igammac``.

    Raises:
        NotImplementedError: they are no floating point numbers; or the gradient of `input` is asked for.

    >>> mg.tensor([1., 4.]).igammac(mg.tensor([1., 3.]))
    tensor([0.3679, 0.6472])
    """
    return Igammac.op, two_floats("igammac", input, other)


@in_place_too
def i0(input):
    """z = the modified Bessel function of the first kind and order 0, elementwise. Mirrors ``torch.i0``.

    >>> mg.tensor([0., 1.]).i0()
    tensor([1.0000, 1.2661])
    """
    return I0.op, (input,)


# ---- only in minigrad.special -----------------------------------------------------------------------------------


def i1(input, *, out=None):
    """z = the modified Bessel function of the first kind and order 1, elementwise. Mirrors ``torch.special.i1``.

    >>> mg.special.i1(mg.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
    """
    if out is not None:
        return into(out, i1, input)
    return unary(I1.op, tensor_argument("i1", input))


def zeta(input, other, *, out=None):
    """The zeta function of Hurwitz: the sum of (other + k)^-input over k = 0, 1, ... Mirrors ``torch.special.zeta``.

    Args:
        input, other (Tensor or number): at least one of them is a tensor. inf where input is 1, nan where it is less.

    There is no derivative with respect to `input`.

    Raises:
        TypeError: neither is a tensor.
        NotImplementedError: in a backward that needs the gradient of `input`.

    >>> mg.special.zeta(mg.tensor([2., 4.]), 1)
    tensor([1.6449, 1.0823])
    """
    if out is not None:
        return into(out, zeta, input, other)
    if not isinstance(input, TensorBase):
        tensor_argument("zeta", other, "other", 2)
    x, y = promote_tensors("zeta", input if isinstance(input, TensorBase) else other, input, other)
    return call(Zeta.op, (as_floating(x), as_floating(y)))
