"""Lazy imports: a package offers a name, and imports its module when a program first reads the name.

    __getattr__, __dir__ = lazy(__name__, modules=("nn", "optim"), names={"serialization": "load save"})

    mg.nn                           is not in the package yet, so Python calls its __getattr__("nn"), which imports minigrad.nn
    mg.nn                           the import has put the module into the package: an ordinary attribute from now on
    mg.load                         imports minigrad.serialization, and puts its `load` into the package
    from minigrad import nn, load   the same two calls of __getattr__
    import minigrad.nn              an ordinary import: it never asks __getattr__
    dir(mg)                         has all names, imported or not

`LateMethod` does the same for a method of a class: ``Tensor.svd``.

So a short program does not wait for what it does not use. ``tests/test_import.py`` lists what ``import minigrad`` must not load.

One thread at a time imports here, with the lock `importing`. The modules of a package import each other, and two threads that
begin at different ends of such a circle would wait for each other. Python sees that, and gives one of them a module that is half
imported.

Python calls a module's function `__getattr__` for a name that the module lacks, and its `__dir__` for ``dir(module)``: see PEP 562.
Type checkers read the stubs, which have all names.
"""

import importlib
import os
import sys
from _thread import RLock

__all__ = ["LateMethod", "lazy"]

importing = RLock()     # the thread that imports may read another late name meanwhile
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=importing._at_fork_reinit)      # pyright: ignore[reportAttributeAccessIssue]


def lazy(package, modules=(), names=None):
    """Make the functions `__getattr__` and `__dir__` of a package.

    Args:
        package (str): the name of the package, its ``__name__``.
        modules (sequence of str): submodules to import when they are first read.
        names (dict, optional): submodule -> the names that the package takes from it, separated by spaces. ".sibling" is a module
            beside `package`: pickles of minigrad 0.1.0 name functions that have moved there by their old place.

    Returns:
        tuple: the two functions.
    """
    namespace = vars(sys.modules[package])
    homes = {name: home for home, listed in (names or {}).items() for name in listed.split()}

    def __getattr__(name):
        """Import what has this name."""
        if name in homes:
            with importing:
                namespace[name] = getattr(importlib.import_module(f".{homes[name]}", package), name)
            return namespace[name]
        if name in modules:
            with importing:
                return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def __dir__():
        """List all names, also those that are not imported yet."""
        return sorted({*namespace, *modules, *homes})

    return __getattr__, __dir__


class LateMethod:
    """A method of a class: the function `name` of a module that is imported when a program first looks the method up.

    It is a descriptor: Python calls its `__get__` for ``x.svd`` and ``Tensor.svd``. Then the function replaces it in the class.

    Args:
        module (str): the full name of the module.
        name (str): the name of the function.
        method (str, optional): the name of the method, if it differs.
    """

    def __init__(self, module, name, method=None):
        self.module, self.name, self.method = module, name, method or name

    def __get__(self, instance, owner):
        with importing:
            function = getattr(importlib.import_module(self.module), self.name)
        for cls in owner.__mro__:
            if vars(cls).get(self.method) is self:
                setattr(cls, self.method, function)
        return function.__get__(instance, owner)

    def __call__(self, *args, **kwargs):
        """Call the function: ``vars(Tensor)["svd"](x)``."""
        return getattr(importlib.import_module(self.module), self.name)(*args, **kwargs)
