"""The `Device` objects of GPUs, made when they are first used.

    find_device(0)          the device "cuda:0", always the same object; dtypes.py calls it for the string "cuda"
    as_cuda(argument)       the device that the argument of a function of ``mg.cuda`` names

The first device loads the kernels, and gives the engine the functions that change streams.

Mirrors ``torch/cuda/_utils.py``. Read next: ``minigrad/kernels/cuda/__init__.py``.
"""

import functools
import importlib.util
import os

from minigrad._core.graph.metadata import Backend, Device
from minigrad._core.graph.streams import use_queues
from minigrad._core.graph.switches import switches
from minigrad.dtypes import as_device
from minigrad.errors import DeviceError

__all__ = ["as_cuda", "count_devices", "devices", "find_device", "why_unavailable"]


@functools.cache
def why_unavailable():
    """Why minigrad cannot compute on a GPU, in words; "" if it can."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed: pip install 'minigrad-autograd[cuda]'"
    from numba import cuda
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" or cuda.is_available():
        return ""
    return "the driver reports no NVIDIA GPU (see nvidia-smi)"


def count_devices():
    """The number of GPUs; 0 where minigrad cannot compute on them."""
    if why_unavailable():
        return 0
    from numba import cuda
    return len(cuda.gpus)


class _Cuda(Device):
    """A GPU: a `Device` that counts how much of its memory tensors use."""

    def __init__(self, index):
        super().__init__("cuda", index, Backend("cuda"))
        from minigrad.kernels.cuda import kernels_of
        from minigrad.kernels.cuda.array import Statistics
        from minigrad.kernels.cuda.runtime import streams
        from minigrad.kernels.cuda.runtime.driver import context_of
        self.statistics = Statistics()
        self.context = 0 if streams.SIMULATED else context_of(index)
        streams.set_listener(switches.stream_entered)
        use_queues(streams)
        self.backend.use(kernels_of(self))    # pyright: ignore[reportOptionalMemberAccess]


devices = {}


def find_device(index):
    """The `Device` of the GPU with this index, None for the first. Raises `RuntimeError` if there is no such GPU."""
    index = 0 if index is None else index
    if index not in devices:
        if why_unavailable():
            raise DeviceError("MG-E310", f"CUDA is not available: {why_unavailable()}", fix='compute on the CPU, device="cpu"')
        if not 0 <= index < count_devices():
            raise DeviceError("MG-E310", f"CUDA error: invalid device ordinal {index}", expected=f"one of {count_devices()} GPUs",
                              fix='device="cuda" is the first')
        devices.setdefault(index, _Cuda(index))
    return devices[index]


def as_cuda(device):
    """The `Device` that `device` names: an index, a string, a device, or None for the first. Raises `RuntimeError` for the CPU."""
    found = find_device(device) if device is None or isinstance(device, int) else as_device(device)
    if not isinstance(found, _Cuda):
        raise DeviceError("MG-E310", f"Expected a cuda device, but got: {found}", fix='device="cuda"')
    return found
