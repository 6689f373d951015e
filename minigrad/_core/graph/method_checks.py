"""Methods that are taken from a class look at their first argument, as those of C classes do.

    x.exp_()                    Python finds the method by way of x: nothing is changed, and nothing is slower
    Tensor.exp_(None)           Python finds it by way of the class, whose class is `Checked`:  TypeError
    map(Tensor.detach, xs)      the same, and every x is looked at

A compiled function trusts its arguments to be what they are declared to be, and a method of C takes nothing else for its `self`.
Most methods of `Tensor`, though, are functions of ``ops/``, and interpreted all methods are functions of Python. Both would go on
until some attribute is missing. With this class both say the same as C does.

Mirrors the method descriptors of CPython, ``Objects/descrobject.c``.
"""

import functools

from minigrad.errors import AutogradTypeError

__all__ = ["Checked", "check_methods"]

_twins = {}         # (class, function) -> the function that looks first


class Checked(type):
    """The class of those classes."""

    def __getattribute__(cls, name):
        found = type.__getattribute__(cls, name)
        if hasattr(found, "__code__"):
            owner = next((base for base in cls.__mro__ if name in type.__getattribute__(base, "__dict__")), None)
            if owner is not None and owner.__module__.startswith("minigrad.") and vars(owner)[name] is found:     # no static method
                return _twins.get((owner, found)) or _twins.setdefault((owner, found), checked_method(owner, found, name))
        return found


def check_methods(cls):
    """`cls` made again as one of these classes: interpreted, where a class that is compiled cannot name a metaclass."""
    return Checked(cls.__name__, cls.__bases__, {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")})


def checked_method(owner, function, name):
    """`function`, the method `name` of `owner`, with a look at its first argument."""
    @functools.wraps(function)
    def looking(self, /, *args, **kwargs):
        if not isinstance(self, owner):
            raise AutogradTypeError("MG-E201", f"descriptor '{name}' for '{owner.__name__}' objects doesn't apply to a "
                                    f"'{type(self).__name__}' object", fix=f"call it on a {owner.__name__}")
        return function(self, *args, **kwargs)
    return looking
