"""The older place of `minigrad.ao.quantization`. Mirrors ``torch/quantization``."""

from minigrad.ao.quantization import *
from minigrad.ao.quantization import __all__ as __all__     # pyright: ignore[reportUnsupportedDunderAll]
