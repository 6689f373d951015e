"""Memory of a GPU: blocks of it, and copies from and to the CPU.

A block comes from CUDA's own *stream-ordered* pool (cudaMallocAsync), by way of cuda.core: freeing it is a command in the stream
like a kernel, so memory goes back when the kernels that were started before have ended, and nobody waits. On numba's simulator a
block is memory of the CPU.

Mirrors ``c10/cuda/CUDACachingAllocator.h``, which has a pool of its own, from a time when CUDA had none.
Read next: ``launch.py``.
"""

import weakref

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.array import Block, CudaArray, Typed
from minigrad.kernels.cuda.runtime.driver import check, no_room, pool_of, use
from minigrad.kernels.cuda.runtime.streams import SIMULATED, current_stream

# Added to the addresses of a simulated GPU: as on a real one, nothing can be read there from the CPU.
ELSEWHERE = 1 << 60

__all__ = ["empty_array", "from_host", "like", "to_host"]


def whole(block, dtype):
    """A simulated block as numba's simulator takes arrays."""
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
    return FakeCUDAArray(block.owner[:block.nbytes // dtype.itemsize * dtype.itemsize].view(dtype))


def new_block(nbytes, device):
    """A block of CUDA's pool, taken in the order of the current stream. Raises `OutOfMemoryError` if there is no room."""
    if SIMULATED:
        try:
            memory = np.empty(max(nbytes, 1), np.uint8)
        except (MemoryError, ValueError) as error:
            raise no_room(nbytes, device) from error
        return Block(memory.__array_interface__["data"][0] + ELSEWHERE, nbytes, device, memory, whole)
    from cuda.core import Stream
    try:
        memory = pool_of(device.index).allocate(max(nbytes, 1), stream=Stream.from_handle(current_stream(device).handle))
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
        raise no_room(nbytes, device) from error
    return Block(int(memory.handle), nbytes, device, memory, Typed)


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
    block = new_block(size * dtype.itemsize, device)
    return CudaArray(block, np.asarray(Described(block.address, shape, dtype)))


def like(x, dtype):
    """An array of NumPy `dtype` with the shape of `x` and the order of its dimensions in memory; `x` has no gaps."""
    return empty_array(x.shape, dtype, x.device) if x.flags.c_contiguous else like_permuted(x, np.dtype(dtype))


def like_permuted(x, dtype):
    order = sorted(range(x.ndim), key=lambda dim: (-x.strides[dim], -x.shape[dim]))
    out = empty_array([x.shape[dim] for dim in order], dtype, x.device)
    return CudaArray(out.block, out.layout.transpose(np.argsort(order).tolist()))


if not SIMULATED:
    try:
        from minigrad.kernels.cuda.quick import empty_array, like
    except (ImportError, OSError):      # interpreted, or compiled for a GPU that is not here
        pass


def from_host(array, device, wait=True):
    """A row-major copy of a NumPy array on `device`, made in the order of the current stream.

    CUDA copies what is not pinned aside before it returns. Pinned memory it reads when it comes to it: `wait` for that.
    """
    out = empty_array(array.shape, array.dtype, device)
    if out.size:
        array = np.ascontiguousarray(array)
        if SIMULATED:
            out.block.owner[:out.nbytes] = array.reshape(-1).view(np.uint8)
            return out
        from cuda.bindings import driver
        stream = current_stream(device)
        use(device)
        check(driver.cuMemcpyHtoDAsync(out.address, address_of(array), out.nbytes, stream.handle))
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
    out = np.empty(x.shape, x.dtype)
    if SIMULATED:
        start = x.address - x.block.address
        out.reshape(-1).view(np.uint8)[:] = x.block.owner[start:start + x.nbytes]
        return out
    from cuda.bindings import driver
    stream = current_stream(x.device)
    use(x.device)
    check(driver.cuMemcpyDtoHAsync(address_of(out), x.address, x.nbytes, stream.handle))
    stream.synchronize()
    return out
