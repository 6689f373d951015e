"""The CPU as a device with streams and events, as programs for any device use it. Mirrors ``torch.cpu``.

An op on the CPU is complete when its call returns. So a stream is only a name, and an event is a time.
"""

import contextlib
import time

from minigrad._arguments import instance
from minigrad.dtypes import as_device
from minigrad.errors import AutogradError

__all__ = ["Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "set_device",
           "stream", "synchronize"]


class Stream:
    """A queue of work on a device. On the CPU it has no work: each op is complete when its call returns.

    Mirrors ``torch.Stream``, which for a device "cuda" makes a `minigrad.cuda.Stream`.

    >>> mg.Stream().query()
    True
    """

    def __new__(cls, device=None, *, priority=0):
        where = as_device(device)
        if where.type == "cuda":
            from minigrad import cuda
            return cuda.Stream(where)
        return super().__new__(cls)

    def __init__(self, device=None, *, priority=0):
        self.device = as_device(device)

    def query(self):
        """True: all work is done."""
        return True

    def synchronize(self):
        """Return immediately: all work is done."""

    def wait_event(self, event):
        """Return immediately: all work is done."""

    def wait_stream(self, stream):
        """Return immediately: all work is done."""

    def record_event(self, event=None):
        """Record `event`, by default a new `Event`; return it."""
        event = Event() if event is None else instance(event, Event, "event", "record_event")
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass


class Event:
    """A moment in the work of a device. On the CPU it is the time of `record`. Mirrors ``torch.Event``.

    >>> start, end = mg.Event(enable_timing=True), mg.Event(enable_timing=True)
    >>> start.record(); end.record()
    >>> start.elapsed_time(end) >= 0
    True
    """

    def __new__(cls, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        if as_device(device).type == "cuda":
            from minigrad import cuda
            return cuda.Event(enable_timing)
        return super().__new__(cls)

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self.device = as_device(device)
        self._time = None

    def record(self, stream=None):
        """Note the time."""
        self._time = time.perf_counter()

    def query(self):
        """True: all work is done."""
        return True

    def synchronize(self):
        """Return immediately: all work is done."""

    def wait(self, stream=None):
        """Return immediately: all work is done."""

    def elapsed_time(self, end_event):
        """The milliseconds between this event and `end_event`. Raises `RuntimeError` if one of them has not been recorded."""
        if self._time is None or end_event._time is None:
            raise AutogradError("MG-E302", "Both events must be recorded before calculating elapsed time.",
                                fix="start.record(), end.record()")
        return (end_event._time - self._time) * 1000


_stream = Stream("cpu")


def is_available():
    """True. Mirrors ``torch.cpu.is_available``.

    >>> mg.cpu.is_available()
    True
    """
    return True


def device_count():
    """1. Mirrors ``torch.cpu.device_count``.

    >>> mg.cpu.device_count()
    1
    """
    return 1


def current_device():
    """The name of the device. Mirrors ``torch.cpu.current_device``.

    >>> mg.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device):
    """Do nothing: there is one CPU. Mirrors ``torch.cpu.set_device``.

    >>> mg.cpu.set_device("cpu")
    """


def synchronize(device=None):
    """Return immediately: all work is done. Mirrors ``torch.cpu.synchronize``.

    >>> mg.cpu.synchronize()
    """


def current_stream(device=None):
    """The stream of the CPU. Mirrors ``torch.cpu.current_stream``.

    >>> mg.cpu.current_stream().query()
    True
    """
    return _stream


def stream(stream):
    """Context manager that does nothing: all streams of the CPU are alike. Mirrors ``torch.cpu.stream``.

    >>> with mg.cpu.stream(mg.cpu.current_stream()):
    ...     x = mg.ones(2)
    """
    return contextlib.nullcontext()


StreamContext = contextlib.nullcontext


def __getattr__(name):
    """Import ``minigrad.cpu.amp`` when a program reads its name."""
    if name == "amp":
        from minigrad import amp
        return amp
    raise AttributeError(f"module 'minigrad.cpu' has no attribute {name!r}")
