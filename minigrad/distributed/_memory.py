"""The memory of tensors as MPI takes it: a NumPy array that shares it, so nothing is copied.

A tensor on a GPU is copied to the host, and what arrives is copied back. MPI does not add 16-bit floats; these travel as float32.
"""

import warnings

import numpy as np

from minigrad.autograd.graph import increment_version
from minigrad.dtypes import int16
from minigrad.errors import TensorTypeError, TensorValueError
from minigrad.tensor import Tensor

__all__ = ["Place", "describe"]

_said = []


def name_of(dtype):
    """Return "float32". The dtype bfloat16 may not be imported yet, so we look at names."""
    return str(dtype).rpartition(".")[2]


def describe(tensor):
    """Return what ranks compare: "float32 (3, 4)"."""
    return f"{name_of(tensor.dtype)} {tuple(tensor.shape)}"


class Place:
    """Where the numbers of a tensor lie for MPI: `array`, flat. After MPI has written there, call `written`."""

    def __init__(self, tensor, what, wide=False):
        """``what`` is the function that asks, for errors. `wide`: the numbers will be added up, so half floats become float32."""
        if not isinstance(tensor, Tensor):
            raise TensorTypeError("MG-E611", f"{what} takes tensors, got {type(tensor).__name__}", fix="mg.tensor(value)")
        if not tensor.is_contiguous():
            raise TensorValueError("MG-E611", f"{what}: Tensors must be contiguous", found=f"strides {tensor.stride()} of "
                                   f"shape {tuple(tensor.shape)}", fix="x = x.contiguous() before the call")
        self._tensor = tensor
        here = tensor.detach()
        if here.device.type != "cpu":
            say_once("minigrad.distributed copies tensors of a GPU to the host and back: MPI sees the host's memory only")
            here = here.cpu()
        if wide and name_of(here.dtype) in ("float16", "bfloat16"):
            here = here.float()
        self._here = here
        flat = here.reshape(-1)
        flat = flat.view(int16) if name_of(flat.dtype) == "bfloat16" else flat      # pyright: ignore[reportArgumentType]
        self.array = flat.numpy()
        if self.array.dtype == bool:        # MPI has no operations on NumPy's
            self.array = self.array.view(np.uint8)

    @property
    def bytes(self):
        """The same memory as bytes: MPI moves numbers of any dtype so."""
        return self.array.view(np.uint8)

    def written(self):
        """Copy the numbers to where they belong, if they were elsewhere, and count the write in the tensor's version."""
        if self._here.data_ptr() == self._tensor.data_ptr():
            increment_version(self._tensor)
        else:
            self._tensor.detach().copy_(self._here)


def say_once(text):
    """Warn, the first time only."""
    if text not in _said:
        _said.append(text)
        warnings.warn(text, UserWarning, stacklevel=4)
