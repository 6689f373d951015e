"""Parts of an array that strides describe: arithmetic on layouts, and a copy where it has to be.

    as_strided(x, (4, 1), (3, 2), (1, 1), 0)        memory   0 1 2 3 4 5 6 7
                                                    rows     0 1
                                                               1 2
                                                                 2 3        which share elements

    bytes       a view costs nothing. `as_strided_scatter` copies x, and then writes y. `as_strided_add` writes zeros and adds y:
                that is the adjoint, where an element of several rows gets the sum (Note [Adding where others add] in scattering.py)

`base_strides` are those that x had when the part was described. An array that lies otherwise is first copied to where they say.

Mirrors ``aten/src/ATen/native/TensorShape.cpp`` and the backward of as_strided in ``torch/csrc/autograd/FunctionsManual.cpp``.
Read next: ``views.py``.
"""

import math

import numpy as np
from numpy.lib import stride_tricks

from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.elementwise.elementwise import fill_, filled
from minigrad.kernels.cuda.index.indexing import INT64
from minigrad.kernels.cuda.index.scattering import added, stored
from minigrad.kernels.cuda.runtime.memory import Described
from minigrad.kernels.cuda.shape.layout import store
from minigrad.kernels.numpy_ref.layout import in_bytes, part_of, same_order, span

__all__ = ["as_strided", "as_strided_add", "as_strided_scatter", "resize"]


def laid_out(x, strides):
    """(memory, x): `x` with `strides`, in elements, on 1-d memory that begins at its first element."""
    if same_order(x, in_bytes(strides, x), x.itemsize):
        return x.seen_as(stride_tricks.as_strided(x.layout, (span(x.shape, strides),), (x.itemsize,))), x
    return copied(x, strides)


def copied(x, strides):
    """`laid_out`, always in new memory."""
    memory = filled((span(x.shape, strides),), 0, x.dtype, x.device)
    placed = memory.seen_as(stride_tricks.as_strided(memory.layout, x.shape, in_bytes(strides, x)))
    store(placed, x)
    return memory, placed


def seen(memory, shape, strides, offset):
    return memory.seen_as(part_of(memory.layout, shape, strides, offset))


def overlap(shape, strides):
    """Whether elements of a part may share memory: False where each dimension steps over all that the smaller ones reach."""
    reach = 1
    for stride, n in sorted(zip(strides, shape)):
        if n > 1:
            if stride < reach:
                return True
            reach += (n - 1) * stride
    return False


def as_strided(x, base_strides, shape, strides, offset):
    return seen(laid_out(x, base_strides)[0], shape, strides, offset)


def put(how, memory, y, shape, strides, offset):
    """`memory` with y in that part of it, `how` being what to do where elements share memory: `stored` or `added`."""
    if not overlap(shape, strides):
        store(seen(memory, shape, strides, offset), y)
        return memory
    index = filled((), offset, INT64, memory.device)
    index = index.seen_as(np.broadcast_to(index.layout, shape))
    return how(memory, tuple(strides), 1, index, (0,) * len(shape), y, tuple(shape))


def as_strided_scatter(x, y, base_strides, shape, strides, offset):
    memory, placed = copied(x, base_strides)
    if isinstance(y, CudaArray):
        put(stored, memory, y, shape, strides, offset)
    else:
        fill_(seen(memory, shape, strides, offset), y)
    return placed


def as_strided_add(y, base_shape, base_strides, shape, strides, offset):
    memory = put(added, filled((span(base_shape, base_strides),), 0, y.dtype, y.device), y, shape, strides, offset)
    return memory.seen_as(stride_tricks.as_strided(memory.layout, base_shape, in_bytes(base_strides, memory)))


def resize(x, shape):
    size = math.prod(shape)
    held = x.block.nbytes // x.itemsize - x.start
    if held >= size:
        return x.seen_as(np.asarray(Described(x.address, tuple(shape), x.dtype)))
    z = filled((size,), 0, x.dtype, x.device)
    rest = x.seen_as(np.asarray(Described(x.address, (held,), x.dtype)))
    store(z.seen_as(z.layout[:held]), rest)
    return CudaArray(z.block, z.layout.reshape(tuple(shape)))
