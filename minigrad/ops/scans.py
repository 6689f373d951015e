"""Running sums and products along a dimension.

    z[k] = x[0] + ... + x[k]        dx[i] = g[i] + ... + g[n-1]: the same sum from the other end

Mirrors ``aten/src/ATen/native/ReduceOps.cpp`` (cumsum, cumprod_backward).
"""

import cython

from minigrad._core.promotion import as_dtype
from minigrad.ops.base import INT64, Elementwise, Linear, dimension, op
from minigrad.ops.joining import cat, narrow
from minigrad.ops.pairs import in_place_too
from minigrad.ops.selection import where

if not cython.compiled:
    from minigrad._core.apply import call
    from minigrad.ops.base import conj

__all__ = ["cumprod", "cumsum"]


@op("cumsum")
class Cumsum(Linear):
    """z[k] = Σ x[i] over i <= k"""

    def forward(k, x, dim):
        return k.cumsum(x, dim)

    def vjp_x(g, dim):
        return from_the_end(g, dim)


@op("cumprod")
class Cumprod(Elementwise):
    """z[k] = Π x[i] over i <= k"""

    def forward(k, x, dim):
        return k.cumprod(x, dim)

    def vjp_x(g, x, z, dim):        # dx[i] = Σ g[k] z[k] / x[i] over k >= i
        if x.ndim == 0:
            return g
        if not bool((x == 0).any().item()):
            return from_the_end(g * conj(z), dim) / conj(x)
        n = x.shape[dim]
        return cat([narrow(g * conj(others(x, i, dim)), dim, i, n - i).sum(dim, keepdim=True) for i in range(n)], dim)

    def jvp_x(t, x, dim):
        if x.ndim == 0:
            return t
        n = x.shape[dim]
        total = t * 0
        for i in range(n):          # the tangent of x[i] moves z[k] for all k >= i
            moved = narrow(t, dim, i, 1) * narrow(others(x, i, dim), dim, i, n - i)
            before = t.new_zeros((*x.shape[:dim], i, *x.shape[dim + 1:]))
            total = total + cat([before, moved], dim)
        return total


def from_the_end(g, dim):
    """Σ g[k] over k >= i"""
    return g.sum(dim, keepdim=True) - call(Cumsum.op, (g, dim)) + g if g.ndim else g


def others(x, i, dim):
    """The running products without the factor x[i]."""
    n = x.shape[dim]
    at = (x.new_tensor(list(range(n)), dtype=INT64) == i).view([n if d == dim else 1 for d in range(x.ndim)])
    return call(Cumprod.op, (where(at, 1.0, x), dim))


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def cumsum(input, dim, *, dtype=None):
    """The running sums of `input` along `dim`. Mirrors ``torch.cumsum``.

    Args:
        dtype (optional): of the result; by default int64 for integers and bools.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.tensor([1., 2., 3.]).cumsum(0)
    tensor([1., 3., 6.])
    """
    return Cumsum.op, (summed(input, dtype), dimension(dim, input.ndim))


@in_place_too
def cumprod(input, dim, *, dtype=None):
    """The running products of `input` along `dim`. Mirrors ``torch.cumprod``.

    Args:
        dtype (optional): of the result; by default int64 for integers and bools.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.tensor([1., 2., 3.]).cumprod(0)
    tensor([1., 2., 6.])
    """
    return Cumprod.op, (summed(input, dtype), dimension(dim, input.ndim))


def summed(x, dtype):
    """`x` in the dtype in which it is added up."""
    if dtype is None:
        dtype = x.dtype if x.dtype.differentiable else INT64
    return x.to(as_dtype(dtype))
