"""The public class `Tensor`: its named methods, copies and pickles.

Most methods are ops and come from the registry: ``ops/`` defines the function ``sum(input, ...)`` once, and
`install_methods` makes it also ``Tensor.sum``. This file has the methods that are not ops. Conversions, such as ``x.item()`` and
``x.numpy()``, are in ``_tensor/conversions.py``. The operators and the attributes of autograd are in the compiled base classes
 (``_core/surface/operators.py``, ``variable.py``).

Mirrors ``torch/_tensor.py``.
"""

# pyright: reportReturnType=false, reportArgumentType=false
# (the class that the stubs call Tensor is made here)

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.method_checks import Checked
from minigrad._core.graph.tensor import address, owner_of, use_tensor_class
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.surface.operators import use_operators
from minigrad._core.surface.variable import new_tensor
from minigrad._lazy import LateMethod
from minigrad._tensor import elements, properties
from minigrad._tensor.conversions import Conversions
from minigrad.creation._arrays import as_array
from minigrad.creation._filled import empty_strided, full
from minigrad.creation._from_data import new_leaf
from minigrad.creation._legacy import from_legacy_arguments, legacy_argument
from minigrad.creation._options import storage_options
from minigrad.dtypes import as_device, as_dtype, get_default_dtype
from minigrad.errors import ArgumentError, AutogradError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, tensor_argument
from minigrad.ops.shape.formats import channels_last, channels_last_3d, check_format
from minigrad.ops.shape.views import as_shape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from minigrad.autograd.graph import GradientEdge
    from minigrad.ops.shape.formats import layout, memory_format
    from minigrad.types import DeviceLike, DType, Number

__all__ = ["Tensor"]


class Tensor(Conversions, metaclass=Checked):
    """A multi-dimensional array of numbers of one dtype, which autograd can differentiate.

    Make one with `tensor`, `zeros`, `rand` or another creation function. As in PyTorch, ``Tensor(2, 3)`` is an uninitialised
    tensor of that shape and of the default dtype, and ``Tensor([1, 2])`` a tensor of these values in the default dtype.

    Mirrors ``torch.Tensor``.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ()

    def __new__(cls, *data: Any, device: DeviceLike | None = None, **named: Any) -> Self:
        if named:
            data = (*data, legacy_argument("Tensor", named))
        if len(data) == 1 and isinstance(data[0], Tensor):
            as_device(device)
            return new_tensor(cls, data[0]._array, False, data[0].device)
        out = from_legacy_arguments(get_default_dtype(), data, device)
        return new_tensor(cls, out._array, False, out.device)

    def __init_subclass__(cls, **kwargs):
        """Ops on a subclass return instances of it, unless it overrides `_result_class`."""
        super().__init_subclass__(**kwargs)

    @classmethod
    def _result_class(cls, other):
        """Return the class of the result of an op on a `cls` and an `other` (a class, or None)."""
        return cls if other is None or issubclass(cls, other) else other

    def as_subclass(self, cls: type[Any]) -> Any:
        """Return an instance of `cls` with the numbers and the history of this tensor. Mirrors ``torch.Tensor.as_subclass``.

        >>> class Mine(mg.Tensor): pass
        >>> type(mg.ones(2).as_subclass(Mine) + 1).__name__
        'Mine'
        """
        from minigrad.ops.shape.views import alias_as
        return alias_as(self, cls)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):  # pyright: ignore[reportSelfClsParameterName]
        """A leaf of class `cls` on the memory of `data`. Mirrors ``torch.Tensor._make_subclass``."""
        tensor_argument("_make_subclass", data, "data", 2)
        return new_tensor(cls, data._array, require_grad, data.device)

    # ---- shape ------------------------------------------------------------------------------------------

    def size(self, dim=None):
        """The shape, or the size of one dimension. Mirrors ``torch.Tensor.size``.

        >>> mg.zeros(2, 3).size(), mg.zeros(2, 3).size(1)
        (minigrad.Size([2, 3]), 3)
        """
        return self.shape if dim is None else self.shape[dimension(dim, self.ndim)]

    def dim(self) -> int:
        """Number of dimensions.

        >>> mg.zeros(2, 3).dim()
        2
        """
        return self.ndim

    def numel(self) -> int:
        """Number of elements.

        >>> mg.zeros(2, 3).numel()
        6
        """
        return self._meta.numel

    nelement = numel
    ndimension = dim

    def stride(self, dim=None):
        """The stride of each dimension, or of one: how many elements apart its neighbours are in memory.

        >>> mg.zeros(2, 3).stride()
        (3, 1)
        """
        strides = self._meta.backend.kernels.geometry(self._array, self._array)[2]
        return strides if dim is None else strides[dimension(dim, self.ndim)]

    def storage_offset(self) -> int:
        """The number of elements of the storage before the first element of this tensor.

        >>> mg.arange(4)[2:].storage_offset()
        2
        """
        if not isinstance(self._array, np.ndarray):
            return self._array.start        # on a GPU, where a block of memory is a storage
        return (address(self._array) - address(owner_of(self._array))) // self._array.itemsize

    def is_contiguous(self, *, memory_format: memory_format | None = None) -> bool:
        """Whether the elements are row by row in memory, without gaps. Mirrors ``torch.Tensor.is_contiguous``.

        Args:
            memory_format (optional): with ``mg.channels_last``, whether they are so in the order (N, H, W, C).

        >>> mg.zeros(2, 3).is_contiguous(), mg.zeros(2, 3).t().is_contiguous()
        (True, False)
        """
        if memory_format is channels_last or memory_format is channels_last_3d:
            dims = 4 if memory_format is channels_last else 5
            return self.ndim == dims and self.detach().movedim(1, -1).is_contiguous()
        check_format("is_contiguous", memory_format)
        return self._meta.backend.kernels.contiguous(self._array)

    def data_ptr(self) -> int:
        """The address of the first element; 0 for an empty tensor, and on the device "meta".

        >>> x = mg.zeros(2)
        >>> x.data_ptr() == x.detach().data_ptr()
        True
        """
        array = self._array
        if not self._meta.numel or self.is_meta:
            return 0
        return address(array) if isinstance(array, np.ndarray) else array.address

    def element_size(self) -> int:
        """Size of an element in bytes.

        >>> mg.zeros(2).element_size()
        4
        """
        return self.dtype.itemsize

    @property
    def itemsize(self):
        """Size of an element in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self):
        """Size of all elements in bytes."""
        return self.dtype.itemsize * self.numel()

    @property
    def T(self):
        """A view with the dimensions in reverse order: the transpose of a matrix."""
        return self.permute(*range(self.ndim - 1, -1, -1))

    @property
    def mT(self):
        """A view with the last two dimensions swapped: the transposes of a batch of matrices."""
        if self.ndim < 2:
            raise ShapeError("MG-E209", f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D "
                             "tensor.")
        return self.transpose(-2, -1)

    @property
    def real(self):
        """The real part, a view; for a real tensor, itself. An assignment to ``x.real`` or ``x.imag`` writes to the tensor."""
        from minigrad.ops.elementwise.selection import real_part
        return real_part(self)

    @real.setter
    def real(self, value):
        self.real.copy_(value)      # pyright: ignore[reportAttributeAccessIssue]

    @property
    def imag(self):
        """The imaginary part of a complex tensor, a view. Raises `RuntimeError` for a real tensor."""
        from minigrad.ops.elementwise.complex_numbers import imag
        return imag(self)

    @imag.setter
    def imag(self, value):
        self.imag.copy_(value)      # pyright: ignore[reportAttributeAccessIssue]

    @property
    def is_cpu(self):
        """Whether the tensor is on the CPU."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self):
        """Whether the tensor is on a GPU."""
        return self.device.type == "cuda"

    @property
    def is_meta(self):
        """Whether the tensor is on the device "meta", where it has no numbers."""
        return self.device.type == "meta"

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating point dtype.

        >>> mg.zeros(2).is_floating_point()
        True
        """
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex.

        >>> mg.zeros(2).is_complex()
        False
        """
        return self.dtype.is_complex

    def conj(self) -> Tensor:
        """The complex conjugate; for a real tensor, itself.

        >>> mg.tensor([1+2j]).conj()
        tensor([1.-2.j])
        """
        from minigrad._core.record.apply import call
        from minigrad.ops.elementwise.selection import Conj
        return call(Conj.op, (self,)) if self.dtype.is_complex else self

    # ---- autograd ---------------------------------------------------------------------------------------

    def backward(self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = None) -> None:
        """Compute the gradients of this tensor with respect to the leaves of its graph, and add them to ``.grad``.

        Args:
            gradient (Tensor, optional): the gradient of this tensor, of its shape. A tensor of one real number does not need it.
            retain_graph (bool, optional): keep the saved tensors, for a second backward. By default the value of
                `create_graph`.
            create_graph (bool): record the backward itself, for higher derivatives.
            inputs (sequence of Tensor, optional): accumulate into these tensors only.

        `minigrad.autograd.backward` lists the errors. Mirrors ``torch.Tensor.backward``.

        >>> x = mg.tensor(3., requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        upcalls.backward(self, gradient, retain_graph, create_graph, inputs=inputs)    # pyright: ignore[reportArgumentType]

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` and return this tensor.

        Raises:
            RuntimeError: False for a tensor that is not a leaf, or True for a dtype without gradients.

        >>> mg.zeros(2).requires_grad_()
        tensor([0., 0.], requires_grad=True)
        """
        if requires_grad is not True or self.is_leaf:       # a tensor with a history requires one already
            self.requires_grad = requires_grad
        return self

    # ---- shape of another --------------------------------------------------------------------------------

    def view_as(self, other: Tensor) -> Tensor:
        """``self.view(other.shape)``

        >>> mg.arange(4).view_as(mg.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
        """
        return self.view(tuple(tensor_argument("view_as", other, "other").shape))

    def reshape_as(self, other: Tensor) -> Tensor:
        """``self.reshape(other.shape)``

        >>> mg.arange(4).reshape_as(mg.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
        """
        return self.reshape(tuple(tensor_argument("reshape_as", other, "other").shape))

    def expand_as(self, other: Tensor) -> Tensor:
        """``self.expand(other.shape)``

        >>> mg.tensor([1, 2]).expand_as(mg.zeros(2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
        return self.expand(tuple(tensor_argument("expand_as", other, "other").shape))

    # ---- new tensors like this one --------------------------------------------------------------------------

    def new_tensor(self, data: Any, *, dtype: DType | None = ..., device: DeviceLike | None = None,
                   requires_grad: bool = False, layout: layout | None = None, pin_memory: bool = False) -> Tensor:
        """A tensor with a copy of `data`, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_tensor``.

        >>> mg.zeros(1, dtype=mg.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=minigrad.float64)
        """
        kind = self.dtype if dtype is ... else None if dtype is None else as_dtype(dtype)
        array = as_array(data, None if kind is None else kind.numpy, copy=True)
        out = new_leaf(array, self.device if device is None else device, requires_grad)
        return storage_options("new_tensor", out, layout, pin_memory)

    def new_full(self, size: int | Sequence[int], fill_value: Number, *, dtype: DType | None = None,
                 device: DeviceLike | None = None, requires_grad: bool = False, layout: layout | None = None,
                 pin_memory: bool = False) -> Tensor:
        """A tensor of one value, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_full``.

        >>> mg.tensor([1]).new_full((2,), 5)
        tensor([5, 5])
        """
        return full(size, fill_value, dtype=self.dtype if dtype is None else dtype, layout=layout, pin_memory=pin_memory,   # pyright: ignore[reportCallIssue]
                    device=self.device if device is None else device, requires_grad=requires_grad)

    def new_zeros(self, *sizes: int | Sequence[int], size: Sequence[int] | None = None, dtype: DType | None = None,
                     device: DeviceLike | None = None, requires_grad: bool = False, layout: layout | None = None,
                  pin_memory: bool = False) -> Tensor:
        """Zeros, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_zeros``.

        >>> mg.tensor([1]).new_zeros(2)
        tensor([0, 0])
        """
        out = self._filled(sizes if size is None else (size,), 0, dtype, device, requires_grad)
        return out if layout is None and pin_memory is False else storage_options("new_zeros", out, layout, pin_memory)

    def new_ones(self, *sizes: int | Sequence[int], size: Sequence[int] | None = None, dtype: DType | None = None,
                    device: DeviceLike | None = None, requires_grad: bool = False, layout: layout | None = None,
                 pin_memory: bool = False) -> Tensor:
        """Ones, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_ones``.

        >>> mg.tensor([1]).new_ones(2)
        tensor([1, 1])
        """
        out = self._filled(sizes if size is None else (size,), 1, dtype, device, requires_grad)
        return out if layout is None and pin_memory is False else storage_options("new_ones", out, layout, pin_memory)

    def new_empty(self, *sizes: int | Sequence[int], size: Sequence[int] | None = None, dtype: DType | None = None,
                     device: DeviceLike | None = None, requires_grad: bool = False, layout: layout | None = None,
                  pin_memory: bool = False) -> Tensor:
        """An uninitialised tensor, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_empty``.

        >>> mg.tensor([1]).new_empty(2).shape
        minigrad.Size([2])
        """
        out = self._filled(sizes if size is None else (size,), None, dtype, device, requires_grad)
        return out if layout is None and pin_memory is False else storage_options("new_empty", out, layout, pin_memory)

    def new(self, *data: Any, device: DeviceLike | None = None) -> Tensor:
        """A tensor of this tensor's dtype, from sizes or from a sequence of numbers; else an empty one.

        Mirrors ``torch.Tensor.new``.

        Raises:
            TypeError: the arguments are neither, or are a tensor of another dtype.

        >>> mg.tensor([1]).new([1.5, 2]), mg.zeros(1).new(2, 3).shape
        (tensor([1, 2]), minigrad.Size([2, 3]))
        """
        return from_legacy_arguments(self.dtype, data, self.device if device is None else device)

    def new_empty_strided(self, size: int | Sequence[int], stride: Sequence[int], *, dtype: DType | None = None,
                          device: DeviceLike | None = None, requires_grad: bool = False, layout: layout | None = None,
                          pin_memory: bool = False) -> Tensor:
        """An uninitialised tensor with strides, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_empty_strided``.

        >>> mg.tensor([1]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
        return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, layout=layout, pin_memory=pin_memory,   # pyright: ignore[reportCallIssue]
                             device=self.device if device is None else device, requires_grad=requires_grad)

    def _filled(self, size, value, dtype, device, requires_grad):
        """Make a leaf filled with `value`; None leaves it uninitialised. Formulas make gradients with it, so it has to be fast."""
        shape = as_shape(size, "new_tensor")
        if min(shape, default=0) < 0:
            raise ShapeError("MG-E206", f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
        as_device(device)
        if requires_grad is not False:
            flag(requires_grad, "requires_grad", "new_tensor")
        kind = (self.dtype if dtype is None else as_dtype(dtype)).numpy
        kernels = self._meta.backend.kernels
        try:
            array = kernels.empty(shape, kind) if value is None else kernels.full(shape, value, kind)
        except (ValueError, MemoryError) as error:
            raise translate_kernel_error("new_tensor", error) from None
        return new_tensor(Tensor, array, requires_grad, self.device)

    # ---- copies and pickles ---------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any) -> Self:
        if self.grad_fn is not None:
            raise AutogradError("MG-E116", "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                                "protocol at the moment.", node=self.grad_fn.name(), fix="copy.deepcopy(x.detach())")
        if id(self) in memo:
            return memo[id(self)]
        out = new_tensor(type(self), self._meta.backend.kernels.copy_with_layout(self._array, self._array), self.requires_grad,
                         self.device)
        memo[id(self)] = out
        import copy  # who calls this method has loaded it
        attributes = attributes_of(self)
        if attributes:
            out.__dict__.update(copy.deepcopy(attributes, memo))
        if self.grad is not None:
            out.grad = copy.deepcopy(self.grad, memo)
        return out

    def __reduce_ex__(self, protocol: Any) -> Any:
        for hook in (self._backward_hooks or {}).values():
            if not getattr(hook, "__torch_unserializable__", False):
                warnings.warn(f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate the "
                              "function with @minigrad.utils.hooks.unserializable_hook to suppress this warning", UserWarning,
                              stacklevel=2)
        if self.is_meta:
            return _rebuild_meta, (type(self), tuple(self.shape), self.stride(), self.dtype, self.requires_grad,
                                   attributes_of(self))
        array = self._meta.backend.kernels.to_host(self._array)
        where = () if self.device.type == "cpu" else (str(self.device),)
        return _rebuild, (type(self), array, self.requires_grad, attributes_of(self), *where)


def attributes_of(tensor):
    """Return the attributes that a program has set on an instance of a subclass; interpreted, without our own fields."""
    return {name: value for name, value in getattr(tensor, "__dict__", {}).items() if name not in _OUR_FIELDS}


def _rebuild(cls, array, requires_grad, attributes=None, device="cpu"):
    """Make a tensor from its pickle: always a leaf, on the device where it was."""
    out = new_tensor(cls, array, requires_grad, as_device(device))
    if attributes:
        out.__dict__.update(attributes)
    return out


def _rebuild_meta(cls, shape, strides, dtype, requires_grad, attributes):
    """Make a tensor on the device "meta" from its pickle."""
    out = new_tensor(cls, empty_strided(shape, strides, dtype=dtype, device="meta")._array, requires_grad, as_device("meta"))
    if attributes:
        out.__dict__.update(attributes)
    return out


# Empty when compiled.
_OUR_FIELDS = frozenset(getattr(new_tensor(Tensor, np.empty(0, np.float32)), "__dict__", ()))


def install_methods(functions):
    """Add methods to `Tensor`: `functions` maps the name of a method to a function whose first argument is self."""
    for name, function in functions.items():
        if name in vars(Tensor) or name in vars(Conversions):
            raise ArgumentError("MG-E501", f"Tensor has a method {name!r} already")
        setattr(Tensor, name, function)


# Methods that few programs call.
_SPARSE = ("_indices", "_nnz", "_values", "coalesce", "col_indices", "crow_indices", "dense_dim", "indices", "is_coalesced",
           "sparse_dim", "sparse_mask", "to_sparse", "to_sparse_coo", "to_sparse_csr", "values")

_LAYERS = ("hardshrink", "lu", "lu_solve", "prelu")

install_methods(properties.METHODS | elements.METHODS | {name: LateMethod("minigrad.sparse", name) for name in _SPARSE}
                | {name: LateMethod("minigrad.functional", name) for name in _LAYERS})
use_tensor_class(Tensor)
use_operators(Tensor)
