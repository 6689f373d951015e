"""Neural networks: parameters, modules, their functions and initial values. Mirrors ``torch.nn``."""

from minigrad.nn import functional, init
from minigrad.nn.modules import *
from minigrad.nn.modules import __all__ as _modules
from minigrad.nn.parameter import Buffer, Parameter

__all__ = [*_modules, "Buffer", "Parameter", "functional", "init"]
