"""Gradients and layout, creation and copies: the kernels behind AccumulateGrad, `clone`, `to` and `zeros`.

    idea        a copy from any strides and dtype to any other, which is an elementwise kernel whose expression does nothing
    bytes       each number is read once and written once
"""

import numpy as np

from minigrad.kernels.cuda import memory
from minigrad.kernels.cuda.elementwise import compiled, fill_, filled, function_of, one, plain, run, two, width
from minigrad.kernels.cuda.expressions import TWO
from minigrad.kernels.cuda.memory import empty_array, like
from minigrad.kernels.cuda.views import owns
from minigrad.kernels.numpy_ref.layout import dense, number

__all__ = ["Creation", "accumulate", "add_", "cast", "copy", "copy_", "copy_with_layout", "fill_", "number", "to_host"]


@compiled
def real_part(x):
    return x.real


@compiled
def truth(x):
    return x != 0


def conversion(source, target):
    """What makes a number of NumPy dtype `source` one of `target`, which the array takes."""
    if target.kind == "b":
        return truth
    return real_part if source.kind == "c" and target.kind != "c" else plain


def store(z, x):
    """z[...] = x, broadcast and cast."""
    run(one(conversion(x.dtype, z.dtype), plain), z, [x])


def accumulate(x, y):
    if not owns(x) or x.shape != y.shape or x.dtype != y.dtype or x.strides != y.strides:
        return False
    add_(x, y)
    return True


def add_(x, y):
    if x.block is y.block:
        y = copy(y)     # what one thread writes another may have to read
    run(two(function_of("add", TWO["add"], x.dtype), width(x.dtype)), x, [x, y])


def copy_(x, y):
    store(x, y)


def copy(x):
    z = empty_array(x.shape, x.dtype, x.device)
    store(z, x)
    return z


def copy_with_layout(g, x):
    z = like(x, g.dtype) if g.shape == x.shape and dense(x) else empty_array(g.shape, g.dtype, g.device)
    store(z, g)
    return z


def cast(x, dtype):
    if x.dtype == dtype:
        return x
    z = like(x, dtype) if dense(x) else empty_array(x.shape, dtype, x.device)
    store(z, x)
    return z


def row_major(x):
    """`x` itself if it is row-major and without gaps, else such a copy."""
    return x if x.flags.c_contiguous else copy(x)


def to_host(x):
    return memory.to_host(row_major(x))


class Creation:
    """The kernels that make arrays from nothing, for one device."""

    __name__ = "minigrad.kernels.cuda.layout"

    def __init__(self, device):
        self.device = device

    def empty(self, shape, dtype):
        return empty_array(shape, dtype, self.device)

    def from_host(self, x, wait):
        return memory.from_host(x, self.device, wait)

    def full(self, shape, value, dtype):
        return filled(shape, value, np.dtype(dtype), self.device)
