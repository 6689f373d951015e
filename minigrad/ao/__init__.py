"""Quantization in simulation. Mirrors ``torch/ao``; it is imported when a program asks for it."""

from minigrad._lazy import lazy as _lazy

__all__ = ["quantization"]      # pyright: ignore[reportUnsupportedDunderAll]

__getattr__, __dir__ = _lazy(__name__, __all__)
