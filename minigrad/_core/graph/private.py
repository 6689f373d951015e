"""Interpreted only: keep the fields of a node apart from the attributes that the user sets on it.

Note [Names on ctx]
    The user may set any attribute on ctx, even one with the name of a field of the node. Compiled, Python cannot see the
    fields, so `ctx.meta` and the node's `meta` are two things. Interpreted they would be one, and a program that set such a
    name would break the engine. So there each of these names is a property, which checks whether the caller is in the core.
"""

import sys
import types

__all__ = ["hide"]


def hide(cls, fields, methods):
    """Make these names of `cls` private to the core. An instance has the fields in its dict ``_core``."""
    for name in fields:
        setattr(cls, name, Private(name))
    for name in methods:
        setattr(cls, name, PrivateMethod(name, getattr(cls, name)))


def from_core():
    """Whether code in this folder, and not the user, reads or writes the property that calls this function."""
    return sys._getframe(2).f_globals["__name__"].startswith("minigrad._core.")


class Private:
    """A property: for the core a field of the node, for all other code an ordinary attribute."""

    def __init__(self, name):
        self.name = name

    def __get__(self, node, cls):
        return self if node is None else self.look_up(node, node._core if from_core() else node.__dict__)

    def look_up(self, node, place):
        try:
            return place[self.name]
        except KeyError:
            raise AttributeError(f"{type(node).__name__!r} object has no attribute {self.name!r}") from None

    def __set__(self, node, value):
        (node._core if from_core() else node.__dict__)[self.name] = value

    def __delete__(self, node):
        try:
            del node.__dict__[self.name]
        except KeyError:
            raise AttributeError(f"{type(node).__name__!r} object has no attribute {self.name!r}") from None


class PrivateMethod(Private):
    """The same for a method of the node."""

    def __init__(self, name, method):
        self.name = name
        self.method = method

    def __get__(self, node, cls):
        return self if node is None else types.MethodType(self.method, node) if from_core() else self.look_up(node, node.__dict__)
