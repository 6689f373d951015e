"""Computing on a GPU: which there are, their streams, their memory. Mirrors ``torch.cuda``.

    x = mg.randn(1000, 1000, device="cuda")         # or x.cuda(), x.to("cuda:0"), model.cuda()
    (x @ x).sum()                                   # kernels of numba.cuda: minigrad/kernels/cuda
    x.cpu()                                         # back; waits until it has been computed

It needs an NVIDIA GPU and ``pip install "minigrad[cuda]"``. Nothing of that is imported before a GPU is asked for. With
``NUMBA_ENABLE_CUDASIM=1`` in the environment the kernels run on the CPU, on numba's simulator, a thread at a time: very slow, but
in reach of a debugger.

A kernel is compiled when it is first used, which takes about a second, and kept in ``~/.cache/minigrad`` (MINIGRAD_CACHE names
another folder, or "" for none).
"""

import contextlib
import functools
import importlib.util
import os

from minigrad._core.graph.metadata import Backend, Device
from minigrad._core.graph.streams import use_queues
from minigrad._core.graph.switches import switches
from minigrad.cuda._numba import as_numba, numba_stream
from minigrad.dtypes import as_device, use_cuda
from minigrad.errors import OutOfMemoryError, ShapeError

__all__ = ["Event", "OutOfMemoryError", "Stream", "as_numba", "current_device", "current_stream", "device_count", "empty_cache",
           "get_device_name", "is_available", "max_memory_allocated", "memory_allocated", "numba_stream", "reset_peak_memory_stats",
           "stream", "synchronize"]


# ---- which there are --------------------------------------------------------------------------------------


@functools.cache
def _reason():
    """Why there is no GPU to compute on; empty if there is one."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed: pip install 'minigrad[cuda]'"
    from numba import cuda
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" or cuda.is_available():
        return ""
    return "the driver reports no NVIDIA GPU (see nvidia-smi)"


def is_available():
    """Whether there is a GPU to compute on. Mirrors ``torch.cuda.is_available``.

    >>> device = "cuda" if mg.cuda.is_available() else "cpu"
    """
    return not _reason()


def device_count():
    """How many GPUs there are. Mirrors ``torch.cuda.device_count``.

    >>> mg.cuda.device_count() >= 0
    True
    """
    if _reason():
        return 0
    from numba import cuda
    return len(cuda.gpus)


def current_device():
    """The number of the GPU that ``"cuda"`` means: 0. Mirrors ``torch.cuda.current_device``."""
    return _device(None).index


class _Cuda(Device):
    """A GPU: a `Device` that knows how much of its memory is in use."""

    def __init__(self, index):
        super().__init__("cuda", index, Backend("cuda"))
        from minigrad.kernels.cuda import kernels_of
        from minigrad.kernels.cuda.runtime import streams
        from minigrad.kernels.cuda.array import Statistics
        from minigrad.kernels.cuda.runtime.driver import context_of
        self.statistics = Statistics()
        self.context = 0 if streams.SIMULATED else context_of(index)
        streams.tell(switches.stream_entered)
        use_queues(streams)
        self.backend.use(kernels_of(self))    # pyright: ignore[reportOptionalMemberAccess]


_devices = {}


def _device(index):
    """The `Device` of a GPU. Raises `RuntimeError` if it is not there."""
    index = 0 if index is None else index
    if index not in _devices:
        if _reason():
            raise ShapeError("MG-E310", f"CUDA is not available: {_reason()}", fix='compute on the CPU, device="cpu"')
        if not 0 <= index < device_count():
            raise ShapeError("MG-E310", f"CUDA error: invalid device ordinal {index}", expected=f"one of {device_count()} GPUs",
                             fix='device="cuda" is the first')
        _devices.setdefault(index, _Cuda(index))
    return _devices[index]


use_cuda(_device)


def _of(device):
    """The GPU that an argument of a function here means."""
    found = _device(device) if device is None or isinstance(device, int) else as_device(device)
    if not isinstance(found, _Cuda):
        raise ShapeError("MG-E310", f"Expected a cuda device, but got: {found}", fix='device="cuda"')
    return found


def get_device_name(device=None):
    """What a GPU is called. Mirrors ``torch.cuda.get_device_name``."""
    from numba import cuda
    name = getattr(cuda.gpus[_of(device).index], "name", b"simulator of numba-cuda")
    return name.decode() if isinstance(name, bytes) else str(name)


# ---- streams ----------------------------------------------------------------------------------------------


class Stream:
    """A queue of work: what is put into one runs in order; two streams may run at once. Mirrors ``torch.cuda.Stream``.

    Args:
        device (optional): the GPU.
    """

    def __init__(self, device=None, _stream=None):
        self.device = _of(device)
        from numba import cuda

        from minigrad.kernels.cuda.runtime.streams import CudaStream
        self._stream = CudaStream(self.device, cuda.stream()) if _stream is None else _stream

    def synchronize(self):
        """Wait until all that is in the queue has been done."""
        self._stream.synchronize()

    def record_event(self, event=None):
        """Put an `Event` into the queue; a new one by default. Returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """What is put into this queue from now on waits for `event`."""
        event.wait(self)

    def wait_stream(self, stream):
        """What is put into this queue from now on waits for what is in that of `stream` now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        return isinstance(other, Stream) and other._stream is self._stream

    def __hash__(self):
        return hash(id(self._stream))

    def __repr__(self):
        return f"<minigrad.cuda.Stream device={self.device}>"


def current_stream(device=None):
    """The `Stream` into which this thread's work goes. Mirrors ``torch.cuda.current_stream``."""
    device = _of(device)
    from minigrad.kernels.cuda.runtime import streams
    return Stream(device, streams.current_stream(device))


@contextlib.contextmanager
def stream(stream):
    """Context manager: this thread's work goes into `stream`; None changes nothing. Mirrors ``torch.cuda.stream``.

    The backward of an op runs on the stream that its forward ran on, wherever ``backward()`` is called, and one stream waits for
    another where a gradient passes between. To the caller the whole backward is one more op in the current stream.
    """
    from minigrad.kernels.cuda.runtime import streams
    if stream is None:
        yield
        return
    before = streams.set_stream(stream._stream)
    try:
        yield
    finally:
        streams.set_stream(before)


class Event:
    """A mark in a queue: whether it has been passed, and how long after another. Mirrors ``torch.cuda.Event``.

    Args:
        enable_timing (bool): accepted as in PyTorch; all events here can be timed.
    """

    def __init__(self, enable_timing=False):
        from numba import cuda
        _device(None)
        self._event = cuda.event()      # which can be timed, unless told otherwise; the simulator's takes no word of it

    def record(self, stream=None):
        """Put it into the queue of `stream`, by default the current one."""
        self._event.record((current_stream() if stream is None else stream)._stream.numba)

    def wait(self, stream=None):
        """What is put into the queue of `stream` from now on waits until it has been passed."""
        self._event.wait((current_stream() if stream is None else stream)._stream.numba)

    def query(self):
        """Whether it has been passed."""
        return self._event.query()

    def synchronize(self):
        """Wait until it has been passed."""
        self._event.synchronize()

    def elapsed_time(self, end_event):
        """Milliseconds between this event and `end_event`."""
        return self._event.elapsed_time(end_event._event)


def synchronize(device=None):
    """Wait until a GPU has done all its work. Mirrors ``torch.cuda.synchronize``."""
    from numba import cuda
    _of(device)
    cuda.synchronize()


# ---- memory -----------------------------------------------------------------------------------------------


def memory_allocated(device=None):
    """Bytes that the tensors on a GPU take. Mirrors ``torch.cuda.memory_allocated``."""
    return _of(device).statistics.allocated


def max_memory_allocated(device=None):
    """The most bytes that they have taken since the start, or since `reset_peak_memory_stats`."""
    return _of(device).statistics.most


def reset_peak_memory_stats(device=None):
    """Reset `max_memory_allocated` to what is allocated now. Mirrors ``torch.cuda.reset_peak_memory_stats``."""
    statistics = _of(device).statistics
    statistics.most = statistics.allocated


def _pinned(tensor):
    if tensor.device.type != "cpu":
        raise ShapeError("MG-E310", f"cannot pin a tensor on {tensor.device}: only dense CPU tensors can be pinned",
                         fix="x.cpu() first")
    _device(None)
    from minigrad.kernels.cuda.runtime.memory import is_pinned, pinned
    return tensor if is_pinned(tensor._array) else tensor._of_array(pinned(tensor._array))


def _is_pinned(tensor):
    if not _devices or tensor.device.type != "cpu":
        return False
    from minigrad.kernels.cuda.runtime.memory import is_pinned
    return is_pinned(tensor._array)


def empty_cache():
    """Give the memory that no tensor needs back to the driver. Mirrors ``torch.cuda.empty_cache``."""
    if _devices:
        from minigrad.kernels.cuda.runtime.driver import trim
        trim()
