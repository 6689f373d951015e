"""Neural networks: parameters, modules, functions and initial values. Mirrors ``torch.nn``."""

from minigrad._lazy import lazy as _lazy
from minigrad.nn import functional, init, modules, utils
from minigrad.nn.modules import *
from minigrad.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "utils"]
__all__ += modules.__all__
__all__ += [name for names in modules.LATE.values() for name in names]     # imported with their first use

__getattr__, __dir__ = _lazy(__name__, ("attention", "common_types", "parallel"),
                             {"modules": " ".join(modules.LATE_NAMES), "parallel": "DataParallel"})
