"""What a check of homework is made of: the decorators of Gradescope, the student's file, a seed, and comparisons that explain.

    @weight(10)
    @number("3.2")
    @visibility("after_published")
    def test_fan_in():
        \"\"\"Gradients that meet are added.\"\"\"        # the title of the check
        hw3 = student("hw3")
        ...

The names and meanings of the decorators are those of ``gradescope_utils.autograder_utils.decorators``. A check is a function of
pytest. It passes or fails as a whole, unless it has `partial_credit`. Read next: ``submission.py``, then ``server.py``.
"""

import functools
import os
import random
import sys
from pathlib import Path

__all__ = ["close", "fail", "hide_errors", "leaderboard", "number", "partial_credit", "rng", "same", "student", "used",
           "visibility", "weight"]

VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")


# ---- decorators ---------------------------------------------------------------------------------------------------

def mark(name, value):
    """A decorator that sets an attribute."""
    def decorate(function):
        setattr(function, name, value)
        return function
    return decorate


def weight(points):
    """The points of a check.

    >>> @weight(5)
    ... def test_it(): ...
    >>> test_it.__weight__
    5
    """
    return mark("__weight__", points)


def number(text):
    """The number of a check, such as "3.2". Checks are listed in this order, and the first part names a part of the set."""
    return mark("__number__", str(text))


def visibility(when):
    """When a student sees the check: "visible", "hidden", "after_due_date" or "after_published"."""
    if when not in VISIBILITIES:
        raise ValueError(f"visibility({when!r}): expected one of {', '.join(VISIBILITIES)}")
    return mark("__visibility__", when)


def hide_errors(message="Check failed"):
    """Show this message instead of what differed."""
    return mark("__hide_errors__", message)


def setter(name, keyword, mark_name, value):
    """A decorator for a check that gets a function to set a value. The value goes into the dict ``__values__`` of the check."""
    def decorate(function):
        values = function.__dict__.setdefault("__values__", {})     # several such decorators share it

        @functools.wraps(function)
        def check(*args, **keywords):
            keywords[keyword] = functools.partial(values.__setitem__, name)
            return function(*args, **keywords)
        setattr(check, mark_name, value)
        return check
    return decorate


def partial_credit(points):
    """Give a check `points` at most; it calls its argument ``set_score`` with what the student gets."""
    return setter("score", "set_score", "__weight__", points)


def leaderboard(column, sort_order="desc"):
    """Show a number of the check on the leaderboard; the check calls its argument ``set_leaderboard_value`` with it."""
    return setter("leaderboard", "set_leaderboard_value", "__leaderboard__", (column, sort_order))


# ---- the student's file ---------------------------------------------------------------------------------------------

def student(name):
    """The student's file `name` as a module: a script or a notebook.

    The grader names the file. On a student's own machine it is the one in the current folder that was saved last. Only adapters.py
    calls this.
    """
    if name in sys.modules:
        return sys.modules[name]
    from minigrad.grading.submission import find_file, load
    path = os.environ.get("MINIGRAD_SUBMISSION")
    return load(find_file(Path.cwd(), name, newest=True)[0] if path is None else Path(path), name)


# ---- oracles ---------------------------------------------------------------------------------------------------------

def rng(name=""):
    """A `random.Random` from the seed of this grading, which the results contain. ``MINIGRAD_SEED`` sets it."""
    return random.Random(f"{os.environ.get('MINIGRAD_SEED', '0')} {name}")


def fail(what, graph=None, read=None):
    """Fail the check.

    Args:
        what (str): what differed.
        graph (Tensor, optional): the result of a graph. The message draws the graph as text.
        read (str, optional): the tutorial that explains it, such as "02_the_engine".
    """
    import pytest
    lines = [what]
    if graph is not None:
        from minigrad.viz import draw
        lines += ["", "on this graph:", *(f"    {line}" for line in str(draw(graph)).splitlines())]
    if read is not None:
        lines += ["", f"tutorials/{read}.py explains it."]
    pytest.fail("\n".join(lines), pytrace=False)


def same(found, expected, what, graph=None, read=None, tolerance=1e-6):
    """Fail the check if `found` is not a tensor like `expected`, or differs by more than `tolerance` (relative and absolute)."""
    import numpy as np

    from minigrad.tensor import Tensor
    if type(found) is not Tensor:
        fail(f"{what}: expected a Tensor, found {type(found).__name__}", graph, read)
    ours, theirs = np.asarray(expected.detach()), np.asarray(found.detach())
    if ours.shape != theirs.shape:
        fail(f"{what}: expected shape {list(ours.shape)}, found {list(theirs.shape)}", graph, read)
    if not np.allclose(theirs, ours, rtol=tolerance, atol=tolerance, equal_nan=True):
        fail(f"{what}: expected {np.array2string(ours, precision=6, threshold=8)}, "
             f"found {np.array2string(theirs, precision=6, threshold=8)}", graph, read)


def close(found, expected, what, graph=None, read=None, tolerance=1e-6, absolute=None):
    """Fail the check if `found` is not a float, or differs from `expected` by more than a relative and an absolute tolerance.

    By default the absolute tolerance is the relative one.
    """
    import math
    if not isinstance(found, float) or not math.isclose(found, expected, rel_tol=tolerance,
                                                        abs_tol=tolerance if absolute is None else absolute):
        fail(f"{what}: expected {expected:.9g}, found {found}", graph, read)


def used(swap, what, graph=None, read=None):
    """Fail the check if minigrad never called the student's part."""
    if swap.calls == 0:
        fail(f"your function was not used: {what}", graph, read)
