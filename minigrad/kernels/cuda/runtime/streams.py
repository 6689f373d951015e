"""The stream of each GPU in which a thread's work is queued.

Numba looks at ``NUMBA_ENABLE_CUDASIM`` when it is first imported: with 1, its simulator runs every kernel on the CPU, a Python
thread for each thread of the GPU. So a kernel can be stepped through in a debugger, and tested where there is no GPU.
"""

import itertools
import threading

from numba import config, cuda

__all__ = ["SIMULATED", "CudaStream", "current_stream", "default_stream", "other_streams", "set_stream", "tell"]

SIMULATED = bool(config.ENABLE_CUDASIM)
if SIMULATED:
    from minigrad.kernels.cuda.runtime.simulator import repair
    repair()


class CudaStream:
    """A queue of work on a GPU: kernels and copies in it run one after the other.

    Attributes:
        number: for a message.
        numba: as numba takes it.
        handle: the driver's number of it; 0 is the default stream.
    """

    def __init__(self, device, numba):
        self.device = device
        self.numba = numba
        self.number = next(_numbers)
        self.handle = 0 if SIMULATED else int(numba.handle)

    def wait_stream(self, other):
        """What is put into this queue from now on waits for what is in that of `other` now. The CPU does not."""
        event = cuda.event()
        event.record(other.numba)
        event.wait(self.numba)

    def synchronize(self):
        """Wait until all that is in the queue has been done."""
        self.numba.synchronize()

    def __repr__(self):
        if self is _defaults.get(self.device.index):
            return f"the default stream of {self.device}"
        return f"stream {self.number} of {self.device}"


_numbers = itertools.count(1)
_current = threading.local()
_defaults = {}


def _told(more):
    pass


def tell(function):
    """Call `function` from now on, with 1 where a thread enters a stream that is not the default one, and -1 where it leaves it."""
    global _told
    _told = function


def default_stream(device):
    """The stream of `device` that is current where no other was chosen; one for all threads."""
    found = _defaults.get(device.index)
    if found is None:
        found = _defaults.setdefault(device.index, CudaStream(device, cuda.default_stream()))
    return found


def current_stream(device):
    """The stream of `device` into which this thread puts its work: the default one, unless ``mg.cuda.stream`` says otherwise."""
    table = _current.__dict__
    found = table.get(device.index)
    if found is None:
        found = table[device.index] = default_stream(device)
    return found


def set_stream(stream):
    """Make `stream` the current one of its device for this thread; return the one until now."""
    before = current_stream(stream.device)
    if stream is not before:
        _current.__dict__[stream.device.index] = stream
        default = default_stream(stream.device)
        if stream is default:
            _told(-1)
        elif before is default:
            _told(1)
    return before


def other_streams():
    """The current streams of this thread that are not default ones: those that autograd notes on nodes."""
    return tuple([stream for stream in _current.__dict__.values() if stream is not _defaults.get(stream.device.index)])
