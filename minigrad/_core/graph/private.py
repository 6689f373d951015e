"""Interpreted only: how the fields of a node stay out of the way of what the user sets on it.

Note [Names on ctx]
    Any attribute may be set on ctx, also one called like a field of the node: compiled, fields are not seen from Python,
    so that `ctx.meta` and the node's `meta` are two things. Interpreted they would be one, and a program that set such a name would
    break the engine. So there each of these names is a property, which asks whether the core is calling.
"""

import sys
import types

__all__ = ["hide"]


def hide(cls, fields, methods):
    """Make these names of `cls` private to the core. An instance keeps the fields in a dict called ``_core``."""
    for name in fields:
        setattr(cls, name, Private(name))
    for name in methods:
        setattr(cls, name, PrivateMethod(name, getattr(cls, name)))


def from_core():
    """Whether the property that asks is read or written in this folder, and not by the user."""
    return sys._getframe(2).f_globals["__name__"].startswith("minigrad._core.")


class Private:
    """A field of the node's to the core; an attribute like any other to everybody else."""

    def __init__(self, name):
        self.name = name

    def __get__(self, node, cls):
        return self if node is None else self.found(node, node._core if from_core() else node.__dict__)

    def found(self, node, place):
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
    """The same for a method of the node's."""

    def __init__(self, name, method):
        self.name = name
        self.method = method

    def __get__(self, node, cls):
        return self if node is None else types.MethodType(self.method, node) if from_core() else self.found(node, node.__dict__)
