"""Compile kernels for a real GPU without one: numba's compiler gets a GPU of compute capability 9.0."""

import importlib.util
import os
from types import SimpleNamespace

import numpy as np
import pytest

CAPABILITY = (9, 0)


def why_not():
    """The reason why kernels cannot be compiled; empty if they can."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return "the simulator is in use"
    if importlib.util.find_spec("numba_cuda") is None or importlib.util.find_spec("nvidia") is None:
        return "numba's compiler is not here: pip install 'numba-cuda[cu13]'"
    return ""


needs_compiler = pytest.mark.skipif(why_not() != "", reason=why_not())


def compiles(kernel, *types):
    """Compile a kernel for arguments of these numba types. Raises what numba does."""
    from numba import cuda
    from numba.cuda import dispatcher
    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)      # it is asked for device functions
    try:
        ptx, _ = cuda.compile_ptx(kernel.py_func, types, cc=CAPABILITY)
    finally:
        dispatcher.get_current_device = before
    assert ".entry" in ptx
    return ptx


def array(dtype):
    """The numba type of a block of memory seen as `dtype`."""
    from numba import from_dtype, types
    return types.Array(from_dtype(np.dtype(dtype)), 1, "C")
