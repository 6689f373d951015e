"""Arguments that are neither tensors nor numbers: functions, sequences, objects of a class. For the others see ops/base/rule.py.

    def checkpoint_sequential(functions, segments, input, ...):
        functions = listed(functions, "functions", "checkpoint_sequential")

Each helper returns the argument in the form in which it is used, or raises a `TypeError` that names function and argument. They
stand in constructors and in functions that are seldom called; what is called at every step has none.
"""

import numbers
from typing import Any

from minigrad.ops.base.rule import wrong_type

__all__ = ["callable_argument", "instance", "listed", "repeated", "sized"]


def instance(value, cls, name, function, expected=None, code="MG-E201"):
    """`value`, an object of `cls`, which is a class or several."""
    if not isinstance(value, cls):
        raise wrong_type(function, name, expected or cls.__name__, value, code)
    return value


def callable_argument(value, name, function, code="MG-E201"):
    """`value`, a function or another object that can be called."""
    if not callable(value):
        raise wrong_type(function, name, "callable", value, code)
    return value


def listed(values, name, function, expected="iterable", code="MG-E201") -> list[Any]:
    """`values` as a list."""
    try:
        return list(values)
    except TypeError:
        if hasattr(values, "__next__"):     # it is a generator's own
            raise
        raise wrong_type(function, name, expected, values, code) from None


def sized(values, name, function, expected="sequence", code="MG-E201"):
    """`values`, of which the length is asked and which are gone through."""
    if not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise wrong_type(function, name, expected, values, code)
    return values


def repeated(value, count, name, function) -> tuple[Any, ...]:
    """One integer as a tuple of `count`; several of them as a tuple."""
    if isinstance(value, numbers.Integral):
        return (value,) * count
    return tuple(listed(value, name, function, "int or sequence of ints", "MG-E206"))
