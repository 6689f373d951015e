"""The time that each op takes. Mirrors ``torch/autograd/profiler.py``.

    with profile() as prof:
        model(x).sum().backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))

The profiler is an interceptor (``_core/record/interceptor.py``): it calls each op of this thread, forward and backward, and looks
at the clock before and after. So it sees what the kernels take, and not what Python and the graph take around them. A
`record_function` block has the time of all that happens in it.

Read next: ``profiler_util.py``.
"""

import contextlib
import time
from typing import Any

from minigrad._core.graph.thread_state import current
from minigrad._core.mutation.inplace import apply_inplace
from minigrad.autograd.profiler_util import EventList, FunctionEvent
from minigrad.errors import AutogradError
from minigrad.ops.base.inplace_pairs import run
from minigrad.tensor import Tensor

__all__ = ["profile", "record_function"]

_active = []        # the profiles that record, oldest first


class profile:
    """Context manager: record the ops of this thread, and the time that each takes.

    Args:
        enabled (bool): False to record nothing.
        record_shapes (bool): also record the shapes of the tensors that each op gets.
        profile_memory (bool): also record the bytes of the results.
        use_cuda, use_device, with_flops, with_stack, with_modules, use_kineto, use_cpu: accepted as in PyTorch. The time of a GPU
            is not measured.

    Raises:
        RuntimeError: the profile is entered a second time, or read before it has ended.

    Mirrors ``torch.autograd.profiler.profile``.

    >>> with mg.autograd.profiler.profile() as prof:
    ...     y = (mg.ones(3) * 2).exp()
    >>> [(event.name, event.count) for event in prof.key_averages()]
    [('mul', 1), ('exp', 1)]
    """

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False,
                 profile_memory=False, with_stack=False, with_modules=False, use_kineto=False, use_cpu=True, **options):
        self.enabled, self.record_shapes, self.profile_memory = enabled, record_shapes, profile_memory
        self._events = EventList(profile_memory=profile_memory)
        self._open = []         # the record_function blocks that have not ended
        self._interceptor = self._intercept
        self.entered = False

    def __enter__(self):
        if not self.enabled:
            return self
        if self.entered:
            raise AutogradError("MG-E240", "Profiler context manager is not reentrant", fix="make another profile")
        self.entered = True
        state = current()
        state.set_interceptors((*state.interceptors, self._interceptor))
        _active.append(self)
        return self

    def __exit__(self, *exc_info):
        if self.enabled:
            state = current()
            state.set_interceptors(tuple([each for each in state.interceptors if each is not self._interceptor]))
            _active.remove(self)
            while self._open:
                self._end()

    def _intercept(self, op: Any, args: Any, in_place, **keywords):
        """Run `op`, and record it."""
        shapes = [list(arg.shape) if isinstance(arg, Tensor) else [] for arg in args] if self.record_shapes else None
        self._begin(str(getattr(op, "name", op)) + "_" * bool(in_place), shapes, False)
        memory = 0
        try:
            if in_place:
                return apply_inplace(op, args[0], args[1:])
            if isinstance(op, str):         # a custom operator
                return op(*args, **keywords)        # pyright: ignore[reportCallIssue]
            result = run(op, args)
            if self.profile_memory and not op.view:
                memory = sum(x.nbytes for x in (result if isinstance(result, (tuple, list)) else (result,)))
            return result
        finally:
            self._end(memory)

    def _begin(self, name, shapes, annotation):
        event = FunctionEvent(name, time.perf_counter() * 1e6, shapes, self._open[-1] if self._open else None, annotation)
        self._events.append(event)
        self._open.append(event)
        return event

    def _end(self, memory=0):
        self._open.pop().finish(time.perf_counter() * 1e6, memory)

    def events(self):
        """The events in the order in which they began, as an `EventList`."""
        return self.function_events

    @property
    def function_events(self):
        """The events in the order in which they began, as an `EventList`."""
        if self in _active:
            raise AutogradError("MG-E240", "Profiler didn't finish running", fix="leave the `with` first")
        return self._events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The events summed by name, as an `EventList`; print its `table`."""
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self):
        """The sum of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self):
        """The time of all events, in microseconds."""
        return self.function_events.self_cpu_time_total     # pyright: ignore[reportAttributeAccessIssue]

    def table(self, **options):
        """The events as text: see `EventList.table`."""
        return self.function_events.table(**options)

    def export_chrome_trace(self, path):
        """Write the events as JSON, which chrome://tracing and ui.perfetto.dev show."""
        self.function_events.export_chrome_trace(path)

    def __repr__(self):
        return "<unfinished profile>" if self in _active else str(self._events)


class record_function(contextlib.ContextDecorator):
    """Context manager or decorator: a block with a name in the profiles that record. Mirrors ``torch.profiler.record_function``.

    Args:
        name (str): the name.
        args (str, optional): accepted as in PyTorch.

    >>> with mg.autograd.profiler.profile() as prof:
    ...     with mg.autograd.profiler.record_function("forward"):
    ...         y = mg.ones(3) * 2
    >>> [event.name for event in prof.events()]
    ['forward', 'mul']
    """

    def __init__(self, name, args=None):
        self.name = name
        self._entered = []

    def __enter__(self):
        for each in _active:
            each._begin(self.name, None, True)
        self._entered.append(list(_active))
        return self

    def __exit__(self, *exc_info):
        for each in self._entered.pop():
            if each in _active:
                each._end()
