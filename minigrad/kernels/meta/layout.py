"""Creation, copies and views of arrays without memory. A view is arithmetic on the layout, as for NumPy arrays.

Read next: ``shapes.py``.
"""

import math

import numpy as np
from numpy.lib import stride_tricks

from minigrad.kernels.meta.array import alike, new_array, no_data, row_major
from minigrad.kernels.numpy_ref import layout as reference
from minigrad.kernels.numpy_ref.layout import (
    ArrayInterface,
    check_strides,
    dense,
    in_bytes,
    number,
    on_layout,
    part_of,
    same_order,
    span,
)

__all__ = ["Creation", "accumulate", "add_", "as_strided", "as_strided_add", "as_strided_scatter", "by_columns", "cast",
           "contiguous", "copy", "copy_", "copy_with_layout", "diagonal", "expand", "fill_", "geometry", "imag", "number",
           "obeys_layout", "owns", "permute", "real", "resize", "select", "slice", "storage", "t", "to_host", "transpose",
           "unsqueeze", "view", "view_as_complex", "view_as_real"]


class Creation:
    """The kernels that create arrays, for one device."""

    __name__ = "minigrad.kernels.meta.layout"

    def __init__(self, device):
        self.device = device

    def empty(self, shape, dtype):
        return new_array(shape, dtype, self.device)

    def full(self, shape, value, dtype):
        number(value, np.dtype(dtype))
        return new_array(shape, dtype, self.device)

    def from_host(self, x, wait):
        strides = x.strides if x.size and dense(x) else None
        return new_array(x.shape, x.dtype, self.device, strides)

    def uniform(self, generator, shape, low, high, dtype):
        return new_array(shape, dtype, self.device)

    normal = uniform

    def bernoulli(self, generator, shape, p, dtype):
        return new_array(shape, dtype, self.device)

    def integers(self, generator, shape, low, high):
        return new_array(shape, np.dtype("int64"), self.device)

    def permutation(self, generator, n):
        return new_array((n,), np.dtype("int64"), self.device)


def to_host(x):
    raise no_data()


# ---- copies and writes -------------------------------------------------------------------------------------


def accumulate(x, y):
    return owns(x) and x.shape == y.shape and x.dtype == y.dtype and x.strides == y.strides


def copy_(x, y):
    if np.broadcast_shapes(x.shape, y.shape) != x.shape:
        raise ValueError(f"could not broadcast input array from shape {y.shape} into shape {x.shape}")


add_ = copy_


def fill_(x, value):
    number(value, x.dtype)


def copy(x):
    return new_array(x.shape, x.dtype, x.device)


def cast(x, dtype):
    return x if x.dtype == dtype else alike(x, dtype)


def copy_with_layout(g, x):
    if g.shape != x.shape or not dense(x.layout):
        return copy(g)
    return alike(x, g.dtype)


def owns(x):
    return x.base is None and dense(x.layout)


# ---- views ---------------------------------------------------------------------------------------------------


def view_kernel(name):
    """Return the kernel of the reference for a view as a kernel for a MetaArray: it is applied to the layout."""
    return on_layout(getattr(reference, name), name)


view = view_kernel("view")
permute = view_kernel("permute")
transpose = view_kernel("transpose")
t = view_kernel("t")
expand = view_kernel("expand")
unsqueeze = view_kernel("unsqueeze")
select = view_kernel("select")
slice = view_kernel("slice")
diagonal = view_kernel("diagonal")
real = view_kernel("real")
imag = view_kernel("imag")
view_as_real = view_kernel("view_as_real")
view_as_complex = view_kernel("view_as_complex")


def by_columns(x):
    return reference.by_columns(x.layout)


def contiguous(x):
    return reference.contiguous(x.layout)


def obeys_layout(g, x):
    return reference.obeys_layout(g.layout, x.layout)


def geometry(x, base):
    return reference.geometry(x.layout, base.layout)


def seen(x, shape, strides, start):
    """The view of the block of `x` with this shape, these strides in bytes, and its beginning in bytes from the block's."""
    interface = {"version": 3, "shape": tuple(shape), "typestr": x.dtype.str, "strides": tuple(strides),
                 "data": (x.block.address + start, False)}
    return x.make_view(np.asarray(ArrayInterface(x.block, interface)))


def storage(x):
    return seen(x, (x.block.nbytes // x.itemsize,), (x.itemsize,), 0)


def resize(x, shape):
    start, size = x.start * x.itemsize, math.prod(shape) * x.itemsize
    if start + size > x.block.nbytes:
        return new_array(shape, x.dtype, x.device)
    return seen(x, shape, row_major(shape, x.itemsize), start)


def as_strided(x, base_strides, shape, strides, offset):
    check_strides(x.shape, base_strides)
    if not same_order(x.layout, in_bytes(base_strides, x), x.itemsize):
        x = new_array(x.shape, x.dtype, x.device, in_bytes(base_strides, x))
    memory = stride_tricks.as_strided(x.layout, (span(x.shape, base_strides),), (x.itemsize,))
    return x.make_view(part_of(memory, shape, strides, offset))


def as_strided_scatter(x, y, base_strides, shape, strides, offset):
    as_strided(x, base_strides, shape, strides, offset)     # raises if it is not inside
    return new_array(x.shape, x.dtype, x.device, in_bytes(base_strides, x))


def as_strided_add(y, base_shape, base_strides, shape, strides, offset):
    return new_array(base_shape, y.dtype, y.device, in_bytes(base_strides, y))
