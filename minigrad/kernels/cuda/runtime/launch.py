"""Starting kernels: the number of threads, and the arguments.

A kernel gets an array as two arguments: its whole block as a one-dimensional array, and the index of its first element. So a view
needs no copy, and numba compiles a kernel once for each dtype, for all shapes.

Note [Grid-stride loops]
    The number of threads need not be the number of elements. Thread i computes elements i, i + threads, i + 2 threads, ...
    Neighbouring threads then read neighbouring numbers, which the memory delivers together, and the result is right for any number
    of threads. (M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", 2013.)

Note [The price of a launch]
    A small operation takes the GPU two microseconds, and the driver two more to queue it. Numba's own launch takes forty: it asks
    each argument for its type and wraps it. Here `pack_arguments` writes the types as a short string, with which a dictionary finds
    the compiled function (specialise.py), and the values as words in numba's calling convention. The compiled engine does this in
    C: quick.pyx.

Read next: ``specialise.py``, then ``elementwise/elementwise.py``.
"""

import ctypes
import warnings

import numpy as np

from minigrad.kernels.cuda.array import CudaArray, Typed
from minigrad.kernels.cuda.runtime.driver import check, use
from minigrad.kernels.cuda.runtime.specialise import function_for
from minigrad.kernels.cuda.runtime.streams import SIMULATED, current_stream

__all__ = ["THREADS", "WARP", "launch", "launch_each", "pack_arguments", "pointers"]

WARP = 32                                   # threads that run in lockstep
THREADS = 4 if SIMULATED else 256           # per block, for most kernels; in the simulator each is a Python thread
MOST_BLOCKS = 2 if SIMULATED else 1 << 16
EACH = 4                                    # elements of a thread in a large grid: its reads can all be under way together


def pointers(*arrays):
    """The arguments of a kernel for `arrays`: for each its block, and the index of its first element.

    On a GPU these are the arrays themselves: `launch` makes the two arguments of each.
    """
    return [part for x in arrays for part in (x.block.of(x.dtype), x.start)] if SIMULATED else arrays


def pack_arguments(args):
    """Return (types, words): the types of the arguments as bytes, and their values as 64-bit words.

    An int is "i"; a tuple of n ints is "t" and n. A NumPy number is "s" and the letter of its dtype, a block "a" and the letter of
    its dtype. A `CudaArray` is a block and an int. In numba's calling convention an array is seven words (two for its owners, its
    size, the size of an element, the address, the shape, the stride), and a complex number is two.
    """
    types, words = bytearray(), []
    for arg in args:
        if isinstance(arg, (CudaArray, Typed)):
            n = arg.block.nbytes // arg.dtype.itemsize
            types += b"a" + arg.dtype.char.encode()
            words += [0, 0, n, arg.dtype.itemsize, arg.block.address, n, arg.dtype.itemsize]
            if isinstance(arg, CudaArray):
                types += b"i"
                words.append(arg.start)
        elif isinstance(arg, int):
            types += b"i"
            words.append(int(arg))
        elif type(arg) is tuple:
            types += b"t" + bytes([len(arg)])
            words += arg
        elif isinstance(arg, np.generic):
            types += b"s" + arg.dtype.char.encode()
            parts = [arg.real, arg.imag] if arg.dtype.kind == "c" else [arg]
            words += [int.from_bytes(part.tobytes(), "little") for part in parts]
        else:
            raise TypeError(f"a kernel cannot be given a {type(arg).__name__}: {arg!r}")
    return bytes(types), words


_functions = {}     # (kernel, types) -> the driver's handle of the function


def launch(kernel, blocks, threads, device, *args):
    """Queue `kernel` on `device`, for `blocks` blocks of `threads` threads."""
    if SIMULATED:
        with warnings.catch_warnings():     # NumPy's numbers warn of an overflow, a GPU does not
            warnings.simplefilter("ignore", RuntimeWarning)
            kernel[blocks, threads, current_stream(device).numba](*args)
        return
    from cuda.bindings import driver
    types, words = pack_arguments(args)
    use(device)
    function = _functions.get((kernel, types))
    if function is None:
        function = _functions[kernel, types] = function_for(kernel, types, device)
    room = (ctypes.c_uint64 * len(words))(*[word & 0xFFFFFFFFFFFFFFFF for word in words])
    places = (ctypes.c_void_p * len(words))(*[ctypes.addressof(room) + 8 * i for i in range(len(words))])
    check(driver.cuLaunchKernel(driver.CUfunction(function), blocks, 1, 1, threads, 1, 1, 0, current_stream(device).handle,
                                ctypes.addressof(places), 0))


if not SIMULATED:
    try:
        from minigrad.kernels.cuda.quick import launch
    except (ImportError, OSError):      # interpreted, or this machine has no CUDA driver
        pass


def launch_each(kernel, n, device, *args):
    """Queue `kernel` for `n` elements, unless n is 0. The kernel loops: see Note [Grid-stride loops]."""
    if n:
        blocks = min((n + THREADS * EACH - 1) // (THREADS * EACH), MOST_BLOCKS)
        launch(kernel, blocks, THREADS, device, *args)
