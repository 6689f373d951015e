"""The older place of `minigrad.ao.quantization`. Mirrors ``torch/quantization``."""

from minigrad.ao import quantization as _new

__all__ = list(_new.__all__)    # pyright: ignore[reportUnsupportedDunderAll]

globals().update({_name: getattr(_new, _name) for _name in __all__})
