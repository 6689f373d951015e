"""The numbers: kernels on arrays. See README.md."""

from minigrad.kernels import cpu as _cpu
from minigrad.kernels import numpy_ref
from minigrad.kernels.contract import Kernels

# The reference, and what the CPU runs on: compiled kernels where there are any, the reference for the rest.
NUMPY = Kernels("numpy", numpy_ref)
CPU = Kernels("cpu", *_cpu.SOURCES, numpy_ref)
