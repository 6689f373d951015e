"""Check the first argument of a method that is called through its class, as the methods of C classes do.

    x.exp_()                    Python finds the method through x: nothing is changed, and nothing is slower
    Tensor.exp_(None)           Python finds it through the class, whose metaclass is `Checked`:  TypeError
    map(Tensor.detach, xs)      the same; every x is checked

A compiled function trusts that its arguments have the declared types, and a method of a C class accepts no other `self`.
But most methods of `Tensor` are functions of ``ops/``, and interpreted, all methods are Python functions. Both would run
until an attribute is missing. With this metaclass both raise the same error as a C method.

Mirrors the method descriptors of CPython, ``Objects/descrobject.c``.
"""

import functools

from minigrad.errors import AutogradTypeError

__all__ = ["Checked", "check_methods"]

_twins = {}         # (class, function) -> the function that checks its first argument


class Checked(type):
    """The metaclass of classes whose methods are checked."""

    def __getattribute__(cls, name):
        found = type.__getattribute__(cls, name)
        if hasattr(found, "__code__"):
            owner = next((base for base in cls.__mro__ if name in type.__getattribute__(base, "__dict__")), None)
            if owner is not None and owner.__module__.startswith("minigrad.") and vars(owner)[name] is found:     # no staticmethod
                return _twins.get((owner, found)) or _twins.setdefault((owner, found), checked_method(owner, found, name))
        return found


def check_methods(cls):
    """A copy of `cls` with the metaclass `Checked`. Interpreted only: a compiled class cannot name a metaclass."""
    return Checked(cls.__name__, cls.__bases__, {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")})


def checked_method(owner, function, name):
    """Wrap `function`, the method `name` of `owner`, in a check of its first argument."""
    @functools.wraps(function)
    def checked(self, /, *args, **kwargs):
        if not isinstance(self, owner):
            raise AutogradTypeError("MG-E201", f"descriptor '{name}' for '{owner.__name__}' objects doesn't apply to a "
                                    f"'{type(self).__name__}' object", fix=f"call it on a {owner.__name__}")
        return function(self, *args, **kwargs)
    return checked
