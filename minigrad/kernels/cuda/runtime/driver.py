"""The driver: CUDA's own functions, where numba's way to them takes longer than they do.

Loading a kernel, starting it, and memory from the pool. The compiled engine calls the same functions through their addresses, see
``quick.pyx``; the interpreted one by way of cuda.bindings.

Mirrors what ``c10/cuda`` takes from the runtime. Read next: ``memory.py``.
"""

import ctypes

from minigrad.errors import OutOfMemoryError, ShapeError

__all__ = ["address_of", "check", "context_of", "no_room", "pool_of", "use"]


def check(result):
    """What a call of cuda.bindings returned besides its code. Raises `RuntimeError` if the code is an error."""
    from cuda.bindings import driver
    code, *rest = result
    if code != driver.CUresult.CUDA_SUCCESS:
        raise error(int(code))
    return rest[0] if rest else None


def error(code):
    """The exception for an error of the driver's."""
    from cuda.bindings import driver
    text = driver.cuGetErrorString(driver.CUresult(code))[1]
    return ShapeError("MG-E310", f"CUDA error: {text.decode() if text else code}",
                      fix="CUDA_LAUNCH_BLOCKING=1 in the environment finds the kernel: they run after the call that started them")


def no_room(nbytes, device):
    """The exception where the pool has no `nbytes` left."""
    return OutOfMemoryError("MG-E310", f"CUDA out of memory. Tried to allocate {in_words(nbytes)}",
                            found=f"{device}, on which tensors hold {in_words(device.statistics.allocated)}",
                            fix="smaller batches, utils.checkpoint, autograd.graph.save_on_cpu, or fewer tensors kept")


def in_words(nbytes):
    size, unit = (nbytes / 2 ** 30, "GiB") if nbytes >= 2 ** 30 else (nbytes / 2 ** 20, "MiB")
    return f"{size:.2f} {unit}"


_contexts = {}


def context_of(index):
    """The driver's number of the primary context of a GPU, which is the one that numba and PyTorch use."""
    found = _contexts.get(index)
    if found is None:
        from cuda.bindings import driver
        check(driver.cuInit(0))
        device = check(driver.cuDeviceGet(index))
        found = _contexts[index] = int(check(driver.cuDevicePrimaryCtxRetain(device)))
        check(driver.cuCtxSetCurrent(driver.CUcontext(found)))
    return found


def use(device):
    """Let this thread's calls of the driver mean `device`."""
    from cuda.bindings import driver
    check(driver.cuCtxSetCurrent(driver.CUcontext(device.context)))


_pools = {}


def pool_of(index):
    """CUDA's stream-ordered pool of a GPU, told by cuda.core to keep what is freed instead of giving it back at each wait."""
    found = _pools.get(index)
    if found is None:
        from cuda.core import Device
        device = Device(index)
        device.set_current()
        found = _pools[index] = device.memory_resource
    return found


def trim():
    """Let the pools give back what is free in them."""
    from cuda.bindings import driver
    for index in _pools:
        check(driver.cuMemPoolTrimTo(check(driver.cuDeviceGetDefaultMemPool(check(driver.cuDeviceGet(index)))), 0))


def address_of(name):
    """Where a function of the driver's lies in the memory of this process."""
    import sys
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
