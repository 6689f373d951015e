"""Names of `minigrad` that few programs use. Their modules are imported when a program asks for one of these names.

    mg.amp          MODULES     the module minigrad/amp
    mg.compile      NAMES       the name `compile` in minigrad/compiler

`import minigrad` does not import this file either.
"""

import importlib

__all__ = ["MODULES", "NAMES", "find"]

MODULES = {"_dynamo", "accelerator", "amp", "backends", "compiler", "cpu", "distributed", "futures", "hub", "jit", "mps",
           "multiprocessing", "onnx", "profiler", "torch_version", "version", "xpu"}

# name -> the module that has it
NAMES = {
    "Event": "cpu", "Stream": "cpu",
    "autocast": "amp", "get_autocast_dtype": "amp", "is_autocast_enabled": "amp", "set_autocast_enabled": "amp",
    "bfloat16": "amp.autocast_mode",
    "compile": "compiler",
    "get_deterministic_debug_mode": "backends._precision", "set_deterministic_debug_mode": "backends._precision",
    "get_float32_matmul_precision": "backends._precision", "set_float32_matmul_precision": "backends._precision",
    "is_deterministic_algorithms_warn_only_enabled": "backends._precision",
}


def find(name):
    """Return the module or the object `name` of `minigrad`.

    Raises:
        AttributeError: there is none.
    """
    if name in MODULES:
        return importlib.import_module(f"minigrad.{name}")
    if name in NAMES:
        return getattr(importlib.import_module(f"minigrad.{NAMES[name]}"), name)
    raise AttributeError(f"module 'minigrad' has no attribute {name!r}")
