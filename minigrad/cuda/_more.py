"""Questions that programs ask about a GPU, and functions that change nothing here. Mirrors ``torch/cuda/__init__.py``.

Without a GPU, what is asked of one raises `RuntimeError` (MG-E310), and what counts its memory is 0, as in PyTorch.
"""

from types import SimpleNamespace

from minigrad.cuda import _devices

__all__ = ["can_device_access_peer", "device", "get_arch_list", "get_device_capability", "get_device_properties", "init",
           "is_bf16_supported", "is_initialized", "max_memory_reserved", "mem_get_info", "memory_reserved", "memory_summary",
           "reset_max_memory_allocated", "set_device"]


def init():
    """Make the first GPU ready, which otherwise happens at its first use. Mirrors ``torch.cuda.init``."""
    _devices.find_device(None)


def is_initialized():
    """Whether the program has used a GPU. Mirrors ``torch.cuda.is_initialized``.

    >>> mg.cuda.is_initialized() in (True, False)
    True
    """
    return bool(_devices.devices)


def set_device(device):
    """Accept the GPU that ``"cuda"`` means, and a negative number, which means none. Mirrors ``torch.cuda.set_device``.

    Raises:
        RuntimeError: there is no such GPU, or it is not the first.
    """
    if isinstance(device, int) and device < 0:
        return
    if _devices.as_cuda(device).index:
        from minigrad._absent import absent
        raise absent("current GPU other than the first", f'name it: device="cuda:{_devices.as_cuda(device).index}"')


class device:
    """Context manager: accept the GPU that ``"cuda"`` means, or None. Mirrors ``torch.cuda.device``.

    >>> with mg.cuda.device(None):
    ...     x = mg.ones(2)
    """

    def __init__(self, device):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            set_device(self.idx)

    def __exit__(self, *exc_info):
        pass


def get_device_properties(device=None):
    """Name, memory, and capability of a GPU: `name`, `major`, `minor`, `total_memory`, `multi_processor_count`.

    Mirrors ``torch.cuda.get_device_properties``. Raises `RuntimeError` without a GPU.
    """
    found = _devices.as_cuda(device)
    from numba import cuda

    from minigrad.cuda import get_device_name
    gpu = cuda.gpus[found.index]
    major, minor = getattr(gpu, "compute_capability", (0, 0))
    return SimpleNamespace(name=get_device_name(found), major=major, minor=minor, total_memory=mem_get_info(found)[1],
                           multi_processor_count=getattr(gpu, "MULTIPROCESSOR_COUNT", 1))


def get_device_capability(device=None):
    """The pair (major, minor). Mirrors ``torch.cuda.get_device_capability``. Raises `RuntimeError` without a GPU."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def mem_get_info(device=None):
    """The pair (free bytes, all bytes) of a GPU. Mirrors ``torch.cuda.mem_get_info``. Raises `RuntimeError` without a GPU."""
    _devices.as_cuda(device)
    from numba import cuda
    return tuple(cuda.current_context().get_memory_info())


def memory_reserved(device=None):
    """The bytes that minigrad has from the driver: those of the tensors. Mirrors ``torch.cuda.memory_reserved``.

    >>> mg.cuda.memory_reserved() >= 0
    True
    """
    from minigrad.cuda import memory_allocated
    return memory_allocated(device)


def max_memory_reserved(device=None):
    """The largest `memory_reserved`. Mirrors ``torch.cuda.max_memory_reserved``.

    >>> mg.cuda.max_memory_reserved() >= 0
    True
    """
    from minigrad.cuda import max_memory_allocated
    return max_memory_allocated(device)


def reset_max_memory_allocated(device=None):
    """`reset_peak_memory_stats` under its old name. Mirrors ``torch.cuda.reset_max_memory_allocated``."""
    from minigrad.cuda import reset_peak_memory_stats
    reset_peak_memory_stats(device)


def memory_summary(device=None, abbreviated=False):
    """The memory of a GPU as text. Mirrors ``torch.cuda.memory_summary``.

    >>> print(mg.cuda.memory_summary())     # doctest: +ELLIPSIS
    allocated ... bytes, at most ... bytes
    """
    return f"allocated {memory_reserved(device):,} bytes, at most {max_memory_reserved(device):,} bytes"


def is_bf16_supported(including_emulation=True):
    """False: minigrad computes with bfloat16 on the CPU only. Mirrors ``torch.cuda.is_bf16_supported``.

    >>> mg.cuda.is_bf16_supported()
    False
    """
    return False


def get_arch_list():
    """The architectures for which kernels were compiled ahead: none, because numba compiles them on first use.

    Mirrors ``torch.cuda.get_arch_list``.

    >>> mg.cuda.get_arch_list()
    []
    """
    return []


def can_device_access_peer(device, peer_device):
    """False: minigrad copies between GPUs through the CPU. Mirrors ``torch.cuda.can_device_access_peer``.

    >>> mg.cuda.can_device_access_peer(0, 1)
    False
    """
    return False
