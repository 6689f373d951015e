"""Running extrema and the running logarithm of a sum of exponentials.

    x           [1 3 2]
    cummax      [1 3 3], at [0 1 1]

Mirrors ``aten/src/ATen/native/ReduceOps.cpp`` (cummax, cummin) and logcumsumexp_backward in FunctionsManual.cpp.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from minigrad._core.record.apply import call
from minigrad.errors import DtypeError
from minigrad.ops.base.arguments import dimension, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import FLOAT64, Op, op
from minigrad.ops.elementwise.functions import exp
from minigrad.ops.elementwise.selection import cast, where
from minigrad.ops.scan.scans import after, before, recurrence
from minigrad.ops.sort.sorting import Order

if TYPE_CHECKING:
    from minigrad.types import Tensor, ValuesAndIndices

__all__ = ["cummax", "cummin", "logcumsumexp"]


@op("cummax")
class Cummax(Order):
    """(values, indices): the largest so far, and its position, the last of several"""

    def forward(k, x, dim):
        index = k.cumextremum(x, dim, True)
        return k.gather(x, dim, index), index


@op("cummin")
class Cummin(Order):
    """(values, indices): the smallest so far, and its position, the last of several"""

    def forward(k, x, dim):
        index = k.cumextremum(x, dim, False)
        return k.gather(x, dim, index), index


@op("logcumsumexp")
class Logcumsumexp(Op):
    """z[k] = log Σ e^x[i] over i <= k

    dx[i] = e^(x[i] - z[i]) s[i] with s[i] = g[i] + e^(z[i] - z[i+1]) s[i+1]: no factor is larger than 1, so nothing overflows.
    """

    torch_names = {"x": "self", "z": "result"}

    def forward(k, x, dim):
        return k.logcumsumexp(x, dim)

    def vjp_x(g, x, z, dim):
        if not x.ndim:      # z = log e^x = x
            return g
        share, shrink = compute_factors(x, z, dim)
        return cast(share * recurrence(shrink, cast(g, share.dtype), dim, True), g.dtype)

    def jvp_x(t, x, z, dim):
        if not x.ndim:
            return t
        share, shrink = compute_factors(x, z, dim)
        return cast(recurrence(before(shrink, dim, 0), share * cast(t, share.dtype), dim, False), t.dtype)


def compute_factors(x, z, dim):
    """e^(x[i] - z[i]) and e^(z[i] - z[i+1]), both 0 where z[i] is -inf. In float64, since many of them are multiplied.

    z is computed again in float64: as a float32, a z of 961 has an error of 3e-5, and its exponential the same relative error.
    """
    if x.dtype is not FLOAT64:
        x = cast(x, FLOAT64)
        z = call(Logcumsumexp.op, (x, dim))
    nothing = z == float("-inf")
    z = where(nothing, 0.0, z)
    return exp(x - z), exp(where(nothing, float("-inf"), z - after(z, dim, float("inf"))))      # 0 after the last


# ---- public functions -------------------------------------------------------------------------------------

cummax_result: Any = namedtuple("cummax", ("values", "indices"))
cummin_result: Any = namedtuple("cummin", ("values", "indices"))


def run_extremum_scan(rule, result, x, dim):
    """Check the arguments of cummax or cummin, and run `rule`."""
    name = result.__name__
    at = dimension(dim, tensor_argument(name, x).ndim)
    if x.dtype.is_complex:
        raise DtypeError("MG-E203", f"{name}(): not implemented for {x.dtype.name}", fix="x.abs() or x.real")
    return result(*call(rule.op, (x, at)))


def cummax(input: Tensor, dim: int, *, out: Tensor | None = None) -> ValuesAndIndices:
    """The largest elements so far along `dim`, and their positions: (values, indices). Mirrors ``torch.cummax``.

    Args:
        input (Tensor): real numbers.
        dim (int): the dimension to run along. Both results have the shape of `input`; the indices are int64.

    Raises:
        RuntimeError: `input` is complex.
        IndexError: there is no such dimension.

    >>> mg.cummax(mg.tensor([1., 3., 2.]), 0)
    cummax(values=tensor([1., 3., 3.]), indices=tensor([0, 1, 1]))
    """
    if out is not None:
        return into(out, cummax, input, dim)
    return run_extremum_scan(Cummax, cummax_result, input, dim)


def cummin(input: Tensor, dim: int, *, out: Tensor | None = None) -> ValuesAndIndices:
    """The smallest elements so far along `dim`, and their positions: (values, indices). Mirrors ``torch.cummin``.

    Args:
        input (Tensor): real numbers.
        dim (int): the dimension to run along. Both results have the shape of `input`; the indices are int64.

    Raises:
        RuntimeError: `input` is complex.
        IndexError: there is no such dimension.

    >>> mg.cummin(mg.tensor([2., 3., 1.]), 0)
    cummin(values=tensor([2., 2., 1.]), indices=tensor([0, 0, 2]))
    """
    if out is not None:
        return into(out, cummin, input, dim)
    return run_extremum_scan(Cummin, cummin_result, input, dim)


def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithms of the running sums of exponentials along `dim`, without overflow. Mirrors ``torch.logcumsumexp``.

    Args:
        input (Tensor): floating point.
        dim (int): the dimension to run along.

    Raises:
        RuntimeError: `input` is not floating point.
        IndexError: there is no such dimension.

    >>> mg.logcumsumexp(mg.tensor([0., 0.]), 0)
    tensor([0.0000, 0.6931])
    """
    if out is not None:
        return into(out, logcumsumexp, input, dim)
    at = dimension(dim, tensor_argument("logcumsumexp", input).ndim)
    if not input.dtype.is_floating_point:
        raise DtypeError("MG-E203", f"logcumsumexp(): not implemented for {input.dtype.name}", fix="x.float()")
    return call(Logcumsumexp.op, (input, at))
