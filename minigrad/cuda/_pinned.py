"""Pinned memory: ``x.pin_memory()`` and ``x.is_pinned()``. Mirrors ``torch/csrc/cuda/pinned_memory.cpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.cuda import _devices
from minigrad.errors import DeviceError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["is_pinned", "pin_memory"]


def pin_memory(self) -> Tensor:
    """Return a copy in pinned memory, which a GPU can read directly; this tensor, if it is pinned already.

    Raises:
        RuntimeError: this tensor is not on the CPU, or minigrad can use no GPU.

    Mirrors ``torch.Tensor.pin_memory``.

    >>> x = mg.zeros(2)
    >>> x = x.pin_memory() if mg.cuda.is_available() else x
    """
    if self.device.type != "cpu":
        raise DeviceError("MG-E310", f"cannot pin a tensor on {self.device}: only dense CPU tensors can be pinned",
                          fix="x.cpu() first")
    _devices.find_device(None)
    from minigrad.kernels.cuda.runtime import memory
    return self if memory.is_pinned(self._array) else self._of_array(memory.pin(self._array))


def is_pinned(self) -> bool:
    """Whether this tensor is in pinned memory. Mirrors ``torch.Tensor.is_pinned``.

    >>> mg.zeros(2).is_pinned()
    False
    """
    if not _devices.devices or self.device.type != "cpu":
        return False
    from minigrad.kernels.cuda.runtime import memory
    return memory.is_pinned(self._array)
