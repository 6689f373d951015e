"""`MetaArray`: an array with a shape, strides and a dtype, but without memory.

    x = MetaArray of shape (2, 3)        block   24 bytes that nobody has, which x and its views share
    y = x transposed, shape (3, 2)       layout  shape, strides and address of one array in the block

The `layout` is a NumPy array at an address that belongs to nobody, as in Note [A layout is an array that nobody reads] in
``cuda/array.py``. To permute, slice or expand it is arithmetic on shape, strides and address. Each block has addresses of its own,
so `np.may_share_memory` still tells which arrays overlap.

Read next: ``layout.py``.
"""

import math
import threading

import numpy as np

from minigrad.errors import AutogradError, AutogradNotImplementedError
from minigrad.kernels.numpy_ref.layout import ArrayInterface, dense

__all__ = ["Block", "MetaArray", "alike", "new_array", "no_data", "row_major"]

FIRST, LAST = 1 << 40, 1 << 61      # the addresses of blocks: after the last one comes the first again
_lock = threading.Lock()
_next = FIRST


class Block:
    """The addresses that an array and its views share.

    Args:
        nbytes (int): how many.
        device (Device): the device "meta".
    """

    __slots__ = ("address", "device", "nbytes")

    def __init__(self, nbytes, device):
        global _next
        with _lock:
            self.address = _next if _next + nbytes < LAST else FIRST
            _next = self.address + nbytes // 64 * 64 + 64
        self.nbytes, self.device = nbytes, device

    def array(self, shape, dtype, strides=None):
        """The array at the beginning of the block, with strides in bytes; row-major without them."""
        interface = {"version": 3, "shape": tuple(shape), "typestr": dtype.str, "data": (self.address, False)}
        return MetaArray(self, np.asarray(ArrayInterface(self, {**interface, "strides": strides})))


class MetaArray:
    """An array on the device "meta".

    Args:
        block (Block): its addresses.
        layout (np.ndarray): its shape, strides, dtype and address. It is never read.
        base (MetaArray, optional): the array that this is a view of.
    """

    __slots__ = ("__weakref__", "base", "block", "layout")
    __array_ufunc__ = None      # NumPy functions raise a TypeError

    def __init__(self, block, layout, base=None):
        self.block, self.layout, self.base = block, layout, base

    shape = property(lambda self: self.layout.shape)
    strides = property(lambda self: self.layout.strides)
    dtype = property(lambda self: self.layout.dtype)
    ndim = property(lambda self: self.layout.ndim)
    size = property(lambda self: self.layout.size)
    itemsize = property(lambda self: self.layout.itemsize)
    nbytes = property(lambda self: self.layout.nbytes)
    flags = property(lambda self: self.layout.flags)
    device = property(lambda self: self.block.device)

    @property
    def address(self):
        """The address of the first element."""
        return self.layout.__array_interface__["data"][0]

    @property
    def start(self):
        """The index of the first element in the block, in elements of this dtype."""
        return (self.address - self.block.address) // self.layout.itemsize

    def make_view(self, layout):
        """Return the view of this array with `layout`, a NumPy view of this array's layout."""
        return MetaArray(self.block, layout, self if self.base is None else self.base)

    def item(self):
        """Raise: there is no number."""
        raise AutogradError("MG-E312", "Tensor.item() cannot be called on meta tensors",
                            fix='module.to_empty(device="cpu") or empty_like(x, device="cpu") gives it memory')

    any = all = item

    def tolist(self):
        """Raise: there are no numbers."""
        raise no_data()

    def __array__(self, dtype=None, copy=None):
        raise no_data()

    def __repr__(self):
        return f"<MetaArray {self.dtype} {list(self.shape)}>"


def no_data(what="Cannot copy out of meta tensor; no data!"):
    """The error for a tensor whose numbers are needed."""
    return AutogradNotImplementedError("MG-E312", what, fix='module.to_empty(device="cpu") or empty_like(x, device="cpu") gives it '
                                       "memory; then load or initialise the values")


def row_major(shape, itemsize):
    """The strides in bytes of a row-major array."""
    strides = [itemsize] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * max(shape[d + 1], 1)
    return tuple(strides)


def new_array(shape, dtype, device, strides=None):
    """Return a new array, row-major or with `strides` in bytes. Raises `ValueError` for a shape that no array can have."""
    dtype = np.dtype(dtype)
    if strides is None:
        strides = row_major(shape, dtype.itemsize)
    reach = 0 if 0 in shape else dtype.itemsize + sum([(n - 1) * s for n, s in zip(shape, strides)])
    if max(reach, math.prod(shape) * dtype.itemsize) >= LAST - FIRST:
        raise ValueError(f"array is too big: an array of shape {tuple(shape)} and dtype {dtype}")
    return Block(reach, device).array(shape, dtype, strides)


def alike(x, dtype=None):
    """Return a new array with the shape of `x`, and with its order of dimensions if it has no gaps."""
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    strides = tuple([s // x.itemsize * dtype.itemsize for s in x.strides]) if x.size and dense(x.layout) else None
    return new_array(x.shape, dtype, x.device, strides)
