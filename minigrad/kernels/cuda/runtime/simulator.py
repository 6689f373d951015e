"""A repair of numba's simulator, for all kernels with shared memory.

The threads of a simulated block are Python threads. The first thread that reaches the line of a shared array makes the array; the
others find it by that line. Numba does this without a lock: two threads that reach the line at the same time get different arrays,
and the results are wrong. Where threads change often, this happens about once in two hundred times.
"""

import sys
import threading

import numpy as np
from numba.core import types
from numba.cuda.simulator import kernelapi
from numba.np import numpy_support

__all__ = ["repair"]

_lock = threading.Lock()
_original = kernelapi.FakeCUDAShared.array


def shared_array(self, shape, dtype, alignment=None):
    """``cuda.shared.array``: return the array of this block that belongs to the calling line."""
    if shape == 0:      # the launch gives the size: a block has one such array
        return _original(self, shape, dtype)
    caller = sys._getframe(1)
    key = caller.f_code.co_filename, caller.f_lineno
    with _lock:
        found = self._allocations.get(key)
        if found is None:
            dtype = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
            found = self._allocations[key] = np.empty(shape, dtype)
        return found


def repair():
    """Make the simulator use `shared_array`."""
    kernelapi.FakeCUDAShared.array = shared_array
