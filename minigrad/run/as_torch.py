"""`import torch` means minigrad: an import hook, and the module that stands for ``torch``.

    import torch                    -> a module with the attributes of minigrad, and PyTorch's __version__
    import torch.nn.functional      -> minigrad.nn.functional itself
    torch.jit_of_tomorrow           -> AttributeError, which says what to do

Python looks for a module with the finders in ``sys.meta_path``. We put one in front that answers for ``torch`` and ``torch.*``, and
enters our module into ``sys.modules`` under PyTorch's name. The finder gives no other library's name away: what a program imports
besides (NumPy, matplotlib) is found as always.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

__all__ = ["PYTORCH", "as_torch"]

PYTORCH = "2.13.0"      # the release whose behaviour minigrad mirrors


class Torch(types.ModuleType):
    """The module ``torch``: the attributes of minigrad, looked up when they are used."""

    def __init__(self, minigrad):
        super().__init__("torch", minigrad.__doc__)
        self._minigrad = minigrad
        self.__version__ = PYTORCH
        self.__path__ = minigrad.__path__       # a package: `import torch.nn` is allowed

    def __getattr__(self, name):
        if name == "__all__":       # from torch import *
            return [public for public in dir(self._minigrad) if not public.startswith("_")]
        try:
            return getattr(self._minigrad, name)
        except AttributeError:
            if name.startswith("__"):
                raise
            raise AttributeError(f"module 'torch' has no attribute {name!r}: this program runs on minigrad, which lacks "
                                 "it. `python -m minigrad.run --check` lists all such names", name=name, obj=self) from None

    def __setattr__(self, name, value):
        """What a program sets, such as ``torch.set = value``, is seen by minigrad too."""
        super().__setattr__(name, value)
        if not name.startswith("_"):
            setattr(self._minigrad, name, value)

    def __dir__(self):
        return dir(self._minigrad)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Find ``torch`` and ``torch.*`` in minigrad."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname in ("torch", "functorch") or fullname.startswith("torch."):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return None     # Python makes an empty one, which `exec_module` replaces

    def exec_module(self, module):
        """Enter our module under PyTorch's name. `import` returns what it finds there, and leaves the module's own names alone."""
        name = module.__name__
        if name == "functorch":     # the older name of torch.func, a package of its own
            sys.modules[name] = importlib.import_module("minigrad.functorch")
        else:
            sys.modules[name] = Torch(importlib.import_module("minigrad")) if name == "torch" else find_module(name)


def find_module(name):
    """The module of minigrad for ``torch.a.b``.

    Raises:
        ModuleNotFoundError: there is none.
    """
    ours = "minigrad" + name.removeprefix("torch")
    try:
        return importlib.import_module(ours)
    except ModuleNotFoundError as error:
        if error.name is None or not (ours + ".").startswith(error.name + "."):
            raise       # a package that our module needs
    parent, _, last = ours.rpartition(".")
    found = getattr(sys.modules.get(parent), last, None)
    if isinstance(found, types.ModuleType):
        return found
    raise ModuleNotFoundError(f"No module named {name!r}: this program runs on minigrad, which lacks it. "
                              "`python -m minigrad.run --check` lists all names that a file would need", name=name)


class as_torch:
    """From now on, ``import torch`` gives minigrad. Used as a context, until its end.

    The module ``torch`` has minigrad's attributes and PyTorch's ``__version__``; ``torch.nn`` is `minigrad.nn` itself, and so on.
    Call it before the first import of torch.

    Raises:
        RuntimeError: PyTorch itself has been imported: its tensors would meet ours.

    >>> with mg.as_torch():
    ...     import torch
    ...     from torch import nn
    ...     y = nn.Linear(3, 1)(torch.ones(2, 3))
    >>> type(y) is mg.Tensor, torch.__version__
    (True, '2.13.0')

    Without a counterpart in PyTorch.
    """

    def __init__(self):
        found = sys.modules.get("torch")
        if found is not None and not isinstance(found, Torch):
            raise RuntimeError("PyTorch has been imported already, so `import torch` cannot mean minigrad any more: call "
                               "mg.as_torch() first, in a new process (restart the kernel of a notebook)")
        self.finder = Finder()
        sys.meta_path.insert(0, self.finder)

    def undo(self):
        """`import torch` gives PyTorch again, if it is installed. Modules that hold minigrad keep it."""
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        if not any(isinstance(finder, Finder) for finder in sys.meta_path):
            for name in [name for name in sys.modules if name in ("torch", "functorch") or name.startswith("torch.")]:
                del sys.modules[name]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.undo()

    def __repr__(self):
        return "<import torch: minigrad>"
