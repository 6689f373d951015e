"""`CudaArray`: what a NumPy array is to the CPU, on a GPU: numbers in the memory of a device, with a shape and strides.

    x = CudaArray of shape (2, 3)        block   24 bytes on the GPU, which all views share
    y = its transpose, shape (3, 2)      layout  how this array lies in them

Note [A layout is an array that nobody reads]
    Permuting, slicing and expanding are arithmetic on shapes, strides and an address, and NumPy does all of it. So the `layout` of
    a CudaArray is a NumPy array whose address is the one on the GPU. Its numbers cannot be read from here, and are never asked
    for; its shape, its strides, its flags, and any view that NumPy makes of it, are right. The CPU's kernels for views therefore
    serve the GPU as they are: see views.py.

Read next: ``memory.py``.
"""

import threading

import cython

__all__ = ["Block", "CudaArray", "Statistics", "Typed"]

if not cython.compiled:
    def first_of(layout):
        """Where the first element of a NumPy array lies."""
        return layout.__array_interface__["data"][0]

_lock = threading.Lock()


@cython.binding(False)
@cython.cclass
class Statistics:
    """Bytes of one GPU that tensors hold, and the most that they have held."""

    def __init__(self):
        self.allocated = 0
        self.most = 0

    def add(self, nbytes):
        if cython.compiled:     # where no other thread can come between
            self.allocated += nbytes
            self.most = max(self.most, self.allocated)
            return
        with _lock:
            self.allocated += nbytes
            self.most = max(self.most, self.allocated)


@cython.binding(False)
@cython.cclass
class Block:
    """Bytes on a GPU, which arrays lie in. They go back with the last reference to them.

    Args:
        address: of the first byte.
        nbytes: how many there are.
        device: the `Device` in whose memory they are.
        owner: what frees them when it is dropped.
        as_dtype: (block, dtype) -> all of it seen as one array of that dtype, as kernels take it.
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
        """All of it as a one-dimensional array of NumPy `dtype`, for a kernel."""
        return self.as_dtype(self, dtype)


@cython.binding(False)
@cython.cclass
class Typed:
    """A block of a GPU seen as numbers of one NumPy dtype: the first of the two things that kernels are told of an array."""

    def __init__(self, block, dtype):
        self.block = block
        self.dtype = dtype


@cython.binding(False)
@cython.cclass
class CudaArray:
    """An array on a GPU.

    Args:
        block: the `Block` of memory that it lies in.
        layout: NumPy array that says where, with the address of the GPU. It is never read.
        base: the array that this is a view of, None for what is no view.
    """

    __array_ufunc__ = None      # a NumPy function on it is a mistake, and says so

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
        """The `Device` in whose memory it lies."""
        return self.block.device

    @property
    def address(self):
        """Where the first element lies in the memory of the GPU."""
        return first_of(self.layout)

    @property
    def start(self):
        """The number of elements of this dtype before the first, from the beginning of the block: what a kernel is told."""
        return (first_of(self.layout) - self.block.address) // self.layout.itemsize

    def seen_as(self, layout):
        """The view of this array that a NumPy function has made of its layout."""
        return CudaArray(self.block, layout, self if self.base is None else self.base)

    def tolist(self):
        """The numbers as nested lists, like NumPy's."""
        return self.device.backend.kernels.to_host(self).tolist()

    def item(self):
        """The only number, like NumPy's."""
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
