"""as_strided and its derivatives: parts of an array that strides describe.

    as_strided(x, (4, 1), (3, 2), (1, 1), 0)        memory   0 1 2 3 4 5 6 7
                                                    rows     0 1
                                                               1 2
                                                                 2 3        which share elements

    bytes       a view costs nothing. `as_strided_scatter` copies x, and then writes y. `as_strided_add`, the adjoint of as_strided,
                writes zeros and adds y: an element of several rows gets the sum (Note [Adding where others add] in scattering.py)

`base_strides` are the strides that x had when the part was described. An array with other strides is copied to these first.

Mirrors ``aten/src/ATen/native/TensorShape.cpp`` and the backward of as_strided in ``torch/csrc/autograd/FunctionsManual.cpp``.
"""

import math

import numpy as np
from numpy.lib import stride_tricks

from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.elementwise.elementwise import fill_, new_full
from minigrad.kernels.cuda.index.indexing import INT64
from minigrad.kernels.cuda.index.scattering import add_at, store_at
from minigrad.kernels.cuda.runtime.memory import ArrayInterface
from minigrad.kernels.cuda.shape.layout import store
from minigrad.kernels.numpy_ref.layout import in_bytes, part_of, same_order, span

__all__ = ["as_strided", "as_strided_add", "as_strided_scatter", "resize"]


def lay_out(x, strides):
    """Return (memory, x): `x` with `strides`, in elements, and its 1-d memory from its first element on. Copies x if necessary."""
    if same_order(x, in_bytes(strides, x), x.itemsize):
        return x.make_view(stride_tricks.as_strided(x.layout, (span(x.shape, strides),), (x.itemsize,))), x
    return copy_with_strides(x, strides)


def copy_with_strides(x, strides):
    """`lay_out`, always with a copy."""
    memory = new_full((span(x.shape, strides),), 0, x.dtype, x.device)
    placed = memory.make_view(stride_tricks.as_strided(memory.layout, x.shape, in_bytes(strides, x)))
    store(placed, x)
    return memory, placed


def view_part(memory, shape, strides, offset):
    """Return the view of 1-d `memory` with this shape, strides and offset, in elements."""
    return memory.make_view(part_of(memory.layout, shape, strides, offset))


def overlap(shape, strides):
    """Whether elements of a part may share memory. They cannot if each stride steps over all elements of the smaller strides."""
    reach = 1
    for stride, n in sorted(zip(strides, shape)):
        if n > 1:
            if stride < reach:
                return True
            reach += (n - 1) * stride
    return False


def as_strided(x, base_strides, shape, strides, offset):
    return view_part(lay_out(x, base_strides)[0], shape, strides, offset)


def put(how, memory, y, shape, strides, offset):
    """Write y to a part of `memory`; return `memory`. If elements share memory, `how` writes: `store_at` or `add_at`."""
    if not overlap(shape, strides):
        store(view_part(memory, shape, strides, offset), y)
        return memory
    index = new_full((), offset, INT64, memory.device)
    index = index.make_view(np.broadcast_to(index.layout, shape))
    return how(memory, tuple(strides), 1, index, (0,) * len(shape), y, tuple(shape))


def as_strided_scatter(x, y, base_strides, shape, strides, offset):
    memory, placed = copy_with_strides(x, base_strides)
    if isinstance(y, CudaArray):
        put(store_at, memory, y, shape, strides, offset)
    else:
        fill_(view_part(memory, shape, strides, offset), y)
    return placed


def as_strided_add(y, base_shape, base_strides, shape, strides, offset):
    memory = put(add_at, new_full((span(base_shape, base_strides),), 0, y.dtype, y.device), y, shape, strides, offset)
    return memory.make_view(stride_tricks.as_strided(memory.layout, base_shape, in_bytes(base_strides, memory)))


def resize(x, shape):
    size = math.prod(shape)
    held = x.block.nbytes // x.itemsize - x.start
    if held >= size:
        return x.make_view(np.asarray(ArrayInterface(x.address, tuple(shape), x.dtype)))
    z = new_full((size,), 0, x.dtype, x.device)
    rest = x.make_view(np.asarray(ArrayInterface(x.address, (held,), x.dtype)))
    store(z.make_view(z.layout[:held]), rest)
    return CudaArray(z.block, z.layout.reshape(tuple(shape)))
