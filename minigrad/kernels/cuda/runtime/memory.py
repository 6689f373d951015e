"""Memory of a GPU: blocks, and copies from and to the CPU.

A block comes from CUDA's *stream-ordered* pool (cudaMallocAsync), through cuda.core. To free a block is a command in the stream,
like a kernel: the memory is free when the kernels before it have ended, and the CPU does not wait. In numba's simulator a block is
memory of the CPU.

Mirrors ``c10/cuda/CUDACachingAllocator.h``, which has a pool of its own because it is older than CUDA's.
Read next: ``launch.py``.
"""

import weakref

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.array import Block, CudaArray, Typed, empty_permuted_like
from minigrad.kernels.cuda.runtime.driver import check, out_of_memory, pool_of, use
from minigrad.kernels.cuda.runtime.streams import SIMULATED, current_stream

# Added to the addresses of a simulated GPU, so that the CPU cannot read there by accident, as on a real GPU.
ELSEWHERE = 1 << 60

__all__ = ["empty_array", "empty_like", "from_host", "to_host"]


def view_simulated(block, dtype):
    """Return a simulated block as an array of numba's simulator."""
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
    return FakeCUDAArray(block.owner[:block.nbytes // dtype.itemsize * dtype.itemsize].view(dtype))


def new_block(nbytes, device):
    """Allocate a block in the order of the current stream. Raises `OutOfMemoryError` if the pool does not have the memory."""
    if SIMULATED:
        try:
            memory = np.empty(max(nbytes, 1), np.uint8)
        except (MemoryError, ValueError) as error:
            raise out_of_memory(nbytes, device) from error
        return Block(memory.__array_interface__["data"][0] + ELSEWHERE, nbytes, device, memory, view_simulated)
    from cuda.core import Stream
    try:
        memory = pool_of(device.index).allocate(max(nbytes, 1), stream=Stream.from_handle(current_stream(device).handle))
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
        raise out_of_memory(nbytes, device) from error
    return Block(int(memory.handle), nbytes, device, memory, Typed)


class ArrayInterface:
    """An address and a shape, of which ``np.asarray`` makes an array without reading it."""

    def __init__(self, address, shape, dtype, strides=None):
        self.__array_interface__ = {"data": (address, False), "shape": shape, "strides": strides, "typestr": dtype.str,
                                    "version": 3}


def empty_array(shape, dtype, device):
    """Return an uninitialised row-major array of `shape` and NumPy `dtype` on `device`."""
    shape = tuple(shape)
    dtype = np.dtype(dtype)
    size = 1
    for n in shape:
        size *= n
    block = new_block(size * dtype.itemsize, device)
    return CudaArray(block, np.asarray(ArrayInterface(block.address, shape, dtype)))


def empty_like(x, dtype):
    """Return an array of NumPy `dtype` with the shape of `x` and the order of its dimensions in memory; `x` has no gaps."""
    return empty_array(x.shape, dtype, x.device) if x.flags.c_contiguous else empty_permuted_like(x, np.dtype(dtype), empty_array)


if not SIMULATED:
    try:
        from minigrad.kernels.cuda.quick import empty_array, empty_like
    except (ImportError, OSError):      # interpreted, or this machine has no CUDA driver
        pass


def from_host(array, device, wait=True):
    """Return a row-major copy of a NumPy array on `device`, made in the order of the current stream.

    CUDA reads ordinary memory before this function returns. It reads pinned memory later, when the stream comes to the copy: with
    `wait` this function waits for it.
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


# Address -> size of each block of pinned memory that is in use.
_pinned = {}


def pin(array):
    """Return a copy of a NumPy array in pinned memory: the system never moves it, so a GPU can read it without the CPU."""
    out = cuda.pinned_array(array.shape, array.dtype)
    out[...] = array
    _pinned[address_of(out)] = out.nbytes
    weakref.finalize(out, _pinned.pop, address_of(out), None)
    return out


def is_pinned(array):
    """Whether a NumPy array is in pinned memory."""
    at = address_of(array)
    return any(start <= at < start + max(nbytes, 1) for start, nbytes in list(_pinned.items()))


def address_of(array):
    return array.__array_interface__["data"][0]


def to_host(x):
    """Return a NumPy copy of a row-major CudaArray. Waits for the current stream."""
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
