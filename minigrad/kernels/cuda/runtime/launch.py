"""Starting kernels: how many threads there are, and what they are given.

A kernel gets arrays as pairs: the whole block of memory as a one-dimensional array, and the number of the first element. So views
cost nothing, and numba compiles a kernel once per dtype, whatever the shapes.

Note [Grid-stride loops]
    A kernel never relies on there being a thread for each element. Thread i does i, i + threads, i + 2 threads, ...: neighbouring
    threads read neighbouring numbers, which the memory delivers together, and any number of threads gives the right result.
    (M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", 2013.)

Note [The price of a launch]
    A small operation takes the GPU two microseconds, and so does the driver to queue it. Numba's own launch takes forty: it asks
    each argument for its type and wraps it. Here the types are written down as a short string, `packed`, by which a dictionary
    finds the compiled function (specialise.py), and the arguments as words, as numba's calling convention wants them. The compiled
    engine does this in C: quick.pyx.

Read next: ``elementwise.py``.
"""

import ctypes
import warnings

import numpy as np

from minigrad.kernels.cuda.array import CudaArray, Typed
from minigrad.kernels.cuda.runtime.driver import check, use
from minigrad.kernels.cuda.runtime.specialise import function_for
from minigrad.kernels.cuda.runtime.streams import SIMULATED, current_stream

__all__ = ["THREADS", "WARP", "launch", "launch_each", "packed", "pointers"]

WARP = 32                                   # threads that run in step
THREADS = 4 if SIMULATED else 256           # per block, where a kernel does not care; each is a Python thread on the simulator
MOST_BLOCKS = 2 if SIMULATED else 1 << 16
EACH = 4                                    # elements that a thread of a large grid does, to have as many reads under way


def pointers(*arrays):
    """What a kernel is told of arrays: of each the block of memory, and the number of its first element there."""
    return [part for x in arrays for part in (x.block.of(x.dtype), x.start)] if SIMULATED else arrays


def packed(args):
    """(types, words): the types of arguments as bytes, two a piece, and their values as the 64-bit words that a kernel is given.

    An int is "i", a tuple of n of them "t" and n, a NumPy number "s" and the letter of its dtype, a block "a" and that letter, and
    a `CudaArray` a block and an int. Numba takes an array as seven words: two for owners, its size, the size of an element, the
    address, the shape and the strides; a complex number as two.
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


_functions = {}     # (kernel, types) -> the driver's number of the function


def launch(kernel, blocks, threads, device, *args):
    """Queue `kernel` on `device`, for `blocks` blocks of `threads` threads."""
    if SIMULATED:
        with warnings.catch_warnings():     # a GPU says nothing of overflow, and NumPy's numbers would
            warnings.simplefilter("ignore", RuntimeWarning)
            kernel[blocks, threads, current_stream(device).numba](*args)
        return
    from cuda.bindings import driver
    types, words = packed(args)
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
    except (ImportError, OSError):      # interpreted, or compiled for a GPU that is not here
        pass


def launch_each(kernel, n, device, *args):
    """Queue `kernel` for `n` elements; it loops, see Note [Grid-stride loops]. Nothing happens for none."""
    if n:
        blocks = min((n + THREADS * EACH - 1) // (THREADS * EACH), MOST_BLOCKS)
        launch(kernel, blocks, THREADS, device, *args)
