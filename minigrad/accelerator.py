"""The GPU of this machine, of any kind: here CUDA or none. Mirrors ``torch/accelerator/__init__.py``.

    device = mg.accelerator.current_accelerator() if mg.accelerator.is_available() else "cpu"
"""

from minigrad import cuda
from minigrad.dtypes import device
from minigrad.errors import DeviceError

__all__ = ["current_accelerator", "current_device_index", "current_stream", "device_count", "empty_cache", "is_available",
           "max_memory_allocated", "memory_allocated", "set_device_index", "synchronize"]


def is_available():
    """Whether minigrad can compute on a GPU. Mirrors ``torch.accelerator.is_available``.

    >>> mg.accelerator.is_available() == mg.cuda.is_available()
    True
    """
    return cuda.is_available()


def device_count():
    """The number of GPUs. Mirrors ``torch.accelerator.device_count``.

    >>> mg.accelerator.device_count() == mg.cuda.device_count()
    True
    """
    return cuda.device_count()


def current_accelerator(check_available=False):
    """The device of the GPU; None if there is none. Mirrors ``torch.accelerator.current_accelerator``.

    >>> mg.accelerator.current_accelerator() is None or mg.accelerator.is_available()
    True
    """
    return device("cuda") if cuda.is_available() else None


def require():
    """Raise `RuntimeError` unless there is a GPU."""
    if not cuda.is_available():
        raise DeviceError("MG-E310", "Cannot access accelerator device when none is available.",
                            fix="if mg.accelerator.is_available(): ...")


def current_device_index():
    """The number of the GPU. Raises `RuntimeError` without one. Mirrors ``torch.accelerator.current_device_index``."""
    require()
    return cuda.current_device()


def set_device_index(device):
    """Accept the only GPU that ``"cuda"`` means. Raises `RuntimeError` without one."""
    require()


def current_stream(device=None):
    """The current stream of the GPU. Raises `RuntimeError` without one. Mirrors ``torch.accelerator.current_stream``."""
    require()
    return cuda.current_stream(device)


def synchronize(device=None):
    """Wait until the GPU has done all its work. Raises `RuntimeError` without one. Mirrors ``torch.accelerator.synchronize``."""
    require()
    cuda.synchronize(device)


def empty_cache():
    """Give memory that no tensor uses back to the driver. Mirrors ``torch.accelerator.empty_cache``."""
    cuda.empty_cache()


def memory_allocated(device_index=None):
    """The bytes that the tensors on the GPU take; 0 without one. Mirrors ``torch.accelerator.memory_allocated``."""
    return cuda.memory_allocated(device_index)


def max_memory_allocated(device_index=None):
    """The largest `memory_allocated`; 0 without a GPU. Mirrors ``torch.accelerator.max_memory_allocated``."""
    return cuda.max_memory_allocated(device_index)
