"""Kernels: functions on arrays, for each device. See README.md."""

from minigrad._lazy import lazy
from minigrad.kernels import cpu as _cpu
from minigrad.kernels import numpy_ref
from minigrad.kernels.contract import Kernels

# The reference; and the kernels of the CPU: the compiled ones, and the reference for the rest.
NUMPY = Kernels("numpy", numpy_ref)
CPU = Kernels("cpu", *_cpu.SOURCES, numpy_ref)

# ROUNDING: the kernels of float16 and bfloat16 on the CPU.
__getattr__, __dir__ = lazy(__name__, names={"rounding": "ROUNDING"})
