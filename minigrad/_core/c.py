"""The interpreted twins of the few things that the engine asks of C.

Compiled, ``c.pxd`` supplies them as inline C and this file is not used. Interpreted, Python has an
answer to each, only slower.
"""

import sys
import threading

__all__ = ["allocate", "check_signals", "has_shape", "has_type", "inherit_arithmetic", "inherit_death", "references",
           "row_by_row", "shape_key", "thread_id", "type_number", "values"]


def thread_id():
    """A number for the calling thread (compiled: one that is never used again)."""
    return threading.get_ident()


def check_signals():
    """Let a pending Ctrl-C raise. Interpreted code does so by itself."""


def inherit_death(sub, base):
    """Let instances of `sub` die as those of `base` do. Interpreted, they do."""


def inherit_arithmetic(sub, base):
    """Call the operators of `sub` without a look-up by name. Interpreted, there is no such way."""


def references(obj):
    """Number of references to `obj`, less those that this call itself makes.

    We subtract two: the argument of this function and the argument of ``getrefcount``.
    """
    return sys.getrefcount(obj) - 2


def allocate(base, cls, empty):
    """An instance of `cls` whose ``__init__`` has not run."""
    return object.__new__(cls)


def values(d):
    """The values of a dict, or of an instance of a subclass, as a list of their own."""
    return list(d.values())


def type_number(array):
    """NumPy's number for the type of an array's elements; -1 if their bytes are swapped."""
    return array.dtype.num if array.dtype.isnative else -1


def shape_key(array):
    """A number that arrays of one shape and type of elements have in common, and few others."""
    return hash((array.shape, array.dtype.num))


def has_type(array, dtype):
    """Whether `array` has this dtype of NumPy's."""
    return array.dtype is dtype


def has_shape(array, shape):
    """Whether `array` has this shape."""
    return array.shape == shape


def row_by_row(array):
    """Whether an array of NumPy's may be written to and lies in memory without gaps, row by row."""
    return array.flags.carray
