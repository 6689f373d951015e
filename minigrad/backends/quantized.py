"""The engine of quantized numbers, which minigrad only simulates. Mirrors ``torch/backends/quantized/__init__.py``."""

__all__ = ["engine", "supported_engines"]

engine = "fbgemm"
supported_engines = ["none", "fbgemm", "qnnpack", "x86", "onednn"]
