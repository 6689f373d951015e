"""A repair of numba's simulator, for all kernels with shared memory.

The threads of a simulated block are Python threads. The first that asks for a shared array makes it, and the others find it by the
line that asks. Numba does so without a lock: two threads that ask at the same time get an array each, and the results are
wrong, about once in two hundred times where threads change often.
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
    """``cuda.shared.array``: the array of the block that the calling line makes."""
    if shape == 0:      # memory whose size the launch gives: there is one
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
    kernelapi.FakeCUDAShared.array = shared_array
