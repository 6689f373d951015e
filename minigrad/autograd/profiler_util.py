"""The events of a profile, summed by name, as a table. Mirrors ``torch/autograd/profiler_util.py``."""

import json
import os

from minigrad._arguments import instance, listed
from minigrad.errors import UnknownOperatorError
from minigrad.ops.base.arguments import integer, real

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]


class FunctionEvent:
    """One call of an op, or one `record_function` block. Times are microseconds."""

    cuda_time = cuda_time_total = self_cuda_time_total = device_time = device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0

    def __init__(self, name, start, shapes, parent, annotation):
        self.name = self.key = name
        self.start = start
        self.count = 1
        self.input_shapes = shapes
        self.cpu_parent = parent
        self.is_user_annotation = annotation
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0

    def finish(self, end, memory):
        """Set the time and the memory, and take both off what the parent has for itself."""
        memory = integer(memory, "memory", "FunctionEvent.finish")
        took = real(end, "end", "FunctionEvent.finish") - self.start
        self.cpu_time_total += took
        self.self_cpu_time_total += took
        self.cpu_memory_usage += memory
        self.self_cpu_memory_usage += memory
        if self.cpu_parent is not None:
            self.cpu_parent.self_cpu_time_total -= took
            self.cpu_parent.add_memory(self.cpu_memory_usage)

    def add_memory(self, memory):
        """Add the memory of an event inside this one. A block has it when it ends."""
        self.cpu_memory_usage += integer(memory, "memory", "FunctionEvent.add_memory")

    @property
    def cpu_time(self):
        """The mean time of a call."""
        return self.cpu_time_total / self.count

    def __repr__(self):
        return (f"<{type(self).__name__} key={self.key} self_cpu_time={format_time(self.self_cpu_time_total)} "
                f"cpu_time={format_time(self.cpu_time)} count={self.count}>")


class FunctionEventAvg(FunctionEvent):
    """All events with one name: the sums of their times, and `count`."""

    def __init__(self, first):
        instance(first, FunctionEvent, "first", "FunctionEventAvg")
        super().__init__(first.name, first.start, first.input_shapes, None, first.is_user_annotation)
        self.count = 0

    def add(self, other):
        """Add an event; return this object."""
        instance(other, FunctionEvent, "other", "FunctionEventAvg.add")
        self.count += other.count
        for field in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, field, getattr(self, field) + getattr(other, field))
        return self


class EventList(list):
    """A list of events, with the sums of their times and a table."""

    def __init__(self, events=(), profile_memory=False, with_shapes=False):
        super().__init__([instance(event, FunctionEvent, "events", "EventList", "iterable of events")
                          for event in listed(events, "events", "EventList", "iterable of events")])
        self._memory, self._shapes = profile_memory, with_shapes

    @property
    def self_cpu_time_total(self):
        """The sum of the times that the events have for themselves, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Sum the events of each name; with `group_by_input_shape`, of each name and each list of shapes."""
        found = {}
        for event in self:
            key = (event.name, str(event.input_shapes) if group_by_input_shape else "")
            found.setdefault(key, FunctionEventAvg(event)).add(event)
        return EventList(found.values(), self._memory, group_by_input_shape)

    def total_average(self):
        """The sum of all events."""
        total = FunctionEventAvg(FunctionEvent("Total", 0.0, None, None, False))
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80,
              header=None, top_level_events_only=False, time_unit=None):
        """Return the events as text, one in a line.

        Args:
            sort_by (str, optional): the attribute by which the lines are sorted, largest first, such as "cpu_time_total",
                "self_cpu_time_total", "cpu_time", "count" or "cpu_memory_usage".
            row_limit (int): the number of lines; -1 for all.
            header (str, optional): a title.
            max_name_column_width, max_shapes_column_width: longer names and shapes are cut.
            max_src_column_width, top_level_events_only, time_unit: accepted as in PyTorch.

        Raises:
            AttributeError: events have no attribute `sort_by`.
        """
        events = list(self)
        row_limit = integer(row_limit, "row_limit", "table")
        max_name_column_width = integer(max_name_column_width, "max_name_column_width", "table")
        max_shapes_column_width = integer(max_shapes_column_width, "max_shapes_column_width", "table")
        if header is not None:
            instance(header, str, "header", "table")
        if sort_by is not None:
            instance(sort_by, str, "sort_by", "table")
            if events and not isinstance(getattr(events[0], sort_by, None), (int, float)):
                raise UnknownOperatorError("MG-E321", f"'FunctionEventAvg' object has no attribute '{sort_by}'",
                                           expected="cpu_time_total, self_cpu_time_total, cpu_time, count, cpu_memory_usage, ...")
            events.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        whole = self.self_cpu_time_total
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", *["CPU Mem"] * self._memory,
                  "# of Calls", *["Input Shapes"] * self._shapes]
        rows = [titles]
        for event in events[:None if row_limit < 0 else row_limit]:
            name = event.name if len(event.name) <= max_name_column_width else event.name[:max_name_column_width - 3] + "..."
            rows.append([name, percent(event.self_cpu_time_total, whole), format_time(event.self_cpu_time_total),
                         percent(event.cpu_time_total, whole), format_time(event.cpu_time_total), format_time(event.cpu_time),
                         *[format_memory(event.cpu_memory_usage)] * self._memory, str(event.count),
                         *[str(event.input_shapes or [])[:max_shapes_column_width]] * self._shapes])
        widths = [max(len(row[i]) for row in rows) for i in range(len(titles))]
        rule = "  ".join("-" * width for width in widths)
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
        return "\n".join([*([header] if header else []), rule, lines[0], rule, *lines[1:], rule,
                          f"Self CPU time total: {format_time(whole)}", ""])

    def export_chrome_trace(self, path):
        """Write the events as JSON, which chrome://tracing and ui.perfetto.dev show."""
        events = [{"name": event.name, "ph": "X", "ts": event.start, "dur": event.cpu_time_total, "tid": 0, "pid": 0,
                   "cat": "cpu_op", "args": {"Input Dims": event.input_shapes or []}} for event in self]
        instance(path, (str, os.PathLike), "path", "export_chrome_trace", "str or PathLike")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)

    def __str__(self):
        return self.table()


def percent(part, whole):
    """`part` as a percentage of `whole`."""
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def format_time(microseconds):
    """A time with the unit in which it is readable."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def format_memory(n):
    """A number of bytes with the unit in which it is readable."""
    for unit, size in (("GB", 2 ** 30), ("MB", 2 ** 20), ("KB", 2 ** 10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} B"
