"""Running sums and products along a dimension, and the recurrence that computes their derivatives.

    cumsum          z[k] = x[0] + ... + x[k]        dx[i] = g[i] + ... + g[n-1]: the same sum from the end
    cumprod         z[k] = x[0] ... x[k]            dx[i] = z[i-1] s[i] with s[i] = g[i] + x[i+1] s[i+1]
    recurrence      z[k] = a[k] z[k-1] + b[k]       db = s with s[k] = g[k] + a[k+1] s[k+1], da[k] = s[k] z[k-1]

The derivative of a recurrence is a recurrence from the other end. So derivatives of all orders take as long as the scan. No digits
are lost: the formulas do not divide by numbers that may be 0, and do not subtract from a total.

Mirrors ``aten/src/ATen/native/ReduceOps.cpp`` (cumsum, cumprod_backward).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad._core.record.promotion import as_dtype
from minigrad.ops.base.arguments import dimension
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.rule import FLOAT64, INT64, Linear, Op, conj, op
from minigrad.ops.elementwise.predicates import isfinite
from minigrad.ops.elementwise.selection import cast, where

if TYPE_CHECKING:
    from minigrad.types import DType, Tensor

__all__ = ["cumprod", "cumsum"]


@op("cumsum")
class Cumsum(Linear):
    """z[k] = Σ x[i] over i <= k"""

    def forward(k, x, dim):
        return k.cumsum(x, dim, False)

    def vjp_x(g, dim):
        return call(CumsumFromEnd.op, (g, dim))


@op("cumsum_from_end")
class CumsumFromEnd(Linear):
    """z[k] = Σ x[i] over i >= k"""

    def forward(k, x, dim):
        return k.cumsum(x, dim, True)

    def vjp_x(g, dim):
        return call(Cumsum.op, (g, dim))


@op("recurrence")
class Recurrence(Op):
    """z[k] = x[k] z[k - 1] + y[k] along dim; from the end, z[k] = x[k] z[k + 1] + y[k]. Where x[k] is 0, z[k] is y[k]"""

    inputs = 2

    def forward(k, x, y, dim, reverse):
        return k.recurrence(x, y, dim, reverse)

    def vjp(g, needs, x, z, dim, reverse):
        ahead, behind = (before, after) if reverse else (after, before)
        s = recurrence(ahead(conj(x), dim, 0), g, dim, not reverse)
        return s * conj(behind(z, dim, 0)) if needs[0] else None, s

    def jvp(ts, x, z, dim, reverse):
        tx, ty = ts
        if tx is not None:
            moved = tx * (after if reverse else before)(z, dim, 0)
            ty = moved if ty is None else ty + moved
        return recurrence(x, ty, dim, reverse)


def recurrence(x, y, dim, reverse):
    """Run the op `Recurrence`."""
    return call(Recurrence.op, (x, y, dim, reverse))


@op("shift")
class Shift(Op):
    """z[k] = x[k - 1] along dim, and z[0] is a number; from the end, z[k] = x[k + 1], and the last is the number"""

    inputs = 1

    def forward(k, x, dim, number, reverse):
        end = k.full((*x.shape[:dim], 1, *x.shape[dim + 1:]), number, x.dtype)
        if reverse:
            return k.cat([k.slice(x, dim, 1, x.shape[dim], 1), end], dim)
        return k.cat([end, k.slice(x, dim, 0, x.shape[dim] - 1, 1)], dim)

    def vjp_x(g, dim, reverse):
        return call(Shift.op, (g, dim, 0, not reverse))

    def jvp_x(t, dim, reverse):
        return call(Shift.op, (t, dim, 0, reverse))


def before(x, dim, first):
    """For each element, the one before it along `dim`; `first` for the first one."""
    return call(Shift.op, (x, dim, first, False)) if x.shape[dim] else x


def after(x, dim, last):
    """For each element, the one after it along `dim`; `last` for the last one."""
    return call(Shift.op, (x, dim, last, True)) if x.shape[dim] else x


@op("cumprod")
class Cumprod(Op):
    """z[k] = Π x[i] over i <= k

    The derivative is computed in float64: s may be too large for a float32 where the product before it is small.
    """

    inputs = 1

    def forward(k, x, dim):
        return k.cumprod(x, dim)

    def vjp_x(g, x, z, dim):
        if x.ndim == 0 or x.shape[dim] == 1:
            return g
        wide = cast(x, FLOAT64) if x.dtype.is_floating_point else x
        product = conj(before(z if wide is x else call(Cumprod.op, (wide, dim)), dim, 1))
        s = recurrence(after(conj(wide), dim, 0), cast(g, wide.dtype), dim, True)
        return cast(product * where((product != 0) | isfinite(s), s, 0.0), g.dtype)     # after a 0 it is 0, not 0 times inf

    def jvp_x(t, x, z, dim):
        return recurrence(x, t * before(z, dim, 1), dim, False) if x.ndim else t


def products_of_others(x, dim):
    """For each element, the product of the others along `dim`: the product before it times the product after it."""
    one_last = after(x.new_zeros(x.shape), dim, 1)
    return before(call(Cumprod.op, (x, dim)), dim, 1) * recurrence(after(x, dim, 1), one_last, dim, True)


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None):
    """The running sums of `input` along `dim`. Mirrors ``torch.cumsum``.

    Args:
        dim (int): the dimension to run along.
        dtype (dtype, optional): of the result and the computation; by default int64 for integers and bools.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.tensor([1., 2., 3.]).cumsum(0)
    tensor([1., 3., 6.])
    """
    return Cumsum.op, (sum_dtype_cast(input, dtype), dimension(dim, input.ndim))


@in_place_too
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None):
    """The running products of `input` along `dim`. Mirrors ``torch.cumprod``.

    Args:
        dim (int): the dimension to run along.
        dtype (dtype, optional): of the result and the computation; by default int64 for integers and bools.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.tensor([1., 2., 3.]).cumprod(0)
    tensor([1., 2., 6.])
    """
    return Cumprod.op, (sum_dtype_cast(input, dtype), dimension(dim, input.ndim))


def sum_dtype_cast(x, dtype):
    """Convert `x` to the dtype of its running sum or product."""
    if dtype is None:
        dtype = x.dtype if x.dtype.differentiable else INT64
    return cast(x, as_dtype(dtype))
