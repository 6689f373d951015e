"""The current stream of each thread on each GPU, to which its kernels go.

Numba looks at ``NUMBA_ENABLE_CUDASIM`` when it is first imported. If it is 1, numba's simulator runs every kernel on the CPU, with
a Python thread for each thread of the GPU. So a debugger can step through a kernel, and kernels can be tested without a GPU.

Mirrors ``c10/cuda/CUDAStream.h``. Read next: ``minigrad/_core/graph/streams.py``.
"""

import itertools
import threading

from numba import config, cuda

__all__ = ["SIMULATED", "CudaStream", "current_stream", "default_stream", "other_streams", "set_listener", "set_stream"]

SIMULATED = bool(config.ENABLE_CUDASIM)
if SIMULATED:
    from minigrad.kernels.cuda.runtime.simulator import repair
    repair()


class CudaStream:
    """A queue of work on a GPU: kernels and copies in it run one after the other.

    Attributes:
        number: its number in messages.
        numba: the stream of numba.
        handle: the driver's handle; 0 is the default stream.
    """

    def __init__(self, device, numba):
        self.device = device
        self.numba = numba
        self.number = next(_numbers)
        self.handle = 0 if SIMULATED else int(numba.handle)

    def wait_stream(self, other):
        """Make all future work in this stream wait for the work that is in `other` now. The CPU does not wait."""
        event = cuda.event()
        event.record(other.numba)
        event.wait(self.numba)

    def synchronize(self):
        """Wait until the GPU has done all work in this stream."""
        self.numba.synchronize()

    def __repr__(self):
        if self is _defaults.get(self.device.index):
            return f"the default stream of {self.device}"
        return f"stream {self.number} of {self.device}"


_numbers = itertools.count(1)
_current = threading.local()
_defaults = {}


def _listener(more):
    pass


def set_listener(function):
    """Call `function(1)` when a thread enters a stream that is not a default one, and `function(-1)` when it leaves it."""
    global _listener
    _listener = function


def default_stream(device):
    """The default stream of `device`, the same for all threads. It is current until a thread chooses another one."""
    found = _defaults.get(device.index)
    if found is None:
        found = _defaults.setdefault(device.index, CudaStream(device, cuda.default_stream()))
    return found


def current_stream(device):
    """The current stream of this thread on `device`: the default stream, unless the thread is in ``mg.cuda.stream``."""
    table = _current.__dict__
    found = table.get(device.index)
    if found is None:
        found = table[device.index] = default_stream(device)
    return found


def set_stream(stream):
    """Make `stream` the current stream of this thread on its device; return the previous one."""
    before = current_stream(stream.device)
    if stream is not before:
        _current.__dict__[stream.device.index] = stream
        default = default_stream(stream.device)
        if stream is default:
            _listener(-1)
        elif before is default:
            _listener(1)
    return before


def other_streams():
    """The current streams of this thread that are not default streams. Autograd notes these on nodes."""
    return tuple([stream for stream in _current.__dict__.values() if stream is not _defaults.get(stream.device.index)])
