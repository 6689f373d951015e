"""Tensors from data: Python numbers and nested lists, NumPy arrays, buffers, DLPack.

``_arrays.py`` makes the arrays.

Mirrors ``torch/csrc/utils/tensor_new.cpp``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import cython
import numpy as np

from minigrad._core.graph.tensor import TensorBase, tensor_class
from minigrad._core.surface.variable import new_tensor
from minigrad.creation._arrays import as_array, check_array
from minigrad.dtypes import as_device, as_dtype
from minigrad.errors import DtypeError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import flag, integer, wrong_type

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["as_tensor", "from_dlpack", "from_numpy", "frombuffer", "tensor"]


def tensor(data: Any, *, dtype: DType | None = None, device: DeviceLike | None = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """Make a tensor with a copy of `data`.

    Args:
        data: a number, nested lists or tuples of numbers, or an array. Python floats give the default dtype,
            ints int64 and bools bool; an array keeps its dtype.
        dtype (optional): the dtype of the result.
        device (optional): the device of the result; by default the CPU, or the device of `data` if that is a tensor.
        requires_grad (bool): record the ops on it.
        pin_memory (bool): put it into pinned memory, which a GPU reads directly (see `Tensor.pin_memory`).

    Mirrors ``torch.tensor``.

    Raises:
        ValueError: nested lists at one depth differ in length.
        TypeError: something in `data` is not a number.
        RuntimeError: `requires_grad` with a dtype that has no gradient.

    >>> mg.tensor([[1., 2.], [3., 4.]])
    tensor([[1., 2.],
            [3., 4.]])
    """
    if isinstance(data, TensorBase):
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than minigrad.tensor(sourceTensor).",
                      UserWarning, stacklevel=1 if cython.compiled else 2)
        device = data.device if device is None else device
    array = as_array(data, None if dtype is None else as_dtype(dtype).numpy, copy=True)
    out = new_leaf(array, device, requires_grad)
    return out.pin_memory() if pin_memory is not False and flag(pin_memory, "pin_memory", "tensor") else out


def new_leaf(array, device, requires_grad):
    """Make a leaf around `array`. Raises if `requires_grad` is set for a dtype without gradients."""
    out = new_tensor(tensor_class(), array, False, as_device(device))
    if requires_grad is not False and flag(requires_grad, "requires_grad", "tensor"):
        if not out.dtype.differentiable:
            raise DtypeError("MG-E112", "Only Tensors of floating point and complex dtype can require gradients",
                             found=out.dtype.name, fix="give dtype=minigrad.float32, or write the numbers with a point")
        out.requires_grad = True
    return out


def as_tensor(data: Any, dtype: DType | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return `data` as a tensor, without a copy if possible. Mirrors ``torch.as_tensor``.

    A tensor of the right dtype and device is returned itself; a tensor from an array shares its memory.

    >>> x = mg.tensor([1.])
    >>> mg.as_tensor(x) is x
    True
    """
    if isinstance(data, TensorBase):
        return data.to(dtype=dtype, device=device)
    return new_leaf(as_array(data, None if dtype is None else as_dtype(dtype).numpy, copy=not isinstance(data, np.ndarray)), device,
                False)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Make a tensor on the memory of a NumPy array: a write to one changes the other.

    Mirrors ``torch.from_numpy``.

    Raises:
        TypeError: it is not an array, or has a dtype that tensors do not have.
        ValueError: it has a negative stride, or not the byte order of this machine.

    >>> import numpy as np
    >>> a = np.zeros(2); x = mg.from_numpy(a); a[0] = 5.; x
    tensor([5., 0.], dtype=minigrad.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TensorTypeError("MG-E305", f"expected np.ndarray (got {type(ndarray).__name__})")
    check_array(ndarray)
    warn_if_read_only(ndarray, "NumPy array")
    return new_leaf(ndarray.view(np.ndarray), None, False)


def warn_if_read_only(array, what):
    """Warn if `array` is read-only, since writes to a tensor on its memory will fail."""
    if not array.flags.writeable:
        warnings.warn(f"The given {what} is not writable, and minigrad does not support non-writable tensors: writing to this "
                      "tensor fails. Copy it first if you need to write.", UserWarning,
                      stacklevel=1 if cython.compiled else 3)


def from_dlpack(ext_tensor: Any, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor:
    """Make a tensor on the memory of another library's tensor, through the DLPack protocol. Mirrors ``torch.from_dlpack``.

    Args:
        ext_tensor: an object with ``__dlpack__`` and ``__dlpack_device__``.
        device (optional): copy the result to this device.
        copy (bool, optional): whether to make a copy, instead of sharing the memory.

    >>> import numpy as np
    >>> mg.from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.], dtype=minigrad.float64)
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TensorTypeError("MG-E305", f"from_dlpack(): expected an object with __dlpack__, got {type(ext_tensor).__name__}")
    try:
        array = np.from_dlpack(ext_tensor)
    except BufferError as error:
        raise TensorTypeError("MG-E305", f"from_dlpack(): {error}") from None
    if copy is not None and flag(copy, "copy", "from_dlpack"):
        array = array.copy()
    out = new_leaf(array, None, False)
    return out if device is None else out.to(as_device(device))


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Make a 1-d tensor on the memory of an object with the buffer protocol. Mirrors ``torch.frombuffer``.

    Args:
        buffer: such as a ``bytearray``.
        dtype: the dtype of the elements.
        count (int): the number of elements; -1 for all.
        offset (int): bytes to skip at the beginning.

    Raises:
        ValueError: the buffer is empty or too small, or its size is not a multiple of the element size.

    >>> mg.frombuffer(bytearray(b"\\x01\\x00\\x02\\x00"), dtype=mg.int16)
    tensor([1, 2], dtype=minigrad.int16)
    """
    count, offset = integer(count, "count", "frombuffer"), integer(offset, "offset", "frombuffer")
    try:
        nbytes = memoryview(buffer).nbytes
    except TypeError:
        raise wrong_type("frombuffer", "buffer", "an object with the buffer protocol", buffer) from None
    if count == 0 or nbytes == 0:
        raise TensorValueError("MG-E305", "both buffer length and count must not be 0", found=f"count {count}")
    try:
        array = np.frombuffer(buffer, as_dtype(dtype).numpy, count, offset)
    except ValueError as error:
        raise TensorValueError("MG-E305", f"frombuffer(): {error}",
                               found=f"{nbytes} bytes, count {count}, offset {offset}") from None
    warn_if_read_only(array, "buffer")
    return new_leaf(array, None, requires_grad)
