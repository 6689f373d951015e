"""Neural networks: parameters, modules, functions and initial values. Mirrors ``torch.nn``."""

from minigrad.nn import functional, init, modules, utils
from minigrad.nn.modules import *
from minigrad.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "utils"]
__all__ += modules.__all__
