"""The public checks of homework 0. Run them with ``python -m pytest -q test_public.py``."""

import functools
import math

import adapters

import minigrad as mg
from minigrad.grading import checks
from minigrad.grading.checks import fail, number, weight

READ = "01_derivative_to_graph"
close = functools.partial(checks.close, read=READ)


@weight(5)
@number("1.1")
def test_mode():
    """mode returns one of the two words"""
    found = adapters.function("mode")()
    if found not in ("compiled", "interpreted"):
        fail(f'expected "compiled" or "interpreted", found {found!r}')


@weight(5)
@number("2.1")
def test_by_hand_at_two():
    """The derivative of x x sin(x) at 2"""
    close(adapters.function("by_hand")(2.0), 4.0 * math.sin(2.0) + 4.0 * math.cos(2.0), "by_hand(2)")


@weight(5)
@number("3.1")
def test_by_minigrad_at_two():
    """minigrad's derivative of x x sin(x) at 2"""
    close(adapters.function("by_minigrad")(lambda x: x * x * x.sin(), 2.0), 4.0 * math.sin(2.0) + 4.0 * math.cos(2.0),
          "by_minigrad(x x sin(x), 2)", tolerance=1e-12)


@weight(5)
@number("4.1")
def test_line_through_points():
    """fit_line finds a line that goes through all points"""
    inputs = mg.tensor([-1.0, 0.0, 0.5, 1.0])
    slope, intercept = adapters.function("fit_line")(inputs, 2.0 * inputs + 1.0)
    close(slope, 2.0, "the slope of 2 x + 1", tolerance=1e-3)
    close(intercept, 1.0, "the intercept of 2 x + 1", tolerance=1e-3)
