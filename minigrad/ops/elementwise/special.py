"""Elementwise special functions: the error function, gamma and its derivatives, logit. (x log y is in ``xlogy.py``.)

    erf ── erfc ── erfinv ── ndtr           lgamma ─d─> digamma ─d─> polygamma(1) ─d─> polygamma(2) ...

`mg.special` has them under the names of ``torch.special``. Functions that PyTorch has only there are not in `__all__`.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/UnaryOps.cpp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad._core.record.promotion import default_dtype, operands_dtype
from minigrad.errors import ArgumentError, DtypeError
from minigrad.ops.base.arguments import integer, real, tensor_argument
from minigrad.ops.base.inplace_pairs import IN_PLACE, in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Elementwise, op
from minigrad.ops.elementwise.functions import exp
from minigrad.ops.elementwise.selection import cast, promote_tensors, where
from minigrad.ops.shape.cat_split import check_count

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["digamma", "erf", "erfc", "erfinv", "lgamma", "logit", "mvlgamma", "polygamma"]

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


class Special(Elementwise):
    """Base of the functions of one real number"""

    params = ("x",)
    floats_only = True
    refuses_complex = "special functions are not implemented for complex numbers"


@op("erf")
class Erf(Special):
    """z = the error function of x"""

    kernel = "erf"

    def vjp_x(g, x):            # dx = g 2/√π exp(-x²)
        return g * (TWO_OVER_ROOT_PI * exp(-x * x))


@op("erfc")
class Erfc(Special):
    """z = 1 - erf(x)"""

    kernel = "erfc"

    def vjp_x(g, x):
        return g * (-TWO_OVER_ROOT_PI * exp(-x * x))


@op("erfinv")
class Erfinv(Special):
    """z = the inverse error function of x: erf(z) = x"""

    kernel = "erfinv"

    def vjp_x(g, x):            # dx = g √π/2 exp(z²)
        z = erfinv(x)
        return g * (exp(z * z) / TWO_OVER_ROOT_PI)


@op("lgamma")
class Lgamma(Special):
    """z = log |Γ(x)|"""

    kernel = "lgamma"

    def vjp_x(g, x):
        return g * digamma(x)


@op("digamma")
class Digamma(Special):
    """z = the derivative of log Γ(x)"""

    kernel = "digamma"

    def vjp_x(g, x):
        return g * polygamma(1, x)


@op("polygamma")
class Polygamma(Elementwise):
    """z = the derivative of order n + 1 of log Γ(x)"""

    inputs = 1

    def forward(k, x, n):
        return k.polygamma(x, n)

    def vjp_x(g, x, n):
        return g * polygamma(n + 1, x)


@op("logit")
class Logit(Elementwise):
    """z = log(x / (1 - x)), of x limited to [eps, 1 - eps] if eps is a number"""

    inputs = 1

    def forward(k, x, eps):
        if eps is not None:
            x = k.clamp(x, eps, 1 - eps)
        return k.log(k.div(x, k.rsub(x, 1)))

    def vjp_x(g, x, eps):       # dx = g / (x (1 - x)), 0 beyond the limits; without them nan
        low, beyond = (0, float("nan")) if eps is None else (eps, 0.0)
        return where((x >= low) & (x <= 1 - low), g / (x * (1 - x)), beyond)


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def erf(input: Tensor):
    """z = the error function of input: 2/√π times the integral of exp(-t²) from 0 to input. Mirrors ``torch.erf``.

    >>> mg.tensor([0., 1.]).erf()
    tensor([0.0000, 0.8427])
    """
    return Erf.op, (input,)


@in_place_too
def erfc(input: Tensor):
    """z = 1 - erf(input), accurate also where that is small. Mirrors ``torch.erfc``.

    >>> mg.tensor([0., 1.]).erfc()
    tensor([1.0000, 0.1573])
    """
    return Erfc.op, (input,)


@in_place_too
def erfinv(input: Tensor):
    """z = the inverse of `erf`; inf at 1, nan beyond. Mirrors ``torch.erfinv``.

    >>> mg.tensor([0., 0.5]).erfinv()
    tensor([0.0000, 0.4769])
    """
    return Erfinv.op, (input,)


@in_place_too
def lgamma(input: Tensor):
    """z = the logarithm of |Γ(input)|, elementwise. Mirrors ``torch.lgamma``.

    >>> mg.tensor([0.5, 5.]).lgamma()
    tensor([0.5724, 3.1781])
    """
    return Lgamma.op, (input,)


@in_place_too
def digamma(input: Tensor):
    """z = the derivative of `lgamma`, elementwise. Mirrors ``torch.digamma``.

    >>> mg.tensor([0.5, 1.]).digamma()
    tensor([-1.9635, -0.5772])
    """
    return Digamma.op, (input,)


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = the derivative of order n of `digamma`, elementwise. Mirrors ``torch.polygamma``.

    Args:
        n (int): the order, not negative; 0 gives `digamma` itself.
        input (Tensor): real numbers; integers are converted to the default dtype.

    Raises:
        RuntimeError: `n` is negative, or `input` is complex.
        TypeError: `n` is not an int, or `input` is not a tensor.

    >>> mg.polygamma(1, mg.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """
    if out is not None:
        return into(out, polygamma, n, input)
    check_order(n)
    return call(Polygamma.op, (convert_to_floating(tensor_argument("polygamma", input, "input", 2)), n))


def polygamma_method(self, n: int) -> Tensor:
    """The derivative of order n of `digamma`. See `minigrad.polygamma`; mirrors ``torch.Tensor.polygamma``.

    >>> mg.tensor([1.]).polygamma(1)
    tensor([1.6449])
    """
    return polygamma(n, self)


def polygamma_(self, n: int) -> Tensor:
    """In place: `minigrad.polygamma`. Mirrors ``torch.Tensor.polygamma_``.

    >>> mg.tensor([1.]).polygamma_(1)
    tensor([1.6449])
    """
    check_order(n)
    check_writable("polygamma_", self)
    return apply_inplace(Polygamma.op, self, (n,))


def check_writable(function, x):
    """Raise if `x` cannot hold the result, which is floating point."""
    if convert_to_floating(x) is not x:
        raise DtypeError("MG-E203", f"result type {default_dtype().name} can't be cast to the desired output type {x.dtype.name}",
                         fix=f"use the function that returns a new tensor: x = x.{function[:-1]}(...)")


def check_order(n):
    """Raise unless `n`, the order of a derivative, is an int that is not negative."""
    if integer(n, "n", "polygamma") < 0:
        raise ArgumentError("MG-E302", f"polygamma(n, x) does not support negative n. Got n = {n}.")


@in_place_too
def logit(input: Tensor, eps: float | None = None):
    """z = log(input / (1 - input)), elementwise: the inverse of `sigmoid`. Mirrors ``torch.logit``.

    Args:
        input (Tensor): probabilities; integers are converted to the default dtype.
        eps (float, optional): limit input to [eps, 1 - eps] first. Without it, the result is nan outside [0, 1].

    >>> mg.tensor([0.5, 0.75]).logit()
    tensor([0.0000, 1.0986])
    """
    return Logit.op, (convert_to_floating(input), None if eps is None else real(eps, "eps", "logit"))


IN_PLACE["polygamma_"] = polygamma_


def mvlgamma_operands(function, input, p):
    """Check the arguments, and return input, input - 1/2, ..., input - (p - 1)/2 along a new last dimension."""
    if integer(p, "p", function) < 1:
        raise ArgumentError("MG-E302", f"{function}: p has to be greater than or equal to 1")
    if input.dtype.name == "bool":
        raise DtypeError("MG-E203", f"{function} is not implemented for bool")
    x = convert_to_floating(input)
    check_count(function, p, "terms")
    return x.unsqueeze(-1) - x.new_tensor([i / 2 for i in range(p)])


def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """z = the logarithm of the multivariate gamma function of dimension p. Mirrors ``torch.mvlgamma``.

    It is p (p - 1) / 4 log π plus the sum of ``lgamma(input - i / 2)`` over i = 0, ..., p - 1.

    Args:
        input (Tensor): real numbers; integers are converted to the default dtype.
        p (int): the dimension, at least 1.

    Raises:
        RuntimeError: `p` is less than 1, or `input` is bool or complex.

    >>> mg.mvlgamma(mg.tensor([2.]), 2)
    tensor([0.4516])
    """
    if out is not None:
        return into(out, mvlgamma, input, p)
    parts = lgamma(mvlgamma_operands("mvlgamma", tensor_argument("mvlgamma", input), p))
    return parts.sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def mvlgamma_(self, p: int) -> Tensor:
    """In place: `minigrad.mvlgamma`. Mirrors ``torch.Tensor.mvlgamma_``.

    >>> mg.tensor([2.]).mvlgamma_(2)
    tensor([0.4516])
    """
    check_writable("mvlgamma_", self)
    return self.copy_(mvlgamma(self, p))


IN_PLACE["mvlgamma_"] = mvlgamma_


# ---- only in minigrad.special -----------------------------------------------------------------------------------


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """z = the probability that a standard normal number is below input. Mirrors ``torch.special.ndtr``.

    >>> mg.special.ndtr(mg.tensor([0., 1.]))
    tensor([0.5000, 0.8413])
    """
    if out is not None:
        return into(out, ndtr, input)
    return 0.5 * erfc(tensor_argument("ndtr", input) * -math.sqrt(0.5))


def convert_to_floating(x):
    """Convert integers to the default dtype; raise for complex numbers."""
    if x.dtype.is_complex:
        raise DtypeError("MG-E203", Special.refuses_complex, found=x.dtype.name)
    return x if x.dtype.differentiable else cast(x, default_dtype())


def promote_to_floating(function, x, y):
    """Promote x and y, of which one may be a number, to tensors of a floating point dtype."""
    operands = [x, y]
    if not operands_dtype(operands).differentiable:     # a number need not fit in the dtype of integers
        operands = [convert_to_floating(z) if isinstance(z, TensorBase) else z for z in operands]
    return promote_tensors(function, x if isinstance(x, TensorBase) else y, *operands)
