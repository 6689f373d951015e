"""The driver: CUDA's own functions, called directly where numba's way to them is slow.

They load a kernel, start it, and allocate memory from the pool. The compiled engine calls them through their addresses (see
``quick.pyx``), the interpreted engine through cuda.bindings.

Mirrors what ``c10/cuda`` uses of the CUDA runtime. Read next: ``memory.py``.
"""

import ctypes

from minigrad.errors import DeviceError, OutOfMemoryError

__all__ = ["address_of", "check", "context_of", "out_of_memory", "pool_of", "use"]


def check(result):
    """Return the value of a call of cuda.bindings, without its error code. Raises `RuntimeError` if the code is an error."""
    from cuda.bindings import driver
    code, *rest = result
    if code != driver.CUresult.CUDA_SUCCESS:
        raise error(int(code))
    return rest[0] if rest else None


def error(code):
    """The exception for an error code of the driver."""
    from cuda.bindings import driver
    text = driver.cuGetErrorString(driver.CUresult(code))[1]
    return DeviceError("MG-E310", f"CUDA error: {text.decode() if text else code}",
                       fix="set CUDA_LAUNCH_BLOCKING=1 to find the kernel: without it a kernel runs after the call that started it")


def out_of_memory(nbytes, device):
    """The exception for an allocation of `nbytes` that the pool cannot make."""
    return OutOfMemoryError("MG-E310", f"CUDA out of memory. Tried to allocate {describe_size(nbytes)}",
                            found=f"{device}, on which tensors hold {describe_size(device.statistics.allocated)}",
                            fix="smaller batches, utils.checkpoint, autograd.graph.save_on_cpu, or fewer tensors kept")


def describe_size(nbytes):
    """`nbytes` in GiB or MiB, for a message."""
    size, unit = (nbytes / 2 ** 30, "GiB") if nbytes >= 2 ** 30 else (nbytes / 2 ** 20, "MiB")
    return f"{size:.2f} {unit}"


_contexts = {}


def context_of(index):
    """The driver's handle of the primary context of a GPU. Numba and PyTorch use the same context."""
    found = _contexts.get(index)
    if found is None:
        from cuda.bindings import driver
        check(driver.cuInit(0))
        device = check(driver.cuDeviceGet(index))
        found = _contexts[index] = int(check(driver.cuDevicePrimaryCtxRetain(device)))
        check(driver.cuCtxSetCurrent(driver.CUcontext(found)))
    return found


def use(device):
    """Make `device` the one that this thread's calls of the driver mean."""
    from cuda.bindings import driver
    check(driver.cuCtxSetCurrent(driver.CUcontext(device.context)))


_pools = {}


def pool_of(index):
    """CUDA's stream-ordered pool of a GPU. cuda.core makes it keep freed memory, which each wait would give back."""
    found = _pools.get(index)
    if found is None:
        from cuda.core import Device
        device = Device(index)
        device.set_current()
        found = _pools[index] = device.memory_resource
    return found


def trim():
    """Give the free memory of all pools back to the driver."""
    from cuda.bindings import driver
    for index in _pools:
        check(driver.cuMemPoolTrimTo(check(driver.cuDeviceGetDefaultMemPool(check(driver.cuDeviceGet(index)))), 0))


def address_of(name):
    """The address of a function of the driver in this process."""
    import sys
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
