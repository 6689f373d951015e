"""Measure how long a statement takes: several runs of `timeit`, and their median. Mirrors ``torch/utils/benchmark``.

    timer = benchmark.Timer("x @ x", globals={"x": mg.ones(50, 50)})
    print(timer.timeit(100))            100 runs, one measurement
    timer.blocked_autorange()           blocks of runs until `min_run_time` seconds have passed
"""

import statistics
import timeit as _timeit
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minigrad._arguments import callable_argument, instance, listed
from minigrad.errors import TensorValueError
from minigrad.ops.base.arguments import integer, real

__all__ = ["Compare", "Measurement", "Timer", "timer"]

timer = _timeit.default_timer


@dataclass
class Measurement:
    """The seconds that blocks of `number_per_run` runs took. Mirrors ``torch.utils.benchmark.Measurement``.

    `times` has the seconds of one run in each block; `mean`, `median` and `iqr` are of `times`.

    >>> from minigrad.utils.benchmark import Measurement
    >>> Measurement(10, [20., 30., 70.]).median
    3.0
    """

    number_per_run: int
    raw_times: list
    title: str = ""
    metadata: dict = field(default_factory=dict)

    @property
    def times(self):
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def mean(self):
        return statistics.fmean(self.times)

    @property
    def median(self):
        return statistics.median(self.times)

    @property
    def iqr(self):
        """The middle half of the times, from the first to the third quartile, as a length."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, method="inclusive")
        return third - first

    def __repr__(self):
        unit, scale = next(((unit, scale) for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)) if self.median * scale >= 1),
                           ("ns", 1e9))
        runs = f"{len(self.times)} measurement{'s' * (len(self.times) != 1)}, {self.number_per_run} runs per measurement"
        return f"<{self.title}>\n  median {self.median * scale:.2f} {unit}\n  {runs}"


class Timer:
    """Time a statement. Mirrors ``torch.utils.benchmark.Timer``.

    Args:
        stmt (str): the statement.
        setup (str): what runs once before it.
        global_setup (str): must be empty: it is for C++.
        timer (callable): the clock.
        globals (dict, optional): the names that the statement uses.
        label, sub_label, description, env: they title the result.
        num_threads (int): without effect.

    Raises:
        ValueError: `stmt` or `setup` is not a str.

    >>> from minigrad.utils.benchmark import Timer
    >>> Timer("x + x", globals={"x": mg.ones(3)}).timeit(10).median > 0
    True
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None, sub_label=None,
                 description=None, env=None, num_threads=1, language="python"):
        self.metadata = {"label": label, "sub_label": sub_label, "description": description, "env": env, "stmt": stmt,
                         "num_threads": num_threads}
        parts = [str(part) for part in (label, sub_label, description) if part is not None]
        self.title = " ".join([*([str(stmt)] if label is None or not parts[0] else []), *[part for part in parts if part]])
        for name, code in (("stmt", stmt), ("setup", setup)):
            if not isinstance(code, str):
                raise TensorValueError("MG-E201", f"Timer(): argument '{name}': Currently only a `str` {name} is supported.",
                                       found=type(code).__name__)
        globals = {} if globals is None else instance(globals, Mapping, "globals", "Timer", "dict")
        self.timer = _timeit.Timer(stmt, setup, callable_argument(timer, "timer", "Timer"), {**globals})

    def measure(self, number, raw_times):
        """A `Measurement` with the title of this timer."""
        return Measurement(number, raw_times, self.title, self.metadata)

    def timeit(self, number=1000000):
        """Run the statement `number` times, and return one measurement."""
        if integer(number, "number", "timeit") < 1:
            raise TensorValueError("MG-E302", f"timeit(): argument 'number' must be 1 or more, not {number}")
        self.timer.timeit(max(number // 100, 1))
        return self.measure(number, [self.timer.timeit(number)])

    def repeat(self, repeat=-1, number=-1):
        """Not in PyTorch either: use `timeit` or `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def block_size(self, min_run_time):
        """The number of runs that take at least a thousandth of `min_run_time`."""
        number, min_run_time = 1, real(min_run_time, "min_run_time", "block_size")
        while (seconds := self.timer.timeit(number)) < min_run_time / 1000 and seconds < 1:
            number *= 10
        return number

    def blocks(self, callback, min_run_time, most):
        """Run blocks until they have taken `most` seconds, and at least one. After each, yield the measurement so far."""
        if callback is not None:
            callable_argument(callback, "callback", "Timer")
        number, most, raw_times = self.block_size(min_run_time), real(most, "max_run_time", "Timer"), []
        while not raw_times or sum(raw_times) < most:
            raw_times.append(self.timer.timeit(number))
            if callback is not None:
                callback(number, raw_times[-1])
            yield self.measure(number, raw_times)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Run blocks until `min_run_time` seconds have passed, and return their times."""
        *_, found = self.blocks(callback, min_run_time, min_run_time)
        return found

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Run blocks until the middle half of the times differs by less than `threshold` of their median."""
        threshold = real(threshold, "threshold", "adaptive_autorange")
        found: Any = None
        for found in self.blocks(callback, min_run_time, max_run_time):
            times = found.raw_times
            if sum(times) >= min_run_time and len(times) > 3 and found.iqr < threshold * found.median:
                break
        return found


class Compare:
    """Print several measurements, one to a line. Mirrors ``torch.utils.benchmark.Compare``, which prints a table.

    >>> from minigrad.utils.benchmark import Compare, Measurement
    >>> print(Compare([Measurement(1, [0.5], "add")]))
    add: 500000.00 us
    """

    def __init__(self, results):
        self.results = []
        self.extend_results(results)

    def extend_results(self, results):
        """Add measurements."""
        results = listed(results, "results", "Compare", "iterable of Measurements")
        for result in results:
            if not isinstance(result, Measurement):
                raise TensorValueError("MG-E201", f"Compare(): Expected an instance of `Measurement`, got {type(result)} instead.")
        self.results.extend(results)

    def trim_significant_figures(self):
        """Accepted as in PyTorch; all times have two decimals."""

    def colorize(self, rowwise=False):
        """Accepted as in PyTorch; nothing is coloured."""

    def highlight_warnings(self):
        """Accepted as in PyTorch; nothing is highlighted."""

    def __str__(self):
        return "\n".join(f"{result.title}: {result.median * 1e6:.2f} us" for result in self.results)

    def print(self):
        print(self)
