"""`CudaArray`: the array type of a GPU. It is a block of GPU memory, with a shape and strides.

    x = CudaArray of shape (2, 3)        block   24 bytes on the GPU, which x and its views share
    y = x transposed, shape (3, 2)       layout  shape, strides and address of one array in the block

Note [A layout is an array that nobody reads]
    To permute, slice or expand an array is arithmetic on its shape, its strides and its address. NumPy can do all of it. So the
    `layout` of a CudaArray is a NumPy array whose address is an address of the GPU. The CPU cannot read its numbers, and no code
    ever does. But its shape, its strides, its flags and all views that NumPy makes of it are right. So the kernels of the CPU for
    views also serve the GPU: see shape/views.py.

Read next: ``runtime/memory.py``.
"""

import threading

import cython

__all__ = ["Block", "CudaArray", "Statistics", "Typed", "empty_permuted_like"]

if not cython.compiled:
    def first_of(layout):
        """The address of the first element of a NumPy array."""
        return layout.__array_interface__["data"][0]

_lock = threading.Lock()


@cython.binding(False)
@cython.cclass
class Statistics:
    """The bytes of one GPU that tensors use, and the most that they have used."""

    def __init__(self):
        self.allocated = 0
        self.most = 0

    def add(self, nbytes):
        if cython.compiled:     # compiled, no other thread can run between the two lines
            self.allocated += nbytes
            self.most = max(self.most, self.allocated)
            return
        with _lock:
            self.allocated += nbytes
            self.most = max(self.most, self.allocated)


@cython.binding(False)
@cython.cclass
class Block:
    """A block of GPU memory, which one or more arrays use. It is freed with the last reference to it.

    Args:
        address: the address of the first byte.
        nbytes: its size.
        device: the `Device` that has the memory.
        owner: the object that frees the memory when it is deleted.
        as_dtype: (block, dtype) -> the whole block as a one-dimensional array of that dtype, which kernels take.
    """

    def __init__(self, address, nbytes, device, owner, as_dtype):
        self.address = address
        self.nbytes = nbytes
        self.device = device
        self.owner = owner
        self.as_dtype = as_dtype
        self.statistics = device.statistics
        self.statistics.add(nbytes)

    def __del__(self):
        self.statistics.add(-self.nbytes)

    def of(self, dtype):
        """The whole block as a one-dimensional array of NumPy `dtype`, for a kernel."""
        return self.as_dtype(self, dtype)


@cython.binding(False)
@cython.cclass
class Typed:
    """A block as numbers of one NumPy dtype. A kernel gets an array as two arguments: this, and the number of the first element."""

    def __init__(self, block, dtype):
        self.block = block
        self.dtype = dtype


@cython.binding(False)
@cython.cclass
class CudaArray:
    """An array on a GPU.

    Args:
        block: the `Block` of its memory.
        layout: NumPy array with its shape, strides and address on the GPU. It is never read.
        base: the array that this is a view of, or None.
    """

    __array_ufunc__ = None      # NumPy functions raise a TypeError

    def __init__(self, block, layout, base=None):
        self.block = block
        self.layout = layout
        self.base = base

    @property
    def shape(self):
        return self.layout.shape

    @property
    def strides(self):
        return self.layout.strides

    @property
    def dtype(self):
        return self.layout.dtype

    @property
    def ndim(self):
        return self.layout.ndim

    @property
    def size(self):
        return self.layout.size

    @property
    def itemsize(self):
        return self.layout.itemsize

    @property
    def nbytes(self):
        return self.layout.nbytes

    @property
    def flags(self):
        return self.layout.flags

    @property
    def device(self):
        """The `Device` that has its memory."""
        return self.block.device

    @property
    def address(self):
        """The address of the first element on the GPU."""
        return first_of(self.layout)

    @property
    def start(self):
        """The index of the first element in the block, in elements of this dtype: an argument of kernels."""
        return (first_of(self.layout) - self.block.address) // self.layout.itemsize

    def make_view(self, layout):
        """Return the view of this array with `layout`, a NumPy view of this array's layout."""
        return CudaArray(self.block, layout, self if self.base is None else self.base)

    def tolist(self):
        """The numbers as nested lists, as of a NumPy array."""
        return self.device.backend.kernels.to_host(self).tolist()

    def item(self):
        """The only number as a Python number, as of a NumPy array."""
        return self.device.backend.kernels.to_host(self).item()

    def any(self):
        """Whether any number is not 0."""
        return self.device.backend.kernels.to_host(self).any()

    def all(self):
        """Whether no number is 0."""
        return self.device.backend.kernels.to_host(self).all()

    def __array__(self, dtype=None, copy=None):
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                        "memory first.")

    def __repr__(self):
        return f"<CudaArray {self.dtype} {list(self.shape)} on {self.device}>"


def empty_permuted_like(x, dtype, empty_array):
    """Return an array of NumPy `dtype` with the shape of `x` and the order of its dimensions in memory.

    `empty_array` allocates it: memory.py and quick.pyx each have their own.
    """
    order = sorted(range(x.ndim), key=lambda dim: (-x.strides[dim], -x.shape[dim]))
    out = empty_array([x.shape[dim] for dim in order], dtype, x.device)
    return CudaArray(out.block, out.layout.transpose(sorted(range(len(order)), key=order.__getitem__)))
