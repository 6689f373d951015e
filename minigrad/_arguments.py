"""Checks of arguments that are neither tensors nor numbers: functions, sequences, objects of a class.

``ops/base/arguments.py`` has the checks of tensors and numbers.

    def checkpoint_sequential(functions, segments, input, ...):
        functions = listed(functions, "functions", "checkpoint_sequential")

Each helper returns the argument in the form that the function uses, or raises a `TypeError` that names both.
Constructors and functions that are seldom called use them; functions that run at every step do not.
"""

import numbers
from typing import Any

from minigrad.ops.base.arguments import wrong_type

__all__ = ["callable_argument", "instance", "listed", "repeated", "sized"]


def instance(value, cls, name, function, expected=None, code="MG-E201"):
    """Return `value`; raise unless it is an instance of `cls` (a class or a tuple of classes)."""
    if not isinstance(value, cls):
        raise wrong_type(function, name, expected or cls.__name__, value, code)
    return value


def callable_argument(value, name, function, code="MG-E201") -> Any:
    """Return `value`; raise unless it can be called."""
    if not callable(value):
        raise wrong_type(function, name, "callable", value, code)
    return value


def listed(values, name, function, expected="iterable", code="MG-E201") -> list[Any]:
    """Return `values` as a list."""
    try:
        return [value for value in values]      # `list` would make room for a length, which may be a lie
    except TypeError:
        if hasattr(values, "__next__"):     # it is a generator's own
            raise
        raise wrong_type(function, name, expected, values, code) from None


def sized(values, name, function, expected="sequence", code="MG-E201"):
    """Return `values`; raise unless they have a length and can be indexed."""
    if not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise wrong_type(function, name, expected, values, code)
    return values


def repeated(value, count, name, function) -> tuple[Any, ...]:
    """Return one integer repeated `count` times, or several integers, as a tuple."""
    if isinstance(value, numbers.Integral):
        return (value,) * count
    return tuple(listed(value, name, function, "int or sequence of ints", "MG-E206"))
