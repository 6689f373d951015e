"""Computing on a GPU: devices, streams and memory. Mirrors ``torch.cuda``.

    x = mg.randn(1000, 1000, device="cuda")         # or x.cuda(), x.to("cuda:0"), model.cuda()
    (x @ x).sum()                                   # kernels of numba.cuda: minigrad/kernels/cuda
    x.cpu()                                         # copies to the CPU; waits until x has been computed

It needs an NVIDIA GPU and ``pip install "minigrad-autograd[cuda]"``. Numba is imported only when you first ask for a GPU. With
``NUMBA_ENABLE_CUDASIM=1`` in the environment the kernels run on the CPU, in numba's simulator, one thread at a time. This is very
slow, but a debugger can step through a kernel.

A kernel is compiled when it is first used, which takes about a second. The compiled code is saved in ``~/.cache/minigrad``
(MINIGRAD_CACHE names another folder, or "" to save nothing).

Read next: ``_devices.py``.
"""

import contextlib

from minigrad.cuda import _devices
from minigrad.cuda._numba import as_numba, numba_stream
from minigrad.creation._legacy import cuda_type
from minigrad.errors import OutOfMemoryError, ShapeError

__all__ = ["Event", "OutOfMemoryError", "Stream", "as_numba", "current_device", "current_stream", "device_count", "empty_cache",
           "get_device_name", "is_available", "max_memory_allocated", "memory_allocated", "numba_stream", "reset_peak_memory_stats",
           "stream", "synchronize"]


# ---- devices --------------------------------------------------------------------------------------


def is_available():
    """Whether minigrad can compute on a GPU. Mirrors ``torch.cuda.is_available``.

    >>> device = "cuda" if mg.cuda.is_available() else "cpu"
    """
    return not _devices.why_unavailable()


def device_count():
    """The number of GPUs. Mirrors ``torch.cuda.device_count``.

    >>> mg.cuda.device_count() >= 0
    True
    """
    return _devices.count_devices()


def current_device():
    """The number of the GPU that ``"cuda"`` means: 0. Mirrors ``torch.cuda.current_device``."""
    return _devices.find_device(None).index


def get_device_name(device=None):
    """The name of a GPU. Mirrors ``torch.cuda.get_device_name``.

    Args:
        device (device, str or int, optional): the GPU; by default `current_device`.
    """
    index = _devices.as_cuda(device).index
    from numba import cuda
    name = getattr(cuda.gpus[index], "name", b"simulator of numba-cuda")
    return name.decode() if isinstance(name, bytes) else str(name)


# ---- streams ----------------------------------------------------------------------------------------------


class Stream:
    """A queue of work on a GPU: its kernels run in order, and two streams may run at the same time. Mirrors ``torch.cuda.Stream``.

    Args:
        device (device, str or int, optional): the GPU; by default `current_device`.
    """

    def __init__(self, device=None, _stream=None):
        self.device = _devices.as_cuda(device)
        from numba import cuda

        from minigrad.kernels.cuda.runtime.streams import CudaStream
        self._stream = CudaStream(self.device, cuda.stream()) if _stream is None else _stream

    def synchronize(self):
        """Wait until the GPU has done all work in this stream."""
        self._stream.synchronize()

    def record_event(self, event=None):
        """Record `event`, by default a new `Event`, in this stream; return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Make all future work in this stream wait for `event`."""
        event.wait(self)

    def wait_stream(self, stream):
        """Make all future work in this stream wait for the work that is in `stream` now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        return isinstance(other, Stream) and other._stream is self._stream

    def __hash__(self):
        return hash(id(self._stream))

    def __repr__(self):
        return f"<minigrad.cuda.Stream device={self.device}>"


def current_stream(device=None):
    """The current `Stream` of this thread, to which its kernels go. Mirrors ``torch.cuda.current_stream``.

    Args:
        device (device, str or int, optional): the GPU; by default `current_device`.
    """
    device = _devices.as_cuda(device)
    from minigrad.kernels.cuda.runtime import streams
    return Stream(device, streams.current_stream(device))


@contextlib.contextmanager
def stream(stream):
    """Context manager: make `stream` the current stream of this thread. Mirrors ``torch.cuda.stream``.

    The backward of an op runs on the stream of its forward, wherever you call ``backward()``. Where a gradient passes from one
    stream to another, the second waits for the first. For the caller the whole backward is one more op in the current stream.

    Args:
        stream (Stream or None): None changes nothing.
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
    """A mark in a stream: says whether the GPU has passed it, and measures time between two marks. Mirrors ``torch.cuda.Event``.

    Args:
        enable_timing (bool, optional): accepted as in PyTorch; every event here can measure time.
    """

    def __init__(self, enable_timing=False):
        _devices.find_device(None)
        from numba import cuda
        self._event = cuda.event()      # it measures time by default; the simulator's event takes no arguments

    def record(self, stream=None):
        """Put this event into `stream`, by default the current stream."""
        self._event.record((current_stream() if stream is None else stream)._stream.numba)

    def wait(self, stream=None):
        """Make all future work in `stream`, by default the current stream, wait for this event."""
        self._event.wait((current_stream() if stream is None else stream)._stream.numba)

    def query(self):
        """Whether the GPU has passed this event."""
        return self._event.query()

    def synchronize(self):
        """Wait until the GPU has passed this event."""
        self._event.synchronize()

    def elapsed_time(self, end_event):
        """The milliseconds between this event and `end_event`."""
        return self._event.elapsed_time(end_event._event)


def synchronize(device=None):
    """Wait until a GPU has done all its work. Mirrors ``torch.cuda.synchronize``."""
    _devices.as_cuda(device)
    from numba import cuda
    cuda.synchronize()


# ---- memory -----------------------------------------------------------------------------------------------


def memory_allocated(device=None):
    """The number of bytes that the tensors on a GPU take; 0 without one. Mirrors ``torch.cuda.memory_allocated``."""
    return _devices.as_cuda(device).statistics.allocated if is_available() else 0


def max_memory_allocated(device=None):
    """The largest `memory_allocated` since the start, or since the last `reset_peak_memory_stats`; 0 without a GPU.

    Mirrors ``torch.cuda.max_memory_allocated``.
    """
    return _devices.as_cuda(device).statistics.most if is_available() else 0


def reset_peak_memory_stats(device=None):
    """Reset `max_memory_allocated` to `memory_allocated`. Mirrors ``torch.cuda.reset_peak_memory_stats``."""
    statistics = _devices.as_cuda(device).statistics
    statistics.most = statistics.allocated


def empty_cache():
    """Give memory that no tensor uses back to the driver. Mirrors ``torch.cuda.empty_cache``."""
    if _devices.devices:
        from minigrad.kernels.cuda.runtime.driver import trim
        trim()


# Names that few programs use, and the modules that have them: imported when a program asks for one.
_MORE = {name: module for module, names in {
    "_more": ("can_device_access_peer", "device", "get_arch_list", "get_device_capability", "get_device_properties", "init",
              "is_bf16_supported", "is_initialized", "max_memory_reserved", "mem_get_info", "memory_reserved", "memory_summary",
              "reset_max_memory_allocated", "set_device"),
    "random": ("get_rng_state", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state"),
}.items() for name in names}


def __getattr__(name):
    """Import a module when a program reads one of its names, such as the legacy types, ``mg.cuda.FloatTensor``."""
    if name in _MORE or name in ("amp", "random"):
        import importlib
        module = importlib.import_module(f"minigrad.cuda.{_MORE.get(name, name)}")
        return getattr(module, name) if name in _MORE else module
    found = cuda_type(name)
    if found is None:
        raise AttributeError(f"module 'minigrad.cuda' has no attribute {name!r}")
    return found
