"""Starting kernels: how many threads there are, and what they are given.

A kernel gets arrays as pairs: the whole block of memory as a one-dimensional array, and the number of the first element. So views
cost nothing, and numba compiles a kernel once per dtype, whatever the shapes.

Note [Grid-stride loops]
    A kernel never relies on there being a thread for each element. Thread i does i, i + threads, i + 2 threads, ...: neighbouring
    threads read neighbouring numbers, which the memory delivers together, and any number of threads gives the right result.
    (M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", 2013.)
"""

import warnings

from minigrad.kernels.cuda.streams import SIMULATED, current_stream

__all__ = ["THREADS", "WARP", "launch", "launch_each", "pointers"]

WARP = 32                                   # threads that run in step
THREADS = 4 if SIMULATED else 256           # per block, where a kernel does not care; each is a Python thread on the simulator
MOST_BLOCKS = 2 if SIMULATED else 1 << 16
EACH = 4                                    # elements that a thread of a large grid does, to have as many reads under way


def pointers(*arrays):
    """What a kernel is told of arrays: of each the block of memory, and the number of its first element there."""
    return [part for x in arrays for part in (x.block.of(x.dtype), x.start)]


def launch(kernel, blocks, threads, device, *args):
    """Queue `kernel` on `device`, for `blocks` blocks of `threads` threads."""
    started = kernel[blocks, threads, current_stream(device).numba]
    if not SIMULATED:
        started(*args)
        return
    with warnings.catch_warnings():         # a GPU says nothing of overflow, and NumPy's numbers would
        warnings.simplefilter("ignore", RuntimeWarning)
        started(*args)


def launch_each(kernel, n, device, *args):
    """Queue `kernel` for `n` elements; it loops, see Note [Grid-stride loops]. Nothing happens for none."""
    if n:
        blocks = min((n + THREADS * EACH - 1) // (THREADS * EACH), MOST_BLOCKS)
        launch(kernel, blocks, THREADS, device, *args)
