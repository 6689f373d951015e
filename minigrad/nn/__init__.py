"""Neural networks: parameters, modules, functions and initial values. Mirrors ``torch.nn``."""

from minigrad.nn import functional, init, modules, utils
from minigrad.nn.modules import *
from minigrad.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "utils"]
__all__ += modules.__all__


def __getattr__(name):
    """Import ``minigrad.nn.parallel`` when a program reads its name, or `DataParallel`."""
    if name in ("DataParallel", "parallel"):
        import importlib
        parallel = importlib.import_module("minigrad.nn.parallel")
        return parallel if name == "parallel" else parallel.DataParallel
    raise AttributeError(f"module 'minigrad.nn' has no attribute {name!r}")
