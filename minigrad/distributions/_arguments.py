"""Checks of the arguments of distributions, constraints and transforms.

    check_tensors("Dirichlet", concentration=x)         TypeError: Dirichlet(): argument 'concentration' must be Tensor, not int
    check_numbers("AffineTransform", loc=x)             the same for a tensor or a number
    check_reals("interval", lower_bound=x)              the same for a tensor or a number that can be compared

Shapes need no check here: `Size` raises an error of its own.
"""

from __future__ import annotations

import numbers

import minigrad as mg
from minigrad._arguments import instance

__all__ = ["check_instances", "check_numbers", "check_reals", "check_tensors"]


def check_tensors(function, **values):
    """Raise `TypeError` unless the values are tensors."""
    for name, value in values.items():
        instance(value, mg.Tensor, name, function)


def check_numbers(function, **values):
    """Raise `TypeError` unless the values are tensors or numbers."""
    for name, value in values.items():
        instance(value, (mg.Tensor, numbers.Number), name, function, "Tensor or Number")


def check_reals(function, **values):
    """Raise `TypeError` unless the values are tensors or real numbers."""
    for name, value in values.items():
        instance(value, (mg.Tensor, numbers.Real), name, function, "Tensor or real number")


def check_instances(values, cls, name, function):
    """Return `values` as a list; raise `TypeError` unless it is an iterable of objects of `cls`."""
    try:
        found = list(values)
    except TypeError:
        found = [values]
    for value in found:
        instance(value, cls, name, function, f"sequence of {cls.__name__}s")
    return found
