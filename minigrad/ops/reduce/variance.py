"""The spread of numbers around their mean: the variance and the standard deviation, alone or together with the mean.

    variance            z = Σ |x - mean|² / (n - correction)
    deviation           √z

`correction` is 1 by default: the variance of a sample, whose own mean is a little nearer to its numbers than the true one.

Mirrors ``aten/src/ATen/native/ReduceOps.cpp`` and torch/csrc/autograd/FunctionsManual.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.arguments import flag, tensor_argument
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad.errors import DtypeError, TensorTypeError
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import round_to, to_wide
from minigrad.ops.base.rule import Op, op
from minigrad.ops.elementwise.selection import where
from minigrad.ops.reduce.reduction import MeanDim, SumDim, add_present, count, dimensions_or_all, expand_reduced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["std", "std_mean", "var", "var_mean"]


class SpreadRule(Op):
    """z = the spread of the numbers around their mean, over dims"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "dims": "dim"}


@op("var", "Var0")
class Var(SpreadRule):
    """z = Σ |x - mean|² / (n - correction)"""

    def forward(k, x, dims, correction, keepdim):
        return k.var(x, dims, correction, keepdim)

    def vjp_x(g, x, dims, correction, keepdim):     # dx = 2 g (x - mean) / (n - correction)
        factor = scale(count(x.shape, dims) - correction)
        return expand_reduced(factor * g, x.shape, dims, keepdim) * deviation(x, dims)

    def jvp_x(t, x, dims, correction, keepdim):
        factor = scale(count(x.shape, dims) - correction)
        both = t * conj(deviation(x, dims))
        return call(SumDim.op, (factor * (both.real if both.dtype.is_complex else both), dims, keepdim))


def scale(freedom):
    """2 / freedom, where freedom = n - correction; inf unless it is positive."""
    return 2 / freedom if freedom > 0 else float("inf")


def deviation(x, dims):
    """x minus its mean over `dims`."""
    return x - call(MeanDim.op, (x, dims, True))


@op("std", "Std0")
class Std(SpreadRule):
    """z = √(Σ |x - mean|² / (n - correction)). Where z is 0, the gradient is 0"""

    def forward(k, x, dims, correction, keepdim):
        return root_of_var(k, x, dims, correction, keepdim)

    def vjp_x(g, x, z, dims, correction, keepdim):      # dx = g (x - mean) / ((n - correction) z)
        factor = scale(count(x.shape, dims) - correction) / 2
        return expand_reduced(factor * divide_by_deviation(g, z), x.shape, dims, keepdim) * deviation(x, dims)

    def jvp_x(t, x, z, dims, correction, keepdim):
        factor = scale(count(x.shape, dims) - correction) / 2
        both = t * conj(deviation(x, dims))
        return divide_by_deviation(call(SumDim.op, (factor * (both.real if both.dtype.is_complex else both), dims, keepdim)), z)


def root_of_var(k, x, dims, correction, keepdim):
    """The standard deviation of the array x."""
    return round_to(k, k.sqrt(k.var(to_wide(k, x), dims, correction, keepdim)), x)


def divide_by_deviation(g, z):
    """g / z, but 0 where z is 0, since all numbers are equal there."""
    none = z == 0
    return where(none, 0.0, g / where(none, 1.0, z))


@op("var_mean")
class VarMean(SpreadRule):
    """(z, mean): the variance, as in `Var`, and the mean"""

    outputs = ("z", "mean")

    def forward(k, x, dims, correction, keepdim):
        return k.var(x, dims, correction, keepdim), k.mean(x, dims, keepdim)

    def vjp(g, needs, x, dims, correction, keepdim):
        of_var = None if g[0] is None else Var.vjp_x(g[0], x, dims, correction, keepdim)
        return (add_present(of_var, None if g[1] is None else MeanDim.vjp_x(g[1], x.shape, dims, keepdim)),)

    def jvp(ts, x, dims, correction, keepdim):
        return Var.jvp_x(ts[0], x, dims, correction, keepdim), call(MeanDim.op, (ts[0], dims, keepdim))


@op("std_mean")
class StdMean(SpreadRule):
    """(z, mean): the standard deviation, as in `Std`, and the mean"""

    outputs = ("z", "mean")
    torch_names = {"x": "self", "z": "result0", "dims": "dim"}

    def forward(k, x, dims, correction, keepdim):
        return root_of_var(k, x, dims, correction, keepdim), k.mean(x, dims, keepdim)

    def vjp(g, needs, x, z, dims, correction, keepdim):
        of_std = None if g[0] is None else Std.vjp_x(g[0], x, z, dims, correction, keepdim)
        return (add_present(of_std, None if g[1] is None else MeanDim.vjp_x(g[1], x.shape, dims, keepdim)),)

    def jvp(ts, x, z, dims, correction, keepdim):
        return Std.jvp_x(ts[0], x, z, dims, correction, keepdim), call(MeanDim.op, (ts[0], dims, keepdim))


# ---- public functions -------------------------------------------------------------------------------------


def var(input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: int | float | None = None, out: Tensor | None = None) -> Tensor:
    """The variance of all elements, or along dimensions. Mirrors ``torch.var``.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        unbiased (bool, optional): the older spelling of ``correction=1`` (True) and ``0`` (False).
        keepdim (bool): keep them, with size 1.
        correction (number, optional): is subtracted from the number of elements in the divisor; 1 by default.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.
        IndexError: there is no such dimension.

    >>> mg.var(mg.tensor([1., 2., 3., 4.]))
    tensor(1.6667)
    """
    if out is not None:
        return into(out, var, input, dim, unbiased, keepdim, correction=correction)
    return reduce_spread("var", Var, input, dim, unbiased, keepdim, correction)


def reduce_spread(name, rule, input, dim, unbiased, keepdim, correction):
    """Check the arguments of var, std, var_mean or std_mean, and run `rule`."""
    meta = cython.cast(TensorBase, tensor_argument(name, input))._meta
    if isinstance(dim, bool):
        if correction is not None or keepdim is not False:
            raise TensorTypeError("MG-E206", f"{name}(): argument 'dim' must be int or tuple of ints, not bool")
        dim, unbiased = None, dim
    if not meta.dtype.differentiable:
        raise DtypeError("MG-E203", "std and var only support floating point and complex dtypes", found=input.dtype.name)
    flag(keepdim, "keepdim", name)
    if correction is None:
        correction = 1 if unbiased is None else int(flag(unbiased, "unbiased", name))
    elif not isinstance(correction, (int, float)):
        raise TensorTypeError("MG-E201", f"{name}(): argument 'correction' must be Number, not {type(correction).__name__}")
    return call(rule.op, (input, dimensions_or_all(dim, meta.ndim), correction, keepdim))


def std(input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: int | float | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation: the square root of `var`, with the same arguments. Mirrors ``torch.std``.

    >>> mg.std(mg.tensor([1., 2., 3., 4.]))
    tensor(1.2910)
    """
    if out is not None:
        return into(out, std, input, dim, unbiased, keepdim, correction=correction)
    return reduce_spread("std", Std, input, dim, unbiased, keepdim, correction)


def var_mean(input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: int | float | None = None) -> tuple[Tensor, Tensor]:
    """The pair (variance, mean), with the arguments of `var`. Mirrors ``torch.var_mean``.

    >>> mg.var_mean(mg.tensor([1., 2., 3., 4.]))
    (tensor(1.6667), tensor(2.5000))
    """
    return reduce_spread("var", VarMean, input, dim, unbiased, keepdim, correction)


def std_mean(input: Tensor, dim: int | Sequence[int] | None = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: int | float | None = None) -> tuple[Tensor, Tensor]:
    """The pair (standard deviation, mean), with the arguments of `std`. Mirrors ``torch.std_mean``.

    >>> mg.std_mean(mg.tensor([1., 2., 3., 4.]))
    (tensor(1.2910), tensor(2.5000))
    """
    return reduce_spread("std", StdMean, input, dim, unbiased, keepdim, correction)
