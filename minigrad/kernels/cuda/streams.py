"""The stream of each GPU in which a thread's work is queued.

Numba looks at ``NUMBA_ENABLE_CUDASIM`` when it is first imported: with 1, its simulator runs every kernel on the CPU, a Python
thread for each thread of the GPU. So a kernel can be stepped through in a debugger, and tested where there is no GPU.
"""

import threading

from numba import config, cuda

__all__ = ["SIMULATED", "CudaStream", "current_stream", "set_stream"]

SIMULATED = bool(config.ENABLE_CUDASIM)
if SIMULATED:
    from minigrad.kernels.cuda.simulator import repair
    repair()


class CudaStream:
    """A queue of work on a GPU: kernels and copies in it run one after the other.

    Attributes:
        numba: as numba takes it.
        handle: the driver's number of it; 0 is the default stream.
    """

    def __init__(self, device, numba):
        self.device = device
        self.numba = numba
        self.handle = 0 if SIMULATED else int(numba.handle)

    def synchronize(self):
        """Wait until all that is in the queue has been done."""
        self.numba.synchronize()


_current = threading.local()


def current_stream(device):
    """The stream of `device` into which this thread puts its work: the default one, unless ``mg.cuda.stream`` says otherwise."""
    table = _current.__dict__
    found = table.get(device.index)
    if found is None:
        found = table[device.index] = CudaStream(device, cuda.default_stream())
    return found


def set_stream(stream):
    """Make `stream` the current one of its device for this thread; return the one until now."""
    before = current_stream(stream.device)
    _current.__dict__[stream.device.index] = stream
    return before
