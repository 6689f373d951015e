"""Notice when a submission replaces functions of minigrad, NumPy, pytest or Python, by which the checks judge it.

    before = snapshot()
    ...                     the student's code runs
    changes(before)         ["numpy.allclose"]

A snapshot has each function, class and method of the modules that a check relies on. Names that appear later are no change: modules
of minigrad load late. What only a hostile program does (patch, call, and patch back) is not noticed:
see docs/teach/hidden-tests.md.
"""

import sys
import types

from minigrad.tensor import Tensor

__all__ = ["changes", "snapshot"]

WATCHED = ("minigrad", "numpy", "pytest", "_pytest", "pluggy")
STANDARD = ("builtins", "functools", "inspect", "io", "json", "math", "operator", "os", "random", "time")
DESCRIPTORS = (property, staticmethod, classmethod)
MADE_BY_PYTHON = {"__dict__", "__weakref__", "__doc__", "__annotations__", "__module__", "__abstractmethods__"}


def functions(space, owner, found, seen):
    """Add to `found` (space, name, object, its code) of each function in the dict of a module or class."""
    for name, value in list(space.items()):
        if name in MADE_BY_PYTHON or not (callable(value) or isinstance(value, DESCRIPTORS)):
            continue
        found.append((space, owner, name, value, getattr(value, "__code__", None)))
        if isinstance(value, type) and value not in seen and value.__module__.partition(".")[0] in WATCHED:
            seen.add(value)
            functions(vars(value), f"{value.__module__}.{value.__qualname__}", found, seen)


def snapshot(names=None):
    """The functions of all watched modules as they are now, or of the modules with these names."""
    found, seen = [], set()
    for name in dir(Tensor) if names is None else ():       # a method that loads late replaces itself in the class: see _lazy.py
        getattr(Tensor, name)
    for name, module in list(sys.modules.items()):
        wanted = name.partition(".")[0] in WATCHED or name in STANDARD if names is None else name in names
        if wanted and isinstance(module, types.ModuleType):
            functions(vars(module), name, found, seen)
    return found


def changes(before):
    """The dotted names of the functions that have been replaced or removed, or whose code has been."""
    return sorted({f"{owner}.{name}" for space, owner, name, value, code in before
                   if space.get(name) is not value or getattr(value, "__code__", None) is not code})
