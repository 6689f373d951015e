"""The memory under tensors: one storage for a tensor and all its views.

    x.untyped_storage()     its bytes                   x.storage()     its numbers (deprecated: it warns)

A storage object is made on request and only shows the memory. Writes through it have no history and do not change the version, so
autograd does not notice them. A storage never changes its size: `Tensor.resize_` gives the tensor other memory.

Mirrors ``torch/storage.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.tensor import address
from minigrad._core.surface.variable import new_tensor
from minigrad._warnings import warn_once
from minigrad.dtypes import as_dtype
from minigrad.errors import ArgumentError, OutOfRangeError, ShapeError, TensorTypeError
from minigrad.ops.base.arguments import integer
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]


class Storage:
    """Base of both classes: a vector of numbers of one dtype, on one device."""

    __slots__ = ("_row",)

    def __init__(self, row):
        self._row = row         # a vector, without history

    @property
    def device(self):
        """The device that has this memory."""
        return self._row.device

    @property
    def is_cuda(self):
        """Whether the memory is on a GPU."""
        return self._row.is_cuda

    def data_ptr(self):
        """The address of the first byte.

        >>> x = mg.arange(4)
        >>> x[2:].untyped_storage().data_ptr() == x.data_ptr()
        True
        """
        return self._row.data_ptr()

    def nbytes(self):
        """The number of bytes.

        >>> mg.zeros(3)[1:].untyped_storage().nbytes()
        12
        """
        return self._row.nbytes

    def size(self):
        """The number of elements; an untyped storage counts bytes.

        >>> mg.zeros(3).untyped_storage().size()
        12
        """
        return self._row.numel()

    def element_size(self):
        """The size of an element in bytes; 1 for an untyped storage.

        >>> mg.zeros(3).untyped_storage().element_size()
        1
        """
        return self._row.element_size()

    def tolist(self):
        """The elements as a list of numbers.

        >>> mg.tensor([1, 2], dtype=mg.uint8).untyped_storage().tolist()
        [1, 2]
        """
        return self._row.tolist()

    def clone(self):
        """A copy in new memory.

        >>> mg.zeros(3).untyped_storage().clone().nbytes()
        12
        """
        return type(self)(self._row.clone())

    def fill_(self, value):
        """Set every element to `value`.

        >>> mg.zeros(1).untyped_storage().fill_(1).tolist()
        [1, 1, 1, 1]
        """
        self._row.fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Copy the elements of `source`, a storage of the same size.

        >>> x, y = mg.zeros(2), mg.ones(2)
        >>> _ = x.untyped_storage().copy_(y.untyped_storage()); x
        tensor([1., 1.])
        """
        if not isinstance(source, Storage):
            raise TensorTypeError("MG-E201", f"copy_(): argument 'source' must be a storage, not {type(source).__name__}")
        if source.size() != self.size():
            raise ShapeError("MG-E204", "copy_(): storages of different sizes", found=f"{source.size()} and {self.size()} elements")
        self._row.copy_(source._row)
        return self

    def __len__(self):
        return self.size()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._part(index)
        return self._row[self._place(index)].item()

    def __setitem__(self, index, value):
        self._row[index if isinstance(index, slice) else self._place(index)] = value

    def _place(self, index):
        index, size = integer(index, "index", "__getitem__"), self.size()
        if not -size <= index < size:
            raise OutOfRangeError("MG-E301", f"index {index} out of range for storage of size {size}")
        return index

    def _part(self, index):
        return type(self)(self._row[index])

    def __repr__(self):
        numbers = "..." if self.device.type == "meta" else "".join([f" {n}" for n in self.tolist()])
        return f"{numbers}\n[{self._words()} of size {self.size()}]"

    def _words(self):
        return f"minigrad.storage.{type(self).__name__}(device={self.device})"


class UntypedStorage(Storage):
    """The bytes that a tensor and its views share. Mirrors ``torch.UntypedStorage``.

    Two storages are equal if they are the same memory.

    >>> x = mg.arange(4)
    >>> x.untyped_storage() == x[2:].untyped_storage(), x.untyped_storage().nbytes()
    (True, 32)
    """

    __slots__ = ()

    def __eq__(self, other):
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return (self.device, self._start(), self.nbytes()) == (other.device, other._start(), other.nbytes())

    def __hash__(self):
        return hash((self._start(), self.nbytes()))

    def _start(self):
        """The address of the memory. Unlike ``data_ptr()``, it is not 0 for an empty storage."""
        array = self._row._array
        return address(array) if isinstance(array, np.ndarray) else array.address

    def untyped(self):
        """This storage.

        >>> mg.zeros(2).untyped_storage().untyped().nbytes()
        8
        """
        return self


class TypedStorage(Storage):
    """The numbers that a tensor and its views share. Mirrors ``torch.TypedStorage``.

    >>> mg.TypedStorage(mg.arange(3))[1]
    1
    """

    __slots__ = ()

    @property
    def dtype(self):
        """The dtype of its numbers."""
        return self._row.dtype

    def untyped(self):
        """Its bytes.

        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     mg.zeros(2).storage().untyped().nbytes()
        8
        """
        return self._row.untyped_storage()

    def _part(self, index):
        raise ArgumentError("MG-E301", "slices are only supported in UntypedStorage.__getitem__", fix="storage.untyped()[...]")

    def _words(self):
        return f"minigrad.storage.TypedStorage(dtype={self.dtype}, device={self.device})"


def row_of(x, dtype):
    """Return the whole memory of `x` as a vector of `dtype`."""
    memory = x._meta.backend.kernels.storage(x._array)
    row = memory.view(dtype) if isinstance(memory, np.ndarray) else memory.make_view(memory.layout.view(dtype))
    return new_tensor(Tensor, row, False, x.device)


def untyped_storage(self) -> UntypedStorage:
    """The bytes that this tensor and its views share. Mirrors ``torch.Tensor.untyped_storage``.

    >>> mg.zeros(3)[1:].untyped_storage().nbytes()
    12
    """
    return UntypedStorage(row_of(self, np.dtype("uint8")))


def storage(self) -> TypedStorage:
    """The numbers that this tensor and its views share. It warns once, as there: `untyped_storage` is what lasts.

    Mirrors ``torch.Tensor.storage``.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     mg.arange(3)[1:].storage().tolist()
    [0, 1, 2]
    """
    warn_once("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
              "This should only matter to you if you are using storages directly. To access UntypedStorage directly, use "
              "tensor.untyped_storage() instead of tensor.storage()", stacklevel=2)
    return TypedStorage(row_of(self, as_dtype(self.dtype).numpy))


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage. Mirrors ``torch.is_storage``.

    >>> mg.is_storage(mg.zeros(2).untyped_storage())
    True
    """
    return isinstance(obj, Storage)
