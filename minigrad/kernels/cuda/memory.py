"""Memory of a GPU: blocks of it, and copies from and to the CPU.

A block comes from CUDA's own *stream-ordered* pool (cudaMallocAsync), by way of cuda.core: freeing it is a command in the stream
like a kernel, so memory goes back when the kernels that were started before have ended, and nobody waits. On numba's simulator a
block is memory of the CPU.

Mirrors ``c10/cuda/CUDACachingAllocator.h``, which has a pool of its own, from a time when CUDA had none.
Read next: ``launch.py``.
"""

import ctypes
import threading
import weakref

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.streams import SIMULATED, current_stream

# Added to the addresses of a simulated GPU: as on a real one, nothing can be read there from the CPU.
ELSEWHERE = 1 << 60

__all__ = ["Block", "Statistics", "empty_array", "from_host", "like", "to_host"]


class Statistics:
    """Bytes of one GPU that tensors hold."""

    def __init__(self):
        self.allocated = 0
        self.most = 0
        self.lock = threading.Lock()

    def add(self, nbytes):
        with self.lock:
            self.allocated += nbytes
            self.most = max(self.most, self.allocated)


class Block:
    """`nbytes` bytes of memory on a GPU; they go back to the pool with the last reference to it.

    Attributes:
        address: of the first byte.
    """

    def __init__(self, nbytes, device):
        self.nbytes = nbytes
        self.device = device
        self.typed = {}             # dtype -> the block as a numba array of it, as kernels take it
        if SIMULATED:
            self.memory = np.empty(max(nbytes, 1), np.uint8)
            self.address = self.memory.__array_interface__["data"][0] + ELSEWHERE
        else:
            self.memory = resource(device).allocate(max(nbytes, 1), stream=current_stream(device).core)
            self.address = int(self.memory.handle)
        device.statistics.add(nbytes)

    def __del__(self):
        if hasattr(self, "address"):
            self.device.statistics.add(-self.nbytes)

    def of(self, dtype):
        """The whole block as a one-dimensional numba array of `dtype`."""
        found = self.typed.get(dtype)
        if found is None:
            found = self.typed[dtype] = self.as_numba(dtype)
        return found

    def as_numba(self, dtype):
        count = self.nbytes // dtype.itemsize
        if SIMULATED:
            from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
            return FakeCUDAArray(self.memory[:count * dtype.itemsize].view(dtype))
        from numba.cuda.cudadrv.devicearray import DeviceNDArray
        from numba.cuda.cudadrv.driver import MemoryPointer
        pointer = MemoryPointer(cuda.current_context(), ctypes.c_void_p(self.address), max(self.nbytes, 1))
        return DeviceNDArray((count,), (dtype.itemsize,), dtype, gpu_data=pointer)


_resources = {}


def resource(device):
    """CUDA's stream-ordered pool of `device`."""
    found = _resources.get(device.index)
    if found is None:
        from cuda.core import Device
        gpu = Device(device.index)
        gpu.set_current()
        found = _resources[device.index] = gpu.memory_resource
    return found


class Described:
    """Something that NumPy makes an array of without reading it: an address and a shape."""

    def __init__(self, address, shape, dtype, strides=None):
        self.__array_interface__ = {"data": (address, False), "shape": shape, "strides": strides, "typestr": dtype.str,
                                    "version": 3}


def empty_array(shape, dtype, device):
    """A row-major array of `shape` and NumPy `dtype` on `device`, uninitialised."""
    shape = tuple(shape)
    dtype = np.dtype(dtype)
    size = 1
    for n in shape:
        size *= n
    block = Block(size * dtype.itemsize, device)
    return CudaArray(block, np.asarray(Described(block.address, shape, dtype)))


def like(x, dtype):
    """An array of NumPy `dtype` with the shape of `x` and the order of its dimensions in memory; `x` has no gaps."""
    dtype = np.dtype(dtype)
    order = sorted(range(x.ndim), key=lambda dim: (-x.strides[dim], -x.shape[dim]))
    out = empty_array([x.shape[dim] for dim in order], dtype, x.device)
    return CudaArray(out.block, out.layout.transpose(np.argsort(order).tolist()))


def from_host(array, device, wait=True):
    """A row-major copy of a NumPy array on `device`, made in the order of the current stream.

    CUDA copies what is not pinned aside before it returns. Pinned memory it reads when it comes to it: `wait` for that.
    """
    out = empty_array(array.shape, array.dtype, device)
    if out.size:
        stream = current_stream(device)
        out.block.of(out.dtype).copy_to_device(np.ascontiguousarray(array).reshape(-1), stream=stream.numba)
        if wait and is_pinned(array):
            stream.synchronize()
    return out


# Pinned memory: the addresses of its blocks, as long as they are in use.
_pinned = {}


def pinned(array):
    """A copy of a NumPy array in memory that the system does not move, so that a GPU can read it without the CPU's help."""
    out = cuda.pinned_array(array.shape, array.dtype)
    out[...] = array
    _pinned[address_of(out)] = out.nbytes
    weakref.finalize(out, _pinned.pop, address_of(out), None)
    return out


def is_pinned(array):
    """Whether a NumPy array lies in pinned memory."""
    at = address_of(array)
    return any(start <= at < start + max(nbytes, 1) for start, nbytes in list(_pinned.items()))


def address_of(array):
    return array.__array_interface__["data"][0]


def to_host(x):
    """A NumPy copy of a row-major CudaArray. Waits for the stream."""
    if not x.size:
        return np.empty(x.shape, x.dtype)
    start = x.start
    flat = x.block.of(x.dtype)[start:start + x.size]
    found = flat.copy_to_host(stream=current_stream(x.device).numba)
    current_stream(x.device).synchronize()
    return np.asarray(found).reshape(x.shape)


def trim():
    """Let CUDA's pools give back what is free in them."""
    for pool in _resources.values():
        if hasattr(pool, "trim_to"):
            pool.trim_to(0)
