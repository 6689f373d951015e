"""Neural networks: parameters, modules, functions and initial values. Mirrors ``torch.nn``."""

from minigrad.nn import functional, init, modules, utils
from minigrad.nn.modules import *
from minigrad.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "utils"]
__all__ += modules.__all__
__all__ += [name for names in modules.LATE.values() for name in names]     # imported with their first use


def __getattr__(name):
    if name in modules.LATE_NAMES:
        globals()[name] = found = getattr(modules, name)
        return found
    if name in ("common_types", "parallel"):
        import importlib
        return importlib.import_module(f"minigrad.nn.{name}")
    if name == "DataParallel":
        from minigrad.nn.parallel import DataParallel
        return DataParallel
    raise AttributeError(f"module 'minigrad.nn' has no attribute {name!r}")
